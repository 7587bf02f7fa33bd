"""Read-only analysis: broadcast arrays, diagonals, and views of these."""

from __future__ import annotations

from collections.abc import Iterable

from srcad.ir.core import (
    Atom,
    Call,
    For,
    Function,
    If,
    Loop,
    Value,
    While,
    carried_outputs,
    collected_outputs,
    values_in,
    walk,
)
from srcad.ir.memory import COPIES, is_one_of, makes_fresh
from srcad.ir.traits import is_read_only, is_store


def read_only_values(function: Function) -> set[Value]:
    """Return the values that may be read-only: broadcast arrays, diagonals, and their views."""
    calls = (op for op in walk(function.block) if isinstance(op, Call))
    todo = [op.result for op in calls if is_read_only(op.target)]
    ways = _ways(function) if todo else {}  # most functions make nothing that is read-only
    found: set[Value] = set()
    while todo:
        value = todo.pop()
        if value not in found:
            found.add(value)
            todo += ways.get(value, ())
    return found


def _ways(function: Function) -> dict[Value, list[Value]]:
    """Where what a value holds may be found again: in views of it, behind branches and loops."""
    ways: dict[Value, list[Value]] = {}
    for op in walk(function.block):
        if isinstance(op, Call):
            new = makes_fresh(op) or is_store(op.target, "array") or is_read_only(op.target)
            if not new and not is_one_of(op.target, COPIES):
                _lead(ways, op.operands, [op.result] * len(op.operands))
        elif isinstance(op, If):
            for block in op.blocks:
                _lead(ways, block.results, op.outputs)
        elif isinstance(op, For | While):
            _lead_loop(ways, op)
    return ways


def _lead_loop(ways: dict[Value, list[Value]], op: Loop) -> None:
    results = op.body.results[1:]
    for atoms in (op.inits, results):
        _lead(ways, atoms, op.carried)
        _lead(ways, atoms, (*carried_outputs(op), *collected_outputs(op)))
    for item_, seq in zip(op.items, op.seqs, strict=True) if isinstance(op, For) else ():
        for value in values_in(seq):
            _lead(ways, (value,), (item_,))


def _lead(ways: dict[Value, list[Value]], atoms: Iterable[Atom], to: Iterable[Value]) -> None:
    for atom, value in zip(atoms, to, strict=False):
        if isinstance(atom, Value):
            ways.setdefault(atom, []).append(value)
