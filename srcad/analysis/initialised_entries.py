"""Definite initialisation of arrays: every entry that is read was written before.

A forward must-analysis.  The facts are the initialised indices of each version of an array that
starts uninitialised; ``:`` is the whole array.  At joins they are intersected.  Indices initialised
before a loop stay so in it.  After a loop over a range in which every iteration stores at its own
index, the whole range is initialised.  In ``for i in range(1, n)`` with ``work[i] = ...`` the
entries before `i` are initialised at the start of an iteration, if ``work[0]`` was before the loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from srcad.ir.core import (
    CONTINUE,
    UNDEF,
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
    values_in,
)
from srcad.ir.disjoint import Integers, index_parts, nothing_known
from srcad.ir.memory import has_storage, reads_a_copy
from srcad.ir.traits import (
    depends_on_shape_only,
    is_indexed,
    is_same,
    may_alias_operand,
    sets_places,
)
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, resolved, same

Place = tuple[Arg, ...]  # an index, without ``:`` at its end
Places = frozenset[Place]

_NONE, _ZERO = Const(None), Const(0)
_ALL = Display("slice", (_NONE, _NONE, _NONE))
_WHOLE: Place = ()
_WRITTEN: Places = frozenset({_WHOLE})
_NOTHING: Places = frozenset()
_MOST_FIRST = 8  # entries that are written one by one before a loop writes the others


def reads_only_written(function: Function, arrays: Collection[Value]) -> bool:
    """Return True if every entry of these arrays is certainly initialised before it is read.

    Parameters
    ----------
    function : Function
        The function; its stores are operations without effect that make new versions.
    arrays : collection of Value
        The first versions, of which no entry counts as written.
    """
    reading = _Reading(frozenset(arrays), nothing_known())
    reading.block(function.block)
    for atom in function.block.results:
        reading.use(atom)
    return reading.is_sound


@dataclass(eq=False)
class _Reading:
    """The state of the analysis."""

    arrays: frozenset[Value]  # the first versions
    integers: Integers  # ranges and sums of integers that were met
    written: dict[Value, Places] = field(default_factory=dict)  # by version; others are whole
    is_sound: bool = True  # whether everything that was read was written

    # ------------------------------------------------------------------ places
    def places(self, atom: Arg) -> Places:
        """Return the initialised indices of a value; ``:`` if it is no version of these arrays."""
        return self.written.get(atom, _WRITTEN) if isinstance(atom, Value) else _WRITTEN

    def note(self, value: Value, places: Places) -> None:
        if _WHOLE not in places:
            self.written[value] = places
        else:
            self.written.pop(value, None)

    def use(self, *args: Arg) -> None:
        """Record a read of all entries of values."""
        for arg in args:
            if any(_WHOLE not in self.places(value) for value in values_in(arg)):
                self.is_sound = False

    def covers(self, places: Places, place: Place) -> bool:
        """Return True if one of some indices includes all entries of another index."""
        return any(self._contains(one, place) for one in places)

    def _contains(self, outer: Place, inner: Place) -> bool:
        if len(outer) > len(inner):
            inner = (*inner, *[_ALL] * (len(outer) - len(inner)))
        return all(self._part_contains(a, b) for a, b in zip(outer, inner, strict=False))

    def _part_contains(self, a: Arg, b: Arg) -> bool:
        if a in (_ALL, b):
            return True
        if not isinstance(a, Display) or a.items[2] not in (_NONE, Const(1)):
            return False
        end = a.items[1]
        first = _ZERO if a.items[0] == _NONE else a.items[0]
        if end == _NONE or not self._is_at_least(first, _ZERO, 0):
            return False
        low: Arg = b
        high: Arg = b
        if isinstance(b, Display):
            if b.items[2] not in (_NONE, Const(1)) or b.items[1] == _NONE:
                return False
            low, high = (_ZERO if b.items[0] == _NONE else b.items[0]), b.items[1]
        more = 0 if isinstance(b, Display) else 1
        return (
            self._is_at_least(low, _ZERO, 0)
            and self._is_at_least(high, _ZERO, 0)
            and self._is_at_least(low, first, 0)
            and self._is_at_least(end, high, more)
        )

    def _is_at_least(self, high: Arg, low: Arg, number: int) -> bool:
        gap = self.integers.gap(high, low)
        return gap is not None and gap >= number

    def join(self, *several: Places) -> Places:
        """Return the indices that are initialised on each of several paths."""
        return frozenset(
            place
            for places in several
            for place in places
            if all(self.covers(other, place) for other in several)
        )

    # ------------------------------------------------------------------ operations
    def block(self, block: Block) -> None:
        for op in block.ops:
            self.integers.note(op)
            self.op(op)

    def op(self, op: Op) -> None:
        match op:
            case Call():
                self.call(op)
            case If():
                self.branches(op)
            case For() | While():
                self.loop(op)
            case _:
                self.use(*op.operands)

    def call(self, op: Call) -> None:
        if op.result in self.arrays:
            self.written[op.result] = _NOTHING
            return
        first = op.args[0] if op.args else None
        places = _WRITTEN if first is None else self.places(first)
        if _WHOLE in places:
            self.use(*op.args, *(arg for _, arg in op.kwargs))
            return
        self.use(*op.args[1:], *(arg for _, arg in op.kwargs))
        if depends_on_shape_only(op.target):
            return
        if is_same(op.target):
            self.note(op.result, places)
        elif sets_places(op.target):
            place = _place(op.args[1], _rank(first))
            if place is not None:
                places = _to_the_end(op.result, _joined(places | {place}))
            self.note(op.result, places)
        elif is_indexed(op.target):
            self._read(op, places)
        elif _is_view(op.target) and has_storage(op.result):
            self.note(op.result, _NOTHING)  # a view: that it is taken reads nothing
        else:
            self.is_sound = False

    def _read(self, op: Call, places: Places) -> None:
        place = _place(op.args[1], _rank(op.args[0]))
        if place is not None and self.covers(places, place):
            return
        if has_storage(op.result) and not reads_a_copy(op.args[1]):
            self.note(op.result, _NOTHING)
        else:
            self.is_sound = False

    # ------------------------------------------------------------------ control flow
    def branches(self, op: If) -> None:
        sides = (op.then, op.orelse)
        found: list[list[Places | None]] = []
        for side in sides:
            self.block(side)
            bound = _bound_in((side,))
            found.append([self._result(atom, bound) for atom in side.results])
        for output, a, b in zip(op.outputs, *found, strict=True):
            known = [places for places in (a, b) if places is not None]
            if known:
                self.note(output, self.join(*known))

    def _result(self, atom: Atom, bound: Collection[Value]) -> Places | None:
        """Return the indices of a block's result that are defined outside; None if undefined."""
        return None if atom == UNDEF else _outside(self.places(atom), bound)

    def loop(self, op: Loop) -> None:
        """Compute the initialised indices at the start of an iteration and after the loop.

        Starting from an optimistic set, indices are removed until an iteration preserves the set.
        """
        seqs = op.seqs if isinstance(op, For) else ()
        self.use(*(arg for seq in seqs for arg in values_in(seq)))
        bound = _bound_in(op.blocks)
        index = _index(op)
        starts = [self._start(op, k, init, index) for k, init in enumerate(op.inits)]
        sound = self.is_sound
        while True:
            self.is_sound = sound
            ends = self._iteration(op, starts)
            kept = [self._kept(start, end, index) for start, end in zip(starts, ends, strict=True)]
            if kept == starts:
                break
            starts = kept
        ends_early = isinstance(op, While) or op.body.results[0] not in _GOES_ON
        for output, start, end in zip(carried_outputs(op), starts, ends, strict=True):
            places = _outside(start, bound)
            if not ends_early and isinstance(op, For):
                places |= self._of_all_iterations(op, start, end, output, bound)
            self.note(output, _to_the_end(output, _joined(places)))

    def _iteration(self, op: Loop, starts: Sequence[Places]) -> list[Places]:
        if isinstance(op, While):
            for param, places in zip(op.test.params, starts, strict=True):
                self.note(param, places)
            self.block(op.test)
            self.use(*op.test.results)
        for param, places in zip(op.carried, starts, strict=True):
            self.note(param, places)
        self.block(op.body)
        count = 1 + len(op.inits)
        self.use(op.body.results[0], *op.body.results[count:])
        return [self.places(atom) for atom in op.body.results[1:count]]

    def _start(self, op: Loop, k: int, init: Atom, index: Value | None) -> Places:
        """Return the optimistic set of initialised indices of a carried variable."""
        places = self.places(init)
        if index is None or _WHOLE in places or not isinstance(op, For):
            return places
        start = op.seqs[0].items[0]  # type: ignore[union-attr]
        if not isinstance(start, Const) or not 0 <= start.value <= _MOST_FIRST:
            return places
        if all(self.covers(places, (Const(j),)) for j in range(start.value)):
            return places | {_before(index)}
        return places

    def _kept(self, start: Places, end: Places, index: Value | None) -> Places:
        """Return the indices of the set that an iteration preserves."""
        kept = set()
        for place in start:
            if index is not None and place == _before(index):
                if self.covers(end, (index,)) and self.covers(end, place):
                    kept.add(place)
            elif self.covers(end, place):
                kept.add(place)
        return frozenset(kept)

    def _of_all_iterations(
        self, op: For, start: Places, end: Places, output: Value, bound: Collection[Value]
    ) -> Places:
        """Return the indices that all iterations of a range initialise together."""
        index = _index(op)
        if index is None or not self._runs_to_end(op):
            return _NOTHING
        first, stop, _ = op.seqs[0].items  # type: ignore[union-attr]
        if not self._is_at_least(first, _ZERO, 0):
            return _NOTHING
        found: set[Place] = set()
        if _before(index) in start:
            found |= self._span(output, 0, _NONE, stop, ())
        for place in end:
            axes = [k for k, part in enumerate(place) if part == index]
            if len(axes) == 1 and all(map(_is_plain, place)):
                found |= self._span(output, axes[0], first, stop, place)
        return _outside(frozenset(found), bound)

    def _span(self, array: Value, axis: int, first: Arg, stop: Arg, place: Place) -> set[Place]:
        """Return an index with ``first:stop`` along an axis; nothing for a stop below zero."""
        length = _length(array, axis)
        missing = None if length is None else _constant_difference(length, stop)
        if missing is not None and missing >= 0:
            stop = Const(-missing) if missing else _NONE
        elif not self._is_at_least(stop, _ZERO, 0):
            return set()
        first = _NONE if first == _ZERO else first
        part = Display("slice", (first, stop, _NONE))
        return {_trimmed((*place[:axis], part, *place[axis + 1 :]))}

    def _runs_to_end(self, op: For) -> bool:
        """Return True if no other sequence of a loop is shorter than its range."""
        stop = op.seqs[0].items[1]  # type: ignore[union-attr]
        return all(seq == op.seqs[0] or _has_length(seq, stop) for seq in op.seqs[1:])


_GOES_ON = (Const(0), Const(CONTINUE))


def _is_view(target: Any) -> bool:
    return may_alias_operand(target) or may_alias_operand(target, certain=False)


def _index(op: Loop) -> Value | None:
    """Return the loop index of a loop over a range with step 1; None for other loops."""
    if not isinstance(op, For) or not op.seqs or op.backward or op.count is not None:
        return None
    seq = op.seqs[0]
    if not isinstance(seq, Display) or seq.kind != "range" or seq.items[2] != Const(1):
        return None
    return op.items[0]


def _before(index: Value) -> Place:
    """Return the slice of all entries before a loop index."""
    return (Display("slice", (_NONE, index, _NONE)),)


def _bound_in(blocks: Iterable[Block]) -> frozenset[Value]:
    """Return the values that blocks define."""
    return frozenset(
        value
        for block in blocks
        for values in (block.params, *(_defined(op) for op in block.all_ops))
        for value in values
    )


def _defined(op: Op) -> tuple[Value, ...]:
    return (*op.results, *(param for block in op.blocks for param in block.params))


def _outside(places: Places, bound: Collection[Value]) -> Places:
    """Return the indices that use no value defined in a block."""
    return frozenset(
        place for place in places if not any(v in bound for part in place for v in values_in(part))
    )


def _joined(places: Places) -> Places:
    """Add the unions of adjacent slices, as of ``[0]``, ``[1:-1]`` and ``[-1]``."""
    found, new = set(places), set(places)
    while new:
        joined = {_union(a, b) for a in found for b in new} | {
            _union(b, a) for a in found for b in new
        }
        new = {place for place in joined if place is not None} - found
        found |= new
    return frozenset(found)


def _to_the_end(array: Value, places: Places) -> Places:
    """Add open slices for those that end at the known length of an axis."""
    found = places
    for place in places:
        for axis, part in enumerate(place):
            ends, length = _ends(part), _length(array, axis)
            if ends is None or length is None or not isinstance(ends[1], Const):
                continue
            stop = ends[1].value
            if stop is not None and stop > 0 and _constant_difference(length, ends[1]) == 0:
                part = Display("slice", (ends[0], _NONE, _NONE))
                found |= {_trimmed((*place[:axis], part, *place[axis + 1 :]))}
    return found if len(found) == len(places) else _to_the_end(array, _joined(found))


def _union(a: Place, b: Place) -> Place | None:
    """Return the union of two slices that are adjacent along one axis; None for others."""
    width = max(len(a), len(b))
    a, b = ((*place, *[_ALL] * (width - len(place))) for place in (a, b))
    axes = [k for k in range(width) if a[k] != b[k]]
    if len(axes) != 1:
        return None
    first, second = _ends(a[axes[0]]), _ends(b[axes[0]])
    if first is None or second is None or first[1] == _NONE or first[1] != second[0]:
        return None
    part = Display("slice", (first[0], second[1], _NONE))
    return _trimmed((*a[: axes[0]], part, *a[axes[0] + 1 :]))


def _ends(part: Arg) -> tuple[Arg, Arg] | None:
    """Return the start and stop of a slice, or of an integer as a slice of length 1."""
    if isinstance(part, Display):
        start, stop, step = part.items
        if step not in (_NONE, Const(1)):
            return None
        return (_NONE if start == _ZERO else start), stop
    if not isinstance(part, Const):
        return None
    stop = part.value + 1
    return (_NONE if part.value == 0 else part), (_NONE if stop == 0 else Const(stop))


def _rank(array: Arg | None) -> int | None:
    type_ = array.type if isinstance(array, Value) else None
    shape = type_.shape if isinstance(type_, Numeric) else None
    return None if shape is None else len(shape)


def _length(array: Value, axis: int) -> Extent | None:
    shape = array.type.shape if isinstance(array.type, Numeric) else None
    return shape[axis] if shape is not None and axis < len(shape) else None


def _constant_difference(length: Extent, arg: Arg) -> int | None:
    """Return the difference of a length and an integer; None if it is not constant."""
    type_ = arg.type if isinstance(arg, Value | Const) else None
    value = type_.value if isinstance(type_, Numeric) else None
    if value is None:
        return None
    if same(length, value) is True:
        return 0
    difference = resolved(length - value)
    return None if difference.terms else int(difference.constant)


def _has_length(seq: Arg, stop: Arg) -> bool:
    length = _length(seq, 0) if isinstance(seq, Value) else None
    return length is not None and _constant_difference(length, stop) == 0


def _place(index: Arg, rank: int | None) -> Place | None:
    """Return an index without trailing ``:``; None if it is not made of integers and slices."""
    parts = index_parts(index)
    if any(part == Const(Ellipsis) for part in parts):
        dots = [k for k, part in enumerate(parts) if part == Const(Ellipsis)]
        if len(dots) > 1 or rank is None or len(parts) - 1 > rank:
            return None
        filled = [_ALL] * (rank - len(parts) + 1)
        parts = (*parts[: dots[0]], *filled, *parts[dots[0] + 1 :])
    if any(isinstance(part, Const) and part.value is None for part in parts):
        return None
    if not all(map(_is_plain, parts)):
        return None
    return _trimmed(parts)


def _trimmed(parts: Sequence[Arg]) -> Place:
    place = tuple(parts)
    while place and place[-1] == _ALL:
        place = place[:-1]
    return place


def _is_plain(part: Arg) -> bool:
    """Return True for an integer and for a slice."""
    if isinstance(part, Display):
        return part.kind == "slice"
    if isinstance(part, Const):
        return type(part.value) is int
    if not isinstance(part, Value) or not isinstance(part.type, Numeric):
        return False
    return part.type.is_python and part.type.kind == "i"
