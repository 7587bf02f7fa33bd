"""Foundations: locks, registries, records, identifiers."""
