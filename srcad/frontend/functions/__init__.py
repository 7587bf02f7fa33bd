"""Functions of the user: bound, read in place, recursive, generators."""
