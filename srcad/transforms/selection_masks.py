"""Liveness of array entries: a mask of the entries of a value on which the result depends.

If ``np.sqrt(x)[x > 0]`` is the only use of the root, the result does not depend on its other
entries, and their infinite derivatives must not contribute.  Masks come from the selections of the
primal and are propagated backward over all uses of a value; functions that move entries propagate
them by their rules.  Cotangents play no part: one may be 0 at a selected entry, too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad.analysis.arguments import arguments, rule_of
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Call, Const, Display, Value, values_in
from srcad.ir.inference.builder import result_type
from srcad.ir.library_operations import is_elementwise
from srcad.ir.memory import reads_a_copy
from srcad.ir.traits import (
    is_indexed,
    sets_places,
)
from srcad.rules.registry import row_of
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.sweep import Sweep
from srcad.types.numeric import Numeric
from srcad.types.sizes import same

# Emits a mask in the reverse pass; None if all entries are live, or if that is unknown.
Mask = Callable[[ReverseScope], Value] | None
_MOST_USES = 8


def selection_mask(scope: ReverseScope, value: Value) -> Value | None:
    """Emit the mask of the live entries of a value; None if all are, or if that is unknown."""
    if not isinstance(value.type, Numeric) or not value.type.shape:
        return None
    plan = _mask_of_value(scope.sweep, value)
    return None if plan is None else plan(scope)


def has_selection_mask(sweep: Sweep, value: Value) -> bool:
    """Return True if the result does not depend on all entries of a value."""
    if not isinstance(value.type, Numeric) or not value.type.shape:
        return False
    return _mask_of_value(sweep, value) is not None


def _mask_of_value(sweep: Sweep, value: Value) -> Mask:
    known: dict[Value, Mask] = sweep.masks_of_uses
    if value not in known:
        known[value] = None  # also for what is met again meanwhile
        known[value] = _mask_of_uses(sweep, value)
    return known[value]


def _mask_of_uses(sweep: Sweep, value: Value) -> Mask:
    """Return the union of the masks of all uses."""
    readers = list(dict.fromkeys(sweep.read_by.get(value, ())))
    if value in sweep.handed_on or not 0 < len(readers) <= _MOST_USES:
        return None
    home = sweep.homes.get(value)
    masks = []
    for call in readers:
        if sweep.homes.get(call.result) is not home:
            return None  # another mask in each iteration, or none on the other branch
        if _reads_no_entries(call, value):
            continue
        mask = _mask_of_use(sweep, call, value)
        if mask is None:
            return None
        masks.append(mask)
    return _either(masks) if masks else None


def _either(masks: list[Callable[[ReverseScope], Value]]) -> Mask:
    def write(scope: ReverseScope) -> Value:
        found = masks[0](scope)
        for mask in masks[1:]:
            other = mask(scope)
            found = found if other is found else scope.call(np.logical_or, found, other)
        return found

    return write


def _reads_no_entries(call: Call, value: Value) -> bool:
    """Return True if no derivative flows from a value through a call."""
    row = row_of(call.target)
    return row.kind == "nondifferentiable" or (
        row.selects in row.parameters and _argument(call, row.selects) is value
    )


def _argument(call: Call, name: str) -> Arg | None:
    row, given = row_of(call.target), arguments(call)
    if name in row.parameters:
        return given.get(row.parameters.index(name), given.get(name))
    return given.get(name)


def _mask_of_use(sweep: Sweep, call: Call, value: Value) -> Mask:
    """Return the mask of the entries of a value that are live because of one call."""
    selected = _selected(call, value)
    if selected is not None:
        return selected
    after = _mask_of_value(sweep, call.result)
    row = row_of(call.target)
    if is_elementwise(call.target):
        return after if _is_alike(call.result, value) else None
    sets = sets_places(call.target) and call.args[0] is value
    if after is None and not (sets or row.selects == "shape" or _selects_by_mask(call)):
        return None
    if sets_places(call.target) and call.args[0] is not value:
        return _of_written(call, value, after)
    if row.entries != "moved" and not sets_places(call.target):
        return None
    return _moved_back(sweep, call, value, after)


def _of_written(call: Call, value: Value, after: Mask) -> Mask:
    """Return the mask of an array that is stored into another one."""
    index = call.args[1]
    if after is None or call.args[2] is not value or reads_a_copy(index):
        return None
    part = result_type(operator.getitem, (call.result, index), ())
    if not isinstance(part, Numeric) or not _is_alike(Value(part), value):
        return None
    return lambda scope: scope.call(operator.getitem, _whole(scope, after, call.result), index)


def _selects_by_mask(call: Call) -> bool:
    row = row_of(call.target)
    chosen = _argument(call, row.selects) if row.selects in row.parameters else None
    return isinstance(chosen, Value) and _is_mask(chosen)


def _selected(call: Call, value: Value) -> Mask:
    """Return the mask operand of a call if it has the axes of a value; else None.

    It is an index, a condition, or ``where=``.  Others, such as the condition of `np.compress`
    along an axis, are moved to the entries of the value by the rule of the call.
    """
    row = row_of(call.target)
    where = dict(call.kwargs).get("where")
    if isinstance(where, Value) and _is_mask(where):
        reduces = not is_elementwise(call.target) and (_rank(where) or 0) <= (_rank(value) or 0)
        return (lambda scope: where) if reduces or _is_alike(where, value) else None
    if row.selects not in row.parameters:
        return None
    chosen = _argument(call, row.selects)
    if is_elementwise(call.target):  # np.where
        return _of_branches(call, value, chosen)
    if row.lists:
        return _of_choices(call, value, chosen, _argument(call, row.lists[-1]))
    if not isinstance(chosen, Value) or not _is_mask(chosen):
        return None
    if is_indexed(call.target):
        return _of_rows(value, chosen)
    if call.target is np.take or not _is_alike(value, chosen):
        return None  # `take` reads flags as the positions 0 and 1
    if call.target is np.delete:
        return lambda scope: scope.call(np.logical_not, chosen)
    return lambda scope: chosen


def _of_rows(value: Value, mask: Value) -> Mask:
    """Return the mask of an array that is indexed by a mask of its first axes."""
    axes = _axes_behind(value, mask)
    if axes is None:
        return None
    return lambda scope: scope.call(np.expand_dims, mask, axes) if axes else mask


def _axes_behind(value: Value, mask: Value) -> Display | tuple[()] | None:
    """Return the trailing axes that a mask lacks; None if the shapes do not match."""
    shape, known = value.type.shape, mask.type.shape  # type: ignore[union-attr]
    if not known or not shape or len(known) > len(shape):
        return None
    if not all(map(same, known, shape)):
        return None
    lacking = tuple(Const(k) for k in range(len(known), len(shape)))
    return Display("tuple", lacking) if lacking else ()


def _of_branches(call: Call, value: Value, condition: Arg | None) -> Mask:
    if not isinstance(condition, Value) or not _is_mask(condition) or len(call.args) != 3:
        return None
    if not _is_alike(call.result, value):
        return None
    first, second = (arg is value for arg in call.args[1:])
    if first and second:
        return None
    return lambda scope: condition if first else scope.call(np.logical_not, condition)


def _of_choices(call: Call, value: Value, chosen: Arg | None, choices: Arg | None) -> Mask:
    """Return a mask that includes all entries chosen from one of several arrays."""
    if not isinstance(choices, Display) or not _is_alike(call.result, value):
        return None
    places = [k for k, item in enumerate(choices.items) if item is value]
    if len(places) != 1:
        return None
    if isinstance(chosen, Display) and len(chosen.items) == len(choices.items):
        condition = chosen.items[places[0]]
        is_mask = isinstance(condition, Value) and _is_mask(condition)
        return (lambda scope: condition) if is_mask else None  # type: ignore[return-value]
    if isinstance(chosen, Value) and _is_mask(chosen) and len(choices.items) == 2:
        if places[0]:
            return lambda scope: chosen
        return lambda scope: scope.call(np.logical_not, chosen)
    return None


def _moved_back(sweep: Sweep, call: Call, value: Value, after: Mask) -> Mask:
    """Return the mask of an operand from that of the result, by the rule of the call."""
    rule = rule_of(call.target)
    if rule is None or rule.kind != "linear" or not rule.shipped or rule.function is None:
        return None
    if _holds(call, value) != 1:
        return None
    if sets_places(call.target) and call.args[0] is value:
        return lambda scope: _without_places(scope, call, after)
    if is_indexed(call.target) and after is not None:
        return lambda scope: _at_places(scope, call, value, _whole(scope, after, call.result))
    function, permutes = rule.function, rule.memory in ("view", "view or copy")

    def write(scope: ReverseScope) -> Value:
        if after is None:
            flags: Value = scope.call(np.ones, scope.call(np.shape, call.result))
        else:
            flags = _whole(scope, after, call.result)
            flags = flags if permutes else scope.call(np.astype, flags, Const(np.float64))
        found = sweep.inline(scope.builder, function, [flags, *call.args], dict(call.kwargs))
        entries = [found] if rule.single else list(found)
        entry = _entry_of(call, value, entries, rule)
        is_flags = permutes and after is not None
        return entry if is_flags else scope.call(np.not_equal, entry, Const(0.0))

    return write


def _without_places(scope: ReverseScope, call: Call, after: Mask) -> Value:
    """Emit the mask of an array before a store: False where it is overwritten."""
    array, index = call.args[:2]
    if after is None:
        whole = scope.call(np.ones, scope.call(np.shape, array), dtype=Const(bool))
    else:
        whole = _whole(scope, after, call.result)
    return scope.updated(whole, index, Const(False))


def _at_places(scope: ReverseScope, call: Call, value: Value, flags: Value) -> Value:
    """Emit the mask of an array that is read at an index."""
    index, shape = call.args[1], scope.call(np.shape, value)
    if not reads_a_copy(index):
        nothing = scope.call(np.zeros, shape, dtype=Const(bool))
        return scope.updated(nothing, index, flags)
    numbers = scope.call(np.astype, flags, Const(np.float64))
    found = scope.add_at(scope.call(np.zeros, shape), index, numbers, repeated=True)
    return scope.call(np.not_equal, found, Const(0.0))


def _whole(scope: ReverseScope, mask: Callable[[ReverseScope], Value], like: Value) -> Value:
    """Emit a mask in the shape of an array, along axes of which it may be broadcast."""
    found = mask(scope)
    if _is_alike(found, like):
        return found
    return scope.call(np.broadcast_to, found, scope.call(np.shape, like))


def _holds(call: Call, value: Value) -> int:
    return sum(
        one is value for arg in (*call.args, *dict(call.kwargs).values()) for one in values_in(arg)
    )


def _entry_of(call: Call, value: Value, entries: list[Any], rule: Any) -> Any:
    """Return the entry for an operand among the results of a rule."""
    for place, arg in arguments(call).items():
        where = rule.entry(place)
        if where is None or value not in values_in(arg):
            continue
        entry = entries[where[0]]
        if where[1] is not None:
            entry = entry[where[1]]
        if isinstance(arg, Display):
            items = entry.items if isinstance(entry, Display) else entry
            return items[[item is value for item in arg.items].index(True)]
        return entry
    raise AssertionError(call.target)


def _rank(value: Value) -> int | None:
    shape = getattr(value.type, "shape", None)
    return None if shape is None else len(shape)


def _is_mask(value: Value) -> bool:
    type_ = argument_type(value)
    return isinstance(type_, Numeric) and type_.kind == "b" and type_.form == "array"


def _is_alike(a: Value, b: Value) -> bool:
    """Return True if two arrays certainly have the same shape."""
    x, y = a.type, b.type
    if not isinstance(x, Numeric) or not isinstance(y, Numeric) or not x.shape or not y.shape:
        return False
    return len(x.shape) == len(y.shape) and all(map(same, x.shape, y.shape))
