"""The kernels of NPBench and PolyBench, written afresh from their definitions, and their check."""

from benchmarks.npbench import (
    datamining,
    elementwise,
    flow,
    imaging,
    learning,
    linear_algebra,
    physics,
    solvers,
    stencils,
    weather,
)
from benchmarks.npbench.registry import KERNELS, Kernel, floating

__all__ = [
    "KERNELS",
    "Kernel",
    "datamining",
    "elementwise",
    "floating",
    "flow",
    "imaging",
    "learning",
    "linear_algebra",
    "physics",
    "solvers",
    "stencils",
    "weather",
]
