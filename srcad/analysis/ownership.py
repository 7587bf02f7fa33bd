"""Decide which stores update in place: the last step before the text is written.

The IR is pure: ``updated(u, i, v)`` is a new array.  Here each store is marked `in_place` if the
old version is not needed any more: nothing that may share its storage (`sharing`) is alive after
it, and nobody outside can see it.  A conflict is cured as cheaply as possible: a view that is read
later is copied where it is taken, a loop's initial value once before the loop; else the store
copies the array that it updates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from srcad.analysis.conflicts import Conflicts, candidates
from srcad.analysis.cures import Cures
from srcad.analysis.sharing import sharing
from srcad.ir.core import (
    Atom,
    Block,
    Call,
    For,
    Function,
    If,
    Op,
    Value,
    While,
    walk,
)
from srcad.startup.records import replace

_ROUNDS = 7
_PATIENT = 4  # rounds in which a copy is not made yet where an earlier one may do


def in_place(function: Function) -> Function:
    """Mark the stores that may reuse their first argument's storage; insert the copies it takes.

    Only the printed form changes, never a value: evaluated as pure IR the function is the same.
    """
    if not any(candidates(function)):
        return function
    facts = _conflicts(function)
    for k in range(_ROUNDS):
        cures = Cures(facts, patient=k < _PATIENT)
        if not cures.found:
            break
        function = replace(function, block=cures.applied(function.block))
        facts = _conflicts(function)
    marked = {op for op in facts.stores if facts.is_free(op)}
    idle = _copied_twice(function, facts, marked)
    if not marked and not idle:
        return function
    return replace(function, block=_marked(function.block, marked, idle))


def _copied_twice(function: Function, facts: Conflicts, marked: set[Call]) -> dict[Value, Atom]:
    """Return copies that only a copying store reads, with the arrays they are copies of."""
    found: dict[Value, Atom] = {}
    for op in facts.stores - marked:
        first = op.args[0]
        known = isinstance(first, Value) and first in facts.definition
        made = facts.definition[first][0] if known else None  # type: ignore[index]
        source = made.args[0] if isinstance(made, Call) and made.target is np.copy else None
        if isinstance(first, Value) and isinstance(source, Value):
            found[first] = source
    if found:
        reads = Counter(v for op in walk(function.block) for v in _read(op) if v in found)
        reads.update(a for a in function.block.results if isinstance(a, Value) and a in found)
        found = {value: source for value, source in found.items() if reads[value] == 1}
    return found


def _read(op: Op) -> Iterator[Value]:
    yield from op.operands
    for block in op.blocks:
        yield from (atom for atom in block.results if isinstance(atom, Value))


def _conflicts(function: Function) -> Conflicts:
    stores = frozenset(candidates(function))
    return Conflicts(function, sharing(function, stores), stores)


def _marked(block: Block, stores: set[Call], idle: dict[Value, Atom]) -> Block:
    """Return the block with its stores in place marked.

    Copies just before such a store are left out.
    """
    ops: list[Op] = []
    for op in block.ops:
        match op:
            case Call(args=(Value() as first, *rest)) if first in idle and _makes(ops, first):
                ops[-1] = replace(op, args=(idle[first], *rest))
            case Call():
                ops.append(replace(op, in_place=True) if op in stores else op)
            case If():
                then, orelse = (_marked(branch, stores, idle) for branch in op.blocks)
                ops.append(replace(op, then=then, orelse=orelse))
            case For():
                ops.append(replace(op, body=_marked(op.body, stores, idle)))
            case While():
                test, body = (_marked(inner, stores, idle) for inner in op.blocks)
                ops.append(replace(op, test=test, body=body))
    return replace(block, ops=tuple(ops))


def _makes(ops: list[Op], value: Value) -> bool:
    return bool(ops) and value in ops[-1].results
