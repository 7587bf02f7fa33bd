"""Hooks: functions of the user's that look at a cotangent, or change it."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.errors import SeedError
from srcad.ir import result_types as types_of
from srcad.ir.operations import Operation
from srcad.startup.identifiers import label


@Operation(
    result=types_of.unknown, flows=(1,), hands_on="callee", owed=True, pure=False, called="passed"
)
def through_hook(function: Any, bar: Any) -> Any:
    """Return the cotangent that a function of the user's makes of this one, or this one for None.

    The function gets a copy, and what it returns is copied: it may keep, or write into, either.
    """
    found = function(_copied(bar))
    return bar if found is None else in_place_of(bar, found)


def _copied(bar: Any) -> Any:
    return in_place_of(bar, bar)


def in_place_of(bar: Any, found: Any) -> Any:
    """Return a copy of what stands in the place of a cotangent, in its structure, shape and dtype.

    None stands for what stays, and takes the place of nothing.

    Raises
    ------
    SeedError
        It does not fit.
    """
    if bar is None or found is None:
        return bar
    if isinstance(bar, list | tuple | dict) or hasattr(bar, "__dataclass_fields__"):
        return _each_in_place_of(bar, found)
    given = np.asarray(found)
    if given.dtype.kind not in ("iufc" if np.iscomplexobj(bar) else "iuf"):
        raise SeedError(
            f"a {label(type(found))} of {given.dtype} takes the place of a cotangent",
            why="a cotangent is a number or an array of numbers.",
            help="numbers of the cotangent's shape, or None to leave it as it is",
        )
    if given.shape != np.shape(bar):
        raise SeedError(
            f"shape {given.shape} takes the place of a cotangent of shape {np.shape(bar)}",
            why="a cotangent has the shape of the value that it belongs to.",
            help="an array of that shape, or None to leave the cotangent as it is",
        )
    return np.array(given, bar.dtype) if isinstance(bar, np.ndarray) else type(bar)(given[()])


def _each_in_place_of(bar: Any, found: Any) -> Any:
    """Return the same, part by part."""
    fields = list(getattr(bar, "__dataclass_fields__", ()))
    if type(found) is not type(bar) or (not fields and len(found) != len(bar)):
        raise SeedError(
            f"a {label(type(found))} takes the place of a cotangent that is a {label(type(bar))}",
            why="a cotangent has the structure of the value that it belongs to.",
            help="the same structure, or None to leave the cotangent as it is",
        )
    if fields:
        made = object.__new__(type(bar))
        for name in fields:
            part = in_place_of(getattr(bar, name), getattr(found, name))
            object.__setattr__(made, name, part)
        return made
    if isinstance(bar, dict):
        return {key: in_place_of(item, found[key]) for key, item in bar.items()}
    parts = [in_place_of(a, b) for a, b in zip(bar, found, strict=True)]
    return parts if isinstance(bar, list) else tuple.__new__(type(bar), parts)
