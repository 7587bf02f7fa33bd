"""The shape and dtype of a tangent: those of the result."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Atom, Call, Const
from srcad.ir.inference.builder import atom_type
from srcad.transforms.sweep import is_scalar
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.sizes import same


def fitted(scope: Any, dot: Atom, op: Call) -> Atom:
    """Return a tangent in the shape and dtype of the result of an elementwise call."""
    wide, narrow = op.result.type, atom_type(dot)
    if not isinstance(wide, Numeric) or is_scalar(wide):
        return dot
    wide_ones = {a for a in op.args if getattr(argument_type(a), "shape", None) != ()}
    if not isinstance(narrow, Numeric):
        # Of no known kind: perhaps the tangent of a number, beside an array.
        arrays = {a for a in wide_ones if getattr(argument_type(a), "form", None) == "array"}
        return _widened(scope, dot, op) if arrays and len(op.args) > 1 else dot
    alone = len(wide_ones) <= 1 and (narrow.shape is not None or wide_ones >= {*op.operands})
    if not (_same_shape(wide, narrow) or (alone and narrow.shape != ())):
        dot = _widened(scope, dot, op)
    if (
        wide.kind == "f"
        and narrow.kind != "c"
        and not same_dtype(wide.dtype, narrow.dtype)
        and wide.form == "array"
    ):
        dot = scope.call(np.astype, dot, Const(wide.dtype))
    return dot


def _widened(scope: Any, dot: Atom, op: Call) -> Atom:
    """Return a tangent in the shape of the result."""
    wide = op.result.type
    dot = scope.call(np.broadcast_to, dot, scope.shape(op.result))
    known = isinstance(wide, Numeric) and wide.shape is not None
    return dot if known else scope.call(operator.getitem, dot, Const(()))


def _same_shape(a: Numeric, b: Numeric) -> bool:
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return False
    return all(same(m, n) for m, n in zip(a.shape, b.shape, strict=True))
