"""Rewrites of reads and stores: parts of what was just built, places that were just written."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import position
from srcad.ir.core import Arg, Call, Const, Display, Value
from srcad.ir.disjoint import index_parts
from srcad.ir.operations import every
from srcad.ir.traits import (
    adds_at_places,
    built_parts,
    is_builder,
    is_known_part,
    is_part,
    is_shape,
    is_structure,
    sets_places,
)
from srcad.passes.algebra import is_real, number
from srcad.passes.rewriting import Rewriter, rewrites
from srcad.passes.shapes import known_shape, same_kind, same_shape
from srcad.types.sizes import Extent
from srcad.types.structures import PlacesOf

_NONE = Const(None)
_FAR = 8


# ------------------------------------------------------------------------------- structures
@rewrites(*every(is_part))
def part_of_built(r: Rewriter, op: Call) -> Arg | None:
    """``(a, b)[0]``, ``{"W": w}["W"]``, a field of a record just built."""
    container, key = op.args[0], op.args[1]
    if not isinstance(key, Const):
        return None
    if isinstance(container, Display) and container.kind in ("tuple", "list"):
        part = _at(container.items, key.value)
        return part if isinstance(part, Value | Const) else None
    built = r.made_by(container, is_builder)
    if built is None or isinstance(built.result.type, PlacesOf):
        return None
    structure = is_structure(built.target)
    index = position(built.result.type, key.value) if structure else key.value
    part = _at(built_parts(built), index)
    return part if isinstance(part, Value | Const) else None


def _at(items: tuple[Arg, ...], index: object) -> Arg | None:
    inside = isinstance(index, int) and -len(items) <= index < len(items)
    return items[index] if inside and isinstance(index, int) else None


@rewrites(*every(is_known_part))
def length_known_now(r: Rewriter, op: Call) -> Arg | None:
    """``a.shape[k]`` of a fixed length, or of one that is at hand."""
    made = r.made_by(op.args[0], is_shape)
    if made is None or not isinstance(op.args[1], Const):
        return None
    array = made.args[0]
    shape = known_shape(array)
    if shape is None:
        return None
    length = shape[op.args[1].value]
    if not length.terms:
        return Const(length.constant)
    if length in r.integers:
        return r.integers[length]
    return None if array in r.params else _length_of_argument(r, length)


def _length_of_argument(r: Rewriter, length: Extent) -> Arg | None:
    """A length as that of an argument, which is at hand everywhere."""
    for param in r.params:
        shape = known_shape(param) or ()
        if length in shape:
            return r.item(r.shape(param), shape.index(length))
    return None


# ------------------------------------------------------------------------------- buffers
@rewrites(operator.add)
def sum_with_zeros(r: Rewriter, op: Call) -> Arg | None:
    """``zeros_like(x) + g`` where ``g`` has the shape."""
    for zeros, other in (op.args, op.args[::-1]):
        made = r.call_of(zeros, np.zeros_like, runtime.zeros_like, np.zeros)
        if made is not None and same_shape(zeros, other) and same_kind(zeros, other):
            return other
    return None


@rewrites(*every(adds_at_places))
def add_to_the_same_place(r: Rewriter, op: Call) -> Arg | None:
    """``x[i] += a`` and then ``x[i] += b``."""
    inner = r.made_by(op.args[0], adds_at_places)
    if inner is None or inner.args[1] != op.args[1] or not r.used_once(op.args[0]):
        return None
    total = r.make(operator.add, inner.args[2], op.args[2])
    return r.add_at(inner.args[0], op.args[1], total)


@rewrites(*every(adds_at_places))
def add_to_a_place_just_set(r: Rewriter, op: Call) -> Arg | None:
    """``x[i] = a`` and then ``x[i] += b``."""
    inner = r.made_by(op.args[0], sets_places)
    if inner is None or inner.args[1] != op.args[1] or not r.used_once(op.args[0]):
        return None
    value = op.args[2]
    if number(inner.args[2]) != 0:
        value = r.make(operator.add, inner.args[2], value)
    return r.updated(inner.args[0], op.args[1], value)


@rewrites(*every(adds_at_places))
def add_where_it_was_added_before(r: Rewriter, op: Call) -> Arg | None:
    """``x[i] += a``, ``x[j] += b`` and then ``x[i] += c``: sums may change places."""
    between: list[Call] = []
    array = op.args[0]
    while len(between) < _FAR and r.used_once(array):
        inner = r.made_by(array, _is_buffered)
        if inner is None:
            return None
        if inner.args[1] == op.args[1]:
            break
        if not adds_at_places(inner.target):
            return None
        between.append(inner)
        array = inner.args[0]
    else:
        return None
    if not between:
        return None
    result = r.add_at(array, *op.args[1:])
    for call in reversed(between):
        result = r.add_at(result, *call.args[1:])
    return result


@rewrites(*every(adds_at_places))
def add_to_all_of_zeros(r: Rewriter, op: Call) -> Arg | None:
    """``zeros[:] += g``."""
    zeros = r.call_of(op.args[0], np.zeros_like, runtime.zeros_like)
    if zeros is None or not _names_all(op.args[1]) or not isinstance(op.args[2], Value):
        return None
    return op.args[2] if same_shape(op.args[2], op.result) else None


@rewrites(*every(sets_places))
def zeros_everywhere(r: Rewriter, op: Call) -> Arg | None:
    """``a[:] = 0.0``: zeros need no copy of what was there."""
    array, index, value = op.args
    if number(value) != 0 or not is_real(array) or not _names_all(index):
        return None
    return r.make(np.zeros_like, array) if known_shape(array) else None


@rewrites(operator.getitem)
def all_of_an_array(r: Rewriter, op: Call) -> Arg | None:
    """``a[:]``."""
    array, index = op.args
    return array if known_shape(array) and _names_all(index) else None


def _is_buffered(target: Any) -> bool:
    return sets_places(target) or adds_at_places(target)


def _names_all(index: Arg) -> bool:
    """Whether an index is ``:``, or several of these."""
    return all(
        isinstance(part, Display) and part.kind == "slice" and part.items == (_NONE,) * 3
        for part in index_parts(index)
    )
