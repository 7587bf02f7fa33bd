"""Helpers of exported modules: functions whose source is copied into the module.

They check the arguments, as the pattern of a compiled call does, and say what is wrong in words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcad.arguments.aliasing import _repeats, backward_axes
from srcad.arguments.signature import is_number
from srcad.exporting.structures import arrays_in, filled, mold_of


# ------------------------------------------------------------------------------- the arguments
def check_array(name: str, value: Any, dtype: Any, axes: int | None) -> None:
    """Raise unless a value is an array of this dtype with this many axes."""
    if type(value) not in (np.ndarray, np.memmap):
        raise TypeError(f"{name} has to be an array of {dtype}, and is {kind_of(value)}")
    if value.dtype != dtype:
        raise TypeError(f"{name} has to be an array of {dtype}, and is one of {value.dtype}")
    if axes is not None and value.ndim != axes:
        raise ValueError(f"{name} has to have {axes} axes, and has the shape {value.shape}")


def check_class(name: str, value: Any, cls: type) -> None:
    """Raise unless a value is of exactly this class."""
    if type(value) is not cls:
        raise TypeError(f"{name} has to be of type {cls.__name__}, and is {kind_of(value)}")


def check_defined(name: str, value: Any, attribute: str) -> None:
    """Refuse an object with an attribute of its own that the module takes from the class."""
    if attribute in getattr(value, "__dict__", ()):
        raise ValueError(f"{name}.{attribute} has to be what the class of {name} defines")


def check_value(name: str, value: Any, expected: Any) -> None:
    """Refuse another value than the one that the module was written for."""
    if type(value) is not type(expected) or repr(value) != repr(expected):
        raise ValueError(f"{name} has to be {expected!r}, and is {value!r}: export it for that")


def check_object(name: str, value: Any, expected: Any) -> None:
    """Refuse another object than the one that the module was written for."""
    if value is not expected:
        raise ValueError(f"{name} has to be {expected!r}, and is {value!r}: export it for that")


def check_keys(name: str, value: Any, keys: Sequence[Any]) -> None:
    """Raise unless a value is a dict with these keys in this order."""
    if type(value) is not dict:
        raise TypeError(f"{name} has to be a dict, and is {kind_of(value)}")
    if list(value) != keys:
        raise ValueError(f"{name} has to have the keys {keys}, and has {list(value)}")


def check_items(name: str, value: Any, cls: type, count: int) -> None:
    """Raise unless a value is of this class and has this many items."""
    check_class(name, value, cls)
    if len(value) != count:
        raise ValueError(f"{name} has to have {count} items, and has {len(value)}")


def check_order(name: str, value: Any) -> None:
    """Refuse an array that does not lie in memory in C order."""
    if not value.flags.c_contiguous:
        raise ValueError(f"{name} has to lie in memory in C order: np.ascontiguousarray(...)")


def check_length(holds: Any, what: str) -> None:
    """Refuse lengths for which the module was not written."""
    if not holds:
        raise ValueError(f"this was written for arguments with {what}")


def check_number(name: str, value: Any, form: str, dtypes: Sequence[str]) -> None:
    """Raise unless a value is a number (or array of numbers) of this form and of these dtypes."""
    array, numpy = isinstance(value, np.ndarray), isinstance(value, np.generic)
    fits = {"any": True, "number": not array, "python": not (array or numpy), "numpy": numpy}
    if not (is_number(value) and fits.get(form, array)):
        raise TypeError(f"{name} has to be a number, and is {kind_of(value)}")
    dtype = value.dtype if array or numpy else np.dtype(type(value))
    if dtype not in map(np.dtype, dtypes):
        raise TypeError(f"{name} has to be of {' or '.join(dtypes)}, and is of {dtype}")


def check_writable(name: str, value: Any, expected: str) -> None:
    """Refuse an array that can be written into in another way than the one there was."""
    arrays = arrays_in(value)
    found = "repeated" if any(map(_repeats, arrays)) else "own"
    if not all(array.flags.writeable for array in arrays):
        found = "read-only"
    if found != expected:
        raise ValueError(f"the memory of {name} has to be {expected!r}, and is {found!r}")


def check_strides(name: str, value: Any, expected: tuple[int, ...]) -> None:
    """Refuse an array that runs through memory backwards along other axes."""
    if backward_axes(value) != expected:
        raise ValueError(f"{name} has to run backwards along the axes {expected}: export it again")


def check_memory(
    arguments: Sequence[Any], written: Sequence[int], expected: tuple[tuple[int, int], ...]
) -> None:
    """Refuse arguments that share memory in another way with those that are written into."""
    leaves = [arrays_in(argument) for argument in arguments]
    found = []
    for k in written:
        pairs = [(a, b) for i, a in enumerate(leaves[k]) for b in leaves[k][:i]]
        if any(np.may_share_memory(a, b) for a, b in pairs):
            found.append((k, k))
        for other, arrays in enumerate(leaves):
            if other != k and any(np.may_share_memory(a, b) for a in leaves[k] for b in arrays):
                found.append((k, other))
    if tuple(found) != expected:
        raise ValueError("an argument that is written into shares memory with another one")


def kind_of(value: Any) -> str:
    """Describe a value in words."""
    if type(value) is np.ndarray:
        return f"an array of {value.dtype}"
    return f"of type {type(value).__name__}"


# ------------------------------------------------------------------------------- the directions
def check_tangents(tangents: Any, count: int, absent: Sequence[int]) -> None:
    """Refuse tangents that are not one per argument, or that belong to constants."""
    if not isinstance(tangents, tuple | list) or len(tangents) != count:
        raise ValueError(f"there has to be a tuple of {count} tangents, one for each argument")
    for k in absent:
        if tangents[k] is not None:
            raise ValueError(f"argument {k + 1} is a constant here: its tangent is None")


def tangent_of(dot: Any, argument: Any, what: str) -> Any:
    """Return a tangent in the structure, shapes and dtypes of its argument."""
    return filled(dot, mold_of(argument), what, spreads=False)


def pullback_of(
    primal: Callable[..., Any],
    adjoint: Callable[..., Any],
    has_saved: bool,
    count: int,
    order: Sequence[int],
    name: str,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Join the halves: a function that returns the value and the map from its cotangent."""

    def run(*arguments: Any) -> tuple[Any, ...]:
        y, *saved = primal(*arguments) if has_saved else (primal(*arguments),)
        y, *aux = y if has_aux else (y,)
        mold = mold_of(y)

        def back(y_bar: Any = 1.0) -> tuple[Any, ...]:
            """Return the cotangents of the arguments for a cotangent of the value."""
            seed = filled(y_bar, mold, f"the cotangent of {name}", spreads=True)
            with np.errstate(all="ignore"):
                found = adjoint(*saved, seed)
            gradients = (found,) if count == 1 else found if count else ()
            return tuple(gradients[k] for k in order)

        return y, back, *aux

    return run
