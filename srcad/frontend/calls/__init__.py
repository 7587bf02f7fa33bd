"""Calls: who is called, and what is done about it."""
