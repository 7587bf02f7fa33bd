"""Erase what has done its work once every derivative has been taken."""

from __future__ import annotations

from srcad.ir.core import Atom, Block, Call, Function, Half, Op, Value
from srcad.ir.traits import is_stop
from srcad.passes.substitute import substituted_block, with_blocks
from srcad.startup.records import replace


def drop_markers(function: Function) -> Function:
    """Put what was stopped in place of ``stop(x)``, and tell derived ops of all orders alike.

    This is safe only as the last transform: until then the ops say where no derivative flows, and
    which half of which order they belong to.
    """
    return replace(function, block=_erased(function.block))


def _erased(block: Block) -> Block:
    names: dict[Value, Atom] = {}
    kept: list[Op] = []
    for op in block.ops:
        if isinstance(op, Call) and is_stop(op.target):
            inner = op.args[0]
            assert isinstance(inner, Value)
            names[op.result] = names.get(inner, inner)
        else:
            kept.append(_marked(op))
    left = replace(block, ops=tuple(kept))
    return substituted_block(left, names) if names else left


_FINAL: dict[Half, Half] = {"derived": "reverse", "repeated": "primal"}


def _marked(op: Op) -> Op:
    half = _FINAL.get(op.half, op.half)
    op = with_blocks(op, tuple(map(_erased, op.blocks)))
    return op if half == op.half else replace(op, half=half)
