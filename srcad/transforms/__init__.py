"""Transforms: from a function to a function of a new meaning."""
