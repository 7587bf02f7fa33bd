"""How often values are read."""

from __future__ import annotations

from srcad.ir.core import Block, Value


def uses_of(block: Block) -> dict[Value, int]:
    """How often each value is read."""
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
