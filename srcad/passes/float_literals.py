"""Whole numbers in the reverse half that meet floats are written as floats: ``2.0 * g``.

Rules say ``2 * x`` and ``1 - y * y``, and mean it for numbers of every kind.  Where the other
operand is known to be a float, Python and NumPy would convert the integer at every call; the result
has the same bits.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from srcad.ir.core import Arg, Block, Call, Const, Function, Op
from srcad.ir.substitute import with_blocks
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
    return block if _are_same(ops, block.ops) else replace(block, ops=ops)


def _op(op: Op) -> Op:
    if isinstance(op, Call):
        return _call(op)
    blocks = tuple(map(_block, op.blocks))
    return op if _are_same(blocks, op.blocks) else with_blocks(op, blocks)


def _are_same(some: Sequence[object], others: Sequence[object]) -> bool:
    return all(a is b for a, b in zip(some, others, strict=True))


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
