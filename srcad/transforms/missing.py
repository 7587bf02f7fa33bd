"""Zeros that stay: where data are missing, what leaves them out cuts the cotangent to zero.

`np.nansum`, a `where` on `np.isnan` and their like select entries, and the cotangent of the others
is exactly zero.  On its way back it meets partial derivatives that are nan there, because the data
are: ``0 * nan`` must not come of it.  Only the calls that lead to such a selection pay for that.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad.ir.core import Arg, Atom, Call, Const, Value
from srcad.ir.library_operations import is_elementwise
from srcad.ir.memory import is_one_of
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.masks import arrives
from srcad.transforms.sweep import Sweep, is_scalar
from srcad.types.numeric import Numeric

LEAVING_OUT = frozenset(
    {np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanvar, np.nanstd, np.nancumsum,
     np.nan_to_num, np.fmax, np.fmin}
)  # fmt: skip
_QUESTIONS = frozenset({np.isnan, np.isfinite})
_EQUALITIES = (operator.eq, operator.ne, np.equal, np.not_equal)
_CONNECTIVES = frozenset(
    {np.logical_not, np.logical_and, np.logical_or, operator.invert, operator.and_, operator.or_,
     np.invert, np.bitwise_and, np.bitwise_or}
)  # fmt: skip
_CONTRACTIONS = (operator.matmul, np.matmul, np.dot)
_MOVES = frozenset(
    {operator.getitem, np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze,
     np.expand_dims, np.broadcast_to, np.concatenate, np.stack, np.hstack, np.vstack, np.flip,
     np.roll, np.tile, np.repeat, np.astype, np.copy, np.array, np.asarray}
)  # fmt: skip


def zeros_stay(scope: ReverseScope, op: Call, y_bar: Atom, partial: Any, bar: Atom) -> Atom:
    """The product of a cotangent and a partial derivative, 0 where the cotangent is 0.

    It is the product as it stands unless the result of `op` is on the way to where entries are
    left out.
    """
    if not isinstance(partial, Value) or not isinstance(y_bar, Value) or bar is y_bar:
        return bar
    if not isinstance(partial.type, Numeric) or partial.type.kind == "b" or is_scalar(y_bar.type):
        return bar
    if not arrives(scope.sweep, op.result, _towards_selection):
        return bar
    test = scope.call(operator.ne, _unsigned(scope, y_bar), Const(0.0))
    return scope.call(np.where, test, bar, Const(0.0))


def rows_taking_part(
    scope: ReverseScope, op: Call, y_bar: Any, operands: dict[int | str, Arg]
) -> dict[int | str, Arg]:
    """The operands of ``x @ w``, zeros for the rows of a matrix `x` whose cotangents are zero."""
    x = operands.get(0)
    if op.target not in _CONTRACTIONS or not isinstance(x, Value) or not isinstance(y_bar, Value):
        return operands
    ranks = [_rank(value) for value in (x, operands.get(1), y_bar)]
    if ranks not in ([2, 1, 1], [2, 2, 2]) or not arrives(
        scope.sweep, op.result, _towards_selection
    ):
        return operands
    rows = scope.call(operator.ne, y_bar, Const(0.0))
    if ranks[2] == 2:
        rows = scope.call(np.any, rows, axis=Const(1))
    column = scope.call(np.expand_dims, rows, Const(1))
    return {**operands, 0: scope.call(np.where, column, x, Const(0.0))}


def _rank(value: Arg | None) -> int | None:
    type_ = value.type if isinstance(value, Value) else None
    known = isinstance(type_, Numeric) and type_.shape is not None
    return len(type_.shape) if known and isinstance(type_, Numeric) and type_.shape else None


def _unsigned(scope: ReverseScope, y_bar: Value) -> Arg:
    """What a cotangent is the negative of, or the cotangent itself: both are 0 together."""
    maker = next((op for op in reversed(scope.builder.ops) if y_bar in op.results), None)
    is_negative = isinstance(maker, Call) and maker.target is operator.neg
    return maker.args[0] if is_negative and isinstance(maker, Call) else y_bar


def _towards_selection(sweep: Sweep, value: Value) -> list[Value] | None:
    readers = sweep.read_by.get(value, ())
    if any(_leaves_out(sweep, call, value) for call in readers):
        return None
    return [call.result for call in readers if _keeps_places(call, value)]


def _keeps_places(call: Call, value: Value) -> bool:
    """Whether the entries of a value, or its rows, are still apart in the result of a call."""
    if call.target in _CONTRACTIONS:
        return call.args[0] is value
    return is_elementwise(call.target) or is_one_of(call.target, _MOVES)


def _leaves_out(sweep: Sweep, call: Call, value: Value) -> bool:
    """Whether a call passes over entries of a value that are nan."""
    if is_one_of(call.target, LEAVING_OUT):
        return True
    if call.target is np.where or call.target is operator.getitem:
        chosen: Arg = call.args[0] if call.target is np.where else call.args[1]
        return chosen is not value and _asks_for_nan(sweep, chosen)
    return any(key == "where" and _asks_for_nan(sweep, arg) for key, arg in call.kwargs)


def _asks_for_nan(sweep: Sweep, mask: Arg) -> bool:
    """Whether a mask tells where something is nan."""
    call = sweep.made.get(mask) if isinstance(mask, Value) else None
    if call is None:
        return False
    if is_one_of(call.target, _QUESTIONS):
        return True
    if call.target in _EQUALITIES:
        own = call.half != "primal" and call.args[1] == Const(0.0)  # made by `zeros_stay`
        return own or call.args[0] is call.args[1]
    return is_one_of(call.target, _CONNECTIVES) and any(_asks_for_nan(sweep, a) for a in call.args)
