"""The public functions, a file for each kind; each is a thin door to the pipeline."""
