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
from typing import Any

import numpy as np

from srcad.analysis.sharing import Sharing, sharing
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
    carried_outputs,
    collected_outputs,
    free_values,
    values_in,
    walk,
)
from srcad.ir.disjoint import index_parts
from srcad.ir.inference.raising import may_raise
from srcad.ir.memory import (
    has_storage,
    makes_fresh,
    replaced_outside,
    values_kept_outside,
)
from srcad.ir.operations import Classes, NewVersion, memory_effect
from srcad.ir.traits import (
    depends_on_shape_only,
    is_indexed,
    is_known_part,
    is_store,
    law_of,
    law_of_operator,
)
from srcad.runtime import deep_copy
from srcad.startup.records import dataclass, field, replace
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.structures import ListOf, PlacesOf

# Copies that make stores possible in place: where they stand, and a block with them.


@dataclass(eq=False)
class Cures:
    """Copies that make stores possible in place."""

    facts: Conflicts
    patient: bool
    views: set[Value] = field(default_factory=set)
    inits: set[tuple[Loop, int]] = field(default_factory=set)
    yields: set[tuple[Loop, int]] = field(default_factory=set)
    bases: set[Call] = field(default_factory=set)
    collects: dict[Value, list[tuple[Loop, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for loop in walk(self.facts.function.block):
            if isinstance(loop, For | While):
                for k, atom in enumerate(loop.body.results[1 + len(loop.inits) :]):
                    if isinstance(atom, Value) and self._can_be_copied(atom):
                        self.collects.setdefault(atom, []).append((loop, k))
        for op in self.facts.stores:
            if not self.facts.is_free(op):
                self._cure(op)

    @property
    def found(self) -> bool:
        """True if there is anything to do."""
        return bool(self.views or self.inits or self.yields or self.bases)

    def _cure(self, op: Call) -> None:
        first = op.args[0]
        if not isinstance(first, Value) or not _is_copyable(first):
            return
        views, yields, others = self._alive(op, first)
        start = self._start(first, through=not others)
        sharing = self.facts.sharing
        if others or sharing.is_foreign(first) or first in sharing.rigid:
            if start is None:
                self._copy_base(op, first)
                return
            init = start[0].inits[start[1]]
            if self.patient and self._follows_conflict(init):
                return
            if self._can_be_copied(init):
                self.inits.add(start)
        self.views |= views
        self.yields |= yields

    def _alive(self, op: Call, first: Value) -> tuple[set[Value], set[tuple[Loop, int]], bool]:
        """Liveness behind a store: views, values that loops collect, and whether there is more."""
        views, yields, others = set[Value](), set[tuple[Loop, int]](), False
        for value in self.facts.alive[op]:
            collected = self._collected(value, first)
            merely_holds = isinstance(value.type, ListOf) and _is_array(first)
            if collected is not None:
                yields.add(collected)
            elif self._is_list_of_lists(value) and merely_holds:
                continue
            elif value in self.collects and not merely_holds:
                yields.update(self.collects[value])
            elif self._is_view(value, op):
                views.add(value)
            else:
                others = True
        return views, yields, others

    def _follows_conflict(self, value: Arg) -> bool:
        """Return True if an earlier store of a chain is in conflict.

        Its cure may do for what follows.
        """
        while isinstance(value, Value):
            op, _ = self.facts.definition.get(value, (None, None))
            if isinstance(op, Call) and op in self.facts.stores:
                if not self.facts.is_free(op):
                    return True
                value = op.args[0]
            elif isinstance(op, For | While) and value in carried_outputs(op):
                value = op.inits[carried_outputs(op).index(value)]
            else:
                return False
        return False

    def _copy_base(self, op: Call, first: Value) -> None:
        """Copy the array itself, before the first store of a chain: the others may follow it."""
        made, _ = self.facts.definition.get(first, (None, None))
        if isinstance(made, Call):
            follows = made in self.facts.stores and not self.facts.is_free(made)
            if follows or made.target is np.copy:
                return
        if _is_array(first) and is_store(op.target, "array"):
            self.bases.add(op)

    def _collected(self, value: Value, first: Value) -> tuple[Loop, int] | None:
        """Return the place where an array goes into a list that a loop fills."""
        op, _ = self.facts.definition.get(value, (None, None))
        if not isinstance(op, For | While) or value not in collected_outputs(op):
            return None
        if self.facts.sharing.own(value) == self.facts.sharing.own(first) and not _is_array(first):
            return None
        k = collected_outputs(op).index(value)
        atom = op.body.results[1 + len(op.inits) + k]
        is_list = isinstance(atom, Value) and isinstance(atom.type, ListOf)
        if is_list and _is_array(first):
            return None
        return (op, k) if self._can_be_copied(atom) else None

    def _is_list_of_lists(self, value: Value) -> bool:
        """Return True if a loop has filled a list with lists.

        Copying such a list would not help an array that it holds: the place to copy that is where
        it goes into the inner list.
        """
        op, _ = self.facts.definition.get(value, (None, None))
        if not isinstance(op, For | While) or value not in collected_outputs(op):
            return False
        atom = op.body.results[1 + len(op.inits) + collected_outputs(op).index(value)]
        return isinstance(atom, Value) and isinstance(atom.type, ListOf)

    def _can_be_copied(self, atom: Arg) -> bool:
        """Return True if a copy may help: it has storage, and is no copy already."""
        if not isinstance(atom, Value) or not _is_copyable(atom):
            return False
        made, _ = self.facts.definition.get(atom, (None, None))
        return not isinstance(made, Call) or law_of(made.target) != "copy"

    def _is_view(self, value: Value, store: Call) -> bool:
        op, _ = self.facts.definition.get(value, (None, None))
        if not isinstance(op, Call) or op in self.facts.stores or not _is_copyable(value):
            return False
        if is_reversed(op) and not self._can_be_copied(op.args[0]):
            return False  # it was copied before, and that did not help
        return (
            isinstance(value.type, Numeric) and not makes_fresh(op) and value is not store.args[0]
        )

    def _start(
        self, value: Arg, *, through: bool, seen: set[Arg] | None = None
    ) -> tuple[Loop, int] | None:
        """Return the outermost loop that carries the storage in: its initial value is copied once.

        `through` looks behind earlier loops that have had it: one copy before the first will do.
        What has been `seen` on another path is not followed twice.
        """
        found: tuple[Loop, int] | None = None
        seen = set() if seen is None else seen
        while isinstance(value, Value) and value not in seen:
            seen.add(value)
            op, _ = self.facts.definition.get(value, (None, None))
            following: Arg | None = None
            if isinstance(op, Call) and op in self.facts.stores:
                following = op.args[0]
            elif isinstance(op, If) and value in op.outputs:
                branches = (block.results[op.outputs.index(value)] for block in op.blocks)
                starts = [self._start(a, through=through, seen=seen) for a in branches]
                return next(filter(None, starts), found)
            elif isinstance(op, For | While) and value in op.carried:
                k = op.carried.index(value)
                following = op.inits[k]
                if isinstance(following, Const) or _is_copyable(following):
                    found = (op, k)
            elif isinstance(op, For | While) and value in carried_outputs(op):
                k = carried_outputs(op).index(value)
                following = op.inits[k]
                if through and isinstance(following, Value):
                    found = (op, k) if _is_copyable(following) else found
            if following is None:
                break
            value = following
        return found

    # ---------------------------------------------------------------------------- rewriting
    def applied(self, block: Block) -> Block:
        ops: list[Op] = []
        for op in block.ops:
            match op:
                case Call():
                    ops += self._call(op)
                case For() | While():
                    ops += self._loop(op)
                case _:
                    ops.append(op.mapped(self.applied))
        return replace(block, ops=tuple(ops))

    def _call(self, op: Call) -> list[Op]:
        if op in self.bases:
            first = op.args[0]
            assert isinstance(first, Value)
            base = Value(first.type, op.result.hint)
            return [copy_of(first, base, op), replace(op, args=(base, *op.args[1:]))]
        if op.result not in self.views:
            return [op]
        if is_reversed(op):  # a copy of the view would lie the other way round
            whole = op.args[0]
            assert isinstance(whole, Value)
            copied = Value(whole.type, whole.hint)
            return [copy_of(whole, copied, op), replace(op, args=(copied, *op.args[1:]))]
        taken = Value(op.result.type)
        call = copy_of(taken, op.result, op)
        if is_known_part(op.target):  # what a branch that was not taken has saved is None
            call = replace(call, target=deep_copy)
        return [replace(op, result=taken), call]

    def _loop(self, op: Loop) -> list[Op]:
        before: list[Op] = []
        inits = list(op.inits)
        for k, init in enumerate(inits):
            if (op, k) in self.inits:
                copied = Value(op.carried[k].type, op.carried[k].hint)
                before.append(copy_of(init, copied, op))
                inits[k] = copied
        body = self.applied(op.body)
        results, ops = list(body.results), list(body.ops)
        for k in range(len(collected_outputs(op))):
            if (op, k) in self.yields:
                place = 1 + len(inits) + k
                saved = results[place]
                assert isinstance(saved, Value)
                kept = Value(saved.type)
                results[place] = kept
                ops.insert(_behind(saved, body, ops), _kept_copy(saved, kept, op))
        body = replace(body, ops=tuple(ops), results=tuple(results))
        if isinstance(op, While):
            test = self.applied(op.test)
            return [*before, replace(op, inits=tuple(inits), test=test, body=body)]
        return [*before, replace(op, inits=tuple(inits), body=body)]


def _behind(value: Value, body: Block, ops: list[Op]) -> int:
    """Return the first place in a body where a value is there."""
    if value in body.params:
        return 0
    return next((k + 1 for k, op in enumerate(ops) if value in op.results), len(ops))


def _is_copyable(value: Value) -> bool:
    return isinstance(value.type, ListOf) or _is_array(value)


def _is_array(value: Value) -> bool:
    return isinstance(value.type, Numeric) and value.type.form == "array"


def _may_be_nothing(atom: Atom, block: Block) -> bool:
    """Return True if some path through a block has not made a value."""
    if isinstance(atom, Const):
        return True
    maker = next((op for op in block.ops if atom in op.results), None)
    if isinstance(maker, For | While) and atom in carried_outputs(maker):
        place = 1 + carried_outputs(maker).index(atom)
        return _may_be_nothing(maker.body.results[place], maker.body)
    if not isinstance(maker, If):
        return False
    place = maker.outputs.index(atom)
    return any(_may_be_nothing(branch.results[place], branch) for branch in maker.blocks)


def _kept_copy(saved: Value, kept: Value, loop: Loop) -> Call:
    """Return a copy of a value that an iteration saves, or None on a path that has not made it."""
    call = copy_of(saved, kept, loop)
    if _may_be_nothing(saved, loop.body):
        return replace(call, target=deep_copy)
    return call


# Which stores could write in place, and what speaks against it.

_NONES = (Const(None), Const(None))


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
    if op.half == "primal" or first not in accumulators:
        return False
    if law_of_operator(op.target) not in ("sum", "difference"):
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
        self._walk(self.function.block, values_kept_outside(self.function), None)

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
        and depends_on_shape_only(op.target)
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
    target: Any = deep_copy
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
    return is_indexed(op.target) and all(map(_is_all, index_parts(op.args[1])))


def _is_all(part: Arg) -> bool:
    """Return True if a part of an index is a slice of a whole axis, in one order or the other."""
    if not isinstance(part, Display) or part.kind != "slice":
        return part in (Const(Ellipsis), Const(None))
    return part.items[:2] == _NONES and part.items[2] in (Const(None), Const(-1))


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
            case _:
                ops.append(op.mapped(lambda inner: _marked(inner, stores, idle)))
    return replace(block, ops=tuple(ops))


def _makes(ops: list[Op], value: Value) -> bool:
    return bool(ops) and value in ops[-1].results
