"""Gradients by extrapolated central differences, and their comparison; independent of srcad."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

MOST_ENTRIES = 64  # of an argument that is moved entry by entry
DIRECTIONS = 3


def parts(tree: Any) -> list[tuple[Any, Any]]:
    """The keys and parts of a structure; none for a leaf."""
    if isinstance(tree, dict):
        return list(tree.items())
    if isinstance(tree, tuple | list):
        return list(enumerate(tree))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [(f.name, getattr(tree, f.name)) for f in dataclasses.fields(tree)]
    return []


def rebuilt(tree: Any, values: list[Any]) -> Any:
    """A structure of the same form around other parts."""
    if isinstance(tree, dict):
        return type(tree)(zip(tree, values, strict=True))
    if hasattr(tree, "_fields"):
        return type(tree)(*values)
    if isinstance(tree, tuple | list):
        return type(tree)(values)
    made = object.__new__(type(tree))
    for (name, _), value in zip(parts(tree), values, strict=True):
        object.__setattr__(made, name, value)
    return made


def is_structure(tree: Any) -> bool:
    """Whether a value has parts."""
    plain = isinstance(tree, dict | tuple | list)
    return plain or (dataclasses.is_dataclass(tree) and not isinstance(tree, type))


def mapped(function: Callable[..., Any], tree: Any) -> Any:
    """Apply a function to every leaf, in order."""
    if is_structure(tree):
        return rebuilt(tree, [mapped(function, part) for _, part in parts(tree)])
    return function(tree)


def leaves(tree: Any) -> list[Any]:
    """The leaves, in order."""
    found: list[Any] = []
    mapped(lambda leaf: found.append(leaf), tree)
    return found


def difference(f: Callable[..., Any], args: tuple[Any, ...], k: int = 0, h: float = 1e-3) -> Any:
    """The gradient of a scalar function by its `k`-th argument: same structure, float64."""
    return mapped_with_index(lambda i, leaf: _leaf(f, args, k, i, leaf, h), args[k])


def directional(
    f: Callable[..., Any], args: tuple[Any, ...], k: int, direction: list[Any]
) -> float:
    """The slope of a scalar function along a direction of its `k`-th argument: a part per leaf."""

    def at(step: float) -> float:
        new = mapped_with_index(
            lambda i, x: copy.deepcopy(x) if direction[i] is None else x + step * direction[i],
            args[k],
        )
        return float(f(*copy.deepcopy(args[:k]), new, *copy.deepcopy(args[k + 1 :])))

    return _slope(at, 1e-3)


def _slope(at: Callable[[float], float], h: float) -> float:
    """The derivative at zero, by central differences with three steps."""
    slopes = [(at(s) - at(-s)) / (2 * s) for s in (h, h / 2, h / 4)]
    first = [(4 * b - a) / 3 for a, b in zip(slopes, slopes[1:], strict=False)]
    return (16 * first[1] - first[0]) / 15


def mapped_with_index(function: Callable[[int, Any], Any], tree: Any) -> Any:
    """`mapped`, with the number of the leaf."""
    count = iter(range(10**9))
    return mapped(lambda leaf: function(next(count), leaf), tree)


def _leaf(
    f: Callable[..., Any], args: tuple[Any, ...], k: int, number: int, leaf: Any, h: float
) -> Any:
    if not _is_number(leaf):
        return None
    base = np.asarray(leaf, float)
    result = np.empty(base.shape)
    for index in np.ndindex(base.shape):

        def at(step: float, index: tuple[int, ...] = index) -> float:
            moved = base.copy()
            moved[index] += step
            value = moved if isinstance(leaf, np.ndarray) else float(moved)
            new = mapped_with_index(
                lambda i, x: value if i == number else copy.deepcopy(x), args[k]
            )
            return float(f(*copy.deepcopy(args[:k]), new, *copy.deepcopy(args[k + 1 :])))

        result[index] = _slope(at, h)
    return result if result.ndim else float(result)


def _is_number(leaf: Any) -> bool:
    return not (isinstance(leaf, bool | str | type(None)) or callable(leaf))


def _assert_slopes(
    f: Callable[..., Any], args: tuple[Any, ...], k: int, got: Any, rtol: float
) -> None:
    """Compare a gradient of many entries along some random directions."""
    rng = np.random.default_rng(k)
    numbers = leaves(args[k])
    assert type(got) is type(args[k])
    assert [np.shape(x) for x in leaves(got)] == [np.shape(x) for x in numbers]
    for _ in range(DIRECTIONS):
        direction = [rng.normal(size=np.shape(x)) if _is_number(x) else None for x in numbers]
        terms = [
            np.sum(bar * move)
            for bar, move in zip(leaves(got), direction, strict=True)
            if move is not None
        ]
        want = directional(f, args, k, direction)
        assert abs(sum(terms) - want) <= rtol * max(1.0, *map(abs, terms))


def assert_close(got: Any, want: Any, rtol: float = 1e-6, atol: float = 1e-8) -> None:
    """Compare two structures leaf by leaf, types of the containers included."""
    if is_structure(want):
        assert type(got) is type(want), f"{type(got)} is not {type(want)}"
        assert [k for k, _ in parts(got)] == [k for k, _ in parts(want)]
        for (_, a), (_, b) in zip(parts(got), parts(want), strict=True):
            assert_close(a, b, rtol, atol)
    elif want is None:
        assert got is None
    else:
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
        assert np.shape(got) == np.shape(want)


def assert_gradient(
    gradient: Callable[..., Any],
    f: Callable[..., Any],
    *args: Any,
    rtol: float = 1e-6,
    atol: float = 1e-7,
) -> None:
    """Compare ``gradient(f, *args)``, a tuple, with differences by every argument.

    An argument of many entries is not moved entry by entry but along some directions.
    """
    kept = copy.deepcopy(args)
    got = gradient(f, *args)
    assert isinstance(got, tuple)
    assert len(got) == len(args)
    for k in range(len(args)):
        if got[k] is None:
            continue
        if sum(np.size(leaf) for leaf in leaves(kept[k])) > MOST_ENTRIES:
            _assert_slopes(f, kept, k, got[k], rtol)
        else:
            assert_close(got[k], difference(f, kept, k), rtol, atol)
    assert_close(args, kept, rtol=0, atol=0)
