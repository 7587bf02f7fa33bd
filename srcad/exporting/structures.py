"""Structures of numbers in an exported module: gone through, filled, moved.

The functions are written out into the module.  They know lists, tuples, dicts, data classes and
objects that are their attributes, and need nothing of srcad.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return a structure with a function applied to its leaves and those of similar ones."""
    if isinstance(tree, dict):
        return {k: mapped(function, tree[k], *(o[k] for o in others)) for k in tree}
    if isinstance(tree, list | tuple):
        items = [mapped(function, *parts) for parts in zip(tree, *others, strict=True)]
        return items if isinstance(tree, list) else tuple.__new__(type(tree), items)
    if callable(tree) or not hasattr(tree, "__dict__"):
        return function(tree, *others)
    made = copy.copy(tree)
    for name in vars(tree):
        parts = [getattr(part, name) for part in (tree, *others)]
        object.__setattr__(made, name, mapped(function, *parts))
    return made


class Mold:
    """The shape and the dtype of one number or array."""

    __slots__ = ("dtype", "is_array", "is_python", "shape")

    def __init__(self, y: Any) -> None:
        self.is_array = isinstance(y, np.ndarray)
        self.is_python = not isinstance(y, np.ndarray | np.generic)
        dtype = np.asarray(y).dtype
        self.shape, self.dtype = np.shape(y), np.dtype(float) if dtype.kind in "iub" else dtype

    def filled(self, given: Any, what: str, spreads: bool) -> Any:
        """Convert a seed to a number or array of this shape and dtype."""
        shape = np.shape(given)
        if shape != self.shape and not (spreads and shape == ()):
            raise ValueError(f"{what} has shape {shape} where shape {self.shape} is needed")
        if np.asarray(given).dtype.kind not in "iufcb":
            raise ValueError(f"{what} holds a {type(given).__name__}, which is no number")
        result = np.empty(self.shape, self.dtype)
        result[...] = given
        if self.is_array:
            return result
        return result.item() if self.is_python else result[()]


def mold_of(y: Any) -> Any:
    """Return the molds of all parts of a value, in its structure; None for what is no number."""
    kinds = (int, float, complex, np.number, np.ndarray)
    return mapped(lambda x: Mold(x) if _is_one_of(x, kinds) else None, y)


def _is_one_of(x: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(x, kinds) and not isinstance(x, bool)


def filled(given: Any, mold: Any, what: str, *, spreads: bool) -> Any:
    """Convert a seed to the structure, shapes and dtypes of a value; one number may spread."""
    if mold is None:
        return None
    if isinstance(mold, Mold):
        return mold.filled(0.0 if given is None else given, what, spreads or given is None)
    if given is None or (spreads and isinstance(given, int | float | complex | np.number)):
        number = 0.0 if given is None else given
        return mapped(lambda m: m and m.filled(number, what, True), mold)
    keys = keys_of(mold)
    if type(given) is not type(mold) or keys_of(given) != keys:
        raise ValueError(f"{what} needs the structure of the value: a {type(mold).__name__}")
    parts = iter([filled(part_of(given, k), part_of(mold, k), what, spreads=spreads) for k in keys])
    return rebuilt(mold, parts)


def keys_of(tree: Any) -> list[Any]:
    """Return the keys, positions or names of the parts of a structure."""
    if isinstance(tree, dict):
        return list(tree)
    if isinstance(tree, list | tuple):
        return list(range(len(tree)))
    return list(getattr(tree, "__dict__", ()))


def part_of(tree: Any, key: Any) -> Any:
    """One part of a structure; a named tuple knows its parts by name, too."""
    by_name = isinstance(key, str) and not isinstance(tree, dict)
    return getattr(tree, key) if by_name else tree[key]


def rebuilt(tree: Any, parts: Iterator[Any]) -> Any:
    """Return a structure of the same form around other parts."""
    if isinstance(tree, dict):
        return dict(zip(tree, parts, strict=True))
    if isinstance(tree, list | tuple):
        return list(parts) if isinstance(tree, list) else tuple.__new__(type(tree), list(parts))
    made = copy.copy(tree)
    for name, part in zip(vars(tree), parts, strict=True):
        object.__setattr__(made, name, part)
    return made


def with_part(tree: Any, keys: tuple[Any, ...], new: Any) -> Any:
    """Return a structure in which the part behind some keys is another one."""
    if not keys:
        return new
    names = keys_of(tree)
    first = keys[0]
    if isinstance(tree, tuple) and isinstance(first, str):
        first = tree._fields.index(first)  # type: ignore[attr-defined]
    parts = (
        with_part(part_of(tree, k), keys[1:], new) if k == first else part_of(tree, k)
        for k in names
    )
    return rebuilt(tree, parts)


def arrays_in(value: Any) -> list[Any]:
    found: list[Any] = []

    def of_leaf(x: Any) -> None:
        if isinstance(x, np.ndarray):
            found.append(x)

    mapped(of_leaf, value)
    return found
