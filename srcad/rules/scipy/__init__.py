"""Rules for SciPy: a file for each of its modules, read when that module has been imported."""
