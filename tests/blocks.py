"""Jacobians put together row by row from a pullback, to compare those of one sweep with."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

import srcad

Key = tuple[Any, ...]


def children(value: Any) -> list[tuple[Any, Any]]:
    """The parts of a structure, by their keys."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    return list(vars(value).items()) if hasattr(value, "__dict__") else []


def is_number(value: Any) -> bool:
    """Whether a value is a number or an array of numbers."""
    if isinstance(value, bool | np.bool_):
        return False
    kind = value.dtype.kind if isinstance(value, np.ndarray) else "f"
    return isinstance(value, int | float | np.number | np.ndarray) and kind in "fiuc"


def leaves(value: Any, key: Key = ()) -> Iterator[tuple[Key, Any]]:
    """The numbers and arrays in a value, each with the way to it."""
    if is_number(value):
        yield key, value
    for name, part in children(value):
        yield from leaves(part, (*key, name))


def at(value: Any, key: Key) -> Any:
    """What is found along a way."""
    for name in key:
        value = getattr(value, name) if hasattr(value, "__dict__") else value[name]
    return value


def zeros(value: Any) -> Any:
    """A seed of zeros in the structure of a value."""
    match value:
        case _ if is_number(value):
            if not isinstance(value, np.ndarray):
                return 0.0
            return np.zeros(value.shape, np.result_type(value.dtype, np.float64))
        case dict():
            return {name: zeros(part) for name, part in value.items()}
        case list() | tuple():
            parts = [zeros(part) for part in value]
            return parts if isinstance(value, list) else tuple.__new__(type(value), parts)
    if not hasattr(value, "__dict__"):
        return None
    result = copy.copy(value)
    for name, part in vars(value).items():
        object.__setattr__(result, name, zeros(part))
    return result


def with_one(value: Any, key: Key, entry: tuple[int, ...], one: complex = 1.0) -> Any:
    """A seed of zeros with a one (or another number) at an entry of a leaf."""
    if not key:
        if not isinstance(value, np.ndarray):
            return one
        value = value.copy()
        value[entry] = one
        return value
    name, rest = key[0], key[1:]
    if isinstance(value, dict):
        return {**value, name: with_one(value[name], rest, entry, one)}
    if isinstance(value, list | tuple):
        parts = [with_one(v, rest, entry, one) if k == name else v for k, v in enumerate(value)]
        return parts if isinstance(value, list) else tuple.__new__(type(value), parts)
    result = copy.copy(value)
    object.__setattr__(result, name, with_one(vars(value)[name], rest, entry, one))
    return result


def assert_jacobian(f: Any, *args: Any, modes: tuple[str, ...] = ("fwd", "rev")) -> None:
    """The Jacobian in every mode has the rows that a pullback gives one by one.

    Row k of a complex result of real arguments is ``dRe(y[k]) + i dIm(y[k])``: the seed 1 at k
    gives its real part, the seed i its imaginary part.
    """
    y, back = srcad.pullback(f, *copy.deepcopy(args))
    blank = zeros(y)
    on = tuple(k for k, bar in enumerate(back(blank)) if bar is not None)
    for mode in modes:
        found = srcad.jacobian(f, on, mode)(*copy.deepcopy(args))
        for key, part in leaves(y):
            for entry in np.ndindex(np.shape(part)):
                bars = back(with_one(blank, key, entry))
                if np.iscomplexobj(part):
                    imaginary = back(with_one(blank, key, entry, 1j))
                    bars = tuple(a if a is None else a + 1j * b for a, b in zip(bars, imaginary))
                for k, block in zip(on, found, strict=True):
                    for way, bar in leaves(bars[k]):
                        got = np.asarray(at(at(block, key), way))
                        assert got.shape == np.shape(part) + np.shape(bar)
                        want, row = np.asarray(bar), got[entry]
                        np.testing.assert_allclose(row, want, rtol=1e-7, atol=1e-9)
