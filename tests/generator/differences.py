"""Directional derivatives by complex step or by extrapolated central differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[float], tuple[Any, list[Any]]]
STEPS = (8e-3, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class Slope:
    """A derivative and how far it can be trusted; None where every step crosses a branch."""

    value: float
    error: float


def mapped(function: Callable[..., Any], *trees: Any) -> Any:
    """Apply a function to corresponding leaves of structures of one form."""
    first = trees[0]
    if isinstance(first, dict):
        return {k: mapped(function, *(t[k] for t in trees)) for k in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(mapped(function, *parts) for parts in zip(*trees, strict=True)))
    if isinstance(first, tuple | list):
        return type(first)(mapped(function, *parts) for parts in zip(*trees, strict=True))
    return function(*trees)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a structure."""
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves(part)]
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def direction(tree: Any, rng: np.random.Generator) -> Any:
    """A random direction in the space of a structure."""
    return mapped(
        lambda x: rng.normal(size=np.shape(x)) if np.ndim(x) else float(rng.normal()), tree
    )


def moved(tree: Any, along: Any, step: complex) -> Any:
    """The structure, one step along a direction; the kinds of its leaves stay."""
    return mapped(lambda x, d: x + step * d, tree, along)


def product(gradient: Any, along: Any) -> float:
    """The inner product of two structures."""
    pairs = zip(leaves(gradient), leaves(along), strict=True)
    return float(sum(np.sum(np.asarray(g) * np.asarray(d)) for g, d in pairs))


def complex_slope(run: Callable[[complex], Any]) -> Slope | None:
    """The derivative by a complex step, exact to rounding; None if the program cannot take one."""
    try:
        value = run(1e-30j)
    except (TypeError, np.exceptions.ComplexWarning):
        return None
    return Slope(float(np.imag(value)) / 1e-30, 1e-13)


def real_slope(run: Run) -> Slope | None:
    """Richardson's extrapolation of central differences on one branch trace."""
    centre = run(0.0)[1]
    best: Slope | None = None
    for h in STEPS:
        table = []
        for k in range(3):
            step = h / 2**k
            (high, above), (low, below) = run(step), run(-step)
            if above != centre or below != centre:
                break
            table.append((float(high) - float(low)) / (2 * step))
        else:
            slope = _extrapolated(table, h)
            if best is None or slope.error < best.error:
                best = slope
    return best


def _extrapolated(table: list[float], h: float) -> Slope:
    first = [(4 * b - a) / 3 for a, b in zip(table, table[1:], strict=False)]
    last = (16 * first[1] - first[0]) / 15
    rounding = 1e-15 / h
    return Slope(last, abs(last - first[1]) + rounding)
