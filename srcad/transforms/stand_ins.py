"""Strong zeros through calls of which it is not known where an entry of the result comes from.

A result that a mask leaves out is nan or inf because entries of the operands are, and the rule of
the call, which knows of no mask, makes nan of a zero cotangent and these.  Other numbers stand for
such entries where that changes no finite entry of the result: then these do not depend on them.
That is found out when the derivative is taken, by the call itself.  Where it is not so, or an entry
of the result that is nan has a cotangent, the derivative is that of the rule as it stands.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from srcad import runtime
from srcad.analysis.arguments import arguments
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Call, Const, Display, Value
from srcad.rules.row import Rule
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.masks import arrives
from srcad.transforms.missing import distinct, towards_selection
from srcad.transforms.sweep import is_scalar
from srcad.types.numeric import BOOL, Numeric


class StandIns(NamedTuple):
    """Operands and result with other numbers, and where these do not count.

    `test` tells if they stand there, `numbers` which entries of the result were finite before, and
    `finite` so of the operands.
    """

    operands: dict[int | str, Arg]
    result: Value
    test: Value
    numbers: Value
    finite: dict[int | str, Value]


def stand_ins(
    scope: ReverseScope, op: Call, rule: Rule, operands: dict[int | str, Arg]
) -> StandIns | None:
    """Emit numbers for entries that are not finite; None where none can be cut off later."""
    if rule.kind != "adjoint" or not rule.shipped or rule.saves or rule.primal is not None:
        return None
    if not _is_array(op.result) or not all(map(_is_plain, operands.values())):
        return None
    places = [place for place, arg in operands.items() if _is_array(arg)]
    if not places or not arrives(scope.sweep, op.result, towards_selection):
        return None
    finite = {place: scope.call(np.isfinite, operands[place]) for place in places}
    replaced = {
        place: scope.call(
            np.where, finite[place], operands[place], _numbers_for(scope, rule, operands[place])
        )
        for place in places
    }
    test = _is_alike(scope, op, replaced)
    found = {
        place: scope.call(np.where, test, replaced[place], operands[place]) for place in places
    }
    numbers = scope.call(np.isfinite, op.result)
    filled = scope.call(np.where, numbers, op.result, Const(1.0))
    result = scope.call(np.where, test, filled, op.result)
    return StandIns({**operands, **found}, result, test, numbers, finite)


def with_stand_ins(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Any, operands: dict[int | str, Arg]
) -> tuple[dict[int | str, Arg], Arg, Any]:
    """Return operands, result and cotangent with numbers for entries that are not finite."""
    found = stand_ins(scope, op, rule, operands) if isinstance(y_bar, Value) else None
    if found is None:
        return operands, op.result, y_bar
    has_none = scope.call(operator.eq, y_bar, Const(0.0))
    known = scope.call(np.logical_or, found.numbers, has_none)
    honest = scope.call(np.where, known, y_bar, Const(np.nan))
    return found.operands, found.result, scope.call(np.where, found.test, honest, y_bar)


def tangent_of_numbers(scope: ReverseScope, found: StandIns, dot: Atom) -> Value:
    """Emit the tangent of a result, nan where the result was not finite."""
    honest = scope.call(np.where, found.numbers, dot, Const(np.nan))
    return scope.call(np.where, found.test, honest, dot)


def tangent_that_counts(scope: ReverseScope, found: StandIns, place: int | str, dot: Atom) -> Atom:
    """Emit the tangent of an operand, 0 where another number stands for an entry."""
    if place not in found.finite:
        return dot
    counts = scope.call(np.logical_or, found.finite[place], scope.call(np.logical_not, found.test))
    return scope.call(np.where, counts, dot, Const(0.0))


def _numbers_for(scope: ReverseScope, rule: Rule, array: Arg) -> Value:
    """Emit numbers that may stand in an array; those of an identity in matrices."""
    if rule.entries != "stacked" or len(getattr(argument_type(array), "shape", None) or ()) < 2:
        return distinct(scope, array)
    shape = scope.call(np.shape, array)
    sides = (scope.call(operator.getitem, shape, Const(k)) for k in (-2, -1))
    return scope.call(np.eye, *sides)


def _is_alike(scope: ReverseScope, op: Call, replaced: dict[int | str, Value]) -> Value:
    """Emit the test if a call with other operands has the same finite results."""
    given = {**arguments(op), **replaced}
    args = [given[k] for k in range(len(op.args))]
    named = tuple((name, given.get(name, arg)) for name, arg in op.kwargs)
    return scope.builder.call(
        runtime.has_same_numbers, op.result, Const(op.target), *args, kwargs=named, type=BOOL
    )


def _is_plain(arg: Arg) -> bool:
    """Return True for numbers, texts and tuples of them: another call has no effect on these."""
    if isinstance(arg, Display):
        return arg.kind == "tuple" and all(map(_is_plain, arg.items))
    if isinstance(arg, Const):
        return arg.value is None or isinstance(arg.value, (bool, int, float, complex, str, tuple))
    return isinstance(arg.type, Numeric)


def _is_array(arg: Arg) -> bool:
    """Return True for an array of numbers that may be nan."""
    type_ = arg.type if isinstance(arg, Value) else None
    return isinstance(type_, Numeric) and not is_scalar(type_) and type_.kind not in "biu"
