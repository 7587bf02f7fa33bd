"""Slices that fill an array of zeros: the array is the slices, joined."""

from __future__ import annotations

import numpy as np

from srcad import runtime
from srcad.ir import primitives
from srcad.ir.core import Arg, Call, Const, Display, Value
from srcad.ir.lengths import span
from srcad.passes.rewriting import Rewriter, rewrites
from srcad.passes.shapes import known_shape, same_kind
from srcad.types import Extent, constant_extent

_MOST = 16
Piece = tuple[int, Extent, Extent, Value]


@rewrites(primitives.add_at)
def slices_that_fill_zeros(r: Rewriter, op: Call) -> Arg | None:
    """``x_bar[:n] += a`` and ``x_bar[n:] += b`` of zeros is ``concatenate((a, b))``."""
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


def _pieces(r: Rewriter, op: Call) -> list[Piece] | None:
    """What a chain of additions to zeros adds to which slices; None if it is anything else."""
    pieces: list[Piece] = []
    while len(pieces) < _MOST:
        piece = _piece(op)
        if piece is None:
            return None
        pieces.append(piece)
        first = op.args[0]
        if r.call_of(first, np.zeros_like, runtime.zeros_like) is not None:
            return pieces if len(pieces) > 1 else None
        inner = r.call_of(first, primitives.add_at)
        if inner is None or not r.used_once(first):
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
    chosen = [k for k, items in enumerate(bounds) if items != (Const(None),) * 3]
    if len(chosen) != 1 or bounds[chosen[0]][2] != Const(None) or not same_kind(op.result, value):
        return None
    (axis,) = chosen
    ends = span(shape[axis], *bounds[axis][:2])
    if ends is None:
        return None
    wanted = (*shape[:axis], ends[1] - ends[0], *shape[axis + 1 :])
    return (axis, *ends, value) if known_shape(value) == wanted else None
