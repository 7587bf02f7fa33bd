"""Derivatives of a kernel without srcad: by complex steps where it allows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.npbench.registry import Inputs, Kernel, floating

_COMPLEX_STEP = 1e-30
_STEP = 1e-5  # small, since kernels with kinks are among those that need it


def copied(inputs: Inputs) -> Inputs:
    """The inputs in memory of their own: a kernel may write into them."""
    return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in inputs)


def accuracy(kernel: Kernel) -> float:
    """How exact these derivatives are, relative to the largest of them."""
    return 1e-10 if kernel.complex_step else 1e-6


def slope(kernel: Kernel, inputs: Inputs, position: int, direction: Any) -> float:
    """The derivative when one input moves in a direction of its shape."""
    if kernel.complex_step:
        return complex_slope(kernel, inputs, position, direction)
    return difference_slope(kernel, inputs, position, direction)


def complex_slope(kernel: Kernel, inputs: Inputs, position: int, direction: Any) -> float:
    """The imaginary part after an imaginary step; all floating-point inputs become complex."""
    moved = list(copied(inputs))
    for k in floating(inputs):
        moved[k] = moved[k] + 0j
    moved[position] = moved[position] + 1j * _COMPLEX_STEP * direction
    return float(np.imag(kernel.function(*moved)) / _COMPLEX_STEP)


def difference_slope(
    kernel: Kernel, inputs: Inputs, position: int, direction: Any, step: float = _STEP
) -> float:
    """Central differences with one step and with half of it, extrapolated."""

    def at(t: float) -> float:
        moved = list(copied(inputs))
        moved[position] = moved[position] + t * direction
        return float(kernel.function(*moved))

    coarse = (at(step) - at(-step)) / (2 * step)
    fine = (at(step / 2) - at(-step / 2)) / step
    return (4 * fine - coarse) / 3


def gradient(kernel: Kernel, inputs: Inputs, position: int) -> np.ndarray:
    """The derivatives by every entry of one input."""
    shape = np.shape(inputs[position])
    found = np.empty(shape)
    for index in np.ndindex(shape):
        unit = np.zeros(shape)
        unit[index] = 1.0
        found[index] = slope(kernel, inputs, position, unit if shape else 1.0)
    return found
