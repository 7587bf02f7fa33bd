"""Store-to-load forwarding, and removal of stores that are overwritten at once.

A factorisation writes ``A[i, j]`` in two statements and reads ``A[j, j]`` between them; its adjoint
puts old entries back only to read others.  Here a store is done after the reads that it does not
touch, an entry that was just stored is not read again, and a store that the next one covers is
left out.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeGuard

from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Display,
    Function,
    Op,
    Try,
    Value,
    free_values,
    values_in,
    walk,
)
from srcad.ir.definitions import calls_by_result, uses_of
from srcad.ir.disjoint import Integers, is_entry, nothing_known
from srcad.ir.inference.builder import Builder, atom_type, result_type
from srcad.ir.memory import has_storage, makes_fresh
from srcad.ir.substitute import substituted, substituted_atom, substituted_op
from srcad.ir.traits import (
    adds_at_places,
    is_indexed,
    law_of_operator,
    sets_places,
)
from srcad.passes.dce import dce
from srcad.passes.simplify import simplify
from srcad.startup.records import dataclass, field, replace
from srcad.types.numeric import Numeric, same_dtype


def with_fewer_stores(function: Function) -> Function:
    """Return a function without the reads of stored entries, simplified if that removed one."""
    less = forward_stores(function)
    return function if less is function else simplify(dce(less))


def forward_stores(function: Function) -> Function:
    """Read and write entries of arrays as often as needed; the same object if nothing changes.

    >>> function = parse('''
    ... f(a: float64[3], v: float64, i: int):
    ...     a_1 = updated(a, i, v)
    ...     t = getitem(a_1, i)
    ...     s = mul(t, t)
    ...     a_2 = updated(a_1, i, s)
    ...     return a_2
    ... ''')
    >>> print(text(forward_stores(function)))
    f(a, v, i):
        s = mul(v, v)
        a_2 = updated(a, i, s)
        return a_2
    """
    if not any(_is_store(op) for op in walk(function.block)):
        return function
    work = _Forwarding()
    block = work.block(function.block)
    return replace(function, block=block) if work.changed else function


@dataclass(eq=False)
class _Forwarding:
    known: Integers = field(default_factory=nothing_known)
    changed: bool = False

    def block(self, block: Block) -> Block:
        """Return the rewritten block, inner blocks first."""
        ops: list[Op] = []
        for op in block.ops:
            self.known.note(op)
            ops.append(self._inside(op))
        if any(_is_store(op) for op in ops):
            self._put_off(ops, block.results)
            entries = _Entries(ops, block)
            ops = entries.forwarded()
            self.changed |= bool(entries.merged or entries.covered)
            results = tuple(substituted_atom(a, entries.merged) for a in block.results)
            return replace(block, ops=tuple(ops), results=results)
        return replace(block, ops=tuple(ops))

    def _inside(self, op: Op) -> Op:
        # The handler of a `try` sees what has been written when its body fails.
        return op if isinstance(op, Try) else op.mapped(self.block)

    # -------------------------------------------------------------- stores that can wait
    def _put_off(self, ops: list[Op], results: Sequence[Atom]) -> None:
        """Do a store after reads that it does not touch, if that saves one, or the store."""
        made = calls_by_result(ops)
        for i in reversed(range(len(ops))):
            store = ops[i]
            if not isinstance(store, Call) or not _is_store(store) or entry_of(store) is None:
                continue
            untouched, end = self._untouched(ops, i, store)
            if end == len(ops) or not _is_same_entry(store, ops[end]):
                untouched = _until_known(ops, untouched, store, made)
            last = _end_of_views(ops, untouched, results)
            if untouched and last < end:
                self.changed = True
                for k in untouched:
                    ops[k] = _reading(store.args[0], ops[k])
                ops.insert(last + 1, store)
                del ops[i]

    def _untouched(self, ops: list[Op], i: int, store: Call) -> tuple[list[int], int]:
        """Return the reads of the new array that need not wait, and how far the store can."""
        array, place, _ = store.args
        assert isinstance(array, Value)
        found: list[int] = []
        for k in range(i + 1, len(ops)):
            op = ops[k]
            if op.half != store.half:
                return found, k
            if _reads(op, store.result) and self.known.are_disjoint(place, op.args[1]):
                found.append(k)
                continue
            named = _named(op)
            if store.result in named or (array in named and not _reads(op, array)):
                return found, k
        return found, len(ops)


class _Entries:
    """Entries that are known where they are read, in the ops of one block."""

    def __init__(self, ops: Sequence[Op], block: Block) -> None:
        self.ops = ops
        self.uses = uses_of(replace(block, ops=tuple(ops)))
        self.made = calls_by_result(ops)
        self.stores: dict[Value, Call] = {}
        self.entries: dict[tuple[Value, Arg], Value] = {}  # what a place of an array holds
        self.merged: dict[Value, Atom] = {}
        self.out: list[Op] = []
        self.covered: set[Op] = set()
        self.read_again: set[Value] = set()  # the arrays whose last entry is read
        for op in reversed(list(self.made.values())):
            self._note_read(op)

    def _note_read(self, op: Call) -> None:
        entry = entry_of(op)
        reads = is_indexed(op.target) or op.result in self.read_again
        if entry is not None and reads and not sets_places(op.target):
            store = self.made.get(entry[0])
            if store is not None and _is_same_entry(store, op):
                self.read_again.add(entry[0])

    def forwarded(self) -> list[Op]:
        """Return the ops without what need not be read, or written."""
        for op in self.ops:
            op = substituted_op(op, self.merged)
            entry = entry_of(op) if isinstance(op, Call) else None
            if entry is None or not isinstance(op, Call):
                self.out.append(op)
            elif is_indexed(op.target):
                self._read(op, *entry)
            else:
                self._write(op, *entry)
        return [op for op in self.out if op not in self.covered]

    def _read(self, op: Call, array: Value, place: Arg) -> None:
        known = self.entries.get((array, place))
        store = self.stores.get(array)
        if store is not None and known is not None and store.half == op.half:
            self.merged[op.result] = known
            self.uses[array] -= 1
        else:
            self.entries.setdefault((array, place), op.result)
            self.out.append(op)

    def _write(self, op: Call, array: Value, place: Arg) -> None:
        if adds_at_places(op.target) and op.result in self.read_again:
            op = self._as_sum(op, array, place)
        store = self.stores.get(array)
        value = op.args[2]
        if sets_places(op.target):
            if store is not None and _is_same_entry(store, op) and self.uses[array] == 1:
                self.covered.add(store)
                op = replace(op, args=(store.args[0], place, value))
            if isinstance(value, Value) and _holds(array, value):
                self.entries[op.result, place] = value
        self.stores[op.result] = op
        self.out.append(op)

    def _as_sum(self, op: Call, array: Value, place: Arg) -> Call:
        """``a[k] += d``, which is read next, as ``s = a[k] + d; a[k] = s``."""
        assert isinstance(array.type, Numeric)
        target, other = self._signed(op.args[2])
        old = self.entries.get((array, place))
        entry = Value(replace(array.type, shape=(), form="numpy")) if old is None else old
        total = Value(result_type(target, (entry, other), ()))
        if not _holds(array, total):
            return op
        if old is None:
            self.entries[array, place] = entry
            self.uses[array] += 1
            self.out.append(replace(op, target=operator.getitem, args=(array, place), result=entry))
        self.out.append(replace(op, target=target, args=(entry, other), result=total))
        builder = Builder(where=op.where, half=op.half)
        builder.updated(array, place, total, result=op.result)
        (stored,) = builder.ops
        assert isinstance(stored, Call)
        return stored

    def _signed(self, added: Arg) -> tuple[Any, Arg]:
        """``+ d``, or ``- e`` where d is ``-e``."""
        made = self.made.get(added) if isinstance(added, Value) else None
        if made is None or law_of_operator(made.target) != "negative":
            return operator.add, added
        return operator.sub, substituted(made.args[0], self.merged)


def entry_of(op: Call) -> tuple[Value, Arg] | None:
    """Return the array of floats and the one place in it that a call reads, or writes to."""
    if not is_indexed(op.target) and not _is_store(op):
        return None
    array, place = op.args[:2]
    type_ = array.type if isinstance(array, Value) else None
    if not isinstance(array, Value) or not isinstance(type_, Numeric) or type_.shape is None:
        return None
    if type_.form != "array" or type_.kind != "f" or not is_entry(place, len(type_.shape)):
        return None
    return None if _is_store(op) and not _is_number(op.args[2]) else (array, place)


def _is_store(op: Op) -> TypeGuard[Call]:
    return isinstance(op, Call) and (sets_places(op.target) or adds_at_places(op.target))


def _reads(op: Op, array: Value) -> TypeGuard[Call]:
    """Return True if an op reads a part of an array, and asks nothing else of it."""
    if not isinstance(op, Call) or not is_indexed(op.target):
        return False
    return op.args[0] is array and op.operands.count(array) == 1


def _reading(array: Arg, op: Op) -> Call:
    """Return the read of an array instead of another one."""
    assert isinstance(op, Call)
    return replace(op, args=(array, *op.args[1:]))


def _until_known(
    ops: Sequence[Op], reads: list[int], store: Call, made: dict[Value, Call]
) -> list[int]:
    """Return the reads up to the last one of what the store before has written."""
    array = store.args[0]
    before = made.get(array) if isinstance(array, Value) else None
    while reads and (before is None or not _is_same_entry(before, _reading(array, ops[reads[-1]]))):
        reads = reads[:-1]
    return reads


def _end_of_views(ops: Sequence[Op], reads: Sequence[int], results: Sequence[Atom]) -> int:
    """Return the last op that reads what some ops have read, which may be a view."""
    last = max(reads, default=0)
    shown = {v for k in reads for v in ops[k].results if has_storage(v)}
    if shown:
        for k in range(reads[0], len(ops)):
            op = ops[k]
            if not shown.isdisjoint(_named(op)):
                last = max(last, k)
                fresh = isinstance(op, Call) and makes_fresh(op)
                shown.update(v for v in op.results if not fresh and has_storage(v))
    yielded = any(not shown.isdisjoint(values_in(atom)) for atom in results)
    return len(ops) if yielded else last


def _named(op: Op) -> set[Value]:
    return {*op.operands, *(v for inner in op.blocks for v in free_values(inner))}


def _is_same_entry(store: Call, op: Op) -> bool:
    """Return True if a call reads or writes the place that a store has written.

    It must be in the same half.
    """
    first, second = entry_of(store), entry_of(op) if isinstance(op, Call) else None
    if first is None or second is None or not _is_store(store) or store.half != op.half:
        return False
    return second == (store.result, first[1])


def _is_number(arg: Arg) -> bool:
    type_ = None if isinstance(arg, Display) else atom_type(arg)
    return isinstance(type_, Numeric) and type_.form in ("python", "numpy") and type_.kind in "fib"


def _holds(array: Value, value: Value) -> bool:
    """Return True if a number is what the array returns after it was stored: of the same dtype."""
    a, b = array.type, value.type
    if not isinstance(a, Numeric) or not isinstance(b, Numeric):
        return False
    return b.form == "numpy" and b.shape == () and same_dtype(a.dtype, b.dtype)
