"""Which stores could write in place, and what speaks against it."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from srcad.analysis.sharing import Sharing
from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Loop,
    Op,
    Try,
    Value,
    While,
    collected_outputs,
    free_values,
    values_in,
    walk,
)
from srcad.ir.disjoint import index_parts
from srcad.ir.inference.raising import may_raise
from srcad.ir.memory import has_storage, kept_outside, replaced_outside
from srcad.ir.operations import Classes, NewVersion, memory_effect
from srcad.ir.traits import asks_for_shape, is_store
from srcad.runtime import owned
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.structures import ListOf, PlacesOf

_NONES = (Const(None), Const(None))
_ACCUMULATE = frozenset({operator.add, operator.sub})


# ------------------------------------------------------------------------------- candidates
def candidates(function: Function) -> Iterator[Call]:
    """Yield the stores, and the sums that accumulate in a loop."""
    accumulators: set[Value] = set()
    for op in walk(function.block):
        if isinstance(op, For | While):
            accumulators.update(op.carried)
        if not isinstance(op, Call) or not op.args or not has_storage(op.result):
            continue
        if is_store(op.target) or _accumulates(op, accumulators):
            yield op
            accumulators.add(op.result)


def _accumulates(op: Call, accumulators: set[Value]) -> bool:
    """``x_bar = x_bar + g`` for a carried array of the same shape and dtype as the sum."""
    first = op.args[0]
    if op.target not in _ACCUMULATE or op.half == "primal" or first not in accumulators:
        return False
    if not isinstance(first, Value) or first.hint is None or first.hint != op.result.hint:
        return False
    old, new = first.type, op.result.type
    if not isinstance(old, Numeric) or not isinstance(new, Numeric):
        return False
    if old.dtype is None or not same_dtype(old.dtype, new.dtype):
        return False
    if old.shape is None or new.shape is None:
        return False
    # A cotangent has the shape of its value; symbols of lengths that nobody compared may differ.
    return len(old.shape) == len(new.shape) and first.hint.endswith("_bar")


# -------------------------------------------------------------------------------- conflicts
@dataclass(eq=False)
class Conflicts:
    """For every store: the values alive after it that may share what it writes into."""

    function: Function
    sharing: Sharing
    stores: frozenset[Call]
    alive: dict[Call, list[Value]] = field(default_factory=dict)
    definition: dict[Value, tuple[Op, Loop | None]] = field(default_factory=dict)
    replaced: dict[Call, set[Value]] = field(default_factory=dict)
    attempts: list[tuple[Classes, set[Value]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.replaced = replaced_outside(self.function)
        self._walk(self.function.block, kept_outside(self.function), None)

    def is_free(self, op: Call) -> bool:
        """Return True if nothing speaks against writing in place."""
        first = op.args[0]
        return (
            isinstance(first, Value)
            and not self.alive[op]
            and not self.sharing.is_foreign(first)
            and first not in self.sharing.rigid
            and not self._is_point_of_an_array(first)
            and not self._reads_itself(op)
        )

    def _is_point_of_an_array(self, value: Value) -> bool:
        """Return True if a single number may lie in the storage of an array with axes."""
        type_ = value.type
        if not isinstance(type_, Numeric) or type_.shape != ():
            return False
        return self.sharing.own(value) in self.sharing.with_axes

    def _reads_itself(self, op: Call) -> bool:
        """Return True if a store reads its destination while it writes."""
        assert isinstance(op.args[0], Value)
        node = self.sharing.own(op.args[0])
        memory = memory_effect(op.target)
        if not isinstance(memory, NewVersion):
            return False
        careful = op.args[1:2] if memory.buffered else op.args[1:]
        return any(self.sharing.shares(node, v) for arg in careful for v in values_in(arg))

    def _walk(self, block: Block, live: set[Value], loop: Loop | None) -> set[Value]:
        """Walk a block backward; `live` holds the values that are live after it."""
        live = live | {v for atom in block.results for v in values_in(atom) if has_storage(v)}
        for op in reversed(block.ops):
            live.difference_update(op.results)
            for result in op.results:
                self.definition[result] = (op, loop)
            match op:
                case Call():
                    if op in self.stores:
                        self._store(op, live)
                    live.difference_update(self.replaced.get(op, ()))
                case Try():
                    handled = self._walk(op.orelse, live, loop)
                    self.attempts.append((op.catches, handled))
                    live = self._walk(op.then, live, loop) | handled
                    self.attempts.pop()
                case If():
                    live = self._walk(op.then, live, loop) | self._walk(op.orelse, live, loop)
                case For() | While():
                    live = self._loop(op, live)
            if not _reads_shapes(op):
                live.update(v for v in op.operands if has_storage(v))
            live |= self._read_after_failure(op)
        return live

    def _read_after_failure(self, op: Op) -> set[Value]:
        """Return the values that are read if an operation inside a ``try`` fails.

        A store that fails has written nothing; where it may have, the front end refuses.
        """
        if not self.attempts or op.half == "repeated":
            return set()
        read = (handled for catches, handled in self.attempts if may_raise(op, catches))
        return set[Value]().union(*read)

    def _loop(self, op: Loop, live: set[Value]) -> set[Value]:
        """Mark values that a loop reads from outside, and lists it fills, as alive in it."""
        again = live | {v for b in op.blocks for v in _read_outside(b) if has_storage(v)}
        again |= self._read_after_failure(op)
        again.difference_update(op.body.params)
        again.update(collected_outputs(op))
        if isinstance(op, For):
            again.update(v for seq in op.seqs for v in values_in(seq) if has_storage(v))
        inside = self._walk(op.body, again, op)
        if isinstance(op, While):
            inside = self._walk(op.test, inside, op)
        for param in (p for b in op.blocks for p in b.params):
            self.definition[param] = (op, op)
        left = (live | inside) - {p for b in op.blocks for p in b.params}
        left.difference_update(op.results)
        return left | (again - set(collected_outputs(op)))

    def _store(self, op: Call, live: set[Value]) -> None:
        first = op.args[0]
        if not isinstance(first, Value):
            self.alive[op] = []
            return
        node = self.sharing.own(first)
        self.alive[op] = [v for v in live if self.sharing.shares(node, v)]


def _reads_shapes(op: Op) -> bool:
    """Return True if an op reads of arrays nothing that a store changes."""
    return (
        isinstance(op, Call)
        and asks_for_shape(op.target)
        and all(isinstance(v.type, Numeric) for v in op.operands)
    )


def _read_outside(block: Block) -> Iterator[Value]:
    """Return the values that a block reads from outside, except for their shapes."""
    read = {v for atom in block.results for v in values_in(atom)}
    for op in walk(block):
        if not _reads_shapes(op):
            read.update(op.operands)
        read.update(v for b in op.blocks for atom in b.results for v in values_in(atom))
    return (v for v in free_values(block) if v in read)


def copy_of(source: Atom, result: Value, near: Op) -> Call:
    """Return a copy of an array, a list, or a value that may be a number instead.

    The items of the list are not copied.
    """
    type_ = result.type
    target: Any = owned
    if isinstance(type_, ListOf):
        target = dict if isinstance(type_, PlacesOf) else list
    elif isinstance(type_, Numeric) and type_.form == "array":
        target = np.copy
    return Call(target=target, args=(source,), result=result, where=near.where, half=near.half)


def is_reversed(op: Call) -> bool:
    """Return True if a call shows all of an array, perhaps some axis of it in reverse."""
    whole = op.args[0] if op.half == "primal" and op.args else None
    if not isinstance(whole, Value) or not isinstance(whole.type, Numeric):
        return False
    if op.target is np.flip:
        return True
    return op.target is operator.getitem and all(map(_is_all, index_parts(op.args[1])))


def _is_all(part: Arg) -> bool:
    """Return True if a part of an index is a slice of a whole axis, in one order or the other."""
    if not isinstance(part, Display) or part.kind != "slice":
        return part in (Const(Ellipsis), Const(None))
    return part.items[:2] == _NONES and part.items[2] in (Const(None), Const(-1))
