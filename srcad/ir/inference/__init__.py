"""The types of what is built: what a call returns is asked of NumPy."""
