"""Random directions for arguments, and products of them: for the identity of both modes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

import srcad


def direction(value: Any, rng: np.random.Generator) -> Any:
    """A random direction in the structure of a value; None for what is no number."""
    match value:
        case bool() | np.bool_() | str() | None:
            return None
        case int() | float():
            return float(rng.normal())
        case np.number() | np.ndarray():
            if value.dtype.kind not in "fiuc":
                return None
            if value.dtype.kind == "c":
                parts = rng.normal(size=(2, *value.shape))
                return np.asarray(parts[0] + 1j * parts[1]).astype(value.dtype)
            kind = value.dtype if value.dtype.kind == "f" else np.dtype(float)
            dot = np.asarray(rng.normal(size=value.shape)).astype(kind)
            return dot if isinstance(value, np.ndarray) else dot[()]
        case list():
            return [direction(item, rng) for item in value]
        case dict():
            return {key: direction(item, rng) for key, item in value.items()}
        case tuple():
            return tuple.__new__(type(value), [direction(item, rng) for item in value])
    if not hasattr(value, "__dict__"):
        return None
    result = copy.copy(value)
    for name, item in vars(value).items():
        object.__setattr__(result, name, direction(item, rng))
    return result


def product(a: Any, b: Any) -> float:
    """The sum of the products of all numbers in two directions."""
    if a is None or b is None:
        return 0.0
    if isinstance(a, list | tuple):
        return sum((product(x, y) for x, y in zip(a, b, strict=True)), 0.0)
    if isinstance(a, dict):
        return sum((product(a[key], b[key]) for key in a), 0.0)
    if isinstance(a, int | float | complex | np.number | np.ndarray):
        return float(np.sum(np.real(np.conjugate(a) * b)))
    return sum((product(item, vars(b)[name]) for name, item in vars(a).items()), 0.0)


def assert_modes_agree(f: Any, *args: Any, seed: int = 0) -> None:
    """``<u, J v> = <J' u, v>`` for random `u` and `v`, and the value is that of the plain call."""
    rng = np.random.default_rng(seed)
    want, back = srcad.pullback(f, *copy.deepcopy(args))
    u = direction(want, rng)
    bars = back(u)
    dots = tuple(None if g is None else direction(x, rng) for x, g in zip(args, bars, strict=True))

    y, y_dot = srcad.jvp(f, copy.deepcopy(args), dots)

    assert repr(y) == repr(want)
    assert type(y) is type(want)
    left, right = product(u, y_dot), product(bars, dots)
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-10)
