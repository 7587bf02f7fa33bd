"""Every program, mode, kind of argument and surrounding of a call, crossed with each other.

``python -m tests.crossings`` checks all cells, or a share of them: see `tests.crossings.runner`.
"""
