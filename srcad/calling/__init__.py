"""A call finds its code."""
