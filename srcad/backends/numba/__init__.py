"""Compiled backend: the IR as fused loops for Numba."""
