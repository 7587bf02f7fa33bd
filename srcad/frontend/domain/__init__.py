"""Abstract values of the front end, and predicates on them."""
