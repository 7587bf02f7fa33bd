"""Loops, try, with, comprehensions."""
