"""Lowerings of layouts: transposes, flips, new axes, diagonals, triangles, rolls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcad.backends.interface import NotCovered
from srcad.backends.numba import indexing, reductions
from srcad.backends.numba.builder import Builder, zero_of
from srcad.backends.numba.loops import Affine, Apply, Assign, Dim, Integer, Node, named, whole
from srcad.backends.numba.representations import Array, Number, Rep, at, of_storage
from srcad.ir.core import Call

Options = dict[str, Any]
Layout = Callable[[Builder, Array, Options, Call], Rep]
_LAYOUTS: dict[Any, tuple[Layout, tuple[str, ...]]] = {}  # what `lowers` has registered


def lowers(*targets: Any, options: tuple[str, ...] = ()) -> Callable[[Layout], Layout]:
    """Register the lowering of some callees, with the names of their options in order."""

    def register(layout: Layout) -> Layout:
        _LAYOUTS.update(dict.fromkeys(targets, (layout, options)))
        return layout

    return register


@lowers(np.transpose, options=("axes",))
def transpose(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    order = options.get("axes")
    n = len(x.dims)
    return indexing.transposed(x, range(n)[::-1] if order is None else [k % n for k in order])


@lowers(np.swapaxes, options=("axis1", "axis2"))
def swapaxes(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    n = len(x.dims)
    order = list(range(n))
    one, two = options["axis1"] % n, options["axis2"] % n
    order[one], order[two] = two, one
    return indexing.transposed(x, order)


@lowers(np.moveaxis, options=("source", "destination"))
def moveaxis(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    n, source, target = len(x.dims), options["source"], options["destination"]
    if not isinstance(source, int) or not isinstance(target, int):
        raise NotCovered("np.moveaxis of several axes", op.where)
    order = [k for k in range(n) if k != source % n]
    order.insert(target % n, source % n)
    return indexing.transposed(x, order)


@lowers(np.flip, options=("axis",))
def flip(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    return indexing.flipped(x, reductions.axes_of(len(x.dims), options.get("axis")))


@lowers(np.fliplr)
def fliplr(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    return indexing.flipped(x, reductions.axes_of(len(x.dims), 1))


@lowers(np.flipud)
def flipud(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    return indexing.flipped(x, reductions.axes_of(len(x.dims), 0))


@lowers(np.expand_dims, options=("axis",))
def expand_dims(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    axis = options["axis"]
    wanted = axis if isinstance(axis, tuple) else (axis,)
    for k in sorted(k % (len(x.dims) + len(wanted)) for k in wanted):
        x = indexing.expanded(x, k)
    return x


@lowers(np.squeeze, options=("axis",))
def squeeze(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    axis = options.get("axis")
    if axis is None:
        removed = [k for k, d in enumerate(x.dims) if b.is_one(d)]
    else:
        removed = list(reductions.axes_of(len(x.dims), axis))
        if not all(b.is_one(x.dims[k]) for k in removed):
            raise NotCovered("np.squeeze of an axis that is not known to be 1", op.where)
    return as_number(b, indexing.without_axes(x, removed), op)


@lowers(np.atleast_1d)
def atleast_1d(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    return x


@lowers(np.atleast_2d)
def atleast_2d(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    return indexing.expanded(x, 0) if len(x.dims) == 1 else x


@lowers(np.diagonal, options=("offset", "axis1", "axis2"))
def diagonal(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    if options.get("axis1", 0) or options.get("axis2", 1) != 1 or len(x.dims) != 2:
        raise NotCovered("the diagonal of a stack", op.where)
    return indexing.diagonal(x, options.get("offset", 0) or 0, b)


@lowers(np.diag, options=("k",))
def diag(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    if options.get("k"):
        raise NotCovered("a diagonal beside the main one", op.where)
    if len(x.dims) == 2:
        return b.copied(indexing.diagonal(x, 0, b), op.result.hint)
    test = Apply("==", (Integer(named("@0")), Integer(named("@1"))))
    entry = Apply("if", (test, at(x.entry, (named("@0"),)), zero_of(x.dtype)))
    dims = (x.dims[0], x.dims[0])
    return b.filled(dims, lambda i: at(entry, i), x.dtype, op.result.hint)


@lowers(np.tril, np.triu, options=("k",))
def triangle(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    if len(x.dims) != 2:
        raise NotCovered("a triangle of a stack", op.where)
    symbol = "<=" if op.target is np.tril else ">="
    offset = whole(options.get("k", 0) or 0)
    test = Apply(symbol, (Integer(named("@1") - named("@0")), Integer(offset)))
    entry = Apply("if", (test, x.entry, zero_of(x.dtype)))
    return b.filled(x.dims, lambda i: at(entry, i), x.dtype, op.result.hint)


@lowers(np.trace, options=("offset",))
def trace(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    if options.get("offset"):
        raise NotCovered("a trace beside the main diagonal", op.where)
    main = indexing.diagonal(x, 0, b)
    hint = op.result.hint or "total"
    return reductions.reduced(
        b,
        main.dims,
        lambda i: at(main.entry, i),
        [0],
        reductions.added(x.dtype),
        zero_of(x.dtype),
        x.dtype,
        hint,
    )


@lowers(np.roll, options=("shift", "axis"))
def roll(b: Builder, x: Array, options: Options, op: Call) -> Rep:
    """Lower ``np.roll`` along one axis as two concatenated slices."""
    shift, axis = options["shift"], options.get("axis")
    if (axis is None and len(x.dims) != 1) or not isinstance(shift, int) or isinstance(axis, tuple):
        raise NotCovered("np.roll over several axes", op.where)
    k = 0 if axis is None else axis % len(x.dims)
    dim, size = x.dims[k], whole(abs(shift))
    if dim.size.terms:
        b.guard(Apply("<", (Integer(dim.size), Integer(size))))
    elif dim.size.constant < abs(shift):
        raise NotCovered("np.roll by more than the length", op.where)
    made = b.storage(op.result.hint or "rolled", x.dims, x.dtype)
    first = dim.size - size if shift > 0 else size  # where the second part of the array begins

    def part(source: Affine, target: Affine, length: Affine) -> None:
        def inside(i: tuple[Affine, ...]) -> list[Node]:
            read = tuple(one + source if j == k else one for j, one in enumerate(i))
            place = tuple(one + target if j == k else one for j, one in enumerate(i))
            return [Assign(made.name, place, at(x.entry, read), "=", b.where)]

        b.nest([Dim(length) if j == k else d for j, d in enumerate(x.dims)], inside)

    part(first, whole(0), dim.size - first)
    part(whole(0), dim.size - first, first)
    return of_storage(made.name, x.dims, x.dtype)


def as_number(b: Builder, array: Array, op: Call) -> Rep:
    """Return an array, a 0-d one as a number."""
    return array if array.dims else b.assign(at(array.entry, ()), array.dtype, op.result.hint)


def with_first_axis(rep: Number | Array) -> Array:
    """Return a number or an array with one more axis in front."""
    if isinstance(rep, Number):
        rep = Array(rep.expr, (), rep.dtype)
    return indexing.expanded(rep, 0)


def lowered(low: Any, op: Call) -> Rep:
    """Lower a call that changes only the layout."""
    layout, names = _LAYOUTS[op.target]
    rep: Rep = low.rep(op.args[0])
    options = low.options(op, names, start=1)
    if isinstance(rep, Number):
        if op.target in (np.transpose, np.squeeze):
            return rep
        rep = Array(rep.expr, (), rep.dtype)
        if op.target is np.atleast_1d:
            return with_first_axis(rep)
    if not isinstance(rep, Array):
        raise NotCovered("the layout of a list", op.where)
    return layout(low.builder, rep, options, op)


def table() -> dict[Any, Callable[[Any, Call], Rep]]:
    """Return the lowerings of layouts."""
    return dict.fromkeys(_LAYOUTS, lowered)
