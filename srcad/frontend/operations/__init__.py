"""Expressions, statements, and what they do to arrays and objects."""
