"""Erase markers after all derivatives have been taken."""

from __future__ import annotations

from srcad.ir.core import (
    CHECKPOINT,
    Atom,
    Block,
    Call,
    For,
    Function,
    Half,
    If,
    Op,
    Value,
)
from srcad.ir.substitute import substituted_block, with_blocks
from srcad.ir.traits import is_marker
from srcad.startup.records import replace


def drop_markers(function: Function) -> Function:
    """Put what was marked in place of ``stop(x)``, and tell derived ops of all orders alike.

    What stands inside a checkpoint takes its place.

    This is safe only as the last transform: until then the ops say where no derivative flows, or
    what it passes through, what is not saved, and which half of which order they belong to.
    """
    return replace(function, block=_erased(function.block))


def _erased(block: Block) -> Block:
    names: dict[Value, Atom] = {}
    kept: list[Op] = []
    for op in block.ops:
        if isinstance(op, Call) and is_marker(op.target):
            inner = op.args[0]
            assert isinstance(inner, Value)
            names[op.result] = names.get(inner, inner)
        elif isinstance(op, If) and op.test == CHECKPOINT:
            inside = _erased(op.then)
            kept += inside.ops
            for output, atom in zip(op.outputs, inside.results, strict=True):
                names[output] = names.get(atom, atom) if isinstance(atom, Value) else atom
        else:
            kept.append(_marked(op))
    left = replace(block, ops=tuple(kept))
    return substituted_block(left, names) if names else left


_FINAL: dict[Half, Half] = {"derived": "reverse", "repeated": "primal", "again": "primal"}


def _marked(op: Op) -> Op:
    half = _FINAL.get(op.half, op.half)
    op = with_blocks(op, tuple(map(_erased, op.blocks)))
    if isinstance(op, For) and op.segments:
        op = replace(op, segments=())
    return op if half == op.half else replace(op, half=half)
