"""The table of kernels: what is differentiated, at which inputs, and how it is checked.

A kernel is plain NumPy in the style in which NPBench and PolyBench publish it.  Beside it stands a
reduction, registered with `kernel`: it runs the kernel and sums what the kernel returns or writes
with fixed weights, so that every entry of every output matters and none like another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Inputs = tuple[Any, ...]
WEIGHTS = np.cos(np.arange(1 << 18))


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    Parameters
    ----------
    name : str
        Its published name.
    function : callable
        The kernel reduced to one number: ``function(*inputs)``.  It may write into its inputs.
    make : callable
        ``make(rng, *sizes)`` gives inputs at which the kernel is smooth and well conditioned.
    sizes : dict
        The sizes called ``test`` and ``bench``.
    complex_step : bool
        Whether the kernel means the same on complex inputs with small imaginary parts.
    peer : bool
        Whether `benchmarks.npbench.peers` has it in functional form.
    """

    name: str
    function: Callable[..., Any]
    make: Callable[..., Inputs]
    sizes: dict[str, tuple[int, ...]]
    complex_step: bool = True
    peer: bool = False

    def inputs(self, size: str, rng: np.random.Generator) -> Inputs:
        """Inputs of a size, ``test`` or ``bench``."""
        return self.make(rng, *self.sizes[size])


KERNELS: dict[str, Kernel] = {}


def kernel(
    make: Callable[..., Inputs],
    test: tuple[int, ...],
    bench: tuple[int, ...],
    *,
    complex_step: bool = True,
    peer: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a reduction, named ``sum_of_`` and the name of its kernel."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.removeprefix("sum_of_")
        sizes = {"test": test, "bench": bench}
        KERNELS[name] = Kernel(name, function, make, sizes, complex_step, peer)
        return function

    return register


def floating(inputs: Inputs) -> tuple[int, ...]:
    """The positions of every floating-point input: a float, or an array of floats."""
    return tuple(k for k, x in enumerate(inputs) if np.asarray(x).dtype.kind == "f")


def weighted(array):
    """Sum an array with fixed weights."""
    return np.dot(WEIGHTS[: array.size], array.ravel())
