"""Whole numbers in the reverse half that meet floats are written as floats: ``2.0 * g``.

Rules say ``2 * x`` and ``1 - y * y``, and mean it for numbers of every kind.  Where the other
operand is known to be a float, Python and NumPy would convert the integer at every call; the result
has the same bits.
"""

from __future__ import annotations

import operator

import numpy as np

from srcad.ir.core import Arg, Block, Call, Const, For, Function, If, Op, While
from srcad.startup.records import replace
from srcad.types.numeric import Numeric

_TARGETS = frozenset(
    {operator.add, operator.sub, operator.mul, operator.truediv, np.add, np.subtract, np.multiply,
     np.divide}
)  # fmt: skip
_EXACT = 2**53  # integers up to here are floats as they are


def with_float_literals(function: Function) -> Function:
    """Write constants of the reverse half as the floats that they become."""
    return replace(function, block=_block(function.block))


def _block(block: Block) -> Block:
    ops = tuple(map(_op, block.ops))
    same = all(a is b for a, b in zip(ops, block.ops, strict=True))
    return block if same else replace(block, ops=ops)


def _op(op: Op) -> Op:
    match op:
        case Call():
            return _call(op)
        case If():
            then, orelse = map(_block, op.blocks)
            same = then is op.then and orelse is op.orelse
            return op if same else replace(op, then=then, orelse=orelse)
        case For():
            body = _block(op.body)
            return op if body is op.body else replace(op, body=body)
        case While():
            test, body = map(_block, op.blocks)
            same = test is op.test and body is op.body
            return op if same else replace(op, test=test, body=body)
    return op


def _call(op: Call) -> Call:
    if op.half != "reverse" or op.kwargs or len(op.args) != 2 or op.target not in _TARGETS:
        return op
    first, second = op.args
    if _is_whole(first) and _is_float(second):
        return replace(op, args=(_as_float(first), second))
    if _is_whole(second) and _is_float(first):
        return replace(op, args=(first, _as_float(second)))
    return op


def _is_whole(arg: Arg) -> bool:
    return isinstance(arg, Const) and type(arg.value) is int and abs(arg.value) < _EXACT


def _is_float(arg: Arg) -> bool:
    type_ = getattr(arg, "type", None)
    return isinstance(type_, Numeric) and not isinstance(arg, Const) and type_.kind == "f"


def _as_float(arg: Arg) -> Const:
    assert isinstance(arg, Const)
    return Const(float(arg.value))
