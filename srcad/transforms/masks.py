"""Strong zeros: a cotangent that a mask cut to zero stays zero through singular partials.

`np.where`, `clip` and `maximum` have partials that are masks (booleans).  A cotangent made with one
remembers it.  Where the mask is False the cotangent is exactly zero, and what the primal did there
does not count: a singular partial (``1 / x``, ``log(x)``) is taken at a safe point instead.  So it
is where the rest of the function reads only some entries (`selection_mask`).  Where entries are
overwritten in a loop, the zeros of the cotangent are the mask.
Code without masks pays nothing, and neither does code whose partials are finite anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from srcad.analysis.arguments import rule_of
from srcad.ir.core import Arg, Atom, Call, Const, Value
from srcad.ir.library_operations import is_elementwise
from srcad.ir.traits import is_store, law_of
from srcad.rules.registry import row_of
from srcad.rules.row import Rule
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.selection_masks import selection_mask
from srcad.transforms.sweep import Sweep, is_scalar
from srcad.types.numeric import Numeric


def record_mask(scope: ReverseScope, y_bar: Atom, partial: Any, bar: Atom) -> Atom:
    """Note that `bar`, made of `y_bar` and a partial, is zero where a mask is False."""
    masks = scope.sweep.masks
    if not isinstance(bar, Value) or bar is y_bar:
        return bar
    inherited = masks.get(y_bar) if isinstance(y_bar, Value) else None
    own = partial if isinstance(partial, Value) and _is_mask(partial) else None
    if own is not None and inherited is not None:
        masks[bar] = scope.call(np.logical_and, inherited, own)
    elif own is not None or inherited is not None:
        found = own if own is not None else inherited
        assert found is not None
        masks[bar] = found
    return bar


def cut(scope: ReverseScope, op: Call, y_bar: Atom, partial: Any) -> Atom | None:
    """``y_bar`` where a mask is True and exact zeros elsewhere, though `y_bar` be infinite there.

    None where a product with the mask is enough: no singular partial has made the cotangent, and
    the call inserts no inf or nan, at which the partial of any function may be nan.
    """
    if not isinstance(partial, Value) or not _is_mask(partial):
        return None
    if not _meets_singularity(scope.sweep, op.result) and not may_insert_infinity(scope, op):
        return None
    return scope.call(np.where, partial, y_bar, Const(0.0))


def may_insert_infinity(scope: ReverseScope, op: Call) -> bool:
    """Return True if an operand is inf or nan, or a number that is not known when compiling."""
    for arg in op.args:
        if isinstance(arg, Const):
            if isinstance(arg.value, float) and not math.isfinite(arg.value):
                return True
        elif isinstance(arg, Value) and _is_unknown_number(scope, arg):
            return True
    return False


def _is_unknown_number(scope: ReverseScope, value: Value) -> bool:
    """Return True for a number, not an integer, through which no derivative flows."""
    is_number = isinstance(value.type, Numeric) and value.type.kind in "fc"
    return is_number and is_scalar(value.type) and scope.sweep.facts.of(value) is False


def _meets_singularity(sweep: Sweep, value: Value) -> bool:
    """Return True if a singular function is taken of a value, or of what it becomes."""
    return arrives(sweep, value, _towards_singularity)


def _towards_singularity(sweep: Sweep, value: Value) -> list[Value] | None:
    readers = [call for call in sweep.read_by.get(value, ()) if is_elementwise(call.target)]
    return None if any(map(_is_singular, readers)) else [call.result for call in readers]


def _is_singular(call: Call) -> bool:
    rule = rule_of(call.target)
    singular = rule is not None and rule.safe is not None
    return singular and law_of(call.target) != "product" and not _is_tame(call)


def _is_mask(value: Value) -> bool:
    return isinstance(value.type, Numeric) and value.type.kind == "b"


def guarded_operands(
    scope: ReverseScope,
    y_bar: Atom,
    op: Call,
    rule: Rule,
    operands: dict[int | str, Arg],
    result: Arg,
) -> tuple[dict[int | str, Arg], Arg]:
    """Return the operands of a rule, at a safe point where the cotangent's mask is False."""
    mask = scope.sweep.masks.get(y_bar) if isinstance(y_bar, Value) else None
    if rule.safe is None or not _may_be_infinite(scope.sweep, op):
        return operands, result
    if mask is None:
        mask = selection_mask(scope, op.result)
    if mask is None and is_cut(scope.sweep, op.result):
        mask = scope.call(np.not_equal, y_bar, Const(0.0))
    if mask is None:
        return operands, result

    def guarded(arg: Arg) -> Arg:
        if not isinstance(arg, Value) or not isinstance(arg.type, Numeric):
            return arg
        if arg.type.kind in "iub":
            return arg
        return scope.call(np.where, mask, arg, Const(rule.safe))

    return {place: guarded(arg) for place, arg in operands.items()}, guarded(result)


def is_cut(sweep: Sweep, value: Value) -> bool:
    """Return True if entries are overwritten later, or lie outside of a kept triangle.

    In between there are only calls whose partials do not vanish: a cotangent that is zero by value
    would be taken for one that is cut.
    """
    if not isinstance(value.type, Numeric) or not value.type.shape:
        return False
    return arrives(sweep, value, _towards_cut)


def _towards_cut(sweep: Sweep, value: Value) -> list[Value] | None:
    readers = sweep.read_by.get(value, ())
    for call in readers:
        if row_of(call.target).selects == "shape":
            return None
        if is_store(call.target, "array") and call.args[0] is value:
            return None
    return [call.result for call in readers if law_of(call.target) in _LINEAR]


_LINEAR = ("sum", "difference", "negative", "positive")


def _may_be_infinite(sweep: Sweep, op: Call) -> bool:
    """Return True if a partial of a call may be inf or nan, there or by way of its operands."""
    if law_of(op.target) == "product" or _is_tame(op):
        return any(_is_suspect(sweep, value) for value in op.operands)
    return True


def _is_tame(op: Call) -> bool:
    """Powers with an exponent of 1 or more, quotients by a literal."""
    second = op.args[1] if len(op.args) > 1 else None
    if not isinstance(second, Const) or type(second.value) not in (int, float):
        return False
    law = law_of(op.target)
    if law == "power":
        return bool(second.value >= 1)
    return law == "quotient" and second.value != 0


def _is_suspect(sweep: Sweep, value: Value) -> bool:
    """Return True if a singular function may have made a value infinite or nan."""
    return arrives(sweep, value, _back_to_singularity)


def _back_to_singularity(sweep: Sweep, value: Value) -> list[Value] | None:
    call = sweep.made.get(value)
    if call is None or not is_elementwise(call.target):
        return []
    return None if _is_singular(call) else list(call.operands)


def walked_back(
    sweep: Sweep, starts: Iterable[Value], goes_on: Callable[[Call], bool]
) -> tuple[set[Value], set[Value]]:
    """Return the values of a walk from results to operands, and those where it ends.

    It goes on along the calls for which `goes_on` is True.
    """
    seen: set[Value] = set()
    ends: set[Value] = set()
    pending = list(starts)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        call = sweep.made.get(value)
        if call is not None and goes_on(call):
            pending += call.operands
        else:
            ends.add(value)
    return seen, ends


def arrives(sweep: Sweep, start: Value, step: Callable[[Sweep, Value], list[Value] | None]) -> bool:
    """Return True if a walk over the calls of the primal arrives; what was found is remembered.

    `step` tells where to go on from a value, and gives None where the walk has arrived.  The values
    that a loop carries may form a cycle.
    """
    known = sweep.walked.setdefault(step, {})
    if start in known:
        return known[start]
    came_from: dict[Value, list[Value]] = {start: []}
    pending, arrived = [start], []
    while pending:
        value = pending.pop()
        found = known.get(value)
        onward = [] if found is False else None if found else step(sweep, value)
        if onward is None:
            arrived.append(value)
            continue
        for one in onward:
            if one not in came_from:
                came_from[one] = []
                pending.append(one)
            came_from[one].append(value)
    known.update(dict.fromkeys(came_from, False))
    while arrived:
        value = arrived.pop()
        if not known[value]:
            known[value] = True
            arrived += came_from[value]
    return known[start]
