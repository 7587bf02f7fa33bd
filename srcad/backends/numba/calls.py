"""Lowerings of calls that make, join and lay out arrays, and the table of all lowerings."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad import runtime
from srcad.backends.interface import NotCovered
from srcad.backends.numba import elementwise, indexing, layouts, reductions
from srcad.backends.numba.builder import Builder, converted, covered_dtype, zero_of
from srcad.backends.numba.elementwise import in_dtype
from srcad.backends.numba.loops import (
    ONE,
    ZERO,
    Affine,
    Apply,
    Assign,
    Constant,
    Dim,
    Expr,
    Integer,
    Load,
    named,
    same_dim,
    whole,
)
from srcad.backends.numba.printing import dtype_name
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
    integer,
    of_storage,
)
from srcad.ir import primitives
from srcad.ir.core import Arg, Call, Const
from srcad.ir.disjoint import index_parts
from srcad.ir.traits import law_of_operator
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, at_least, constant_extent
from srcad.types.structures import TupleOf

Options = dict[str, Any]
Lowering = Callable[[Any, Call], Rep]
Table = dict[Any, Lowering]
_LOWERINGS: Table = {}  # what `lowers` has registered


def lowers(*targets: Any) -> Callable[[Lowering], Lowering]:
    """Register the lowering of some callees."""

    def register(lowering: Lowering) -> Lowering:
        _LOWERINGS.update(dict.fromkeys(targets, lowering))
        return lowering

    return register


# --------------------------------------------------------------------------- structures
@lowers(primitives.shape, np.shape)
def shape(low: Any, op: Call) -> Rep:
    """Lower ``x.shape``."""
    rep = low.rep(op.args[0])
    if isinstance(rep, Number):
        return Parts(())
    if not isinstance(rep, Array):
        raise NotCovered("the shape of a list", op.where)
    return Parts(tuple(integer(d.size, d.extent) for d in rep.dims))


@lowers(primitives.item, primitives.field)
def item(low: Any, op: Call) -> Rep:
    """Return an item of a tuple or a shape."""
    rep, key = low.rep(op.args[0]), op.args[1]
    if not isinstance(rep, Parts) or not isinstance(key, Const):
        raise NotCovered("a part of an object", op.where)
    type_ = getattr(op.args[0], "type", None)
    position = key.value
    if isinstance(type_, TupleOf) and type_.keys is not None:
        position = type_.keys.index(position)
    found: Rep = rep.items[position]
    return found


@lowers(primitives.build_tuple, primitives.build_list)
def build_tuple(low: Any, op: Call) -> Rep:
    """Return a tuple, or a list, of known parts."""
    return Parts(tuple(low.rep(arg) for arg in op.args))


@lowers(primitives.append)
def append(low: Any, op: Call) -> Rep:
    """Return a list of known parts with one more."""
    rep = low.rep(op.args[0])
    if not isinstance(rep, Parts):
        raise NotCovered("a list that grows", op.where)
    return Parts((*rep.items, low.rep(op.args[1])))


@lowers(primitives.build_dict, primitives.build_record)
def build_dict(low: Any, op: Call) -> Rep:
    """Return a dict or a record of known parts."""
    first = 1 if op.target is primitives.build_dict else 2
    return Parts(tuple(low.rep(arg) for arg in op.args[first:]))


@lowers(sum)
def added(low: Any, op: Call) -> Rep:
    """Lower ``sum(items)`` from left to right."""
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
        b.nest(
            rep.dims,
            lambda i: [Assign(name, (), Apply("+", (Load(name), at(entry, i))), "=", b.where)],
        )
        return Number(Load(name), rep.dtype, True)
    raise NotCovered("a sum of arrays or objects", op.where)


@lowers(np.linalg.norm)
def norm(low: Any, op: Call) -> Rep:
    """Lower ``np.linalg.norm(x)`` as the square root of the sum of squares."""
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
        b,
        rep.dims,
        lambda i: Apply("square", (at(rep.entry, i),)),
        reductions.axes_of(len(rep.dims), axis),
        "add_any_order",
        zero_of(FLOAT64),
        FLOAT64,
        "total",
        keepdims=keepdims,
    )
    return b.elementwise(
        lambda e: Apply("np.sqrt", tuple(e)), [squares], FLOAT64, op.result.hint or "norm"
    )


@lowers(np.take)
def take(low: Any, op: Call) -> Rep:
    """Lower ``np.take(x, indices, axis)``."""
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
    """Lower ``raise error``: a guard, after which the NumPy code raises it."""
    low.builder.guard_always()
    return Known(None)


@lowers(len)
def length(low: Any, op: Call) -> Rep:
    """Lower ``len(x)``."""
    rep = low.rep(op.args[0])
    if isinstance(rep, Parts):
        return integer(len(rep.items), constant_extent(len(rep.items)))
    if isinstance(rep, Array) and rep.dims:
        return integer(rep.dims[0].size, rep.dims[0].extent)
    if isinstance(rep, Items) and rep.count is not None:
        return integer(rep.count)
    raise NotCovered("the length of an object", op.where)


@lowers(np.size)
def size(low: Any, op: Call) -> Rep:
    """Lower ``np.size(x)``, ``np.size(x, axis)``."""
    rep = low.rep(op.args[0])
    if not isinstance(rep, Array):
        return integer(1)
    dims = rep.dims
    if len(op.args) > 1 or op.kwargs:
        axis = _constant(low, op.args[1] if len(op.args) > 1 else op.kwargs[0][1])
        dims = (rep.dims[axis],)
    return integer(low.builder.size_of(dims))


@lowers(np.ndim)
def rank(low: Any, op: Call) -> Rep:
    """Lower ``np.ndim(x)``."""
    rep = low.rep(op.args[0])
    return integer(len(rep.dims) if isinstance(rep, Array) else 0)


@lowers(primitives.identity, primitives.stop, np.real)
def same_value(low: Any, op: Call) -> Rep:
    """Return the operand itself."""
    return low.rep(op.args[0])  # type: ignore[no-any-return]


@lowers(primitives.is_)
def _is(low: Any, op: Call) -> Rep:
    """Lower ``a is None``."""
    left, right = (low.rep(arg) for arg in op.args)
    type_ = getattr(op.args[0], "type", None)
    if isinstance(right, Known) and right.value is None:
        if isinstance(left, Known) and left.value is None:
            return Number(Constant("True"), BOOL)
        if isinstance(left, Number | Array | Parts) and isinstance(type_, Numeric | TupleOf):
            return Number(Constant("False"), BOOL)
    raise NotCovered("a comparison of objects", op.where)


# ----------------------------------------------------------------------------- reading
@lowers(operator.getitem)
def getitem(low: Any, op: Call) -> Rep:
    """Lower ``x[index]``."""
    rep = low.rep(op.args[0])
    b: Builder = low.builder
    if isinstance(rep, Parts):
        index = low.rep(op.args[1])
        if isinstance(index, Number) and index.constant is not None:
            found: Rep = rep.items[index.constant]
            return found
        raise NotCovered("an item of a tuple at a position that is not known", op.where)
    if isinstance(rep, Items):
        (index,) = indexing.items_of(low, op.args[1])
        if not isinstance(index, Number) or rep.count is None:
            raise NotCovered("a slice of a list", op.where)
        place = indexing.checked_index(b, index, Dim(rep.count))
        return low.item_at(rep, integer(place))  # type: ignore[no-any-return]
    if isinstance(rep, Number):
        return rep
    if not isinstance(rep, Array):
        raise NotCovered("an index of an object", op.where)
    items = low.with_places(rep, indexing.items_of(low, op.args[1]), op.result.type)
    return indexing.read(b, rep, items, op.result.type, op.result.hint)


@lowers(primitives.updated)
def updated(low: Any, op: Call) -> Rep:
    """Lower ``x[index] = value``."""
    return _stored(low, op, "=")


@lowers(primitives.add_at, primitives.add_at_repeated)
def add_at(low: Any, op: Call) -> Rep:
    """Lower ``x[index] += value``."""
    return _stored(low, op, "+=")


def _stored(low: Any, op: Call, how: str) -> Rep:
    value, target = low.rep(op.args[2]), _target(low, op)
    _write(low, target, op.args[1], value, how)
    return target


def _target(low: Any, op: Call) -> Array:
    """Return the array into which a store writes: the first operand, or a copy of it."""
    array = low.rep(op.args[0])
    if not isinstance(array, Array):
        raise NotCovered("a store into an object", op.where)
    hint = op.result.hint
    return indexing.target_of_store(low.builder, array, in_place=op.in_place, hint=hint)


def _write(low: Any, target: Array, index: Arg, value: Rep, how: str) -> None:
    """Write a value into an array, or into a view of it."""
    items = indexing.items_of(low, index)
    masks = [i for i in items if isinstance(i, Array) and i.dtype.kind == "b"]
    if len(masks) == len(items) == 1 and isinstance(value, Number):
        _write_masked(low, target, masks[0], value, how)
    else:
        indexing.write(low.builder, target, low.with_places(target, items, None), value, how)


@lowers(runtime.updated_in_view)
def updated_in_view(low: Any, op: Call) -> Rep:
    """Lower ``x[outer][index] = value``."""
    return _stored_in_view(low, op, "=")


@lowers(runtime.added_in_view)
def added_in_view(low: Any, op: Call) -> Rep:
    """Lower ``x[outer][index] += value``."""
    return _stored_in_view(low, op, "+=")


def _stored_in_view(low: Any, op: Call, how: str) -> Rep:
    value, target = low.rep(op.args[2]), _target(low, op)
    view = target
    *outer, last = index_parts(op.args[1])
    for index in outer:
        read = indexing.read(low.builder, view, indexing.items_of(low, index), None, None)
        assert isinstance(read, Array)
        view = read
    _write(low, view, last, value, how)
    return target


def _write_masked(low: Any, target: Array, mask: Array, value: Number, how: str) -> None:
    """Lower ``x[mask] = number``."""
    b: Builder = low.builder
    for mine, other in zip(target.dims, mask.dims, strict=False):
        b.same(mine, other)
    stored = converted(value.expr, value.dtype, target.dtype)

    def inside(i: tuple[Affine, ...]) -> list[Any]:
        place = at(target.entry, i)
        assert isinstance(place, Load)
        changed: Expr = stored if how == "=" else Apply("+", (place, stored))
        test = at(mask.entry, i[: len(mask.dims)])
        choice = Apply("if", (test, changed, place))
        return [Assign(place.storage, place.index, choice, "=", b.where)]

    b.nest(target.dims, inside)
    b.written(target.storage or "")


# ----------------------------------------------------------------------------- creation
@lowers(np.zeros, np.ones, np.empty, np.full)
def created(low: Any, op: Call) -> Rep:
    """Lower ``np.zeros(shape)``, ``np.ones``, ``np.empty``, ``np.full``."""
    b: Builder = low.builder
    type_ = op.result.type
    fills = op.target is np.full
    args: dict[str, Any] = dict(op.kwargs)
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
        made.given = True  # it is made here, and not in a loop around the first store
        shape = ", ".join(str(d.size) for d in dims)
        names = [name for d in dims for name in d.size.names]
        line = f"{{{made.name}}} = np.empty(({shape},), np.{dtype_name(dtype)})"
        b.call(line, names, made, defines=(made.name,))
        return of_storage(made.name, dims, dtype)
    if op.target in (np.ones, np.ones_like):
        one: Expr = (
            Integer(ONE) if dtype.kind == "i" else Constant("1.0" if dtype.kind == "f" else "True")
        )
        return b.filled(dims, lambda _: one, dtype, op.result.hint or "ones")
    return b.zeros(dims, dtype, op.result.hint or "zeros")


@lowers(np.zeros_like, np.ones_like, np.empty_like, np.full_like, runtime.zero_cotangent)
def created_like(low: Any, op: Call) -> Rep:
    """Lower ``np.zeros_like(x)`` and similar."""
    rep = low.rep(op.args[0])
    type_ = op.result.type
    if op.target is np.full_like:
        return _full_like(low, op, rep)
    if len(op.args) > 1 or any(name not in ("dtype",) for name, _ in op.kwargs):
        raise NotCovered("an array with options", op.where)
    if isinstance(rep, Number):
        dtype = (
            covered_dtype(type_.dtype)
            if isinstance(type_, Numeric) and type_.dtype is not None
            else rep.dtype
        )
        if op.target not in (np.zeros_like, runtime.zero_cotangent):
            raise NotCovered("an array like a number", op.where)
        return Number(zero_of(dtype if dtype.kind == "f" else FLOAT64), dtype, True)
    if not isinstance(rep, Array):
        raise NotCovered("an array like an object", op.where)
    dtype = rep.dtype
    if isinstance(type_, Numeric) and type_.dtype is not None:
        dtype = covered_dtype(type_.dtype)
    if op.target is runtime.zero_cotangent:
        b: Builder = low.builder
        return b.zeros(rep.dims, dtype if dtype.kind == "f" else FLOAT64, op.result.hint or "zeros")
    return _filled(low.builder, op, rep.dims, dtype)


def _full_like(low: Any, op: Call, rep: Rep) -> Rep:
    """Lower ``np.full_like(x, value)``."""
    b: Builder = low.builder
    value = low.rep(op.args[1]) if len(op.args) == 2 else None
    if not isinstance(rep, Array) or not isinstance(value, Number | Array) or op.kwargs:
        raise NotCovered("np.full_like with options", op.where)
    full = indexing.broadcast_to(b, value, rep.dims)
    of, hint = Number(full.entry, value.dtype), op.result.hint or "filled"
    return b.filled(rep.dims, lambda i: in_dtype(of, at(full.entry, i), rep.dtype), rep.dtype, hint)


@lowers(np.eye, np.identity)
def eye(low: Any, op: Call) -> Rep:
    """Lower ``np.eye(n, m, k)``."""
    names = ("N", "M", "k", "dtype")
    given: dict[str, Any] = {**dict(zip(names, op.args, strict=False)), **dict(op.kwargs)}
    offset = low.known(given.get("k", Const(0)))
    dtype = low.known(given.get("dtype", Const(float)))
    if (
        set(given) - set(names)
        or not isinstance(offset, int)
        or np.dtype(dtype) not in (FLOAT64, BOOL)
    ):
        raise NotCovered("np.eye with options", op.where)
    dims = []
    for name in ("N", "M"):
        arg = given.get(name)
        if arg is None or low.known(arg) is None:
            arg = given["N"]
        dims.append(Dim(low.integer_of(arg), low.extent_of(arg)))
    test = Apply("==", (Integer(named("@1")), Integer(named("@0") + whole(offset))))
    if np.dtype(dtype) == BOOL:
        return Array(test, tuple(dims), BOOL)
    return Array(Apply("if", (test, Constant("1.0"), Constant("0.0"))), tuple(dims), FLOAT64)


@lowers(np.arange)
def arange(low: Any, op: Call) -> Rep:
    """Lower ``np.arange(start, stop, step)``."""
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
    zero, one = Constant("0.0"), Constant("1.0")
    start, stop = (zero, values[0]) if len(values) == 1 else (values[0], values[1])
    step = values[2] if len(values) == 3 else one
    names = [b.assign(e, FLOAT64, h) for e, h in ((start, "start"), (stop, "stop"), (step, "step"))]
    start, stop, step = (n.expr for n in names)
    if len(values) == 3:
        b.guard(Apply("==", (step, zero)))
    steps = Apply("/", (Apply("-", (stop, start)), step))
    size = b.assign(Apply("np.ceil", (steps,)), FLOAT64, "size")
    b.guard(Apply("not", (Apply("<", (size.expr, Constant("2.0**40"))),)))
    count = b.named_value(Apply("max", (Apply("int", (size.expr,)), Integer(ZERO))), "n")
    b.note(extent, count)
    apart = b.assign(Apply("-", (Apply("+", (start, step)), start)), FLOAT64, "step")
    entry = Apply("+", (start, Apply("*", (Integer(named("@0")), apart.expr))))
    return Array(entry, (Dim(count, extent),), FLOAT64)


@lowers(np.linspace)
def linspace(low: Any, op: Call) -> Rep:
    """Lower ``np.linspace(start, stop, n)`` of numbers."""
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


@lowers(np.array)
def array_of(low: Any, op: Call) -> Rep:
    """Lower ``np.array([a, b, ...])`` of numbers or of equal arrays, and of an array."""
    b: Builder = low.builder
    if any(name not in ("dtype", "order") for name, _ in op.kwargs) or len(op.args) != 1:
        raise NotCovered("np.array with options", op.where)
    rep = low.rep(op.args[0])
    type_ = op.result.type
    dtype = covered_dtype(type_.dtype if isinstance(type_, Numeric) else None)
    if isinstance(rep, Array):
        return b.filled(
            rep.dims, lambda i: in_dtype(rep, at(rep.entry, i), dtype), dtype, op.result.hint
        )
    if isinstance(rep, Number):
        return Number(in_dtype(rep, rep.expr, dtype), dtype, False)
    if isinstance(rep, Items):
        items: Array = low.array_of_items(rep, dtype, op)
        return items
    if not isinstance(rep, Parts) or not rep.items:
        raise NotCovered("an array of a list", op.where)
    parts = _as_arrays(b, rep, dtype, op)
    return _joined(b, [layouts.with_first_axis(p) for p in parts], 0, dtype, op)


def _as_arrays(b: Builder, rep: Parts, dtype: Any, op: Call) -> list[Number | Array]:
    found: list[Number | Array] = []
    for one in rep.items:
        if isinstance(one, Parts):
            found.append(
                _joined(
                    b,
                    [layouts.with_first_axis(p) for p in _as_arrays(b, one, dtype, op)],
                    0,
                    dtype,
                    op,
                )
            )
        elif isinstance(one, Number | Array):
            found.append(one)
        else:
            raise NotCovered("an array of objects", op.where)
    return found


def _joined(b: Builder, parts: list[Array], axis: int, dtype: Any, op: Call) -> Array:
    """Return arrays concatenated along an axis."""
    rank = len(parts[0].dims)
    if any(len(p.dims) != rank for p in parts):
        raise NotCovered("a join of arrays of several ranks", op.where)
    for k in [k for k in range(rank) if k != axis]:
        for p in parts[1:]:
            b.same(parts[0].dims[k], p.dims[k])
    total = ZERO
    extent: Extent | None = constant_extent(0)
    for p in parts:
        total = total + p.dims[axis].size
        other = p.dims[axis].extent
        extent = None if extent is None or other is None else extent + other
    dims = list(parts[0].dims)
    dims[axis] = Dim(total, extent)
    made = b.storage(op.result.hint or "joined", dims, dtype)
    start = ZERO
    for p in parts:
        _put(b, made.name, p, axis, start, dtype)
        start = start + p.dims[axis].size
    return of_storage(made.name, tuple(dims), dtype)


def _put(b: Builder, name: str, part: Array, axis: int, start: Affine, dtype: Any) -> None:
    """Write an array into a storage, from a position on an axis on."""
    is_one = part.dims[axis].size == ONE
    dims = [d for k, d in enumerate(part.dims) if k != axis or not is_one]

    def inside(i: tuple[Affine, ...]) -> list[Any]:
        index = (*i[:axis], ZERO, *i[axis:]) if is_one else i
        place = tuple(one + start if k == axis else one for k, one in enumerate(index))
        return [Assign(name, place, in_dtype(part, at(part.entry, index), dtype), "=", b.where)]

    b.nest(dims, inside)


@lowers(np.concatenate)
def concatenated(low: Any, op: Call) -> Rep:
    """Lower ``np.concatenate(arrays, axis)``."""
    parts, axis, dtype = _parts_of(low, op)
    arrays = [p for p in parts if isinstance(p, Array)]
    if len(arrays) != len(parts):
        raise NotCovered("a join of numbers", op.where)
    return _joined(low.builder, arrays, axis % len(arrays[0].dims), dtype, op)


@lowers(np.stack)
def stacked(low: Any, op: Call) -> Rep:
    """Lower ``np.stack(arrays, axis)``."""
    parts, axis, dtype = _parts_of(low, op)
    k = axis % (1 + max(len(p.dims) if isinstance(p, Array) else 0 for p in parts))
    made = [
        layouts.with_first_axis(p) if isinstance(p, Number) else indexing.expanded(p, k)
        for p in parts
    ]
    return _joined(low.builder, made, k, dtype, op)


@lowers(np.hstack, np.vstack, np.column_stack)
def side_by_side(low: Any, op: Call) -> Rep:
    """Lower ``np.hstack``, ``np.vstack``, ``np.column_stack``."""
    parts, _, dtype = _parts_of(low, op)
    arrays: list[Array] = []
    for p in parts:
        one = layouts.with_first_axis(p) if isinstance(p, Number) else p
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


@lowers(
    np.copy,
    np.ascontiguousarray,
    np.asarray,
    np.ndarray.astype,
    runtime.copy_in_order_of,
    getattr(np, "astype", np.copy),
)
def copied(low: Any, op: Call) -> Rep:
    """Lower ``np.copy(x)``, ``x.astype(dtype)``, ``np.ascontiguousarray(x)``: in C order."""
    rep: Rep = low.rep(op.args[0])
    if isinstance(rep, Parts | Items | Known):
        raise NotCovered("an array of a list", op.where)
    type_ = op.result.type
    dtype = rep.dtype
    if isinstance(type_, Numeric) and type_.dtype is not None:
        dtype = covered_dtype(type_.dtype)
    if isinstance(rep, Number):
        return Number(in_dtype(rep, rep.expr, dtype), dtype, rep.may_be_python, rep.extent)
    b: Builder = low.builder
    is_same = op.target in (np.ascontiguousarray, np.asarray) and dtype == rep.dtype
    if is_same and b.is_whole(rep):
        return rep
    entry, hint = rep.entry, op.result.hint or "copy"
    of = Number(entry, rep.dtype)
    return b.filled(rep.dims, lambda i: in_dtype(of, at(entry, i), dtype), dtype, hint)


# -------------------------------------------------------------------------------- shapes
@lowers(np.reshape, np.ravel)
def reshaped(low: Any, op: Call) -> Rep:
    """Lower ``np.reshape(x, shape)``, ``np.ravel(x)``: indices, or another shape of a storage."""
    b: Builder = low.builder
    rep = low.rep(op.args[0])
    if isinstance(rep, Number):
        rep = Array(rep.expr, (), rep.dtype)
    options = dict(op.kwargs)
    is_ravel = op.target is np.ravel
    if not isinstance(rep, Array) or set(options) - {"shape"} or (is_ravel and len(op.args) > 1):
        raise NotCovered("np.reshape of a list, or with an order", op.where)
    if is_ravel and len(rep.dims) == 1:
        return rep
    wanted = options.get("shape", op.args[1] if len(op.args) > 1 else None)
    dims = _raveled(b, rep, op) if is_ravel else _new_shape(low, rep, wanted, op)
    if not rep.dims or not dims:
        return _of_one(b, rep, dims, op)
    plain = _by_index(b, rep, dims)
    return reductions.in_shape(b, rep, dims, op.result.hint) if plain is None else plain


def _raveled(b: Builder, rep: Array, op: Call) -> tuple[Dim, ...]:
    shape_ = op.result.type.shape if isinstance(op.result.type, Numeric) else None
    size = b.size_of(rep.dims)
    extent = shape_[0] if shape_ else None
    b.note(extent, size)
    return (Dim(size, extent),)


def _of_one(b: Builder, rep: Array, dims: tuple[Dim, ...], op: Call) -> Rep:
    places = (ZERO,) * len(rep.dims)
    for d in (*rep.dims, *dims):
        if not b.is_one(d):
            b.guard(Apply("!=", (Integer(d.size), Integer(ONE))))
    entry = at(rep.entry, places)
    if not dims:
        return b.assign(entry, rep.dtype, op.result.hint)
    return Array(entry, dims, rep.dtype)


def _new_shape(low: Any, rep: Array, wanted: Arg | None, op: Call) -> tuple[Dim, ...]:
    b: Builder = low.builder
    shape_ = op.result.type.shape if isinstance(op.result.type, Numeric) else None
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
    if not all(same_dim(rep.dims[x], dims[y]) for x, y in zip(old, new, strict=True)):
        return None
    places = [ZERO] * len(rep.dims)
    for x, y in zip(old, new, strict=True):
        places[x] = named(f"@{y}")
    return Array(at(rep.entry, tuple(places)), dims, rep.dtype)


@lowers(np.broadcast_to)
def broadcasted(low: Any, op: Call) -> Rep:
    """Lower ``np.broadcast_to(x, shape)``."""
    rep = low.rep(op.args[0])
    dims = low.shape_of(op.args[1], op.result.type)
    if not isinstance(rep, Number | Array):
        raise NotCovered("np.broadcast_to of a list", op.where)
    if isinstance(rep, Number) and rep.dtype.kind == "i":
        rep = Number(converted(rep.expr, rep.dtype, INT64), INT64)
    return indexing.broadcast_to(low.builder, rep, dims)


@lowers(runtime.unbroadcast)
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
    result = reductions.reduced(
        b,
        rep.dims,
        lambda i: at(rep.entry, i),
        over,
        reductions.added(rep.dtype),
        zero_of(rep.dtype),
        rep.dtype,
        op.result.hint or "total",
        keepdims=True,
    )
    assert isinstance(result, Array)
    return layouts.as_number(b, indexing.without_axes(result, list(range(extra))), op)


def _constant(low: Any, arg: Arg) -> Any:
    found = low.known(arg)
    if found is NotImplemented:
        raise NotCovered("an option that is not known before the call", low.builder.where)
    return found


# -------------------------------------------------------------------------------- table
def simple(lowering: elementwise.Lowering) -> Callable[[Any, Call], Rep]:
    def lowered(low: Any, op: Call) -> Rep:
        if op.kwargs:
            name = getattr(op.target, "__name__", "a call")
            raise NotCovered(f"{name} with {op.kwargs[0][0]}=", op.where)
        reps = [low.rep(arg) for arg in op.args]
        if law_of_operator(op.target) == "sum" and all(isinstance(r, Parts) for r in reps):
            return Parts(tuple(item for r in reps for item in r.items))
        if law_of_operator(op.target) == "product" and any(isinstance(r, Parts) for r in reps):
            return _repeated(low, op, reps)
        is_numpy = isinstance(op.target, np.ufunc) or any(isinstance(r, Array) for r in reps)
        if is_numpy and op.target is not primitives.is_:
            reps = [as_operand(low, rep, op) for rep in reps]
        return lowering(low.builder, op, reps)

    return lowered


def _with_options(
    lowering: Callable[..., Rep], names: tuple[str, ...], count: int
) -> Callable[[Any, Call], Rep]:
    def lowered(low: Any, op: Call) -> Rep:
        reps = [as_operand(low, low.rep(arg), op) for arg in op.args[:count]]
        for rep in reps:
            if not isinstance(rep, Number | Array):
                raise NotCovered("an operand that is an object", op.where)
        return lowering(low.builder, op, reps, low.options(op, names, start=count))

    return lowered


def _repeated(low: Any, op: Call, reps: list[Rep]) -> Rep:
    """Return ``[number] * n`` as a list of numbers."""
    b: Builder = low.builder
    (item,) = (r.items for r in reps if isinstance(r, Parts))
    counts = [r for r in reps if isinstance(r, Number)]
    if len(item) != 1 or not isinstance(item[0], Number) or len(counts) != 1:
        raise NotCovered("a list that is repeated", op.where)
    number = item[0]
    size = low.number_size(counts[0])
    if counts[0].extent is None or not at_least(counts[0].extent, 0):
        size = b.named_here(Apply("max", (Integer(size), Integer(ZERO))), "n")
    made = b.filled((Dim(size),), lambda _: number.expr, number.dtype, op.result.hint or "items")
    found: Items = low.items_of(made, None)
    return found


def as_operand(low: Any, rep: Rep, op: Call) -> Rep:
    """Return an operand of a NumPy function, a list of numbers as an array."""
    if isinstance(rep, Items):
        found: Array = low.array_of_items(rep, None, None)
        return found
    if not isinstance(rep, Parts) or not rep.items:
        return rep
    kinds = {leaf.dtype for leaf in _numbers_in(rep)}
    dtype = covered_dtype(np.result_type(*kinds)) if kinds else FLOAT64
    parts = _as_arrays(low.builder, rep, dtype, op)
    return _joined(low.builder, [layouts.with_first_axis(p) for p in parts], 0, dtype, op)


def _numbers_in(rep: Parts) -> list[Number | Array]:
    found: list[Number | Array] = []
    for one in rep.items:
        if isinstance(one, Parts):
            found += _numbers_in(one)
        elif isinstance(one, Number | Array):
            found.append(one)
    return found


@lowers(np.einsum)
def einsum(low: Any, op: Call) -> Rep:
    """Lower ``np.einsum`` with its subscripts as a string."""
    subscripts = low.known(op.args[0]) if op.args else None
    others = {name for name, arg in op.kwargs if low.known(arg) not in (None, False)}
    if not isinstance(subscripts, str) or others:
        raise NotCovered("np.einsum with options", op.where)
    reps = [low.rep(arg) for arg in op.args[1:]]
    return reductions.einstein_sum(low.builder, op, reps, subscripts)


def table() -> Table:
    """Return the lowering of each callee that the backend covers."""
    found: Table = {t: simple(f) for t, f in elementwise.table().items()}
    for target, (lowering, names) in reductions.OPTIONS.items():
        pairs = lowering in (
            reductions.matrix_product,
            reductions.outer,
            reductions.inner,
            reductions.tensor_product,
        )
        if lowering is reductions.tensor_product:
            names = ("axes",)
        found[target] = _with_options(lowering, names, 2 if pairs else 1)
    found.update(_LOWERINGS)
    return found
