"""Statements and expressions as Python syntax, and syntax as text."""
