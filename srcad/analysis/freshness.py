"""Results that belong to the caller: sharing memory with no argument, constant or other result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from srcad.analysis.ownership import copy_of
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
    Value,
    While,
    carried_outputs,
    collected_outputs,
    values_in,
    walk,
)
from srcad.ir.memory import has_storage, is_one_of, makes_fresh, values_kept_outside
from srcad.ir.traits import (
    built_parts,
    is_builder,
    is_indexed,
    is_read_only,
    is_store,
    puts_in,
)
from srcad.runtime import copy_in_order_of, deep_copy
from srcad.startup.records import dataclass, field, replace
from srcad.types.structures import ListOf, TupleOf

_NONE = Const(None)
_COPIES = frozenset({deep_copy, copy_in_order_of})


def fresh_results(function: Function, own: Iterable[int], *, writable: bool = True) -> Function:
    """Copy results that may alias an argument, a constant or another result.

    Parameters
    ----------
    function : Function
        Any function.
    own : iterable of int
        The positions of the results that must belong to the caller alone (the gradients).
    writable : bool
        Copy what may be read-only too; `in_place` often makes it writable on the way.

    Returns
    -------
    Function
        The same function, with copies at its end where they are needed.
    """
    # A store makes a new array, unless it is in place already; `in_place` never adds sharing that
    # somebody outside could see.
    stores = (op for op in walk(function.block) if isinstance(op, Call) and op.in_place)
    found = sharing(function, stores)
    positions = set(own)
    builders = {
        op.result: op for op in function.block.ops if isinstance(op, Call) and is_builder(op.target)
    }
    seen: list[Value] = list(values_kept_outside(function))
    for k, atom in enumerate(function.block.results):
        if k not in positions:
            seen += [v for v in values_in(atom) if has_storage(v)]
    if not writable:
        found.rigid = set()
    fresh = _Fresh(found, builders, _ordering(function), seen, _Items(function), _slices(function))
    results = [
        fresh.atom(atom) if k in positions else atom
        for k, atom in enumerate(function.block.results)
    ]
    if not fresh.ops:
        return function
    read = {value for op in fresh.ops for value in op.operands}
    read.update(value for atom in results for value in values_in(atom))
    ops = [
        op
        for op in function.block.ops
        if op not in fresh.replaced or not read.isdisjoint(op.results)
    ]
    block = replace(function.block, ops=(*ops, *fresh.ops), results=tuple(results))
    return replace(function, block=block)


def _slices(function: Function) -> dict[Value, tuple[Arg, Display]]:
    """Return the arrays and slices of ``x[a:b]`` along the first axis, by their results."""
    calls = (op for op in function.block.ops if isinstance(op, Call))
    found = ((op.result, op.args) for op in calls if is_indexed(op.target))
    return {
        result: (args[0], args[1])
        for result, args in found
        if isinstance(args[1], Display) and args[1].kind == "slice" and args[1].items[2] == _NONE
    }


def _ordering(function: Function) -> dict[Value, Call]:
    """Return the calls that bring results into C order, if nothing else reads these."""
    found = {
        op.result: op
        for op in function.block.ops
        if isinstance(op, Call) and op.target is np.ascontiguousarray and op.half == "reverse"
    }
    reads = Counter(v for op in function.block.ops for v in op.operands) if found else Counter()
    read_once = {v: op for v, op in found.items() if reads[v] <= 1}
    return {v: op for v, op in read_once.items() if not _is_read_inside(function, v)}


def _is_read_inside(function: Function, value: Value) -> bool:
    return any(value in block.free for op in function.block.ops for block in op.blocks)


def is_writable(function: Function) -> bool:
    """Return True if nothing that is read-only is made anywhere in a function."""
    calls = (op for op in walk(function.block) if isinstance(op, Call))
    return not any(is_read_only(op.target) for op in calls)


@dataclass(eq=False)
class _Fresh:
    """Rebuilds results leaf by leaf."""

    sharing: Sharing
    builders: dict[Value, Call]
    ordering: dict[Value, Call]
    seen: list[Value]
    items: _Items
    slices: dict[Value, tuple[Arg, Display]]
    ops: list[Op] = field(default_factory=list)
    replaced: set[Op] = field(default_factory=set)

    def atom(self, atom: Atom) -> Atom:
        """Return the atom itself if it is the first of its class, else a copy."""
        if isinstance(atom, Const):
            return self._constant(atom)
        if not has_storage(atom):
            return atom
        builder = self.builders.get(atom)
        if builder is not None:
            return self._rebuilt(atom, builder)
        structured = isinstance(atom.type, ListOf | TupleOf)
        if not self._must_copy(atom) and (not structured or self.items.are_fresh(atom)):
            self.seen.append(atom)
            return atom
        copied = Value(atom.type, atom.hint)
        maker = self.ordering.get(atom)
        if maker is not None and isinstance(maker.args[0], Value):  # the copy is in C order, too
            self.replaced.add(maker)
            atom = maker.args[0]
        if structured:
            self.ops.append(Call(target=deep_copy, args=(atom,), result=copied, half="reverse"))
        else:
            self.ops.append(copy_of(atom, copied, Op(half="reverse")))
        return copied

    def _constant(self, atom: Const) -> Atom:
        if not isinstance(atom.value, np.ndarray):
            return atom
        copied = Value(atom.type)
        self.ops.append(Call(target=np.copy, args=(atom,), result=copied, half="reverse"))
        return copied

    def _must_copy(self, value: Value) -> bool:
        storages = {self.sharing.own(value)}
        if isinstance(value.type, ListOf | TupleOf):
            storages.add(self.sharing.parts(value))
        if not storages.isdisjoint(self.sharing.foreign) or value in self.sharing.rigid:
            return True
        others = [one for one in self.seen if not self._are_adjacent(value, one)]
        return any(self.sharing.shares(node, other) for node in storages for other in others)

    def _are_adjacent(self, one: Value, other: Value) -> bool:
        """Return True for ``x[a:b]`` and ``x[b:c]``, which have no entry in common."""
        first, second = self.slices.get(one), self.slices.get(other)
        if first is None or second is None or first[0] != second[0]:
            return False
        (start, stop), (start_, stop_) = first[1].items[:2], second[1].items[:2]
        return (stop == start_ and stop != _NONE) or (stop_ == start and start != _NONE)

    def _rebuilt(self, atom: Value, builder: Call) -> Atom:
        before = len(self.ops)
        args = tuple(self._arg(arg) for arg in builder.args)
        if len(self.ops) == before:
            return atom
        result = Value(atom.type, atom.hint)
        self.ops.append(replace(builder, args=args, result=result))
        if atom in self.sharing.only_returned:
            self.replaced.add(builder)
        return result

    def _arg(self, arg: Arg) -> Arg:
        if isinstance(arg, Display):
            return replace(arg, items=tuple(self._arg(part) for part in arg.items))
        return self.atom(arg)


class _Items:
    """True if the arrays in a list or tuple are all different, each made for its place.

    An array that a loop makes and saves once per iteration is; one from outside the loop would be
    saved again and again.  Where that is not plain to see the answer is no.
    """

    def __init__(self, function: Function) -> None:
        self.made: dict[Value, tuple[Op, Loop | None]] = {}
        self.kept: Counter[Value] = Counter()
        self._note(function.block, None)

    def _note(self, block: Block, loop: Loop | None) -> None:
        for op in block.ops:
            self.made.update(dict.fromkeys(op.results, (op, loop)))
            if isinstance(op, Call) and (is_builder(op.target) or is_store(op.target, "list")):
                self.kept.update(op.operands)
            inside = op if isinstance(op, For | While) else loop
            for inner in op.blocks:
                self.made.update(dict.fromkeys(inner.params, (op, inside)))
                self._note(inner, inside)
            if isinstance(op, For | While):
                collected = op.body.results[1 + len(op.inits) :]
                self.kept.update(v for atom in collected for v in values_in(atom))

    def are_fresh(self, container: Value) -> bool:
        """Return the answer for a container that is returned."""
        _, loop = self.made.get(container, (None, None))
        return self._holds(container, loop, set())

    def _holds(self, atom: Arg, loop: Loop | None, seen: set[Value]) -> bool:
        """Return True if what stands in a loop is made in it, with everything that it holds."""
        if isinstance(atom, Display):
            return all(self._holds(part, loop, seen) for part in atom.items)
        if not has_storage(atom):
            return True
        if isinstance(atom, Const):
            return False
        if atom in seen:
            return True
        seen.add(atom)
        op, home = self.made.get(atom, (None, None))
        if isinstance(op, For | While):
            return self._from_loop(op, atom, loop, home, seen)
        if home is not loop or self.kept[atom] > 1:
            return False
        if isinstance(op, If):
            k = op.outputs.index(atom)
            return all(self._holds(branch.results[k], loop, seen) for branch in op.blocks)
        return isinstance(op, Call) and self._from_call(op, loop, seen)

    def _from_call(self, op: Call, loop: Loop | None, seen: set[Value]) -> bool:
        if makes_fresh(op) or is_one_of(op.target, _COPIES):
            return True
        if is_store(op.target):
            added = op.args[-1:] if puts_in(op.target) else ()
            return all(self._holds(arg, loop, seen) for arg in (op.args[0], *added))
        if is_builder(op.target):
            parts = [arg for arg in built_parts(op) if not isinstance(arg, Const)]
            return all(self._holds(arg, loop, seen) for arg in parts)
        return False

    def _from_loop(
        self, op: Loop, atom: Value, loop: Loop | None, home: Loop | None, seen: set[Value]
    ) -> bool:
        """Trace carried values to the loop's inits and body, and collected ones to the body."""
        width = len(op.inits)
        if atom in collected_outputs(op):
            k = collected_outputs(op).index(atom)
            return home is loop and self._holds(op.body.results[1 + width + k], op, seen)
        outside = self.made[op.outputs[0]][1]
        if atom in carried_outputs(op) and outside is loop:
            k = carried_outputs(op).index(atom)
        elif atom in op.carried and isinstance(atom.type, ListOf):
            k = op.carried.index(atom)
        else:
            return False
        return self._holds(op.inits[k], outside, seen) and self._holds(
            op.body.results[1 + k], op, seen
        )
