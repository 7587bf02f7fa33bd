"""The types of ``np.mgrid[...]``, ``np.ogrid[...]``, ``np.r_[...]`` and ``np.c_[...]``.

The maker is run on small stand-ins of the same kinds: it says the dtype and the number of axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Const, Display
from srcad.types.join import type_of_constant
from srcad.types.numeric import Numeric, array_type
from srcad.types.sizes import Extent, constant_extent, fresh_extent
from srcad.types.structures import TupleOf, Type

_STACKS = (np.r_, np.c_)
_MAKERS = (np.mgrid, np.ogrid, *_STACKS)


def type_of_grid(maker: Arg, index: Arg) -> Type | None:
    """Return the type of ``maker[index]``; None for other makers, and if a kind is unknown."""
    if not isinstance(maker, Const) or not any(maker.value is one for one in _MAKERS):
        return None
    is_tuple = isinstance(index, Display) and index.kind == "tuple"
    parts = index.items if is_tuple and isinstance(index, Display) else (index,)
    try:
        small = [_stand_in(part) for part in parts]
        made = maker.value[tuple(small) if is_tuple else small[0]]
    except (_UnknownKindError, TypeError, ValueError):
        return None
    if maker.value in _STACKS:
        return _type_of_stack(maker.value, made, parts)
    lengths = [_length_of_slice(part) for part in parts]
    if isinstance(made, tuple):
        ones = constant_extent(1)
        rows = [
            tuple(length if k == axis else ones for k in range(len(lengths)))
            for axis, length in enumerate(lengths)
        ]
        return TupleOf(tuple(array_type(made[0].dtype, row) for row in rows))
    count = (constant_extent(len(parts)),) if is_tuple else ()
    return array_type(made.dtype, (*count, *lengths))


class _UnknownKindError(Exception):
    """A part has no stand-in."""


def _stand_in(part: Arg) -> Any:
    """Return a small part of the same kind."""
    if isinstance(part, Display) and part.kind == "slice":
        start, stop, step = (_number(bound) for bound in part.items)
        one = 1 if stop is None else type(stop)(1)
        zero = None if start is None else type(start)(0)
        return slice(
            zero, one, step if step is None or isinstance(step, complex) else type(step)(1)
        )
    if isinstance(part, Display) and part.kind in ("tuple", "list"):
        whole = np.array([_stand_in(item) for item in part.items])
        return np.ones((1,) * whole.ndim, whole.dtype)
    type_ = type_of_constant(part.value) if isinstance(part, Const) else argument_type(part)
    if isinstance(type_, Numeric) and type_.dtype is not None and type_.shape:
        return np.ones((1,) * len(type_.shape), type_.dtype)
    return _number(part)


def _number(part: Arg) -> Any:
    """Return a number of the same class; None for None."""
    if isinstance(part, Const) and (part.value is None or type(part.value) is complex):
        return part.value
    type_ = type_of_constant(part.value) if isinstance(part, Const) else argument_type(part)
    if isinstance(type_, Numeric) and type_.shape == () and type_.dtype is not None:
        number = type_.dtype.type(1)
        if type_.form == "python" and type_.kind in "fib":
            return number.item()
        if type_.form == "numpy":
            return number
    raise _UnknownKindError


def _type_of_stack(maker: Any, made: np.ndarray[Any, Any], parts: tuple[Arg, ...]) -> Type:
    """Return the type of parts that are laid one after the other, or side by side."""
    lengths = [fresh_extent() for _ in range(made.ndim)]
    if maker is np.r_ and made.ndim == 1:
        lengths = [Extent()]
        for part in parts:
            lengths = [lengths[0] + _length_of_part(part)]
    return array_type(made.dtype, tuple(lengths))


def _length_of_part(part: Arg) -> Extent:
    if isinstance(part, Display):
        return _length_of_slice(part) if part.kind == "slice" else constant_extent(len(part.items))
    type_ = type_of_constant(part.value) if isinstance(part, Const) else argument_type(part)
    assert isinstance(type_, Numeric)
    assert type_.shape is not None
    return type_.shape[0] if type_.shape else constant_extent(1)


def _length_of_slice(part: Arg) -> Extent:
    """Return the number of values between constant integers, or in steps of ``3j``."""
    bounds = (
        [b.value for b in part.items if isinstance(b, Const)] if isinstance(part, Display) else []
    )
    if len(bounds) != 3:
        return fresh_extent()
    start, stop, step = (0 if bounds[0] is None else bounds[0], bounds[1], bounds[2])
    if type(step) is complex:
        return constant_extent(int(abs(step)))
    step = 1 if step is None else step
    if not all(type(bound) is int for bound in (start, stop, step)) or step <= 0:
        return fresh_extent()
    return constant_extent(max(0, len(range(start, stop, step))))
