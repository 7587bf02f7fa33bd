"""Structures of numbers, independent of srcad: their leaves, copies with other leaves, products."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tests.numeric import is_structure, parts, rebuilt

_OPAQUE = (type, FunctionType, ModuleType, np.ndarray, np.generic, np.ufunc)


def is_object(tree: Any) -> bool:
    """Return True for an object with attributes that is no other structure."""
    return hasattr(tree, "__dict__") and not isinstance(tree, _OPAQUE)


def children(tree: Any) -> list[tuple[Any, Any]]:
    """The keys and parts of a structure or object; none for a leaf."""
    if is_structure(tree):
        return parts(tree)
    return list(vars(tree).items()) if is_object(tree) else []


def child(tree: Any, key: Any, like: Any) -> Any:
    """The part of a derivative for a key of the structure that it belongs to."""
    if tree is None:
        return None
    if isinstance(like, dict | tuple | list):
        return tree[key]
    return getattr(tree, key)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a structure, in order."""
    if is_structure(tree) or is_object(tree):
        return [leaf for _, part in children(tree) for leaf in leaves(part)]
    return [tree]


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """A copy of a structure with a function of each leaf."""
    if isinstance(tree, tuple) and type(tree) is not tuple:
        return tuple.__new__(type(tree), [mapped(function, part) for part in tree])
    if is_structure(tree):
        return rebuilt(tree, [mapped(function, part) for _, part in parts(tree)])
    if is_object(tree):
        made = copy.copy(tree)
        for name, part in vars(tree).items():
            object.__setattr__(made, name, mapped(function, part))
        return made
    return function(tree)


def along(tree: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """The leaves of a structure, each with that of a derivative; None where it has none."""
    if is_structure(tree) or is_object(tree):
        for key, part in children(tree):
            yield from along(part, child(other, key, tree))
    else:
        yield tree, other


def is_float(leaf: Any) -> bool:
    """Return True for floats, complex numbers and arrays of them."""
    return np.asarray(leaf).dtype.kind in "fc" if _is_plain(leaf) else False


def is_integer(leaf: Any) -> bool:
    """Return True for integers and arrays of them."""
    return np.asarray(leaf).dtype.kind in "iu" if _is_plain(leaf) else False


def _is_plain(leaf: Any) -> bool:
    return isinstance(leaf, int | float | complex | np.ndarray | np.generic)


def moved(tree: Any, move: Any, step: float) -> Any:
    """A structure, one step along a direction; leaves without a direction stay."""
    moves = iter([d for _, d in along(tree, move)])

    def one(leaf: Any) -> Any:
        d = next(moves)
        return leaf if d is None else leaf + step * d

    return mapped(one, tree)


def direction(tree: Any, rng: np.random.Generator, symmetric: bool = False) -> Any:
    """Random numbers for the floats of a structure, None for other leaves.

    Those of a square matrix are symmetric on demand, be it an array or a list of rows.
    """
    if symmetric and isinstance(tree, list | tuple) and _is_square(tree):
        d = rng.normal(size=(len(tree), len(tree)))
        d = d + d.T
        return rebuilt(
            tree,
            [
                np.asarray(row) if isinstance(like, np.ndarray) else rebuilt(like, row.tolist())
                for like, row in zip(tree, d, strict=True)
            ],
        )

    def one(leaf: Any) -> Any:
        if not is_float(leaf):
            return None
        x = np.asarray(leaf)
        d = rng.normal(size=x.shape)
        if x.dtype.kind == "c":
            d = d + 1j * rng.normal(size=x.shape)
        if symmetric and x.ndim > 1 and x.shape[-1] == x.shape[-2]:
            d = d + np.swapaxes(d, -1, -2)
        d = d.astype(x.dtype)
        if isinstance(leaf, np.ndarray):
            return d
        return d[()] if isinstance(leaf, np.generic) else d.item()

    if symmetric and type(tree) in (list, tuple):
        return rebuilt(tree, [direction(part, rng, symmetric) for part in tree])
    return mapped(one, tree)


def _is_square(rows: Any) -> bool:
    """Return True for rows of real numbers, as many as there are in each row."""
    if type(rows) not in (list, tuple) or not all(map(_is_row, rows)):
        return False
    return bool(rows) and all(len(row) == len(rows) for row in rows)


def _is_row(row: Any) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim == 1 and row.dtype == float
    return type(row) in (list, tuple) and all(isinstance(x, float) for x in row)


def product(u: Any, v: Any) -> float:
    """The inner product of two leaves, of their real and of their imaginary parts."""
    if u is None or v is None:
        return 0.0
    wide = [np.asarray(x, complex if np.iscomplexobj(x) else float) for x in (u, v)]
    if wide[0].shape != wide[1].shape:
        raise ValueError(f"shapes {wide[0].shape} and {wide[1].shape}")
    return float(np.sum(np.real(np.conjugate(wide[0]) * wide[1])))
