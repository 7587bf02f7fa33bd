"""Places outside a function that it reads and writes."""
