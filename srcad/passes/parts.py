"""Scalar replacement: rewrites of reads from structures just built and of places just written.

>>> from srcad.passes.simplify import simplify
>>> function = parse('''
... f(a: float64[3], x: float, y: float):
...     # reverse half
...     pair = build_tuple(x, y)
...     t = item(pair, 0)
...     a_1 = updated(a, 0, t)
...     a_2 = add_at(a_1, 0, y)
...     return a_2
... ''')
>>> print(text(simplify(function)))
f(a, x, y):
    t1 = add(x, y)
    a_2 = updated(a, 0, t1)
    return a_2
"""

from __future__ import annotations

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
from srcad.passes.algebra import is_real
from srcad.passes.by_pattern import rewrites_by_pattern
from srcad.passes.rewrites import rewrites
from srcad.passes.rewriting import Rewriter
from srcad.passes.shapes import is_value, known_shape, same_kind, same_shape
from srcad.types.sizes import Extent
from srcad.types.structures import PlacesOf

_NONE = Const(None)
_FAR = 8


# ------------------------------------------------------------------------------- structures
@rewrites(*every(is_part))
def part_of_built(r: Rewriter, op: Call) -> Arg | None:
    """Simplify ``(a, b)[0]``, ``{"W": w}["W"]``, and a field of a record just built."""
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
def fold_static_length(r: Rewriter, op: Call) -> Arg | None:
    """Fold ``a.shape[k]`` to a static length, or to a value that is at hand and equal."""
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
    """Return a length as that of an argument that is at hand."""
    for param in r.params_at_hand():
        shape = known_shape(param) or ()
        if length in shape:
            return r.item(r.shape(param), shape.index(length))
    return None


# ------------------------------------------------------------------------------- buffers
def names_all(index: Arg) -> bool:
    """Return True if an index is ``:``, or several of these."""
    return all(
        isinstance(part, Display) and part.kind == "slice" and part.items == (_NONE,) * 3
        for part in index_parts(index)
    )


rewrites_by_pattern(
    """
    (t_ := zeros(__)) + x_ -> x_    if same_shape(t_, x_) and same_kind(t_, x_)
    x_ + (t_ := zeros(__)) -> x_    if same_shape(t_, x_) and same_kind(t_, x_)

    # Once and again to the same place, or to one that was just set.
    add_at(t_ := add_at(a_, i_, x_), i_, y_) -> add_at(a_, i_, x_ + y_)    if once(t_)
    add_at(t_ := updated(a_, i_, c_), i_, y_) -> updated(a_, i_, y_)       if c_ == 0 and once(t_)
    add_at(t_ := updated(a_, i_, x_), i_, y_) -> updated(a_, i_, x_ + y_)  if once(t_)
    """,
    same_shape,
    same_kind,
    zeros=(np.zeros_like, runtime.zero_cotangent, np.zeros),
    add_at=every(adds_at_places),
    updated=every(sets_places),
)


@rewrites(*every(adds_at_places))
def merge_sums_into_place(r: Rewriter, op: Call) -> Arg | None:
    """Reorder ``x[i] += a``, ``x[j] += b``, ``x[i] += c`` so that both sums into ``x[i]`` merge."""
    between: list[Call] = []
    array = op.args[0]
    while len(between) < _FAR and r.is_used_once(array):
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


def _is_buffered(target: Any) -> bool:
    return sets_places(target) or adds_at_places(target)


rewrites_by_pattern(
    """
    (y_ := add_at(zeros_like(__), i_, x_)) -> x_ \
        if is_value(x_) and names_all(i_) and same_shape(x_, y_)
    updated(a_, i_, c_) -> np.zeros_like(a_) \
        if c_ == 0 and is_real(a_) and names_all(i_) and known_shape(a_)
    a_[i_] -> a_    if names_all(i_) and known_shape(a_)
    updated(a_, i_, a_[i_]) -> a_
    """,
    is_value,
    is_real,
    names_all,
    same_shape,
    known_shape,
    zeros_like=(np.zeros_like, runtime.zero_cotangent),
    add_at=every(adds_at_places),
    updated=every(sets_places),
)
