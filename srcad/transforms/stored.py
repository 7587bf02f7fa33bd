"""Adjoints of array stores: ``y[i] = v``, ``y[i] += v``."""

from __future__ import annotations

import operator

import numpy as np

from srcad import runtime
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Call, Const, Display, Value, values_in
from srcad.ir.disjoint import may_repeat
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.sweep import Path, is_scalar
from srcad.types.numeric import Numeric
from srcad.types.sizes import is_one, same

Bars = dict[Path, Atom]


def undo_updated(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """``y[i] = v``: the cotangent of what was stored is read there, and nothing is left there."""
    array, index, value = op.args
    bar = bars[()]
    assert isinstance(value, Value) or not _is_any_active(scope, value)
    whole = is_scalar(op.result.type) and _is_all_of_a_point(index)
    if not (whole and is_scalar(argument_type(value))):
        bar = _with_places(scope, op, bar)
    if isinstance(value, Value) and scope.is_active((value, ())):
        read = _read_where_stored(scope, op, bar)
        if may_repeat(index):
            read = scope.call(operator.mul, read, scope.call(runtime.stays, bar, index))
        scope.contribute(value, (), narrowed(scope, read, value))
    if not whole:
        scope.contribute(array, (), scope.updated(bar, index, Const(0.0)))


def undo_add_at(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """``y[i] += v``: the cotangent of `v` is read at `i`."""
    array, _, value = op.args
    bar = bars[()]
    assert isinstance(value, Value) or not _is_any_active(scope, value)
    if isinstance(value, Value) and scope.is_active((value, ())):
        read = _read_where_stored(scope, op, bar)
        scope.contribute(value, (), narrowed(scope, read, value))
    scope.contribute(array, (), bar)


def _read_where_stored(scope: ReverseScope, op: Call, bar: Atom) -> Atom:
    """Return the part of an array's cotangent that belongs to the stored value."""
    _, index, value = op.args
    single = is_scalar(op.result.type) and is_scalar(argument_type(value))
    if single and _is_all_of_a_point(index):
        return bar
    return scope.call(operator.getitem, _with_places(scope, op, bar), index)


def _with_places(scope: ReverseScope, op: Call, bar: Atom) -> Atom:
    """Return the cotangent of an array as an array: arithmetic on 0-d arrays makes numbers."""
    return scope.call(np.asarray, bar) if is_scalar(op.result.type) else bar


def _is_all_of_a_point(index: Arg) -> bool:
    """Return True for an index that names all of a 0-d array: ``...``, ``()``, ``None``."""
    parts = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
    return all(part in (Const(None), Const(...), Const(())) for part in parts)


def _is_any_active(scope: ReverseScope, arg: Arg) -> bool:
    return any(scope.is_active((value, ())) for value in values_in(arg))


def narrowed(scope: ReverseScope, bar: Atom, value: Value) -> Atom:
    """Return the cotangent of a stored value, summed to its shape before broadcasting."""
    wide, narrow = bar.type, value.type
    if isinstance(wide, Numeric) and isinstance(narrow, Numeric):
        if wide.shape is not None and wide.shape == narrow.shape:
            return bar
        if wide.shape is not None and narrow.shape is not None:
            pairs = zip(wide.shape, narrow.shape, strict=False)
            if len(wide.shape) == len(narrow.shape) and all(same(m, n) for m, n in pairs):
                return bar
            if not narrow.shape or all(is_one(n) for n in wide.shape):
                return scope.call(np.sum, bar) if not narrow.shape else bar
    return scope.call(runtime.unbroadcast, bar, value)
