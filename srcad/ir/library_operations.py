"""Metadata of Python's operators, of some functions of NumPy and of srcad's helpers.

These have their meaning elsewhere; only what passes and analyses ask beyond the table of rules
stands here.
"""

from __future__ import annotations

import operator
import sys
import types
from typing import Any

import numpy as np

from srcad import runtime
from srcad.ir import result_types as types_of
from srcad.ir.core import Arg, Call, Const, Display
from srcad.ir.operations import (
    ANYTHING,
    EVERY,
    NOTHING,
    Classes,
    Fresh,
    Gathers,
    NewVersion,
    Operation,
    PartOf,
)
from srcad.rules import registry
from srcad.types.numeric import Numeric
from srcad.types.sizes import resolved
from srcad.types.structures import TupleOf


def _rows(row: Operation, *targets: Any) -> None:
    for target in targets:
        row(target)


# ------------------------------------------------------------------------ entry by entry
def is_ufunc_of_library(target: np.ufunc) -> bool:
    """Return True if a ufunc is one of NumPy's or SciPy's own, not one that a user has made."""
    name = target.__name__
    if getattr(np, name, None) is target:
        return True
    return getattr(sys.modules.get("scipy.special"), name, None) is target


def is_elementwise(target: object) -> bool:
    """Return True if a function acts entry by entry, with broadcasting."""
    if isinstance(target, np.ufunc):
        return target.signature is None and is_ufunc_of_library(target)
    row = registry.row_of(target)
    return row.entries == "each" or (
        isinstance(target, types.MethodType) and row.kind == "derivative"
    )


# -------------------------------------------------------------------------------- arithmetic
def _of_numbers(classes: Classes) -> Any:
    """Return the exceptions of an operator that raises these for numbers of Python and NumPy."""

    def raised(op: Call) -> Classes:
        return classes if all(map(_is_number, op.args)) else ANYTHING

    return raised


def _is_number(arg: Arg) -> bool:
    type_ = getattr(arg, "type", None)
    return isinstance(type_, Numeric) and type_.form in ("python", "numpy") and type_.kind in "fbi"


def divides_python(op: Call) -> bool:
    """Return True if a call divides Python's numbers, which raises for zero."""
    types = [getattr(a, "type", None) for a in op.args]
    if any(isinstance(t, Numeric) and t.form in ("array", "numpy") for t in types):
        return False
    divisor = op.args[1]
    return not (isinstance(divisor, Const) and divisor.value)


def inverts_python(op: Call) -> bool:
    """Return True if a call is a power of Python's numbers which may raise for zero."""
    types = [getattr(a, "type", None) for a in op.args]
    if any(isinstance(t, Numeric) and t.form in ("array", "numpy") for t in types):
        return False
    base, exponent = op.args[0], op.args[1]
    if isinstance(base, Const) and base.value:
        return False
    return not (isinstance(exponent, Const) and _is_positive(exponent.value))


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and value >= 0


_TOO_LARGE = _of_numbers((OverflowError,))
_ARITHMETIC = _of_numbers((ZeroDivisionError, OverflowError))
_rows(Operation(result=types_of.of_lists, raises=_TOO_LARGE, owed=None, called="total"),
      operator.add)  # fmt: skip
_rows(Operation(raises=_TOO_LARGE, owed=None, called="difference"), operator.sub)
_rows(Operation(memory=Gathers(0), result=types_of.of_lists, raises=_TOO_LARGE, owed=None,
                called="product"), operator.mul)  # fmt: skip
_rows(Operation(owed=None, called="product"), operator.matmul)
_rows(Operation(raises=_ARITHMETIC, owed=divides_python, called="ratio"), operator.truediv)
_rows(Operation(raises=_ARITHMETIC, owed=divides_python, called="quotient"), operator.floordiv)
_rows(Operation(raises=_ARITHMETIC, owed=divides_python, called="remainder"), operator.mod)
_rows(Operation(raises=_ARITHMETIC, owed=inverts_python, called="power"), operator.pow)
_rows(Operation(raises=_of_numbers(NOTHING), owed=None, called="negative"), operator.neg)
_rows(Operation(raises=_of_numbers(NOTHING), owed=None, answers=True, called="test"),
      operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)  # fmt: skip
_rows(Operation(raises=NOTHING, flows=(), answers=True, called="test"),
      operator.is_, operator.is_not, operator.not_)  # fmt: skip
_rows(Operation(owed=None, flows=(), answers=True, called="test"), operator.contains)
_rows(Operation(result=types_of.length, asks_of=0, flows=(), called="n"), len)
_rows(Operation(asks_of=0, owed=None), np.size, np.ndim)
_rows(Operation(asks_of=0, asks_for="shape", owed=None), np.shape)


def _parses(op: Call) -> bool:
    """Return True if a conversion may be given a string, which it has to parse."""
    types = (type(a.value) if isinstance(a, Const) else getattr(a, "type", None) for a in op.args)
    return not all(isinstance(t, Numeric) or t in (int, float, complex, bool) for t in types)


_rows(Operation(owed=_parses), float, int, complex)


# ------------------------------------------------------------------------------------- reads
def _index_may_fail(op: Call) -> bool:
    container, index = op.args[0], op.args[1]
    if isinstance(index, Display):
        parts = index.items if index.kind == "tuple" else (index,)
        return any(map(_part_may_fail, parts))
    if isinstance(getattr(container, "type", None), TupleOf) and isinstance(index, Const):
        return False
    return _part_may_fail(index)


def _part_may_fail(index: Arg) -> bool:
    """Slices, None and the ellipsis fit every length."""
    if isinstance(index, Display):
        return index.kind != "slice"
    return not (isinstance(index, Const) and (index.value is None or index.value is Ellipsis))


_rows(Operation(memory=PartOf(), owed=_index_may_fail, flows=(0,), written="a[b]", called="part"),
      operator.getitem)  # fmt: skip


def _has_no_entries(op: Call) -> bool:
    """Return True if the operand may be empty, and the call gives no value for that case."""
    if any(name == "initial" for name, _ in op.kwargs):
        return False
    type_ = getattr(op.args[0], "type", None) if op.args else None
    if not isinstance(type_, Numeric) or type_.shape is None:
        return True
    lengths = map(resolved, type_.shape)
    return not all(not length.terms and length.constant > 0 for length in lengths)


_rows(Operation(owed=_has_no_entries), np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.max,
      np.min, np.amax, np.amin, np.nanmax, np.nanmin, np.ptp)  # fmt: skip

# ---------------------------------------------------------------- what may be written into later
_rows(Operation(memory=Fresh(), asks_of=0, asks_for="likeness", owed=None), np.zeros_like,
      np.ones_like, np.empty_like)  # fmt: skip
_rows(Operation(memory=Fresh(), owed=None), np.zeros, np.empty, np.full, np.copy)  # fmt: skip
_rows(Operation(memory=Gathers(0), owed=True, pure=False), list)
_rows(Operation(memory=Gathers(0), result=types_of.copied_places, owed=True, pure=False), dict)
_rows(Operation(called="trips", owed=None), range)

# --------------------------------------------------------------------------------- our helpers
_rows(Operation(result=types_of.unbroadcast, asks_of=1, flows=(0,)), runtime.unbroadcast)
_rows(Operation(result=types_of.unbroadcast, flows=(0,)), runtime.checked_rows)
_rows(Operation(memory=Fresh(), asks_of=0, asks_for="likeness", flows=()), runtime.zero_cotangent)
_rows(Operation(memory=Fresh(), flows=(0,)), runtime.converted_like)
_rows(
    Operation(result=types_of.list_of_cotangents, asks_of=1, asks_for="likeness", flows=(0,)),
    runtime.or_zeros,
)
_rows(Operation(owed=None, flows=(0,)), runtime.for_directions, runtime.rows_of_directions)
_rows(Operation(result=types_of.list_of_cotangents, flows=EVERY), runtime.add_cotangents)
_rows(Operation(result=types_of.python_float), runtime.sign, runtime.as_float)
_rows(
    Operation(
        memory=NewVersion(of="array", does="sets in view", buffered=True),
        result=types_of.like_first,
        flows=(0, 2),
        stored="a[i][j] = c",
    ),
    runtime.updated_in_view,
)
_rows(
    Operation(
        memory=NewVersion(of="array", does="adds in view", buffered=True),
        result=types_of.like_first,
        flows=(0, 2),
        stored="a[i][j] += c",
    ),
    runtime.added_in_view,
)
_rows(Operation(owed=None, flows=(0,)), runtime.checked_cotangent, runtime.as_kept_in)
