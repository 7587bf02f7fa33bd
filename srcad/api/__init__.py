"""The public functions, a file for each kind; each calls the pipeline."""
