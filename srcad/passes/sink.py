"""Code sinking: move a computation into the only branch that reads it.

The reverse half reads again what the forward half has read (``x[k] * w[k]`` in a test), and much of
it is needed on one path only.  There it stands next to its use, and the other path does not pay for
it.  A sign goes next to the store that adds it: ``x_bar[i] -= g`` takes it for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcad.ir.core import Block, Call, Function, If, Op, Try, Value, free_values, values_in
from srcad.ir.definitions import calls_by_result, uses_of
from srcad.ir.memory import has_storage, makes_fresh
from srcad.ir.traits import (
    adds_at_places,
    is_indexed,
    is_store,
    law_of_operator,
)
from srcad.passes.purity import is_noticeable
from srcad.startup.records import replace

Use = tuple[int, Block | None]  # which op of a block reads a value, and in which branch


def sink(function: Function) -> Function:
    """Move calls of the reverse half into the one branch that reads their result.

    What reads an array that may be written in place (by any conditional or loop, by any new version
    of an array) does not cross the write, because the old version would have to be kept for its
    sake.

    >>> function = parse('''
    ... f(x: float, test: bool):
    ...     # reverse half
    ...     t = sin(x)
    ...     if test -> x_bar:
    ...         u = mul(2.0, t)
    ...         yield u
    ...     else:
    ...         yield 0.0
    ...     return x_bar
    ... ''')
    >>> print(text(sink(function)))
    f(x, test):
        if test -> x_bar:
            t = sin(x)
            u = mul(2.0, t)
            yield u
        else:
            yield 0.0
        return x_bar
    """
    return replace(function, block=_sunk(function.block, frozenset(function.params)))


def _signs_late(block: Block) -> list[Op]:
    """Negate a number, or an array made for that, where alone it is added to a place."""
    made = calls_by_result(block.ops)
    reads = uses_of(block)
    result: list[Op] = []
    for op in block.ops:
        sign = _sign(op, made, reads)
        if sign is not None:
            result.remove(sign)
            result.append(sign)
        result.append(op)
    return result


def _sign(op: Op, made: dict[Value, Call], reads: dict[Value, int]) -> Call | None:
    """Return the call that makes the ``-g`` added to a place, if neither is read elsewhere."""
    added = op.args[2] if isinstance(op, Call) and adds_at_places(op.target) else None
    sign = made.get(added) if isinstance(added, Value) else None
    if sign is None or law_of_operator(sign.target) != "negative" or sign.half == "primal":
        return None
    g = sign.args[0]
    maker = made.get(g) if isinstance(g, Value) else None
    if maker is None or is_indexed(maker.target) or not makes_fresh(maker):
        return None
    return sign if reads[sign.result] == reads[maker.result] == 1 else None


def _sunk(block: Block, params: frozenset[Value]) -> Block:
    block = replace(block, ops=tuple(_signs_late(block)))
    ops = block.ops
    moved: dict[Block, list[Op]] = {}
    if any(_has_branches(op) for op in ops):
        uses = _uses(block)
        gone = set[int]()
        border = len(ops)  # the first op from here on that must not be crossed
        for i in reversed(range(len(ops))):
            op = ops[i]
            place = _only_place(op, uses, ops)
            if place is not None and (place[0] == border or _is_steady(op, params)):
                user, branch = place
                moved.setdefault(branch, []).append(op)
                gone.add(i)
                for value in op.operands:
                    uses[value] = (uses[value] - {(i, None)}) | {(user, branch)}
            elif _may_reuse(op):
                border = i
        ops = tuple(op for i, op in enumerate(ops) if i not in gone)
    return replace(block, ops=tuple(_inside(op, moved, params) for op in ops))


def _only_place(op: Op, uses: dict[Value, set[Use]], ops: Sequence[Op]) -> tuple[int, Block] | None:
    """Return the op and the branch that alone read the result of a call, if it can move there."""
    if not isinstance(op, Call) or op.half == "primal" or is_noticeable(op):
        return None
    found = uses.get(op.result, set())
    if len(found) != 1:
        return None
    ((user, branch),) = found
    return (user, branch) if branch is not None and _has_branches(ops[user]) else None


def _is_steady(op: Op, params: frozenset[Value]) -> bool:
    """Return True if an op reads numbers, and arguments, only: nothing that is written in place."""
    return all(v in params or not has_storage(v) for v in op.operands)


def _has_branches(op: Op) -> bool:
    return isinstance(op, If) and not isinstance(op, Try)


def _may_reuse(op: Op) -> bool:
    """Return True if an op may write into what it reads, when stores are put in place."""
    if not isinstance(op, Call) or is_noticeable(op):
        return True
    return has_storage(op.result) and (
        is_store(op.target) or law_of_operator(op.target) in ("sum", "difference")
    )


def _uses(block: Block) -> dict[Value, set[Use]]:
    """For every value: the ops of the block that read it, and in which of their branches."""
    uses: dict[Value, set[Use]] = {}
    for i, op in enumerate(block.ops):
        for value in op.operands:
            uses.setdefault(value, set()).add((i, None))
        for inner in op.blocks:
            for value in free_values(inner):
                uses.setdefault(value, set()).add((i, inner))
    for atom in block.results:
        for value in values_in(atom):
            uses.setdefault(value, set()).add((len(block.ops), None))
    return uses


def _inside(op: Op, moved: dict[Block, list[Op]], params: frozenset[Value]) -> Op:
    def branch(block: Block) -> Block:
        front = tuple(reversed(moved.get(block, ())))
        return _sunk(replace(block, ops=(*front, *block.ops)) if front else block, params)

    within = branch if isinstance(op, If) else lambda block: _sunk(block, params)
    return op.mapped(within)
