"""Definitions and uses of values, and disjoint sets."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from srcad.ir.core import Block, Call, Op, Value

T = TypeVar("T", bound=Hashable)


def calls_by_result(ops: Iterable[Op]) -> dict[Value, Call]:
    """Return the call that defines each value; outputs of conditionals and loops are left out."""
    return {op.result: op for op in ops if isinstance(op, Call)}


def uses_of(block: Block) -> dict[Value, int]:
    """Count the uses of each value, in the block and in all blocks inside it."""
    uses: dict[Value, int] = {}
    pending = [block]
    while pending:
        one = pending.pop()
        for atom in one.results:
            if isinstance(atom, Value):
                uses[atom] = uses.get(atom, 0) + 1
        for op in one.ops:
            for value in op.operands:
                uses[value] = uses.get(value, 0) + 1
            pending += op.blocks
    return uses


class DisjointSets(Generic[T]):
    """Disjoint sets of values (union-find with path compression).

    >>> sets = DisjointSets()
    >>> sets.join("a", "b")
    >>> sets.find("b"), sets.find("c")
    ('a', 'c')
    """

    def __init__(self, parents: dict[T, T] | None = None) -> None:
        self.parents = {} if parents is None else dict(parents)

    def copy(self) -> DisjointSets[T]:
        """Return sets that later joins of these do not change."""
        return DisjointSets(self.parents)

    def find(self, value: T) -> T:
        """Return the representative of the set of a value."""
        root = value
        while (parent := self.parents.get(root, root)) != root:
            root = parent
        while value != root:
            self.parents[value], value = root, self.parents[value]
        return root

    def join(self, a: T, b: T) -> None:
        """Join two sets; the representative of the first one represents both."""
        first, second = self.find(a), self.find(b)
        if first != second:
            self.parents[second] = first
