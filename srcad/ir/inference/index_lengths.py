"""The shape of the result of indexing.

A slice cuts its bounds to the axis, so what it leaves is a linear expression only where it is known
which of them lie inside. That is asked of `srcad.types.sizes`, which records what it takes from the
example: ``x[:d]`` has length ``d`` as long as ``d`` is at most the length of ``x``. An axis of
which nothing is known gets a fresh length; the others keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Literal

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Const, Display
from srcad.ir.disjoint import index_parts
from srcad.types.numeric import Numeric, Shape
from srcad.types.sizes import Extent, at_least, constant_extent, fresh_extent, resolved
from srcad.types.structures import Type

_ZERO, _ONE = constant_extent(0), constant_extent(1)
# What stands between the brackets for one axis: its slice, or that one place is taken.
Place = Literal["integer"] | tuple[Arg, ...] | EllipsisType | None


def read_type(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``array[index]``, where the index has integers, slices, ``None`` and ``...`` only."""
    array = argument_type(args[0])
    if not isinstance(array, Numeric) or array.form != "array" or array.shape is None:
        return None
    places = [_place(part) for part in index_parts(args[1])]
    known = [place for place in places if place is not NotImplemented]
    shape = _shape_read(array.shape, known)
    if len(known) < len(places) or shape is None:
        return None
    return Numeric(array.dtype, shape, "array" if shape or Ellipsis in known else "numpy")


def _place(part: Arg) -> Any:
    """Return the effect of one part of an index, as a `Place`.

    NotImplemented for arrays and the like.
    """
    if isinstance(part, Display):
        return part.items if part.kind == "slice" else NotImplemented
    if isinstance(part, Const):
        value = part.value
        if value is None or value is Ellipsis:
            return value
        if isinstance(value, slice):
            return tuple(map(Const, (value.start, value.stop, value.step)))
    type_ = part.type
    whole = isinstance(type_, Numeric) and type_.form in ("python", "numpy") and type_.kind in "iu"
    return "integer" if whole else NotImplemented


def _shape_read(shape: Shape, places: list[Place]) -> Shape | None:
    left = len(shape) - sum(place is not None and place is not Ellipsis for place in places)
    if left < 0 or places.count(Ellipsis) > 1:
        return None
    if Ellipsis not in places:
        places = [*places, Ellipsis]
    result: list[Extent] = []
    axis = 0
    for place in places:
        if place is None:
            result.append(_ONE)
        elif isinstance(place, EllipsisType):
            result += shape[axis : axis + left]
            axis += left
        else:
            if not isinstance(place, str):
                result.append(_sliced(shape[axis], place))
            axis += 1
    return tuple(result)


def _sliced(length: Extent, parts: Sequence[Arg]) -> Extent:
    """Return the length of ``x[start:stop:step]``; a fresh one where it is not known."""
    step = _bound(parts[2], _ONE)
    if step is None or step.terms:
        return fresh_extent()
    if step.constant == -1 and all(_is_none(part) for part in parts[:2]):
        return length
    ends = span(length, parts[0], parts[1]) if step.constant >= 1 else None
    found = None if ends is None else resolved(ends[1] - ends[0])
    if found is None or (found.terms and step.constant > 1):
        return fresh_extent()
    return found if step.constant == 1 else constant_extent(-(-found.constant // step.constant))


def _is_none(arg: Arg) -> bool:
    return isinstance(arg, Const) and arg.value is None


def _bound(arg: Arg, default: Extent) -> Extent | None:
    """Return a part of a slice as an extent; None if it is not known."""
    if _is_none(arg):
        return resolved(default)
    type_ = argument_type(arg)
    value = type_.value if isinstance(type_, Numeric) else None
    return None if value is None else resolved(value)


def span(length: Extent, first: Arg, last: Arg) -> tuple[Extent, Extent] | None:
    """From where to where ``first:last`` goes on an axis; None if it is not known.

    Both lie on the axis, and the second is not before the first.
    """
    length = resolved(length)
    start, stop = _inside(length, _bound(first, _ZERO)), _inside(length, _bound(last, length))
    if start is None or stop is None:
        return None
    if not at_least(start, 0) and at_least(start.scaled(-1), 0):
        start = _ZERO
    if not at_least(length - stop, 0) and at_least(stop - length, 0):
        stop = length
    if not at_least(start, 0) or not at_least(length - stop, 0):
        return None
    if at_least(stop - start, 0):
        return resolved(start), resolved(stop)
    return (resolved(start), resolved(start)) if at_least(start - stop, 0) else None


def _inside(length: Extent, bound: Extent | None) -> Extent | None:
    """Return a bound counted from the start of the axis; None if its sign is not known."""
    if bound is None or at_least(bound, 0):
        return bound
    return length + bound if at_least(bound.scaled(-1), 1) else None
