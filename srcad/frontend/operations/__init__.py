"""Expressions and statements, and their effects on arrays and objects."""
