"""Plain NumPy functions with a hand-written adjoint beside each: the measure of generated code.

The adjoints are straight: forward and reverse sweep line by line, nothing computed that the result
does not need, values that a loop overwrites kept in lists, no buffers reused.
"""

from benchmarks.problems import (
    elementwise,
    factorisation,
    loops,
    mixture,
    models,
    optimised,
    scalars,
    sequence,
)
from benchmarks.problems.optimised import OPTIMISED
from benchmarks.problems.registry import PROBLEMS, Problem

__all__ = [
    "OPTIMISED",
    "PROBLEMS",
    "Problem",
    "elementwise",
    "factorisation",
    "loops",
    "mixture",
    "models",
    "optimised",
    "scalars",
    "sequence",
]
