"""Data flow across the edges of blocks: the items of loops, loop-carried variables, branches.

Calls tell by their operands and results where data come from.  The other ops have blocks, and a
value enters or leaves a block by its position: an item of a loop comes from a sequence, the result
of a conditional from one of its branches.
"""

from __future__ import annotations

from srcad.ir.core import (
    Arg,
    Block,
    For,
    Function,
    If,
    Op,
    Value,
    While,
    carried_outputs,
    collected_outputs,
    free_values,
    values_in,
)
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric


@dataclass(eq=False)
class Crossings:
    """The values that data flow to, and come from, without a call, in one function."""

    # The values that have the data of a value, by that value.
    onward: dict[Value, list[Value]] = field(default_factory=dict)
    # The values that a value has its data from, by that value; the test chose among them.
    origins: dict[Value, list[Value]] = field(default_factory=dict)
    # The number of loops around the definition of a value; values outside of all loops have none.
    depth: dict[Value, int] = field(default_factory=dict)
    # Each conditional with the values from outside that its branches read, entries of which may be
    # read in one of them only: no numbers that both read, or that all iterations of a loop read.
    branches: list[tuple[If, list[Value]]] = field(default_factory=list)

    def note(self, source: Arg, target: Value) -> None:
        """Note that `target` has the data of `source`, or of one of its items."""
        for value in values_in(source):
            self.onward.setdefault(value, []).append(target)
            self.origins.setdefault(target, []).append(value)

    def is_deeper(self, inner: Value, outer: Value) -> bool:
        """Return True if a value is in a loop that another one is not in."""
        return self.depth.get(inner, 0) > self.depth.get(outer, 0)


def crossings_of(function: Function) -> Crossings:
    """Find the data flow across the edges of all blocks of a function."""
    found = Crossings()
    _note_block(found, function.block, 0)
    return found


def _note_block(found: Crossings, block: Block, depth: int) -> None:
    if depth:
        found.depth.update(dict.fromkeys(block.params, depth))
    for op in block.ops:
        if depth:
            found.depth.update(dict.fromkeys(op.results, depth))
        if isinstance(op, If):
            _note_branches(found, op, depth)
        elif isinstance(op, For | While):
            _note_loop(found, op)
        for inner in op.blocks:
            _note_block(found, inner, depth + isinstance(op, For | While))


def _note_branches(found: Crossings, op: If, depth: int) -> None:
    for output, a, b in zip(op.outputs, op.then.results, op.orelse.results, strict=True):
        found.note(a, output)
        found.note(b, output)
        found.origins.setdefault(output, []).extend(values_in(op.test))
    then, orelse = dict.fromkeys(free_values(op.then)), dict.fromkeys(free_values(op.orelse))
    split = [v for v in {**then, **orelse} if not _is_number(v) or (v in then) != (v in orelse)]
    split = [v for v in split if not _is_number(v) or found.depth.get(v, 0) == depth]
    found.branches.append((op, split))


def _is_number(value: Value) -> bool:
    return isinstance(value.type, Numeric) and value.type.is_scalar


def _note_loop(found: Crossings, op: Op) -> None:
    assert isinstance(op, For | While)
    width = len(op.inits)
    results = op.body.results[1:]
    for param, init, result, output in zip(
        op.carried, op.inits, results[:width], carried_outputs(op), strict=True
    ):
        for source in (init, result):
            found.note(source, param)
            found.note(source, output)
    for output, result in zip(collected_outputs(op), results[width:], strict=True):
        found.note(result, output)
    if isinstance(op, For):
        for item, seq in zip(op.items, op.seqs, strict=True):
            found.note(seq, item)
