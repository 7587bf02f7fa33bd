"""What functions of Python and NumPy mean to the front end itself."""
