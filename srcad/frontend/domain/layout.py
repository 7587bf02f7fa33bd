"""How arrays lie in memory, as far as that is known: when ``reshape`` and ``ravel`` give views.

A *layout* has the stride of every axis, counted in entries: a product of lengths, or None.  An
array in C order has the strides ``(m * n, n, 1)``, its transpose ``(1, n, m * n)``, a slice with a
step some multiple of these.  NumPy makes a view of what can be had with one stride per axis of the
new shape, and copies otherwise; axes of length 1 do not count.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from srcad.frontend.domain.access_paths import Step, is_number_index
from srcad.ir.core import Arg, Const, Display, Value
from srcad.ir.disjoint import index_parts
from srcad.ir.library_operations import is_elementwise
from srcad.ir.traits import (
    is_indexed,
    is_same,
    may_alias_operand,
    order_of,
)
from srcad.rules.registry import declared_result
from srcad.startup.records import dataclass
from srcad.types.numeric import Numeric, Shape
from srcad.types.sizes import Extent, constant_extent, is_one, resolved, settled

_ELLIPSIS = Const(Ellipsis)


@dataclass(frozen=True)
class Stride:
    """A product of an integer and lengths."""

    factor: int = 1
    lengths: tuple[Extent, ...] = ()

    def times(self, length: Extent) -> Stride:
        return Stride(self.factor, (*self.lengths, length))

    def settled(self) -> Stride:
        """Return the stride with what is known of its lengths by now."""
        factor, lengths = self.factor, list[Extent]()
        for length in map(resolved, self.lengths):
            if length.terms:
                lengths.append(length)
            else:
                factor *= length.constant
        return Stride(factor, tuple(lengths))


Layout = tuple[Stride | None, ...]
Axis = tuple[Extent, Stride | None]


def c_order(shape: Shape) -> Layout:
    result: list[Stride | None] = []
    stride = Stride()
    for length in reversed(shape):
        result.insert(0, stride)
        stride = stride.times(length)
    return tuple(result)


def shape_of(value: Any) -> Shape | None:
    """Return the shape of a value, where it is one array."""
    return value.type.shape if isinstance(value.type, Numeric) else None


def layout_of_view(layout: Layout, step: Step, before: Value, after: Value) -> Layout | None:
    """Return the layout of a view; None where it is not known."""
    old, new = shape_of(before), shape_of(after)
    if old is None or new is None:
        return None
    if is_indexed(step.target):
        return _indexed(layout, step.args[0], len(new))
    if order_of(step.target) == "reshaped":
        return _shaped(layout, old, new)
    if declared_result(step.target).squeezed:
        stays = tuple(s for s, e in zip(layout, old, strict=True) if is_one(e) is not True)
        return stays if len(stays) == len(new) else None
    takes_all = may_alias_operand(step.target) and not is_elementwise(step.target)
    return _turned(layout, step, len(old)) if takes_all or is_same(step.target) else None


def _indexed(layout: Layout, index: Arg, rank: int) -> Layout | None:
    parts = list(index_parts(index))
    eaten = sum(not (isinstance(p, Const) and p.value in (None, Ellipsis)) for p in parts)
    if _ELLIPSIS not in parts:
        parts.append(_ELLIPSIS)
    whole = Display("slice", (Const(None),) * 3)
    k = parts.index(_ELLIPSIS)
    parts[k : k + 1] = [whole] * (len(layout) - eaten)
    strides, result = list(layout), list[Stride | None]()
    for part in parts:
        if isinstance(part, Const) and part.value is None:
            result.append(None)
            continue
        stride = strides.pop(0)
        if isinstance(part, Display) and part.kind == "slice":
            result.append(_stepped(stride, part.items[2]))
        elif not is_number_index(part):
            return None
    return tuple(result) if len(result) == rank else None


def _stepped(stride: Stride | None, step: Arg) -> Stride | None:
    if not isinstance(step, Const) or stride is None:
        return None
    return Stride(stride.factor * (1 if step.value is None else int(step.value)), stride.lengths)


def _shaped(layout: Layout, old: Shape, new: Shape) -> Layout | None:
    """Return the layout of a reshaped view of an array without gaps, or of one axis."""
    axes = _axes(layout, old)
    if not axes or axes[-1][1] is None or not all(_merge(*p) for p in _neighbours(axes)):
        return None
    last = axes[-1][1]
    return tuple(
        None if s is None else Stride(s.factor * last.factor, (*s.lengths, *last.lengths))
        for s in c_order(new)
    )


def _turned(layout: Layout, step: Step, rank: int) -> Layout | None:
    """Return the layout of a transposed or reversed view, by applying the view to a sample.

    The axes of the sample have different lengths, which identify them in the result.
    """
    other = np.empty(tuple(range(2, 2 + rank)), dtype=np.int8)
    try:
        args = [_constant(arg) for arg in step.args]
        keywords = {name: _constant(arg) for name, arg in step.kwargs}
        turned = step.target(other, *args, **keywords)
    except (ValueError, TypeError, np.exceptions.AxisError):
        return None
    result = list[Stride | None]()
    for length, stride in zip(turned.shape, turned.strides, strict=True):
        if length == 1:  # a new axis
            result.append(None)
            continue
        before = layout[length - 2]
        if abs(stride) != other.strides[length - 2]:
            return None
        if stride < 0 and before is not None:
            before = Stride(-before.factor, before.lengths)
        result.append(before)
    return tuple(result)


def _constant(arg: Arg) -> Any:
    if isinstance(arg, Const):
        return arg.value
    if isinstance(arg, Display) and arg.kind in ("tuple", "list"):
        return tuple(map(_constant, arg.items))
    raise ValueError


# ------------------------------------------------------------------------------ view or copy
def is_view(layout: Layout, target: Any, old: Shape, new: Shape) -> bool | None:
    """Return True if ``reshape`` or ``ravel`` of an array is a view; None if unknown.

    Of an array without entries it does not matter.  Lengths are compared as the example that caused
    the compilation says, by assumptions.
    """
    axes = _axes(layout, old)
    if target is np.ravel:
        return _all([*(_merge(*p) for p in _neighbours(axes)), *(_ends(axes[-1:]))])
    wanted = [length for length in new if is_one(length) is not True]
    _strip(axes, wanted)
    found = _all([_merge(*pair) for pair in _neighbours(axes)])
    return None if found is False and len(wanted) > 1 else found


def _axes(layout: Layout, shape: Shape) -> list[Axis]:
    pairs = zip(shape, layout, strict=True)
    return [(length, stride) for length, stride in pairs if is_one(length) is not True]


def _neighbours(axes: list[Axis]) -> list[tuple[Axis, Axis]]:
    return list(pairwise(axes))


def _strip(axes: list[Axis], wanted: list[Extent]) -> None:
    """Leave out the axes that stay as they are, at both ends."""
    for end in (0, -1):
        while len(axes) > 1 and len(wanted) > 1 and resolved(axes[end][0]) == resolved(wanted[end]):
            del axes[end], wanted[end]


def _all(found: list[bool | None]) -> bool | None:
    if False in found:
        return False
    return None if None in found else True


def _ends(last: list[Axis]) -> list[bool | None]:
    """Return True if the last axis is walked entry by entry."""
    found = [None if stride is None else _equal(stride, Stride()) for _, stride in last]
    return [None if one is False and not _is_long(last[0][0]) else one for one in found]


def _merge(outer: Axis, inner: Axis) -> bool | None:
    """Return True if two axes next to each other can be walked with one stride."""
    if outer[1] is None or inner[1] is None:
        return None
    found = _equal(outer[1], inner[1].times(inner[0]))
    if found is False and not (_is_long(outer[0]) and _is_long(inner[0])):
        return None
    return found


def _is_long(length: Extent) -> bool:
    return is_one(length) is False


def _equal(a: Stride, b: Stride) -> bool | None:
    """Return True if two strides are the same, where no length is zero."""
    a, b = a.settled(), b.settled()
    left, right = list(a.lengths), list(b.lengths)
    for length in list(left):
        if length in right:
            left.remove(length)
            right.remove(length)
    if len(left) < 2 and len(right) < 2:
        one = constant_extent(1)
        first = (left[0] if left else one).scaled(a.factor)
        return settled(first, (right[0] if right else one).scaled(b.factor))
    for fewer, more, x, y in ((left, right, a, b), (right, left, b, a)):
        if not fewer and 0 < x.factor <= y.factor and all(map(_is_long, more)):
            return False
    return None


def is_line(shape: Shape) -> bool:
    """Return True if an array certainly has at most one axis that counts."""
    return sum(is_one(length) is not True for length in shape) < 2


def operands_layout(layouts: list[Layout | None], shape: Shape) -> Layout | None:
    """Return the layout of a new array that follows its operands, where these agree."""
    axes = [k for k, length in enumerate(shape) if is_one(length) is not True]
    orders = {None if one is None else _order(one, axes) for one in layouts}
    order = orders.pop() if len(orders) == 1 else None
    if order is None:
        return None
    dense = dict(zip(order, c_order(tuple(shape[k] for k in order)), strict=True))
    return tuple(dense.get(k) for k in range(len(shape)))


def _order(layout: Layout, axes: list[int]) -> tuple[int, ...] | None:
    """Return the axes from the longest stride to the shortest, if that is known."""
    order: list[int] = []
    for axis in axes:
        place = len(order)
        while place and not _is_longer(layout[order[place - 1]], layout[axis]):
            place -= 1
        order.insert(place, axis)
    longer = (_is_longer(layout[m], layout[n]) for m, n in pairwise(order))
    return tuple(order) if all(longer) else None


def _is_longer(a: Stride | None, b: Stride | None) -> bool:
    if a is None or b is None:
        return False
    a, b = a.settled(), b.settled()
    left = list(a.lengths)
    for length in b.lengths:
        if length not in left:
            return False
        left.remove(length)
    return abs(a.factor) >= abs(b.factor)
