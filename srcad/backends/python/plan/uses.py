"""Facts about a function for the writer: readers, origins, lengths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

import numpy as np

from srcad.ir.core import (
    BREAK,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    If,
    Loop,
    Op,
    Routine,
    Value,
    While,
    carried_outputs,
    collected_outputs,
    values_in,
    walk,
)
from srcad.ir.traits import appends, is_builder, is_comparison, is_item, is_part, is_shape
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, constant_extent, resolved
from srcad.types.structures import ListOf, TupleOf

Reader = Op | None


@dataclass(eq=False)
class Uses:
    """`readers` has one entry per use (None: a block yields it); `origin` the op that defines."""

    readers: dict[Value, list[Reader]] = field(default_factory=lambda: defaultdict(list))
    origin: dict[Value, Op] = field(default_factory=dict)
    collected_by: dict[Value, Loop] = field(default_factory=dict)
    trips_of: dict[Value, Loop] = field(default_factory=dict)
    taken_from: dict[Value, tuple[For, Loop, int]] = field(default_factory=dict)
    item_of: dict[Value, Value] = field(default_factory=dict)
    stacked: dict[Extent, Hashable] = field(default_factory=dict)
    inside: dict[Loop, set[Value]] = field(default_factory=dict)
    trips: dict[Loop, Hashable] = field(default_factory=dict)

    def is_read(self, value: Value) -> bool:
        return bool(self.readers.get(value))


def collected_uses(block: Block) -> Uses:
    """Collect the uses of a whole function."""
    uses = Uses()
    _note_results(block, uses)
    for op in walk(block):
        for value in op.operands:
            uses.readers[value].append(op)
        for result in op.results:
            uses.origin[result] = op
        for inner in op.blocks:
            _note_results(inner, uses)
        if isinstance(op, For | While):
            uses.trips_of[op.outputs[1]] = op
            for collected in collected_outputs(op):
                uses.collected_by[collected] = op
        if isinstance(op, Call):
            _note_stack(op, uses)
        if isinstance(op, For):
            _note_rows(op, uses)
    return uses


def _note_rows(op: For, uses: Uses) -> None:
    """Items of a sequence, and of a list that an earlier loop collected."""
    for param, seq in zip(op.items, op.seqs, strict=True):
        if isinstance(seq, Value):
            uses.item_of[param] = seq
        source = uses.collected_by.get(seq) if isinstance(seq, Value) else None
        if source is not None:
            assert isinstance(seq, Value)
            place = 1 + len(source.inits) + collected_outputs(source).index(seq)
            uses.taken_from[param] = (op, source, place)


def _note_stack(op: Call, uses: Uses) -> None:
    """Note that an array stacked from a list is as long as the list."""
    type_ = op.result.type
    if op.target not in (np.stack, np.array) or len(op.args) != 1 or op.kwargs:
        return
    source = op.args[0]
    if not isinstance(source, Value) or not isinstance(source.type, ListOf):
        return
    if isinstance(type_, Numeric) and type_.shape:
        extent = resolved(type_.shape[0])
        uses.stacked.setdefault(extent, length_key(source, uses))


def _note_results(block: Block, uses: Uses) -> None:
    for atom in block.results:
        for value in values_in(atom):
            uses.readers[value].append(None)


# -------------------------------------------------------------------------------- exit tags
def leaf_tags(atom: Atom, uses: Uses) -> set[int] | None:
    """Return the constants that a tag may be, or None where it is not a constant on some path."""
    found: set[int] = set()
    todo, seen = [atom], set[Value]()
    while todo:
        atom = todo.pop()
        if isinstance(atom, Const):
            if type(atom.value) is not int:
                return None
            found.add(atom.value)
            continue
        if atom in seen:
            continue
        seen.add(atom)
        op = uses.origin.get(atom)
        if not isinstance(op, If):
            return None
        index = op.outputs.index(atom)
        todo += [op.then.results[index], op.orelse.results[index]]
    return found


def ends_with_known_tag(op: If, index: int) -> bool:
    """Return True if every path through a conditional ends with a constant tag."""
    for branch in op.blocks:
        tag = branch.results[index]
        if isinstance(tag, Const):
            continue
        last = branch.ops[-1] if branch.ops else None
        if not isinstance(last, If) or tag not in last.outputs:
            return False
        if not ends_with_known_tag(last, last.outputs.index(tag)):
            return False
    return True


def may_break(loop: Loop, uses: Uses) -> bool:
    """Return True if an iteration can be the last before the sequences end."""
    tags = leaf_tags(loop.body.results[0], uses)
    return tags is None or any(tag >= BREAK for tag in tags)


def tag_is_exact(loop: Loop, uses: Uses) -> bool:
    """Return True if the tags of iterations that went on are distinguished."""
    return not all(_tests_for_exit(reader) for reader in uses.readers.get(loop.outputs[0], ()))


def _tests_for_exit(reader: Reader) -> bool:
    if not isinstance(reader, Call) or not is_comparison(reader.target) or len(reader.args) != 2:
        return False
    bound = reader.args[1]
    return isinstance(bound, Const) and type(bound.value) is int and bound.value >= BREAK


# ------------------------------------------------------------------------------ tuple parts
def tuple_width(value: Value, uses: Uses) -> int | None:
    """Return the number of parts of a plain tuple, where it is known."""
    op = uses.origin.get(value)
    if isinstance(op, Call) and isinstance(op.target, Routine):
        function = op.target.function
        return None if function is None else len(function.block.results)
    if isinstance(value.type, TupleOf) and value.type.keys is None:
        return len(value.type.items)
    return None


def item_readers(value: Value, uses: Uses) -> dict[int, list[Call]] | None:
    """Return the calls that read single parts of a tuple, if it has no other readers."""
    width = tuple_width(value, uses)
    if width is None or not uses.readers.get(value):
        return None
    parts: dict[int, list[Call]] = {}
    for reader in uses.readers[value]:
        if not isinstance(reader, Call) or not is_item(reader.target):
            return None
        if reader.args[0] is not value:
            return None
        key = reader.args[1]
        if not isinstance(key, Const) or type(key.value) is not int:
            return None
        if not -width <= key.value < width:
            return None
        parts.setdefault(key.value % width, []).append(reader)
    return parts


def collected_atom(value: Value, uses: Uses) -> Atom | None:
    """Return the value that a loop appended to the list, or to the list of the item."""
    if value in uses.taken_from:
        _, source, place = uses.taken_from[value]
        return source.body.results[place]
    loop = uses.collected_by.get(value)
    if loop is None:
        return None
    return loop.body.results[1 + len(loop.inits) + collected_outputs(loop).index(value)]


# ---------------------------------------------------------------------------------- lengths
def length_key(arg: Arg, uses: Uses) -> Hashable:
    """Return a key that is equal for two sequences only if they have the same length."""
    if isinstance(arg, Display):
        return _display_length(arg, uses)
    if isinstance(arg, Const):
        return constant_extent(len(arg.value)) if hasattr(arg.value, "__len__") else arg
    if arg in uses.collected_by:
        return iteration_count_key(uses.collected_by[arg], uses)
    if arg in uses.taken_from and isinstance(arg.type, ListOf):
        return _row_length(arg, uses)
    grown = _grown_by(arg, uses)
    if grown is not None:
        return iteration_count_key(grown, uses)
    if isinstance(arg.type, Numeric) and arg.type.shape:
        extent = resolved(arg.type.shape[0])
        return uses.stacked.get(extent, extent)
    if isinstance(arg.type, TupleOf):
        return constant_extent(len(arg.type.items))
    return ("len", arg)


def _row_length(item: Value, uses: Uses) -> Hashable:
    """Return the length of a list in the iteration in which an earlier loop saved it."""
    reader, source, place = uses.taken_from[item]
    saved = source.body.results[place]
    if isinstance(saved, Const):
        return ("len", item)
    key = length_key(saved, uses)
    inside = uses.inside.get(source)
    if inside is None:
        results = (value for op in walk(source.body) for value in op.results)
        inside = uses.inside[source] = {*source.body.params, *results}
    if isinstance(key, Extent):
        varies = any(symbol.example is None for symbol, _ in key.terms)
    else:
        varies = not isinstance(key, tuple) or key[0] != "len" or key[1] in inside
    return ("row", reader, key) if varies else key


def _grown_by(value: Value, uses: Uses) -> Loop | None:
    """Return the loop that made a list by adding one item per iteration, if one did."""
    loop = uses.origin.get(value)
    if not isinstance(loop, For | While) or value not in carried_outputs(loop):
        return None
    k = carried_outputs(loop).index(value)
    start, result = loop.inits[k], loop.body.results[1 + k]
    made = uses.origin.get(start) if isinstance(start, Value) else None
    grown = uses.origin.get(result) if isinstance(result, Value) else None
    is_empty = isinstance(made, Call) and is_builder(made.target) and not made.args
    if not is_empty or not isinstance(grown, Call) or not appends(grown.target):
        return None
    return loop if grown.args[0] is loop.carried[k] else None


def _display_length(display: Display, uses: Uses) -> Hashable:
    if display.kind in ("tuple", "list"):
        return constant_extent(len(display.items))
    if display.kind == "range" and is_count(display):
        return integer_key(display.items[1], uses)
    return (display.kind, *display.items)


def is_count(display: Display) -> bool:
    """Return True if a range counts 0, 1, 2, ..."""
    start, _, step = display.items
    return start in (Const(0), Const(None)) and step in (Const(1), Const(None))


def integer_key(arg: Arg, uses: Uses) -> Hashable:
    """Return a key that is equal for two integers only if they are equal."""
    if isinstance(arg, Const):
        return constant_extent(arg.value) if type(arg.value) is int else arg
    if isinstance(arg, Display):
        return (arg.kind, *arg.items)
    if arg in uses.trips_of:
        return iteration_count_key(uses.trips_of[arg], uses)
    measured = measured_sequence(arg, uses)
    if measured is not None:
        return length_key(measured, uses)
    if isinstance(arg.type, Numeric) and arg.type.value is not None:
        return resolved(arg.type.value)
    return ("len", arg)


def measured_sequence(arg: Arg, uses: Uses) -> Value | None:
    """Return the sequence with this value as its length: of ``len(x)`` or ``x.shape[0]``."""
    op = uses.origin.get(arg) if isinstance(arg, Value) else None
    if not isinstance(op, Call) or not op.args or not isinstance(op.args[0], Value):
        return None
    if op.target is len:
        return op.args[0]
    if is_part(op.target) and op.args[1] == Const(0):
        inner = uses.origin.get(op.args[0])
        if isinstance(inner, Call) and is_shape(inner.target) and isinstance(inner.args[0], Value):
            return inner.args[0]
    return None


def iteration_count_key(loop: Loop, uses: Uses) -> Hashable:
    """Return the length key of the number of iterations of a loop, computed once per loop."""
    if loop not in uses.trips:
        uses.trips[loop] = _iteration_count_key(loop, uses)
    return uses.trips[loop]


def _iteration_count_key(loop: Loop, uses: Uses) -> Hashable:
    if isinstance(loop, For) and not may_break(loop, uses):
        if loop.count is not None:
            counted = integer_key(loop.count, uses)
            keys = {length_key(seq, uses) for seq in loop.seqs}
            return counted if keys <= {counted} else ("trips", loop)
        keys = {length_key(seq, uses) for seq in loop.seqs}
        if len(keys) == 1:
            return keys.pop()
    return ("trips", loop)
