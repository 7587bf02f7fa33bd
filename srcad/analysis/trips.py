"""Iteration counts of loops: early exits, and sequences that end together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from srcad.ir.argument_types import argument_type
from srcad.ir.core import BREAK, Arg, Atom, Block, Call, Const, Display, For, If, Loop
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, constant_extent, resolved, same
from srcad.types.structures import TupleOf


def may_exit(loop: Loop) -> bool:
    """Return True if an iteration can end the loop by `break` or `return`."""
    return _may_reach(loop.body.results[0], loop.body, BREAK)


def _may_reach(tag: Atom, block: Block, least: int) -> bool:
    """Return True if an exit tag that a block yields may be as high as `least`."""
    if isinstance(tag, Const):
        return isinstance(tag.value, int) and tag.value >= least
    for op in reversed(block.ops):
        if tag in op.results:
            if not isinstance(op, If):
                return True
            k = op.outputs.index(tag)
            return any(_may_reach(branch.results[k], branch, least) for branch in op.blocks)
    return True


def equally_long(loop: For) -> bool:
    """Return True if all sequences of a loop end together: one item each per iteration.

    In a loop that a transform made they always do.  Lengths that are equal in the example are
    assumed to be equal from then on.
    """
    if loop.count is not None:
        return False
    if len(loop.seqs) == 1 or loop.half not in ("primal", "again"):
        return True
    lengths = [length_of(seq) for seq in loop.seqs]
    first = lengths[0]
    if first is None:
        return False
    return all(length is not None and same(first, length) for length in lengths[1:])


def length_of(seq: Arg) -> Extent | None:
    """Return the length of a sequence, where the types tell it."""
    if isinstance(seq, Display):
        if seq.kind in ("tuple", "list"):
            return constant_extent(len(seq.items))
        return _length_of_range(seq) if seq.kind == "range" else None
    type_ = argument_type(seq)
    if isinstance(type_, Numeric) and type_.shape:
        return type_.shape[0]
    return constant_extent(len(type_.items)) if isinstance(type_, TupleOf) else None


def _length_of_range(display: Display) -> Extent | None:
    start, stop, step = display.items
    if step != Const(1):
        return None
    first, last = (_value_of(arg) for arg in (start, stop))
    return None if first is None or last is None else last - first


def _value_of(arg: Arg) -> Extent | None:
    type_ = argument_type(arg)
    return type_.value if isinstance(type_, Numeric) else None


def is_range(seq: Arg) -> bool:
    """Return True if a sequence is a range display."""
    return isinstance(seq, Display) and seq.kind == "range"


def counts_from_zero(seq: Arg) -> bool:
    """Return True if a sequence is ``range(n)``."""
    if not isinstance(seq, Display) or seq.kind != "range":
        return False
    start, _, step = seq.items
    return start == Const(0) and step == Const(1)


def is_surely_inside(read: Call, loops: Iterable[For]) -> bool:
    """Return True if the place that is read is surely inside: constants, or items of loops."""
    array, index = argument_type(read.args[0]), read.args[1]
    if not isinstance(array, Numeric) or array.shape is None:
        return False
    parts = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
    if len(parts) > len(array.shape):
        return False
    ranges: dict[Arg, Arg] = {
        item: seq for loop in loops for item, seq in zip(loop.items, loop.seqs, strict=True)
    }
    pairs = zip(parts, array.shape, strict=False)
    return all(_is_inside(part, length, ranges) for part, length in pairs)


def _is_inside(index: Arg, length: Extent, ranges: Mapping[Arg, Arg]) -> bool:
    """Return True if an index is surely one of an axis: a number, or an item of a range."""
    if not isinstance(index, Const):
        return _stays_below(ranges.get(index), length)
    known = resolved(length)
    inside = type(index.value) is int and -known.constant <= index.value < known.constant
    return inside and not known.terms


def _stays_below(seq: Arg | None, length: Extent) -> bool:
    """Return True if a sequence is ``range(a, b)`` with ``a`` not negative and ``b`` the length."""
    if not isinstance(seq, Display) or seq.kind != "range":
        return False
    start, stop, step = seq.items
    last = _value_of(stop)
    if not isinstance(start, Const) or step != Const(1) or last is None or start.value < 0:
        return False
    return resolved(last) == resolved(length)
