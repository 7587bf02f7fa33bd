"""Lowerings of calls that make, join and lay out arrays, and the table of all lowerings."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad import runtime
from srcad.backends.interface import NotCovered
from srcad.backends.numba import elementwise, indexing, reductions
from srcad.backends.numba.builder import Builder, converted, covered_dtype, zero_of
from srcad.backends.numba.elementwise import dtype_of, in_dtype, result_dtype
from srcad.backends.numba.loops import (
    ONE,
    ZERO,
    Affine,
    Apply,
    Assign,
    Dim,
    Expr,
    Integer,
    Literal_,
    Load,
    named,
    whole,
)
from srcad.backends.numba.representations import (
    BOOL,
    FLOAT64,
    INT64,
    Array,
    Items,
    Known,
    Number,
    Parts,
    Rep,
    at,
    axes,
    integer,
    of_storage,
)
from srcad.ir import primitives as P
from srcad.ir.core import Arg, Call, Const, Display
from srcad.types.numeric import Numeric
from srcad.types.sizes import constant_extent
from srcad.types.structures import TupleOf

Options = dict[str, Any]


# --------------------------------------------------------------------------- structures
def shape(low: Any, op: Call) -> Rep:
    """``x.shape``."""
    rep = low.rep(op.args[0])
    if isinstance(rep, Number):
        return Parts(())
    if not isinstance(rep, Array):
        raise NotCovered("the shape of a list", op.where)
    return Parts(tuple(integer(d.size, d.extent) for d in rep.dims))


def item(low: Any, op: Call) -> Rep:
    """Return a part of a tuple or of a shape."""
    rep, key = low.rep(op.args[0]), op.args[1]
    if not isinstance(rep, Parts) or not isinstance(key, Const):
        raise NotCovered("a part of an object", op.where)
    type_ = getattr(op.args[0], "type", None)
    position = key.value
    if isinstance(type_, TupleOf) and type_.keys is not None:
        position = type_.keys.index(position)
    found: Rep = rep.items[position]
    return found


def build_tuple(low: Any, op: Call) -> Rep:
    """Return a tuple, or a list, of known parts."""
    return Parts(tuple(low.rep(arg) for arg in op.args))


def build_dict(low: Any, op: Call) -> Rep:
    """Return a dict or a record of known parts."""
    first = 1 if op.target is P.build_dict else 2
    return Parts(tuple(low.rep(arg) for arg in op.args[first:]))


def added(low: Any, op: Call) -> Rep:
    """``sum(items)``: one after another."""
    b: Builder = low.builder
    rep = low.rep(op.args[0])
    start: Rep = low.rep(op.args[1]) if len(op.args) > 1 else integer(0)
    if isinstance(rep, Parts) and all(isinstance(p, Number) for p in rep.items):
        total: Rep = start
        for one in rep.items:
            total = elementwise.arithmetic_of(b, "+", [total, one], op)
        return total
    if isinstance(rep, Items):
        rep = low.array_of_items(rep, None, op)
    if isinstance(rep, Array) and len(rep.dims) == 1 and rep.dtype.kind == "f":
        assert isinstance(start, Number)
        name = b.fresh(op.result.hint or "total")
        b.level[name] = len(b.bodies) - 1
        b.emit(Assign(name, (), in_dtype(start, start.expr, rep.dtype), "=", b.where))
        entry = rep.entry
        b.nest(rep.dims, lambda i: [Assign(name, (), Apply("+", (Load(name), at(entry, i))), "=",
                                           b.where)])  # fmt: skip
        return Number(Load(name), rep.dtype, True)
    raise NotCovered("a sum of arrays or objects", op.where)


def norm(low: Any, op: Call) -> Rep:
    """``np.linalg.norm(x)``: the root of the sum of squares, of all entries or along an axis."""
    b: Builder = low.builder
    rep = low.rep(op.args[0])
    options = low.options(op, ("ord", "axis", "keepdims"), start=1)
    axis, keepdims = options.get("axis"), bool(options.get("keepdims", False))
    if not isinstance(rep, Array) or rep.dtype != FLOAT64:
        raise NotCovered("a norm of a number", op.where)
    is_vector = len(rep.dims) == 1 or isinstance(axis, int)
    if options.get("ord") not in ((None, 2) if is_vector else (None, "fro")):
        raise NotCovered("a norm of another order", op.where)
    squares = reductions.reduced(
        b, rep.dims, lambda i: Apply("square", (at(rep.entry, i),)),
        reductions.axes_of(len(rep.dims), axis), "add_any_order", zero_of(FLOAT64), FLOAT64,
        "total", keepdims=keepdims)  # fmt: skip
    return b.elementwise(lambda e: Apply("np.sqrt", tuple(e)), [squares], FLOAT64,
                         op.result.hint or "norm")  # fmt: skip


def take(low: Any, op: Call) -> Rep:
    """``np.take(x, indices, axis)``."""
    b: Builder = low.builder
    rep, index = low.rep(op.args[0]), indexing.items_of(low, op.args[1])
    options = low.options(op, ("axis",), start=2)
    axis = options.get("axis")
    if not isinstance(rep, Array) or len(index) != 1 or (axis is None and len(rep.dims) != 1):
        raise NotCovered("np.take with options", op.where)
    every = indexing.EVERY
    items = [every] * ((axis or 0) % len(rep.dims)) + index
    return indexing.read(b, rep, items, None, op.result.hint)


def raised(low: Any, op: Call) -> Rep:
    """``raise error``: the NumPy text raises it."""
    low.builder.guard_always()
    return Known(None)


def length(low: Any, op: Call) -> Rep:
    """``len(x)``."""
    rep = low.rep(op.args[0])
    if isinstance(rep, Parts):
        return integer(len(rep.items), constant_extent(len(rep.items)))
    if isinstance(rep, Array) and rep.dims:
        return integer(rep.dims[0].size, rep.dims[0].extent)
    if isinstance(rep, Items) and rep.count is not None:
        return integer(rep.count)
    raise NotCovered("the length of an object", op.where)


def size(low: Any, op: Call) -> Rep:
    """``np.size(x)``, ``np.size(x, axis)``."""
    rep = low.rep(op.args[0])
    if not isinstance(rep, Array):
        return integer(1)
    dims = rep.dims
    if len(op.args) > 1 or op.kwargs:
        axis = _constant(low, op.args[1] if len(op.args) > 1 else op.kwargs[0][1])
        dims = (rep.dims[axis],)
    return integer(low.builder.size_of(dims))


def rank(low: Any, op: Call) -> Rep:
    """``np.ndim(x)``."""
    rep = low.rep(op.args[0])
    return integer(len(rep.dims) if isinstance(rep, Array) else 0)


def same_value(low: Any, op: Call) -> Rep:
    """Return the operand itself."""
    return low.rep(op.args[0])  # type: ignore[no-any-return]


def _is(low: Any, op: Call) -> Rep:
    """``a is None``."""
    left, right = (low.rep(arg) for arg in op.args)
    type_ = getattr(op.args[0], "type", None)
    if isinstance(right, Known) and right.value is None:
        if isinstance(left, Known) and left.value is None:
            return Number(Literal_("True"), BOOL)
        if isinstance(left, Number | Array | Parts) and isinstance(type_, Numeric | TupleOf):
            return Number(Literal_("False"), BOOL)
    raise NotCovered("a comparison of objects", op.where)


# ----------------------------------------------------------------------------- reading
def getitem(low: Any, op: Call) -> Rep:
    """``x[index]``."""
    rep = low.rep(op.args[0])
    b: Builder = low.builder
    if isinstance(rep, Parts):
        index = low.rep(op.args[1])
        if isinstance(index, Number) and index.constant is not None:
            found: Rep = rep.items[index.constant]
            return found
        raise NotCovered("an item of a tuple at a position that is not known", op.where)
    if isinstance(rep, Items):
        index = low.rep(op.args[1])
        if isinstance(index, Number):
            return low.item_at(rep, index)  # type: ignore[no-any-return]
        raise NotCovered("a slice of a list", op.where)
    if isinstance(rep, Number):
        return rep
    if not isinstance(rep, Array):
        raise NotCovered("an index of an object", op.where)
    items = low.with_places(rep, indexing.items_of(low, op.args[1]), op.result.type)
    return indexing.read(b, rep, items, op.result.type, op.result.hint)


def updated(low: Any, op: Call) -> Rep:
    """``x[index] = value``."""
    return _stored(low, op, "=")


def add_at(low: Any, op: Call) -> Rep:
    """``x[index] += value``."""
    return _stored(low, op, "+=")


def _stored(low: Any, op: Call, how: str) -> Rep:
    array, value = low.rep(op.args[0]), low.rep(op.args[2])
    if not isinstance(array, Array):
        raise NotCovered("a store into an object", op.where)
    items = indexing.items_of(low, op.args[1])
    masks = [i for i in items if isinstance(i, Array) and i.dtype.kind == "b"]
    if len(masks) == len(items) == 1 and isinstance(value, Number):
        return _masked(low, op, array, masks[0], value, how)
    items = low.with_places(array, items, None)
    return indexing.store(low.builder, array, items, value, how, in_place=op.in_place,
                          hint=op.result.hint)  # fmt: skip


def _masked(low: Any, op: Call, array: Array, mask: Array, value: Number, how: str) -> Rep:
    """``x[mask] = number``."""
    b: Builder = low.builder
    target = array if op.in_place and indexing._is_writable(b, array) else b.copied(array)
    for mine, other in zip(array.dims, mask.dims, strict=False):
        b.same(mine, other)
    stored = converted(value.expr, value.dtype, array.dtype)

    def inside(i: tuple[Affine, ...]) -> list[Any]:
        place = at(target.entry, i)
        assert isinstance(place, Load)
        changed: Expr = stored if how == "=" else Apply("+", (place, stored))
        test = at(mask.entry, i[: len(mask.dims)])
        choice = Apply("if", (test, changed, place))
        return [Assign(place.storage, place.index, choice, "=", b.where)]

    b.nest(target.dims, inside)
    return target


# ----------------------------------------------------------------------------- creation
def created(low: Any, op: Call) -> Rep:
    """``np.zeros(shape)``, ``np.ones``, ``np.empty``, ``np.full``."""
    b: Builder = low.builder
    type_ = op.result.type
    fills = op.target is np.full
    args = {name: arg for name, arg in op.kwargs}
    if set(args) - {"dtype", "shape", "fill_value"}:
        raise NotCovered("an array with options", op.where)
    dtype = covered_dtype(type_.dtype if isinstance(type_, Numeric) else None)
    wanted = args.get("shape", op.args[0] if op.args else None)
    dims = low.shape_of(wanted, type_)
    if fills:
        value = low.rep(args.get("fill_value", op.args[1] if len(op.args) > 1 else None))
        if not isinstance(value, Number):
            raise NotCovered("np.full of an array", op.where)
        return b.filled(dims, lambda _: in_dtype(value, value.expr, dtype), dtype, op.result.hint)
    return _filled(b, op, dims, dtype)


def _filled(b: Builder, op: Call, dims: tuple[Dim, ...], dtype: Any) -> Rep:
    if op.target in (np.empty, np.empty_like):
        made = b.storage(op.result.hint or "entries", dims, dtype)
        return of_storage(made.name, dims, dtype)
    if op.target in (np.ones, np.ones_like):
        one: Expr = Integer(ONE) if dtype.kind == "i" else Literal_(
            "1.0" if dtype.kind == "f" else "True")  # fmt: skip
        return b.filled(dims, lambda _: one, dtype, op.result.hint or "ones")
    return b.zeros(dims, dtype, op.result.hint or "zeros")


def created_like(low: Any, op: Call) -> Rep:
    """``np.zeros_like(x)`` and its kin."""
    rep = low.rep(op.args[0])
    type_ = op.result.type
    if len(op.args) > 1 or any(name not in ("dtype",) for name, _ in op.kwargs):
        raise NotCovered("an array with options", op.where)
    if isinstance(rep, Number):
        dtype = covered_dtype(type_.dtype) if isinstance(type_, Numeric) and type_.dtype is not None else rep.dtype  # noqa: E501
        if op.target not in (np.zeros_like, runtime.zero_cotangent):
            raise NotCovered("an array like a number", op.where)
        return Number(zero_of(dtype if dtype.kind == "f" else FLOAT64), dtype, True)
    if not isinstance(rep, Array):
        raise NotCovered("an array like an object", op.where)
    dtype = rep.dtype
    if isinstance(type_, Numeric) and type_.dtype is not None:
        dtype = covered_dtype(type_.dtype)
    if op.target is runtime.zero_cotangent:
        return low.builder.zeros(rep.dims, dtype if dtype.kind == "f" else FLOAT64,
                                 op.result.hint or "zeros")  # fmt: skip
    return _filled(low.builder, op, rep.dims, dtype)


def eye(low: Any, op: Call) -> Rep:
    """``np.eye(n)``."""
    others = {name: low.known(arg) for name, arg in op.kwargs}
    if len(op.args) != 1 or others not in ({}, {"dtype": float}, {"dtype": np.dtype(float)}):
        raise NotCovered("np.eye with options", op.where)
    n = low.integer_of(op.args[0])
    dim = Dim(n, low.extent_of(op.args[0]))
    test = Apply("==", (Integer(named("@0")), Integer(named("@1"))))
    return Array(Apply("if", (test, Literal_("1.0"), Literal_("0.0"))), (dim, dim), FLOAT64)


def arange(low: Any, op: Call) -> Rep:
    """``np.arange(start, stop, step)``."""
    numbers = [low.rep(arg) for arg in op.args]
    type_ = op.result.type
    dtype = covered_dtype(type_.dtype if isinstance(type_, Numeric) else None)
    if any(name != "dtype" for name, _ in op.kwargs) or not 1 <= len(numbers) <= 3:
        raise NotCovered("np.arange with options", op.where)
    if not all(isinstance(n, Number) for n in numbers):
        raise NotCovered("np.arange of arrays", op.where)
    extent = type_.shape[0] if isinstance(type_, Numeric) and type_.shape is not None else None
    if not all(n.affine is not None for n in numbers):
        return _float_range(low, op, numbers, extent)
    start, stop, step = ZERO, numbers[0].affine, 1
    if len(numbers) > 1:
        start, stop = numbers[0].affine, numbers[1].affine
    if len(numbers) > 2:
        if not numbers[2].constant:
            raise NotCovered("np.arange with a step that is not known", op.where)
        step = numbers[2].constant
    count = low.builder.affine_of(extent)
    if count is None:
        count = low.count_of(start, stop, step, None)
        low.builder.note(extent, count)
    entry: Expr = Integer(start + named("@0").scaled(step))
    return Array(converted(entry, INT64, dtype), (Dim(count, extent),), dtype)


def _float_range(low: Any, op: Call, numbers: list[Number], extent: Any) -> Rep:
    b: Builder = low.builder
    values = [in_dtype(n, n.expr, FLOAT64) for n in numbers]
    zero, one = Literal_("0.0"), Literal_("1.0")
    start, stop = (zero, values[0]) if len(values) == 1 else (values[0], values[1])
    step = values[2] if len(values) == 3 else one
    names = [b.assign(e, FLOAT64, h) for e, h in ((start, "start"), (stop, "stop"), (step, "step"))]
    start, stop, step = (n.expr for n in names)
    if len(values) == 3:
        b.guard(Apply("==", (step, zero)))
    steps = Apply("/", (Apply("-", (stop, start)), step))
    size = b.assign(Apply("np.ceil", (steps,)), FLOAT64, "size")
    b.guard(Apply("not", (Apply("<", (size.expr, Literal_("2.0**40"))),)))
    count = b.named_value(Apply("max", (Apply("int", (size.expr,)), Integer(ZERO))), "n")
    b.note(extent, count)
    apart = b.assign(Apply("-", (Apply("+", (start, step)), start)), FLOAT64, "step")
    entry = Apply("+", (start, Apply("*", (Integer(named("@0")), apart.expr))))
    return Array(entry, (Dim(count, extent),), FLOAT64)


def linspace(low: Any, op: Call) -> Rep:
    """``np.linspace(start, stop, n)`` of numbers."""
    b: Builder = low.builder
    if op.kwargs or not 2 <= len(op.args) <= 3:
        raise NotCovered("np.linspace with options", op.where)
    start, stop = (low.rep(arg) for arg in op.args[:2])
    if not isinstance(start, Number) or not isinstance(stop, Number):
        raise NotCovered("np.linspace of arrays", op.where)
    n = low.integer_of(op.args[2]) if len(op.args) == 3 else whole(50)
    if not n.terms and n.constant < 2:
        raise NotCovered("np.linspace of less than two points", op.where)
    if n.terms:
        b.guard(Apply("<", (Integer(n), Integer(whole(2)))))
    ends = [in_dtype(r, r.expr, FLOAT64) for r in (start, stop)]
    step = b.assign(Apply("/", (Apply("-", (ends[1], ends[0])), Integer(n - ONE))), FLOAT64, "step")

    def entry(i: tuple[Affine, ...]) -> Expr:
        inside = Apply("+", (Apply("*", (Integer(i[0]), step.expr)), ends[0]))
        last = Apply("==", (Integer(i[0]), Integer(n - ONE)))
        return Apply("if", (last, ends[1], inside))

    extent = low.extent_of(op.args[2]) if len(op.args) == 3 else constant_extent(50)
    return b.filled((Dim(n, extent),), entry, FLOAT64, op.result.hint)


def array_of(low: Any, op: Call) -> Rep:
    """``np.array([a, b, ...])`` of numbers or of equal arrays, and of an array."""
    b: Builder = low.builder
    if any(name not in ("dtype", "order") for name, _ in op.kwargs) or len(op.args) != 1:
        raise NotCovered("np.array with options", op.where)
    rep = low.rep(op.args[0])
    type_ = op.result.type
    dtype = covered_dtype(type_.dtype if isinstance(type_, Numeric) else None)
    if isinstance(rep, Array):
        return b.filled(rep.dims, lambda i: in_dtype(rep, at(rep.entry, i), dtype), dtype,
                        op.result.hint)  # fmt: skip
    if isinstance(rep, Number):
        return Number(in_dtype(rep, rep.expr, dtype), dtype, False)
    if isinstance(rep, Items):
        return low.array_of_items(rep, dtype, op)
    if not isinstance(rep, Parts) or not rep.items:
        raise NotCovered("an array of a list", op.where)
    parts = _as_arrays(b, rep, dtype, op)
    return _joined(b, [_with_first_axis(p) for p in parts], 0, dtype, op)


def _as_arrays(b: Builder, rep: Parts, dtype: Any, op: Call) -> list[Number | Array]:
    found: list[Number | Array] = []
    for one in rep.items:
        if isinstance(one, Parts):
            found.append(_joined(b, [_with_first_axis(p) for p in _as_arrays(b, one, dtype, op)],
                                 0, dtype, op))  # fmt: skip
        elif isinstance(one, Number | Array):
            found.append(one)
        else:
            raise NotCovered("an array of objects", op.where)
    return found


def _with_first_axis(rep: Number | Array) -> Array:
    if isinstance(rep, Number):
        return Array(rep.expr, (Dim(ONE, constant_extent(1)),), rep.dtype)
    return indexing.expanded(rep, 0)


def _joined(b: Builder, parts: list[Array], axis: int, dtype: Any, op: Call) -> Array:
    """Return arrays one behind another along an axis."""
    rank = len(parts[0].dims)
    if any(len(p.dims) != rank for p in parts):
        raise NotCovered("a join of arrays of several ranks", op.where)
    for k in range(rank):
        for p in parts[1:]:
            if k != axis:
                b.same(parts[0].dims[k], p.dims[k])
    total = ZERO
    for p in parts:
        total = total + p.dims[axis].size
    dims = list(parts[0].dims)
    extents = [p.dims[axis].extent for p in parts]
    extent = extents[0]
    for other in extents[1:]:
        extent = None if extent is None or other is None else extent + other
    dims[axis] = Dim(total, extent)
    made = b.storage(op.result.hint or "joined", dims, dtype)
    start = ZERO
    for p in parts:

        def inside(i: tuple[Affine, ...], p: Array = p, start: Affine = start) -> list[Any]:
            place = tuple(one + start if k == axis else one for k, one in enumerate(i))
            value = in_dtype(p, at(p.entry, i), dtype)
            return [Assign(made.name, place, value, "=", b.where)]

        if p.dims[axis].size == ONE:

            def at_start(
                i: tuple[Affine, ...], p: Array = p, start: Affine = start
            ) -> list[Any]:
                full = (*i[:axis], ZERO, *i[axis:])
                place = (*i[:axis], start, *i[axis:])
                value = in_dtype(p, at(p.entry, full), dtype)
                return [Assign(made.name, place, value, "=", b.where)]

            b.nest((*p.dims[:axis], *p.dims[axis + 1 :]), at_start)
        else:
            b.nest(p.dims, inside)
        start = start + p.dims[axis].size
    return of_storage(made.name, tuple(dims), dtype)


def concatenated(low: Any, op: Call) -> Rep:
    """``np.concatenate(arrays, axis)``."""
    parts, axis, dtype = _parts_of(low, op)
    arrays = [p for p in parts if isinstance(p, Array)]
    if len(arrays) != len(parts):
        raise NotCovered("a join of numbers", op.where)
    return _joined(low.builder, arrays, axis % len(arrays[0].dims), dtype, op)


def stacked(low: Any, op: Call) -> Rep:
    """``np.stack(arrays, axis)``."""
    parts, axis, dtype = _parts_of(low, op)
    k = axis % (1 + max(len(p.dims) if isinstance(p, Array) else 0 for p in parts))
    made = [_with_first_axis(p) if isinstance(p, Number) else indexing.expanded(p, k)
            for p in parts]  # fmt: skip
    return _joined(low.builder, made, k, dtype, op)


def side_by_side(low: Any, op: Call) -> Rep:
    """``np.hstack``, ``np.vstack``, ``np.column_stack``."""
    parts, _, dtype = _parts_of(low, op)
    arrays: list[Array] = []
    for p in parts:
        one = _with_first_axis(p) if isinstance(p, Number) else p
        if op.target is np.vstack and len(one.dims) == 1:
            one = indexing.expanded(one, 0)
        if op.target is np.column_stack and len(one.dims) == 1:
            one = indexing.expanded(one, 1)
        arrays.append(one)
    axis = 0 if op.target is np.vstack or len(arrays[0].dims) == 1 else 1
    return _joined(low.builder, arrays, axis, dtype, op)


def _parts_of(low: Any, op: Call) -> tuple[list[Number | Array], int, Any]:
    rep = low.rep(op.args[0])
    options = low.options(op, ("axis",), start=1)
    axis = options.pop("axis", 0)
    if options or not isinstance(rep, Parts) or not isinstance(axis, int):
        raise NotCovered("a join of a list, or with options", op.where)
    dtype = getattr(op.result.type, "dtype", None)
    if not rep.items or not all(isinstance(p, Number | Array) for p in rep.items):
        raise NotCovered("a join of objects", op.where)
    return list(rep.items), axis, covered_dtype(dtype)  # type: ignore[arg-type]


def copied(low: Any, op: Call) -> Rep:
    """``np.copy(x)``, ``x.astype(dtype)``, ``np.ascontiguousarray(x)``."""
    rep = low.rep(op.args[0])
    if isinstance(rep, Parts | Items | Known):
        raise NotCovered("an array of a list", op.where)
    type_ = op.result.type
    dtype = rep.dtype
    if isinstance(type_, Numeric) and type_.dtype is not None:
        dtype = covered_dtype(type_.dtype)
    if isinstance(rep, Number):
        return Number(in_dtype(rep, rep.expr, dtype), dtype, rep.may_be_python, rep.extent)
    is_same = op.target in (np.ascontiguousarray, np.asarray) and dtype == rep.dtype
    if is_same and low.builder.is_whole(rep):
        return rep
    return low.builder.filled(rep.dims, lambda i: in_dtype(rep, at(rep.entry, i), dtype), dtype,
                              op.result.hint or "copy")  # fmt: skip


# ------------------------------------------------------------------------------- layouts
def layout(low: Any, op: Call) -> Rep:
    """Transposes, flips, new axes: index arithmetic."""
    rep = low.rep(op.args[0])
    names = {np.transpose: ("axes",), np.swapaxes: ("axis1", "axis2"), np.flip: ("axis",),
             np.expand_dims: ("axis",), np.squeeze: ("axis",), np.moveaxis: ("source",
             "destination"), np.diag: ("k",), np.diagonal: ("offset", "axis1", "axis2"),
             np.fliplr: (), np.flipud: (), np.atleast_1d: (), np.real: (), np.atleast_2d: (),
             np.triu: ("k",), np.tril: ("k",), np.trace: ("offset",),
             np.roll: ("shift", "axis")}[op.target]  # fmt: skip
    options = low.options(op, names, start=1)
    if op.target in (np.real,):
        return rep  # type: ignore[no-any-return]
    if isinstance(rep, Number) and op.target in (np.atleast_1d, np.expand_dims):
        return _with_first_axis(rep)
    if isinstance(rep, Number) and op.target in (np.transpose, np.squeeze):
        return rep
    if not isinstance(rep, Array):
        raise NotCovered("the layout of a list", op.where)
    n = len(rep.dims)
    b: Builder = low.builder
    match op.target:
        case np.transpose:
            order = options.get("axes")
            order = range(n)[::-1] if order is None else [k % n for k in order]
            return indexing.transposed(rep, list(order))
        case np.swapaxes:
            order = list(range(n))
            one, two = options["axis1"] % n, options["axis2"] % n
            order[one], order[two] = two, one
            return indexing.transposed(rep, order)
        case np.moveaxis:
            source, target = options["source"], options["destination"]
            if not isinstance(source, int) or not isinstance(target, int):
                raise NotCovered("np.moveaxis of several axes", op.where)
            order = [k for k in range(n) if k != source % n]
            order.insert(target % n, source % n)
            return indexing.transposed(rep, order)
        case np.flip | np.fliplr | np.flipud:
            axis = {np.fliplr: 1, np.flipud: 0}.get(op.target, options.get("axis"))
            return indexing.flipped(rep, reductions.axes_of(n, axis))
        case np.expand_dims:
            axis = options["axis"]
            places = sorted(k % (n + (len(axis) if isinstance(axis, tuple) else 1))
                            for k in (axis if isinstance(axis, tuple) else (axis,)))  # fmt: skip
            for k in places:
                rep = indexing.expanded(rep, k)
            return rep
        case np.squeeze:
            axis = options.get("axis")
            if axis is None:
                removed = [k for k in range(n) if b.is_one(rep.dims[k])]
            else:
                removed = list(reductions.axes_of(n, axis))
                if not all(b.is_one(rep.dims[k]) for k in removed):
                    raise NotCovered("np.squeeze of an axis that is not known to be 1", op.where)
            return _as_number(b, indexing.without_axes(rep, removed), op)
        case np.atleast_1d:
            return rep
        case np.atleast_2d:
            return indexing.expanded(rep, 0) if n == 1 else rep
        case np.diagonal:
            if options.get("axis1", 0) or options.get("axis2", 1) != 1 or n != 2:
                raise NotCovered("the diagonal of a stack", op.where)
            return indexing.diagonal(rep, options.get("offset", 0) or 0, b)
        case np.diag:
            if options.get("k"):
                raise NotCovered("a diagonal beside the main one", op.where)
            if n == 2:
                return b.copied(indexing.diagonal(rep, 0, b), op.result.hint)
            test = Apply("==", (Integer(named("@0")), Integer(named("@1"))))
            entry = Apply("if", (test, at(rep.entry, (named("@0"),)), zero_of(rep.dtype)))
            return b.filled((rep.dims[0], rep.dims[0]), lambda i: at(entry, i), rep.dtype,
                            op.result.hint)  # fmt: skip
        case np.tril | np.triu:
            k = options.get("k", 0) or 0
            if n != 2:
                raise NotCovered("a triangle of a stack", op.where)
            symbol = "<=" if op.target is np.tril else ">="
            test = Apply(symbol, (Integer(named("@1") - named("@0")), Integer(whole(k))))
            entry = Apply("if", (test, rep.entry, zero_of(rep.dtype)))
            return b.filled(rep.dims, lambda i: at(entry, i), rep.dtype, op.result.hint)
        case np.trace:
            if options.get("offset"):
                raise NotCovered("a trace beside the main diagonal", op.where)
            main = indexing.diagonal(rep, 0, b)
            return reductions.reduced(b, main.dims, lambda i: at(main.entry, i), [0],
                                      reductions.added(rep.dtype), zero_of(rep.dtype), rep.dtype,
                                      op.result.hint or "total")  # fmt: skip
        case np.roll:
            shift, axis = options["shift"], options.get("axis")
            if (axis is None and n != 1) or not isinstance(shift, int) or isinstance(axis, tuple):
                raise NotCovered("np.roll over several axes", op.where)
            return _rolled(b, rep, shift, 0 if axis is None else axis % n, op)
    raise NotCovered(f"np.{op.target.__name__}", op.where)


def _rolled(b: Builder, array: Array, shift: int, axis: int, op: Call) -> Array:
    """Return the array rolled along an axis, as two slices behind each other."""
    dim = array.dims[axis]
    size = abs(shift)
    if dim.size.terms:
        b.guard(Apply("<", (Integer(dim.size), Integer(whole(size)))))
    elif dim.size.constant < size:
        raise NotCovered("np.roll by more than the length", op.where)
    back = size if shift > 0 else None
    first = dim.size - whole(size) if shift > 0 else whole(size)
    second = whole(size) if shift > 0 else dim.size - whole(size)
    del back

    def part(start: Affine, length: Affine) -> Array:
        places = list(axes(len(array.dims)))
        places[axis] = places[axis] + start
        dims = list(array.dims)
        dims[axis] = Dim(length)
        return Array(at(array.entry, tuple(places)), tuple(dims), array.dtype)

    made = _joined(b, [part(first, dim.size - first), part(ZERO, first)], axis, array.dtype, op)
    del second
    dims = list(made.dims)
    dims[axis] = dim
    return Array(made.entry, tuple(dims), made.dtype)


def _as_number(b: Builder, array: Array, op: Call) -> Rep:
    return array if array.dims else b.assign(at(array.entry, ()), array.dtype, op.result.hint)


def reshaped(low: Any, op: Call) -> Rep:
    """``np.reshape(x, shape)``, ``np.ravel(x)``: index arithmetic, or another shape of a storage."""
    b: Builder = low.builder
    rep = low.rep(op.args[0])
    type_ = op.result.type
    if any(name not in ("shape",) for name, _ in op.kwargs):
        raise NotCovered("np.reshape with an order", op.where)
    if isinstance(rep, Number):
        if op.target is np.ravel:
            return _with_first_axis(rep)
        rep = Array(rep.expr, (), rep.dtype)
    if not isinstance(rep, Array):
        raise NotCovered("np.reshape of a list", op.where)
    dims: tuple[Dim, ...]
    shape_ = type_.shape if isinstance(type_, Numeric) else None
    if op.target is np.ravel:
        if len(op.args) > 1:
            raise NotCovered("np.ravel with an order", op.where)
        if len(rep.dims) == 1:
            return rep
        size = b.size_of(rep.dims)
        dims = (Dim(size, shape_[0] if shape_ else None),)
        if shape_:
            b.note(shape_[0], size)
    else:
        wanted = dict(op.kwargs).get("shape", op.args[1] if len(op.args) > 1 else None)
        dims = _new_shape(low, rep, wanted, shape_, op)
    if not rep.dims or not dims:
        return _of_one(b, rep, dims, op)
    plain = _by_index(b, rep, dims)
    if plain is not None:
        return plain
    source = b.whole(rep)
    assert source.storage is not None
    storage = b.storages[source.storage]
    storage.notes["whole"] = True
    made = b.storage(op.result.hint or "reshaped", dims, rep.dtype)
    made.given = True
    b.share(source.storage, made.name)
    sizes = ", ".join(str(d.size) for d in dims) + ("," if len(dims) == 1 else "")
    names = [n for d in dims for n in d.size.names]
    b.call(f"{{{made.name}}} = {{{source.storage}}}.reshape(({sizes}))", [source.storage, *names],
           made, defines=(made.name,))  # fmt: skip
    if storage.is_argument:
        made.is_argument = True
    return of_storage(made.name, dims, rep.dtype)


def _of_one(b: Builder, rep: Array, dims: tuple[Dim, ...], op: Call) -> Rep:
    places = (ZERO,) * len(rep.dims)
    for d in (*rep.dims, *dims):
        if not b.is_one(d):
            b.guard(Apply("!=", (Integer(d.size), Integer(ONE))))
    entry = at(rep.entry, places)
    if not dims:
        return b.assign(entry, rep.dtype, op.result.hint)
    return Array(entry, dims, rep.dtype)


def _new_shape(low: Any, rep: Array, wanted: Arg | None, shape_: Any, op: Call) -> tuple[Dim, ...]:
    b: Builder = low.builder
    sizes = low.sizes_of(wanted)
    unknown = [k for k, s in enumerate(sizes) if not s.terms and s.constant == -1]
    total = b.size_of(rep.dims)
    dims: list[Dim] = []
    for k, one in enumerate(sizes):
        extent = shape_[k] if shape_ is not None and len(shape_) == len(sizes) else None
        if k in unknown:
            known = b.affine_of(extent)
            if known is None:
                others = b.size_of([Dim(s) for j, s in enumerate(sizes) if j != k])
                if not others.terms and others.constant == 1:
                    known = total
                else:
                    if others.terms:
                        b.guard(Apply("<", (Integer(others), Integer(ONE))))
                    known = b.named_here(Apply("//", (Integer(total), Integer(others))), "n")
                b.note(extent, known)
            dims.append(Dim(known, extent))
        else:
            dims.append(Dim(one, extent))
    product = b.size_of(dims)
    if product != total:
        b.guard(Apply("!=", (Integer(product), Integer(total))))
    return tuple(dims)


def _by_index(b: Builder, rep: Array, dims: tuple[Dim, ...]) -> Array | None:
    """Return the array in another shape where only axes of length 1 come or go."""
    old = [k for k, d in enumerate(rep.dims) if not b.is_one(d)]
    new = [k for k, d in enumerate(dims) if not b.is_one(d)]
    if len(old) != len(new):
        return None
    from srcad.backends.numba.loops import same_dim

    if not all(same_dim(rep.dims[x], dims[y]) for x, y in zip(old, new, strict=True)):
        return None
    places = [ZERO] * len(rep.dims)
    for x, y in zip(old, new, strict=True):
        places[x] = named(f"@{y}")
    return Array(at(rep.entry, tuple(places)), dims, rep.dtype)


def broadcasted(low: Any, op: Call) -> Rep:
    """``np.broadcast_to(x, shape)``."""
    rep = low.rep(op.args[0])
    dims = low.shape_of(op.args[1], op.result.type)
    if not isinstance(rep, Number | Array):
        raise NotCovered("np.broadcast_to of a list", op.where)
    if isinstance(rep, Number) and rep.dtype.kind == "i":
        rep = Number(converted(rep.expr, rep.dtype, INT64), INT64)
    return indexing.broadcast_to(low.builder, rep, dims)


def unbroadcast(low: Any, op: Call) -> Rep:
    """Return a cotangent summed over the axes along which its operand was broadcast."""
    b: Builder = low.builder
    rep, like = low.rep(op.args[0]), low.rep(op.args[1])
    if isinstance(like, Parts):
        target = tuple(Dim(low.number_size(i)) for i in like.items)
    else:
        target = like.dims if isinstance(like, Array) else ()
    if isinstance(rep, Number):
        if target:
            return b.whole(indexing.broadcast_to(b, rep, target))
        return rep
    if not isinstance(rep, Array):
        raise NotCovered("a cotangent of a list", op.where)
    extra = len(rep.dims) - len(target)
    if extra < 0:
        raise NotCovered("a cotangent of less axes", op.where)
    over = list(range(extra))
    for k, wanted in enumerate(target):
        mine = rep.dims[extra + k]
        if b.is_one(wanted) and not b.is_one(mine):
            over.append(extra + k)
        elif b.is_one(mine) and not b.is_one(wanted):
            raise NotCovered("a cotangent that is broadcast", op.where)
        else:
            b.same(mine, wanted)
    if not over:
        return rep
    result = reductions.reduced(b, rep.dims, lambda i: at(rep.entry, i), over,
                                reductions.added(rep.dtype), zero_of(rep.dtype), rep.dtype,
                                op.result.hint or "total", keepdims=True)  # fmt: skip
    assert isinstance(result, Array)
    return _as_number(b, indexing.without_axes(result, list(range(extra))), op)


def triangle_test(low: Any, op: Call) -> Rep:
    """Return where an index stands for the last write to a place."""
    raise NotCovered("a store at places that may be named twice", op.where)


def _constant(low: Any, arg: Arg) -> Any:
    found = low.known(arg)
    if found is NotImplemented:
        raise NotCovered("an option that is not known before the call", low.builder.where)
    return found


# -------------------------------------------------------------------------------- table
Table = dict[Any, Callable[[Any, Call], Rep]]


def _simple(lowering: elementwise.Lowering) -> Callable[[Any, Call], Rep]:
    def lowered(low: Any, op: Call) -> Rep:
        if op.kwargs:
            name = getattr(op.target, "__name__", "a call")
            raise NotCovered(f"{name} with {op.kwargs[0][0]}=", op.where)
        return lowering(low.builder, op, [low.rep(arg) for arg in op.args])

    return lowered


def _with_options(
    lowering: Callable[..., Rep], names: tuple[str, ...], count: int
) -> Callable[[Any, Call], Rep]:
    def lowered(low: Any, op: Call) -> Rep:
        reps = [low.rep(arg) for arg in op.args[:count]]
        for rep in reps:
            if not isinstance(rep, Number | Array):
                raise NotCovered("an operand that is a list", op.where)
        return lowering(low.builder, op, reps, low.options(op, names, start=count))

    return lowered


def table() -> Table:
    """Return the lowering of each callee that the backend covers."""
    found: Table = {t: _simple(f) for t, f in elementwise.table().items()}
    for target, (lowering, names) in reductions.OPTIONS.items():
        pairs = lowering in (reductions.matrix_product, reductions.outer, reductions.inner,
                             reductions.tensor_product)  # fmt: skip
        if lowering is reductions.tensor_product:
            names = ("axes",)
        found[target] = _with_options(lowering, names, 2 if pairs else 1)
    for targets, one in (
        ((P.shape, np.shape), shape),
        ((P.item, P.field), item),
        ((P.build_tuple, P.build_list), build_tuple),
        ((P.build_dict, P.build_record), build_dict),
        ((sum,), added),
        ((np.linalg.norm,), norm),
        ((np.take,), take),
        ((len,), length),
        ((np.size,), size),
        ((np.ndim,), rank),
        ((P.identity, P.stop), same_value),
        ((P.is_,), _is),
        ((operator.getitem,), getitem),
        ((P.updated,), updated),
        ((P.add_at, P.add_at_repeated), add_at),
        ((np.zeros, np.ones, np.empty, np.full), created),
        ((np.zeros_like, np.ones_like, np.empty_like, runtime.zero_cotangent), created_like),
        ((np.eye, np.identity), eye),
        ((np.arange,), arange),
        ((np.linspace,), linspace),
        ((np.array,), array_of),
        ((np.concatenate,), concatenated),
        ((np.stack,), stacked),
        ((np.hstack, np.vstack, np.column_stack), side_by_side),
        ((np.copy, np.ascontiguousarray, np.asarray), copied),
        ((np.transpose, np.swapaxes, np.flip, np.expand_dims, np.squeeze, np.moveaxis, np.diag,
          np.diagonal, np.fliplr, np.flipud, np.atleast_1d, np.atleast_2d, np.real, np.triu,
          np.tril, np.trace, np.roll), layout),
        ((np.reshape, np.ravel), reshaped),
        ((np.broadcast_to,), broadcasted),
        ((runtime.unbroadcast,), unbroadcast),
    ):  # fmt: skip
        for target in targets:
            found[target] = one
    return found


_unused = (math, Display, Const, dtype_of, result_dtype)
