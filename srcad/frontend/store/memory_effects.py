"""Memory effects recorded for every call: aliases and layout of its result."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad.frontend.domain.access_paths import SAME, Step
from srcad.frontend.domain.layout import c_order, is_line, is_view, shape_of
from srcad.frontend.domain.memory import Either, Origin
from srcad.frontend.domain.values import Constant
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store import known_layout
from srcad.frontend.store.origins import may_be_array, origin
from srcad.ir.core import Arg, Atom, Call, Const, Display, Op, Value, values_in
from srcad.ir.library_operations import is_elementwise
from srcad.ir.memory import (
    has_storage,
    is_operator,
    keeps_an_axis,
    makes_new_array,
    makes_new_arrays,
    module_of,
    names_other_order,
    reads_a_copy,
    reads_a_view,
    returns_argument,
)
from srcad.ir.traits import (
    calls_operand,
    is_attribute,
    is_builder,
    is_in_c_order,
    is_indexed,
    is_inert,
    is_part,
    is_same,
    is_store,
    may_alias_operand,
    order_of,
)
from srcad.rules.registry import is_in_place
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, Opaque, TupleOf

_C_ORDER, _F_ORDER = Const("C"), Const("F")


def note(
    state: Machine,
    target: Any,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
    result: Value,
) -> None:
    """Record the memory of the result of a call."""
    _note_use(state, target, args, state.builder.ops[-1])
    if not has_storage(result):
        return
    first = args[0] if args else None
    if may_be_array(first) and _note_view(state, target, args, kwargs, result):
        return
    if is_operator(target) and any(map(_is_users_object, args)):
        state.inactive.unknown.add(result)
        return
    drawn = calls_operand(target) and may_be_array(result)  # the only such results of a known type
    if drawn or makes_new_array(target, result.type, args, kwargs) or is_inert(target):
        _note_new(state, target, args, kwargs, result)
        return
    if isinstance(result.type, Opaque) and is_operator(target):
        return
    if isinstance(result.type, TupleOf) and makes_new_arrays(target, kwargs):
        return
    shown = args[:1] if is_in_place(target) else (*args, *(a for _, a in kwargs))
    values = [v for arg in shown for v in values_in(arg)]
    held = frozenset().union(*(origin(state, v).everything for v in values))
    if is_store(target, "list") and isinstance(first, Value):
        parent = origin(state, first)
        added = frozenset().union(*(origin(state, v).everything for v in values if v is not first))
        state.origins[result] = Origin(parent.objects, parent.steps, parent.holds | added)
    elif is_builder(target):
        state.origins[result] = Origin(frozenset({result}), (), held)
    elif held or _may_repeat_an_array(target, result):
        state.origins[result] = Origin(held | {result}, None)


def _note_use(state: Machine, target: Any, args: tuple[Arg, ...], op: Op) -> None:
    """Note what is computed with, and what is given to a call that may keep it."""
    if is_part(target) and _is_object(args[0]):
        state.inactive.unknown.add(op.results[0])
    if isinstance(op, Call) and op.effect:
        state.inactive.handed.update(v for v in op.operands if has_storage(v))
        if op.result.type == OPAQUE and not is_in_place(target):
            state.inactive.unknown.add(op.result)
    elif is_indexed(target) and not may_be_array(args[0]):
        if not (isinstance(args[1], Const) and isinstance(args[1].value, str)):
            state.inactive.items.add(op.results[0])  # it may be a number that is read again
    elif not is_attribute(target):
        state.inactive.used.update(v for v in op.operands if has_storage(v))


def _is_users_object(arg: Arg) -> bool:
    """Return True if an operand is an object whose class may return what it holds."""
    cls = arg.type.cls if _is_object(arg) else None  # type: ignore[union-attr]
    return cls is not None and cls.__module__.partition(".")[0] not in ("numpy", "scipy")


def _may_repeat_an_array(target: Any, result: Value) -> bool:
    """Return True if a NumPy function may return one array twice, as ``np.diag_indices`` does."""
    return isinstance(result.type, TupleOf) and module_of(target).startswith("numpy")


def _is_object(arg: Arg) -> bool:
    """Return True for an object of a known class, which may hold what was put into it."""
    return isinstance(arg, Value) and isinstance(arg.type, Opaque) and arg.type.cls is not None


def _note_new(
    state: Machine,
    target: Any,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
    result: Value,
) -> None:
    """Note how a new array lies in memory, or as what."""
    if any(map(names_other_order, (*args, *(arg for _, arg in kwargs)))):
        return
    shape = shape_of(result)
    flat = shape is not None and len(shape) <= 1 and order_of(target) != "gaps"
    c_order = target is np.copy and ("order", Const("C")) in kwargs
    follows = keeps_c_order(target) and known_layout.all_compact(state, args)
    if flat or c_order or is_in_c_order(target, args) or follows:
        state.compact.add(result)
    elif shape is not None and not kwargs:
        alike = order_of(target) in ("follows", "shows")
        alike = alike or (is_elementwise(target) and order_of(target) != "keeps")
        arrays = tuple(a for a in args if isinstance(a, Value) and shape_of(a) != ())
        if alike and all(len(shape_of(a) or ()) == len(shape) for a in arrays):
            state.laid_as[result] = None, arrays


def keeps_c_order(target: Any) -> bool:
    """Return True if the result is in C order where all arrays given are.

    SciPy's functions call Fortran's, and those of polynomials move an axis to the end.
    """
    module = module_of(target)
    if is_elementwise(target):
        return True
    moves = module.startswith(("scipy", "numpy.polynomial")) or order_of(target) in (
        "other",
        "gaps",
    )
    return not moves


def _note_view(
    state: Machine,
    target: Any,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
    result: Value,
) -> bool:
    """Note a view of an array; False where the result is none."""
    first = args[0]
    assert isinstance(first, Value)
    if may_alias_operand(target, certain=False):
        view = _is_reshaped_view(state, target, first, args[1:], kwargs, result)
        if view is False and _order(target, args[1:], kwargs) == _C_ORDER:
            state.compact.add(result)
        if view is not True:
            return view is False
        step: Step | None = Step(target, args[1:])
    elif is_indexed(target):
        if reads_a_copy(args[1]):
            return True
        step = Step(target, (args[1],)) if _is_surely_view(args[1], result) else None
    else:
        step = _view_step(target, first, args[1:], kwargs)
        if step is None:
            return False
    _note_step(state, first, step, result)
    return True


def _is_surely_view(index: Arg, result: Value) -> bool:
    """Return True if a read is surely a view, not a number, by the number of axes."""
    is_array = isinstance(result.type, Numeric) and result.type.form == "array"
    return reads_a_view(index) and (is_array or keeps_an_axis(index))


def _note_step(state: Machine, first: Value, step: Step | None, result: Value) -> None:
    """Note that a value is seen by a step from another one, or by an unknown one."""
    parent = origin(state, first)
    state.origins[result] = Origin(parent.objects, _followed(parent, step))
    if step is not None and first in state.either and not parent.is_exact:
        state.either[result] = _view_of_each(state, state.either[first], step, result)
    if step is not None:
        state.laid_as[result] = step, (first,)


def flat(state: Machine, array: Value) -> Value:
    """Return the entries of an array one after the other, to be written into: wherever they lie."""
    result = state.emit(np.reshape, array, Constant(-1))
    state.compact.discard(result)
    state.entries.add(result)
    _note_step(state, array, Step(np.reshape, (Const(-1),)), result)
    return result


def _view_of_each(state: Machine, either: Either, step: Step, result: Value) -> Either:
    """Return a view of an ambiguous value, by the same test."""

    def seen(side: Atom) -> Atom:
        if not isinstance(side, Value):
            return side
        view, parent = Value(result.type, result.hint), origin(state, side)
        state.origins[view] = Origin(parent.objects, _followed(parent, step))
        if side in state.either:
            state.either[view] = _view_of_each(state, state.either[side], step, result)
        return view

    return Either(either.test, seen(either.left), seen(either.right))


def _followed(parent: Origin, step: Step | None) -> tuple[Step, ...] | None:
    if parent.steps is None or step is None:
        return None
    return parent.steps if is_same(step.target) else (*parent.steps, step)


def _view_step(
    target: Any, first: Value, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...]
) -> Step | None:
    if (is_same(target) or returns_argument(target)) and not args and not kwargs:
        return SAME
    if target is np.diag and isinstance(first.type, Numeric) and len(first.type.shape or ()) == 1:
        return None
    if target is np.flip and not args and not kwargs and shape_of(first):
        return Step(operator.getitem, (_backward(len(shape_of(first) or ())),))
    if may_alias_operand(target):
        return Step(target, args, kwargs)
    return None


def _backward(rank: int) -> Arg:
    """Return the index ``::-1`` along every axis, by which a write leaves the layout."""
    part = Display("slice", (Const(None), Const(None), Const(-1)))
    return Display("tuple", (part,) * rank) if rank > 1 else part


def _is_reshaped_view(
    state: Machine,
    target: Any,
    first: Value,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
    result: Value,
) -> bool | None:
    """Return True if ``reshape`` or ``ravel`` gives a view; None if unknown."""
    order = _order(target, args, kwargs)
    if order == _C_ORDER and known_layout.is_compact(state, first):
        return True
    known, old, new = known_layout.layout(state, first), shape_of(first), shape_of(result)
    if known is None and old is not None and len(old) < 2 and target is np.reshape:
        known = c_order(old)
    if known is None or old is None or new is None:
        return None
    if order == _C_ORDER or (order == _F_ORDER and is_line(old) and is_line(new)):
        return is_view(known, target, old, new)
    if order == _F_ORDER and is_view(known[::-1], target, old[::-1], new[::-1]) is False:
        return False
    return None


def _order(target: Any, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...]) -> Arg | None:
    """Return the order in which ``reshape`` or ``ravel`` reads; None where more is asked for."""
    given = [*args[target is np.reshape :], *(arg for name, arg in kwargs if name == "order")]
    if len(kwargs) > len(given):
        return None
    return given[0] if given else _C_ORDER
