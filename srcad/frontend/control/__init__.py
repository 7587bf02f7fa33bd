"""Loops, try, with, comprehensions, generator expressions."""
