"""Restoring of overwritten arrays: slice by slice instead of saving them as a whole.

Where a loop writes into an array and the reverse half reads what the array held, the reverse loop
carries a *mirror* of the array: it starts as the array is after the loop, and where a store
``u1 = updated(u0, i, v)`` is undone, the mirror becomes ``updated(mirror, i, old)``.  What was
overwritten, ``old = u0[i]``, is read just before the store and is all that an iteration saves.

Whether that is worth it is decided once the reverse half is known: the reads that would be saved
are weighed against the stores, by the number of loops around them and by their rank.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator

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
    carried_outputs,
    walk,
)
from srcad.ir.definitions import DisjointSets
from srcad.ir.inference.builder import result_type
from srcad.ir.traits import is_checkpoint, is_store, law_of_operator
from srcad.startup.records import dataclass, field, replace
from srcad.transforms.magnitudes import read_again
from srcad.transforms.recompute import is_cheap
from srcad.types.numeric import Numeric


@dataclass(eq=False)
class Versions:
    """The versions of every array that is written into, and where each of them is defined.

    What a checkpoint makes are versions of their own: it is computed again from its beginning.
    """

    function: Function
    made: dict[Value, Op] = field(default_factory=dict)
    homes: dict[Value, Block] = field(default_factory=dict)
    parents: dict[Block, Block] = field(default_factory=dict)
    depths: dict[Block, int] = field(default_factory=dict)
    units: dict[Block, Block] = field(default_factory=dict)
    groups: DisjointSets[Value] = field(default_factory=DisjointSets)

    def __post_init__(self) -> None:
        block = self.function.block
        self.depths[block], self.units[block] = 0, block
        self.homes.update(dict.fromkeys(self.function.params, block))
        self._note(block)

    def _note(self, block: Block) -> None:
        for op in block.ops:
            for result in op.results:
                self.made[result], self.homes[result] = op, block
            for inner in op.blocks:
                self.parents[inner] = block
                self.depths[inner] = self.depths[block] + isinstance(op, For | While)
                self.units[inner] = self.units[block]
                if is_checkpoint(op):
                    self.depths[inner], self.units[inner] = 0, inner
                self.homes.update(dict.fromkeys(inner.params, inner))
                self._note(inner)
            self._link(op)

    def _link(self, op: Op) -> None:
        if isinstance(op, Call) and makes_version(op):
            self._join(op.result, op.args[0])  # type: ignore[arg-type]
        elif isinstance(op, If) and not is_checkpoint(op):
            for output, a, b in zip(op.outputs, op.then.results, op.orelse.results, strict=True):
                self._join(output, a)
                self._join(output, b)
        elif isinstance(op, For | While):
            for k, output in enumerate(carried_outputs(op)):
                for other in (op.carried[k], op.body.results[1 + k], op.inits[k]):
                    self._join(output, other)

    def _join(self, a: Value, b: Atom) -> None:
        if not _is_array(a) or not isinstance(b, Value) or not _is_array(b):
            return
        outside = self.function.block  # what a nested derivative captures comes from around it
        if self.units[self.homes[a]] is self.units[self.homes.get(b, outside)]:
            self.groups.join(a, b)

    def group(self, value: Value) -> Value:
        """Return the representative of all versions of one array."""
        return self.groups.find(value)

    def depth(self, value: Value) -> int:
        """Return the number of loops around a value."""
        home = self.homes.get(value)
        return 0 if home is None else self.depths[home]

    def origin(self, value: Atom, inside: Block) -> Value | None:
        """Return the version from which stores in a block lead to this one.

        None where none does.
        """
        while isinstance(value, Value):
            home = self.homes.get(value)
            if home is None or value in inside.params or not self._is_within(home, inside):
                return value
            op = self.made.get(value)
            following: Atom | None = None
            if isinstance(op, Call) and makes_version(op):
                following = op.args[0]  # type: ignore[assignment]
            elif isinstance(op, If):
                k = op.outputs.index(value)
                ends = [self.origin(branch.results[k], branch) for branch in op.blocks]
                following = ends[0] if ends[0] is ends[1] else None
            elif isinstance(op, For | While) and value in carried_outputs(op):
                first = self.origin(op.body.results[1 + carried_outputs(op).index(value)], op.body)
                following = op.inits[op.carried.index(first)] if first in op.carried else None
            if following is None:
                return None
            value = following
        return None

    def _is_within(self, block: Block, outer: Block) -> bool:
        here: Block | None = block
        while here is not None and here is not outer:
            here = self.parents.get(here)
        return here is outer

    # ------------------------------------------------------------------------- choosing
    def broken(self) -> set[Value]:
        """Return the arrays that an iteration leaves in another form than a later version."""
        found: set[Value] = set()
        for op in walk(self.function.block):
            if not isinstance(op, For | While):
                continue
            ends: dict[Value, list[Value | None]] = {}
            for k, output in enumerate(carried_outputs(op)):
                if _is_array(output):
                    end = self.origin(op.body.results[1 + k], op.body)
                    ends.setdefault(self.group(output), []).append(end)
            for group, origins in ends.items():
                carried = all(o in op.carried for o in origins)
                if not carried or len(set(origins)) < len(origins):
                    found.add(group)
        return found

    def base(self, value: Value) -> Value | None:
        """Return the version that a value is, or is a cheap read of."""
        while True:
            if self.group(value) in self.written:
                return value
            call = self.made.get(value)
            if not isinstance(call, Call) or not is_free_view(call):
                return None
            value = call.args[0]  # type: ignore[assignment]

    @property
    def written(self) -> set[Value]:
        """The arrays that a loop writes into."""
        found = self.__dict__.get("_written")
        if found is None:
            found = {
                self.group(op.result)
                for op in walk(self.function.block)
                if isinstance(op, Call) and makes_version(op) and self.depth(op.result)
            }
            self.__dict__["_written"] = found
        return found


@dataclass(eq=False)
class Mirrors:
    """The arrays that are mirrored, and by each store's result what it has overwritten."""

    versions: Versions
    chosen: set[Value]
    old: dict[Value, Value]

    def __contains__(self, value: Atom) -> bool:
        return isinstance(value, Value) and self.versions.group(value) in self.chosen


def makes_version(op: Call) -> bool:
    """Return True if a call is a new version of an array."""
    return is_store(op.target, "array") and isinstance(op.args[0], Value)


def is_free_view(call: Call) -> bool:
    """Return True if a call reads a part of an array, or shows it in another way, at no cost."""
    return (
        bool(call.args)
        and isinstance(call.args[0], Value)
        and _is_array(call.args[0])
        and (is_cheap(call) and law_of_operator(call.target) in ("", "power"))
    )


def _is_array(value: Value) -> bool:
    return isinstance(value.type, Numeric) and value.type.form == "array"


def _rank(type_: object) -> int:
    return len(type_.shape or ()) if isinstance(type_, Numeric) else 0


# ------------------------------------------------------------------------------ the choice
def worth_mirroring(function: Function, derived: Function) -> Mirrors | None:
    """Return the arrays of a function that its derivative should mirror; None where there is none.

    Parameters
    ----------
    function : Function
        The primal.
    derived : Function
        Primal and reverse half, written as if all values of the primal were in scope.
    """
    versions = Versions(function)
    if not versions.written:
        return None
    reads: dict[Value, Counter[int]] = {}
    for value in _read_in_reverse(derived, versions):
        base = versions.base(value)
        if base is not None:
            key = versions.depth(value) + _rank(value.type)
            reads.setdefault(versions.group(base), Counter())[key] += 1
    stores: dict[Value, Counter[int]] = {}
    for op in walk(function.block):
        if isinstance(op, Call) and makes_version(op) and (depth := versions.depth(op.result)):
            rank = _rank(result_type(operator.getitem, op.args[:2], ()))
            stores.setdefault(versions.group(op.result), Counter())[depth + rank] += 1
    broken = versions.broken() | set(_read_late(function, versions))
    chosen = {
        group
        for group, count in reads.items()
        if group in stores and group not in broken and _is_more(count, stores[group])
    }
    return Mirrors(versions, chosen, {}) if chosen else None


def _read_late(function: Function, versions: Versions) -> Iterator[Value]:
    """Yield the arrays that the derivative of a call reads as they were before other stores.

    A mirror has the version of the moment, but the derivative of ``abs(x)**2`` reads `x`.
    """
    for x, between in read_again(function.block, versions.made):
        base = versions.base(x)
        if base is None:
            continue
        group = versions.group(base)
        if between is None or any(versions.group(v) is group for op in between for v in op.results):
            yield group


def _is_more(a: Counter[int], b: Counter[int]) -> bool:
    for key in sorted({*a, *b}, reverse=True):
        if a[key] != b[key]:
            return a[key] > b[key]
    return False


def _read_in_reverse(derived: Function, versions: Versions) -> Iterator[Value]:
    """Yield the values from inside the loops of the primal that the reverse half reads."""
    seen: set[Value] = set()
    for op in walk(Block((), tuple(o for o in derived.block.ops if o.half == "reverse"), ())):
        values = [*op.operands, *(v for b in op.blocks for v in b.results if isinstance(v, Value))]
        for value in values:
            if value not in seen and versions.depth(value):
                seen.add(value)
                yield value


# ------------------------------------------------------------------------------ preparing
def with_old_reads(function: Function, mirrors: Mirrors) -> tuple[Function, Mirrors]:
    """Return the function with what each store overwrites read before it."""
    versions, old = mirrors.versions, dict[Value, Value]()

    def rewritten(block: Block) -> Block:
        ops: list[Op] = []
        for op in block.ops:
            mirrored = any(v in mirrors and versions.depth(v) for v in op.results)
            if isinstance(op, Call) and mirrored and makes_version(op):
                ops.append(_read_before(op))
                old[op.result] = ops[-1].results[0]
            ops.append(op.mapped(rewritten))
        return replace(block, ops=tuple(ops))

    made = replace(function, block=rewritten(function.block))
    return made, Mirrors(Versions(made), mirrors.chosen, old)


def _read_before(store: Call) -> Call:
    """Return the value that a store is about to overwrite."""
    read = Value(result_type(operator.getitem, store.args[:2], ()))
    return Call(
        target=operator.getitem,
        args=store.args[:2],
        result=read,
        where=store.where,
        half="repeated",
    )
