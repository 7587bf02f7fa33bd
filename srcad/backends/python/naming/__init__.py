"""Which values share a variable, and what the variables are called."""
