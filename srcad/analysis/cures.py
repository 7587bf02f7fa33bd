"""Copies that make stores possible in place: where they stand, and a block with them."""

from __future__ import annotations

import numpy as np

from srcad.analysis.conflicts import Conflicts, copy_of, is_reversed
from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    For,
    If,
    Loop,
    Op,
    Value,
    While,
    carried_outputs,
    collected_outputs,
    walk,
)
from srcad.ir.memory import is_one_of, makes_fresh
from srcad.ir.traits import is_known_part, is_store
from srcad.runtime import owned
from srcad.startup.records import dataclass, field, replace
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf

_COPIES = frozenset({np.copy, owned, list, dict})


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
        return not isinstance(made, Call) or not is_one_of(made.target, _COPIES)

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
        """Return the block with the copies."""
        ops: list[Op] = []
        for op in block.ops:
            match op:
                case Call():
                    ops += self._call(op)
                case If():
                    then, orelse = self.applied(op.then), self.applied(op.orelse)
                    ops.append(replace(op, then=then, orelse=orelse))
                case For() | While():
                    ops += self._loop(op)
                case _:
                    ops.append(op)
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
            call = replace(call, target=owned)
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
        return replace(call, target=owned)
    return call
