"""The library of Python, written in Python: the front end reads it."""
