"""Simplification of slices: those that fill zeros are joined, new axes are added by an index.

>>> from srcad.passes.simplify import simplify
>>> function = parse('''
... f(x: float64[5], a: float64[2], b: float64[3]):
...     # reverse half
...     z = zeros_like(x)
...     z_1 = add_at(z, :2:, a)
...     x_bar = add_at(z_1, 2::, b)
...     return x_bar
... ''')
>>> print(text(simplify(function)))
f(x, a, b):
    x_bar = concatenate((a, b))
    return x_bar
"""

from __future__ import annotations

import operator

import numpy as np

from srcad import runtime
from srcad.ir.core import Arg, Call, Const, Display, Value
from srcad.ir.inference.lengths import span
from srcad.ir.operations import every
from srcad.ir.traits import adds_at_places
from srcad.passes.by_pattern import rewrites_by_pattern
from srcad.passes.rewrites import rewrites
from srcad.passes.rewriting import Rewriter
from srcad.passes.shapes import known_shape, same_kind
from srcad.types.sizes import Extent, constant_extent

_MOST = 16
_WHOLE = Display("slice", (Const(None),) * 3)
Piece = tuple[int, Extent, Extent, Value]


@rewrites(*every(adds_at_places))
def slices_that_fill_zeros(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``x_bar[:n] += a``, ``x_bar[n:] += b`` of zeros to ``concatenate((a, b))``."""
    pieces = _pieces(r, op)
    if pieces is None or len({axis for axis, *_ in pieces}) != 1:
        return None
    shape, axis = known_shape(op.result), pieces[0][0]
    assert shape is not None
    by_start = {start: (stop, value) for _, start, stop, value in pieces if start != stop}
    place, values = constant_extent(0), []
    while place in by_start:
        place, value = by_start.pop(place)
        values.append(value)
    if by_start or place != shape[axis] or len(values) < 2:
        return None
    joined = Display("tuple", tuple(values))
    if axis == 0:
        return r.make(np.concatenate, joined)
    return r.make(np.concatenate, joined, axis=Const(axis))


@rewrites(np.expand_dims)
def new_axis(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``expand_dims(a, 1)`` to ``a[:, None]``, which takes a tenth of the time."""
    shape = known_shape(op.args[0])
    axis = op.args[1] if len(op.args) == 2 else dict(op.kwargs).get("axis")
    if not shape or not isinstance(axis, Const) or type(axis.value) is not int:
        return None
    place = axis.value + len(shape) + 1 if axis.value < 0 else axis.value
    if not 0 <= place <= len(shape) or not isinstance(op.args[0], Value):
        return None
    parts: tuple[Arg, ...] = (*(_WHOLE,) * place, Const(None))
    return r.make(operator.getitem, op.args[0], Display("tuple", parts) if place else parts[0])


# The sign goes in front.
rewrites_by_pattern("(t_ := -(s_ := np.sum(__)))[i_] -> -s_[i_] if once(t_)")


@rewrites(operator.getitem)
def only_place_of_a_sum(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``np.sum(a, axis=1, keepdims=True)[:, 0]`` to ``np.sum(a, axis=1)``."""
    total, index = r.call_of(op.args[0], np.sum), op.args[1]
    if total is None or len(total.args) != 1 or not r.is_used_once(op.args[0]):
        return None
    kwargs = dict(total.kwargs)
    axis = kwargs.get("axis")
    if kwargs.pop("keepdims", None) != Const(True) or not isinstance(axis, Const):
        return None
    parts = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
    if type(axis.value) is not int or axis.value != len(parts) - 1:
        return None
    if parts != (*(_WHOLE,) * axis.value, Const(0)):
        return None
    return r.make(np.sum, total.args[0], **kwargs)


def _pieces(r: Rewriter, op: Call) -> list[Piece] | None:
    """Return the slices and addends of a chain of additions to zeros; None for anything else."""
    pieces: list[Piece] = []
    while len(pieces) < _MOST:
        piece = _piece(op)
        if piece is None:
            return None
        pieces.append(piece)
        first = op.args[0]
        if r.call_of(first, np.zeros_like, runtime.zero_cotangent) is not None:
            return pieces if len(pieces) > 1 else None
        inner = r.made_by(first, adds_at_places)
        if inner is None or not r.is_used_once(first):
            return None
        op = inner
    return None


def _piece(op: Call) -> Piece | None:
    shape, value = known_shape(op.result), op.args[2]
    index = op.args[1]
    parts = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
    if shape is None or len(parts) > len(shape) or not isinstance(value, Value):
        return None
    if not all(isinstance(p, Display) and p.kind == "slice" for p in parts):
        return None
    bounds = [p.items for p in parts if isinstance(p, Display)]
    chosen = [k for k, items in enumerate(bounds) if items != _WHOLE.items]
    if len(chosen) != 1 or bounds[chosen[0]][2] != Const(None) or not same_kind(op.result, value):
        return None
    (axis,) = chosen
    ends = span(shape[axis], *bounds[axis][:2])
    if ends is None:
        return None
    wanted = (*shape[:axis], ends[1] - ends[0], *shape[axis + 1 :])
    return (axis, *ends, value) if known_shape(value) == wanted else None
