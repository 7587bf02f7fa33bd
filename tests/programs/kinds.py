"""Programs whose numbers are of several kinds, and functions that are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad import pullback, rules

X = np.array([0.7, -0.4, 1.1])


def moduli(x, factors):
    """Moduli of products with the numbers of a list, complex or real."""
    total = 0.0
    for factor in factors:
        total = total + np.sum(np.abs(x * factor))
    return total


def complex_on_one_path(x, c):
    return np.linalg.norm(x * (1j if c > 0 else 1.0))


def narrow_factor(x, k):
    """A number of single precision whose square is too large for that."""
    return np.sum(np.sin(x)) * k * k


def half_of_cube(p):
    return p**3 * 0.5


@rules.adjoint(half_of_cube)
def of_half_of_cube(y_bar, y, p):
    return pullback(lambda q: q**3 * 0.5, p)[1](y_bar)[0]


def with_rule(p):
    """A function with a rule of one's own, which takes a derivative."""
    return np.sum(np.sin(half_of_cube(p)))


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "list_of_i": (moduli, (X, [1j])),
    "list_of_i_and_real": (moduli, (X, [1j, 1.0])),
    "complex_on_one_path": (complex_on_one_path, (X, 1)),
    "narrow_factor": (narrow_factor, (np.array([0.3, 0.8]), np.float32(1e20))),
    "with_rule": (with_rule, (np.array([1.5, 0.7]),)),
    "sine": (np.sin, (0.7,)),
}
