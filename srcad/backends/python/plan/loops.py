"""Heads of ``for`` loops, and the places where iterations save values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from srcad.backends.python.plan.statements import (
    Append,
    Attempt,
    Conditional,
    Head,
    Increment,
    Pattern,
    Reverse,
    Statement,
    defined,
    inner_lists,
)
from srcad.backends.python.plan.uses import Uses, integer_key, iteration_count_key, length_key
from srcad.ir.core import Arg, Atom, For, Loop, Value


class Unpacker(Protocol):
    """The part of the statement builder that a loop head needs."""

    uses: Uses
    merged: dict[Value, tuple[Value, int]]

    def unpacked(self, value: Value, at_least: int = 1) -> tuple[Value | None, ...]:
        """Return the parts of a tuple that is only read part by part."""


def loop_head(op: For, unpacker: Unpacker) -> Head:
    """Return the head of a loop: lists that were filled together are read together."""
    uses = unpacker.uses
    head = Head()
    together: dict[Value, dict[int, Pattern | None]] = {}
    for item, seq in zip(op.items, op.seqs, strict=True):
        pattern = _pattern(item, unpacker)
        if isinstance(seq, Value) and seq in unpacker.merged:
            saved, position = unpacker.merged[seq]
            if saved not in together:
                together[saved] = {}
                head.seqs.append(saved)
                head.patterns.append(None)
                head.limited.append(_needs_limit(seq, op, uses))
            together[saved][position] = pattern
        else:
            head.seqs.append(seq)
            head.patterns.append(pattern)
            head.limited.append(_needs_limit(seq, op, uses))
    for saved, parts in together.items():
        index = next(k for k, seq in enumerate(head.seqs) if seq is saved)
        row = tuple(parts[k] for k in sorted(parts))
        head.patterns[index] = row if any(part is not None for part in row) else None
    if any(head.limited) or not op.seqs:
        head.count = op.count
    head.aligned = _are_aligned(op, uses)
    _drop_unread(head, uses)
    return head


def _drop_unread(head: Head, uses: Uses) -> None:
    """Leave out a sequence with unused items, if another one has the same length."""
    for k in reversed(range(len(head.seqs))):
        length = length_key(head.seqs[k], uses)
        others = [s for j, s in enumerate(head.seqs) if j != k and not head.limited[j]]
        if head.patterns[k] is not None or head.limited[k]:
            continue
        if any(length_key(other, uses) == length for other in others):
            for column in (head.patterns, head.seqs, head.limited):
                del column[k]


def _pattern(item: Value, unpacker: Unpacker) -> Pattern | None:
    if not unpacker.uses.is_read(item):
        return None
    return unpacker.unpacked(item) or item


def _needs_limit(seq: Arg, op: For, uses: Uses) -> bool:
    if op.count is None:
        return False
    return length_key(seq, uses) != integer_key(op.count, uses)


def _are_aligned(op: For, uses: Uses) -> bool:
    if op.half == "reverse" and op.backward and op.count is None:
        return True  # `transforms.residuals` has cut them to the trips that were made
    keys = {length_key(seq, uses) for seq in op.seqs}
    if len(keys) <= 1:
        return True
    source = uses.trips_of.get(op.count) if isinstance(op.count, Value) else None
    if not isinstance(source, For):
        return False
    counted = iteration_count_key(source, uses)
    return all(length_key(seq, uses) == counted or seq in source.seqs for seq in op.seqs)


# ---------------------------------------------------------------------------------- saving
def hoist_append(body: list[Statement], target: Value, op: Loop, alias: dict[Value, Atom]) -> None:
    """Save a value as soon as it is computed, not at the end of the iteration.

    So the variable is free again, and ``x = f(x)`` need not keep the old `x` in another one.  Every
    path through an iteration appends once; if all of them append the same, the place can be moved.
    """
    places = list(_appends(body, target))
    items = [[_resolved(i, alias) for i in append.items] for _, append in places]
    if not places or any(other != items[0] for other in items[1:]):
        return
    first = min(_index_of(body, append) for _, append in places)
    start = 0
    for item in items[0]:
        if isinstance(item, Value) and item not in op.body.params:
            start = max(start, _defined_until(body, item))
    if start > first:
        return
    append = places[0][1]
    for holder, other in places:
        holder.remove(other)
    body.insert(start, append)


def _resolved(atom: Atom, alias: dict[Value, Atom]) -> Atom:
    while isinstance(atom, Value) and atom in alias:
        atom = alias[atom]
    return atom


def _appends(
    statements: list[Statement], target: Value
) -> Iterator[tuple[list[Statement], Append]]:
    for statement in statements:
        if isinstance(statement, Append) and statement.target is target:
            yield statements, statement
        if isinstance(statement, Conditional | Attempt):
            for branch in inner_lists(statement):
                yield from _appends(branch, target)


def _index_of(body: list[Statement], wanted: Statement) -> int:
    return next(k for k, s in enumerate(body) if s is wanted or _contains(s, wanted))


def _contains(statement: Statement, wanted: Statement) -> bool:
    return any(
        s is wanted or _contains(s, wanted) for inner in inner_lists(statement) for s in inner
    )


def _defined_until(body: list[Statement], value: Value) -> int:
    """Return the first place behind everything that sets a value."""
    places = [k + 1 for k, statement in enumerate(body) if _sets(statement, value)]
    return max(places, default=0)


def _sets(statement: Statement, value: Value) -> bool:
    if any(v is value for v in defined(statement)):
        return True
    if isinstance(statement, Append | Increment | Reverse) and statement.target is value:
        return True
    return any(_sets(s, value) for inner in inner_lists(statement) for s in inner)
