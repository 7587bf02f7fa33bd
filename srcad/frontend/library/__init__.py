"""Functions of Python and NumPy that the front end interprets itself."""
