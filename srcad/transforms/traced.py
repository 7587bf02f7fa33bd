"""Every number on the way noted when it is made, and its cotangent when that is complete."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from srcad.ir.core import Arg, Block, Call, Const, For, Function, Op, Routine, Value, While, walk
from srcad.ir.inference.builder import Builder
from srcad.ir.substitute import with_blocks
from srcad.ir.traits import is_known_part, is_same
from srcad.startup.records import replace
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE


def noted_ops(function: Function) -> list[tuple[Call, Call]]:
    """Return the calls that are recorded, in order: the user's calls that make numbers.

    With each comes the call that it is shown as: of a recursive function, for a part of its result.
    """
    routines: dict[Value, Call] = {}
    counts: set[Value] = set()
    for op in walk(function.block):
        if isinstance(op, For | While):
            counts.update(op.outputs[:2])
        elif isinstance(op, Call) and isinstance(op.target, Routine):
            routines[op.result] = op
    calls = (op for op in _calls(function.block) if counts.isdisjoint(op.operands))
    return [
        (op, routines.get(op.operands[0], op) if op.operands else op)
        for op in calls
        if _is_noted(op, routines)
    ]


def _calls(block: Block) -> Iterator[Call]:
    """Yield the calls of a block and of those inside it, but for the tests of loops."""
    for op in block.ops:
        if isinstance(op, Call):
            yield op
        for inner in _bodies(op):
            yield from _calls(inner)


def _bodies(op: Op) -> tuple[Block, ...]:
    return (op.body,) if isinstance(op, While) else op.blocks


def with_notes(function: Function, note: Value) -> Function:
    """Return the function that calls ``note(k, value, *operands)`` for each noted value.

    What `note` returns is called with the cotangent of the value.  `note` is the last parameter of
    the new function.
    """
    start = Builder(where=function.where)
    for k, param in enumerate(function.params):
        start.apply(note, Const(k), param, effect=True, type=OPAQUE)
    first = len(function.params)
    rows = {op: (first + k, made) for k, (op, made) in enumerate(noted_ops(function))}
    block = _noting(function.block, note, rows)
    block = replace(block, ops=(*start.ops, *block.ops))
    return replace(function, params=(*function.params, note), block=block)


def _noting(block: Block, note: Value, rows: dict[Call, tuple[int, Call]]) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        if isinstance(op, Call) and op in rows:
            k, shown = rows[op]
            builder = Builder(ops, op.where)
            made = Value(op.result.type, op.result.hint)
            ops.append(replace(op, result=made))
            operands = filter(is_number, operands_of(shown))
            row = builder.apply(note, Const(k), made, *operands, effect=True, type=OPAQUE)
            builder.hooked(made, row, result=op.result)
        else:
            inside = _bodies(op)
            blocks = (_noting(b, note, rows) if b in inside else b for b in op.blocks)
            ops.append(with_blocks(op, tuple(blocks)))
    return replace(block, ops=tuple(ops))


def operands_of(op: Call) -> list[Arg]:
    """Return the operands of a call in order, those by keyword last."""
    return [*op.args, *(arg for _, arg in op.kwargs)]


def is_number(arg: Any) -> bool:
    """Return True if an operand is a number or an array that is computed."""
    return isinstance(arg, Value) and isinstance(arg.type, Numeric)


def _is_noted(op: Call, routines: Container[Value]) -> bool:
    if op.half != "primal" or not is_number(op.result) or is_same(op.target):
        return False
    return not is_known_part(op.target) or op.args[0] in routines
