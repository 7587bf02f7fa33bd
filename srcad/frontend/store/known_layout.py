"""How an array lies in memory, found when it is asked for."""

from __future__ import annotations

from srcad.frontend.domain.access_paths import Step, is_number_index
from srcad.frontend.domain.layout import Layout, c_order, layout_of_view, operands_layout, shape_of
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.origins import may_be_array, origin
from srcad.ir.core import Arg, Const, Value, values_in
from srcad.ir.disjoint import index_parts
from srcad.ir.traits import (
    is_indexed,
    may_alias_operand,
)
from srcad.types.numeric import Shape
from srcad.types.sizes import resolved


def layout(state: Machine, value: Value) -> Layout | None:
    """How an array lies in memory; None if that is not known.

    Found when it is asked for: that an argument lies in C order is then taken for granted.
    """
    pending = [value]
    while pending:
        one = pending[-1]
        sources = () if one in state.layouts else _sources(state, one)
        missing = [source for source in sources if source not in state.layouts]
        pending += missing
        if not missing:
            state.layouts.setdefault(pending.pop(), _layout_from(state, one, sources))
    return state.layouts[value]


def _sources(state: Machine, value: Value) -> tuple[Value, ...]:
    """Return the arrays from which the layout of another one follows."""
    if value in state.compact or shape_of(value) is None:
        return ()
    if value in state.laid_as or value in state.laid_like:
        return state.laid_as[value][1] if value in state.laid_as else state.laid_like[value]
    where = origin(state, value)
    is_version = where.is_exact and where.steps == () and value not in where.objects
    return tuple(where.objects) if is_version else ()


def _layout_from(state: Machine, value: Value, sources: tuple[Value, ...]) -> Layout | None:
    shape = shape_of(value)
    if value in state.layouts or shape is None:
        return state.layouts.get(value)
    if value in state.compact or (not sources and state.is_contiguous_argument(value)):
        return c_order(shape)
    found = [state.layouts[source] for source in sources]
    if value not in state.laid_as:
        return found[0] if found and all(one == found[0] for one in found) else None
    step = state.laid_as[value][0]
    if step is None:
        return (
            operands_layout(found, shape)
            if all(_is_as_long(one, shape) for one in sources)
            else None
        )
    return None if found[0] is None else layout_of_view(found[0], step, sources[0], value)


def _is_as_long(array: Value, shape: Shape) -> bool:
    """Return True if no axis of an operand is stretched, as it must be to count in the order."""
    own = shape_of(array)
    return own is not None and all(
        resolved(m) == resolved(n) for m, n in zip(own, shape, strict=True)
    )


def is_compact(state: Machine, value: Value) -> bool:
    """Return True if the memory of an array certainly is in C order without gaps."""
    if value in state.compact:
        return True
    where = origin(state, value)
    laid_out = where.steps is not None and all(map(_keeps_compact, where.steps))
    return laid_out and bool(where.objects) and where.objects <= state.compact


def _keeps_compact(step: Step) -> bool:
    """Return True if a view of an array in C order is one: another shape, or one row of rows."""
    if is_indexed(step.target):
        *first, last = index_parts(step.args[0]) or (Const(Ellipsis),)
        return all(map(is_number_index, first)) and (
            is_number_index(last) or last == Const(Ellipsis)
        )
    return may_alias_operand(step.target, certain=False)


def all_compact(state: Machine, args: tuple[Arg, ...]) -> bool:
    """Return True if all arrays among some arguments certainly are in C order without gaps."""
    arrays = [v for arg in args for v in values_in(arg) if may_be_array(v)]
    return all(is_compact(state, v) for v in arrays)
