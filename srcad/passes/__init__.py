"""Passes: from a function to a function of the same meaning."""
