"""Lowerings of ``x[index]`` and ``x[index] = value``; views as affine indices."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from srcad.backends.interface import NotCovered
from srcad.backends.numba.builder import Builder, converted, covered_dtype
from srcad.backends.numba.loops import (
    ONE,
    ZERO,
    Affine,
    Apply,
    Assign,
    Dim,
    Expr,
    Guard,
    Integer,
    Load,
    Nest,
    Node,
    named,
    whole,
)
from srcad.backends.numba.representations import (
    INT64,
    Array,
    Known,
    Number,
    Parts,
    Rep,
    at,
    axes,
    integer,
    of_storage,
)
from srcad.ir.core import Arg, Const, Display, Value
from srcad.ir.inference.lengths import span
from srcad.startup.records import dataclass
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, at_least, constant_extent


@dataclass(frozen=True, eq=False)
class Slice:
    """A slice, its bounds and step as numbers; None for an omitted one."""

    start: Number | None
    stop: Number | None
    step: int
    args: tuple[Arg, Arg, Arg]


Item = Number | Slice | Array | EllipsisType | None
EVERY = Slice(None, None, 1, (Const(None), Const(None), Const(None)))


@dataclass(frozen=True, eq=False)
class Selection:
    """The entries that an index selects: affine indices in the axes of the result.

    `gathered` are index arrays, by the name of the integer that they give, with the axis of the
    result at which their own axes begin.
    """

    index: tuple[Affine, ...]
    dims: tuple[Dim, ...]
    gathered: tuple[tuple[str, Array, Dim], ...] = ()
    first: int = 0
    rank: int = 0


# ------------------------------------------------------------------------------ reading
def selection(
    b: Builder, dims: Sequence[Dim], items: Sequence[Item], type_: Any = None
) -> Selection:
    """Return the selection of ``array[items]`` for an array of lengths `dims`."""
    given = sum(1 for i in items if i is not None and not isinstance(i, EllipsisType))
    if given > len(dims):
        raise NotCovered("more indices than axes", b.where)
    full: list[Item] = []
    has_ellipsis = False
    for item in items:
        if isinstance(item, EllipsisType):
            full += [EVERY] * (len(dims) - given)
            has_ellipsis = True
        else:
            full.append(item)
    if not has_ellipsis:
        full += [EVERY] * (len(dims) - given)
    arrays = [item for item in full if isinstance(item, Array)]
    if arrays:
        return _with_arrays(b, dims, full, arrays)
    shape = _shape_of(type_)
    index: list[Affine] = []
    result: list[Dim] = []
    axis = 0
    for item in full:
        if item is None:
            result.append(Dim(ONE, constant_extent(1)))
            continue
        if isinstance(item, Number):
            index.append(checked_index(b, item, dims[axis]))
        else:
            assert isinstance(item, Slice)
            extent = shape[len(result)] if shape is not None and len(result) < len(shape) else None
            start, length = sliced(b, item, dims[axis], extent)
            index.append(start + named(f"@{len(result)}").scaled(item.step))
            result.append(length)
        axis += 1
    return Selection(tuple(index), tuple(result))


def _shape_of(type_: Any) -> Sequence[Extent] | None:
    return type_.shape if isinstance(type_, Numeric) else None


def checked_index(b: Builder, number: Number, dim: Dim) -> Affine:
    """Return a nonnegative index, with a guard unless it is proved to be in bounds."""
    known = number.constant
    if known is not None:
        needed = -known if known < 0 else known + 1
        if not _is_at_least(dim, needed):
            b.guard(Apply("<", (Integer(dim.size), Integer(whole(needed)))))
        return dim.size + whole(known) if known < 0 else whole(known)
    extent, place = number.extent, number.affine
    if place is None:
        if number.dtype.kind not in "iu":
            raise NotCovered("an index that is no integer", b.where)
        place = b.named_here(number.expr, "index")
    if extent is not None and at_least(extent, 0):
        if dim.extent is None or not at_least(dim.extent - extent, 1):
            b.guard(Apply(">=", (Integer(place), Integer(dim.size))))
        return place
    below = extent is not None and at_least(constant_extent(-1) - extent, 0)
    if below and dim.extent is not None and extent is not None and at_least(dim.extent + extent, 0):
        return place + dim.size
    test = Apply(
        "|",
        (
            Apply("<", (Integer(place), Integer(dim.size.scaled(-1)))),
            Apply(">=", (Integer(place), Integer(dim.size))),
        ),
    )
    b.guard(test)
    choice = Apply(
        "if",
        (Apply("<", (Integer(place), Integer(ZERO))), Integer(place + dim.size), Integer(place)),
    )
    return b.named_here(choice, "index")


def _is_at_least(dim: Dim, bound: int) -> bool:
    if not dim.size.terms:
        return dim.size.constant >= bound
    return bound <= 0 or (dim.extent is not None and at_least(dim.extent, bound) is True)


def sliced(b: Builder, item: Slice, dim: Dim, extent: Extent | None) -> tuple[Affine, Dim]:
    """Return the first position of a slice on an axis, and its length."""
    if item.step == -1 and item.start is None and item.stop is None:
        return dim.size - ONE, dim
    if item.step < 1:
        return _backwards(b, item, dim, extent)
    if item.start is None and item.stop is None and item.step == 1:
        return ZERO, dim
    if dim.extent is not None:
        ends = span(dim.extent, item.args[0], item.args[1])
        if ends is not None:
            start, stop = (b.affine_of(end) for end in ends)
            if start is not None and stop is not None:
                return _strided(b, start, stop, item.step, ends[1] - ends[0])
    start = ZERO if item.start is None else _clipped(b, item.start, dim)
    stop = dim.size if item.stop is None else _clipped(b, item.stop, dim)
    length = stop - start
    if length.terms:
        bounded = Apply("max", (Integer(length), Integer(ZERO)))
        most = length
        length = b.named_here(bounded, "n")
        b.most[length.names[0]], b.least[length.names[0]] = most, ZERO
    else:
        length = whole(max(length.constant, 0))
    first, made = _strided(b, start, start + length, item.step, None)
    known = b.affine_of(extent)
    if known is not None:
        return first, Dim(known, extent)
    b.note(extent, made.size)
    return first, Dim(made.size, extent)


def _backwards(b: Builder, item: Slice, dim: Dim, extent: Extent | None) -> tuple[Affine, Dim]:
    """Return the first position of a slice with a negative step, and its length."""

    def bound(number: Number | None, default: Affine) -> Affine:
        if number is None:
            return default
        place = number.affine
        if place is None:
            place = b.named_here(number.expr, "stop")
        turned = Apply("max", (Integer(place + dim.size), Integer(whole(-1))))
        cut = Apply("min", (Integer(place), Integer(dim.size - ONE)))
        choice = Apply("if", (Apply("<", (Integer(place), Integer(ZERO))), turned, cut))
        return b.named_here(choice, "stop")

    start, stop = bound(item.start, dim.size - ONE), bound(item.stop, whole(-1))
    steps = Apply("//", (Integer(start - stop + whole(-item.step - 1)), Integer(whole(-item.step))))
    length = b.named_here(Apply("max", (steps, Integer(ZERO))), "n")
    b.note(extent, length)
    return start, Dim(length, extent)


def _strided(
    b: Builder, start: Affine, stop: Affine, step: int, extent: Extent | None
) -> tuple[Affine, Dim]:
    length = stop - start
    if step == 1:
        return start, Dim(length, extent)
    if not length.terms:
        return start, Dim(whole(-(-length.constant // step)))
    size = Apply("//", (Integer(length + whole(step - 1)), Integer(whole(step))))
    return start, Dim(b.named_here(size, "n"))


def _clipped(b: Builder, number: Number, dim: Dim) -> Affine:
    """Return a bound of a slice, clipped to the length of the axis."""
    known = number.constant
    if known is not None:
        if known == 0:
            return ZERO
        if known > 0:
            if _is_at_least(dim, known):
                return whole(known)
            return b.named_here(Apply("min", (Integer(whole(known)), Integer(dim.size))), "stop")
        if _is_at_least(dim, -known):
            return dim.size + whole(known)
        return b.named_here(Apply("max", (Integer(dim.size + whole(known)), Integer(ZERO))), "stop")
    place, extent = number.affine, number.extent
    if place is None:
        place = b.named_here(number.expr, "stop")
    from_start = extent is not None and at_least(extent, 0) is True
    if (
        from_start
        and extent is not None
        and dim.extent is not None
        and at_least(dim.extent - extent, 0)
    ):
        return place
    if place == dim.size:
        return place
    cut: Expr = Apply("min", (Integer(place), Integer(dim.size)))
    if not from_start:
        turned = Apply("max", (Integer(place + dim.size), Integer(ZERO)))
        cut = Apply("if", (Apply("<", (Integer(place), Integer(ZERO))), turned, cut))
    return b.named_here(cut, "stop")


# -------------------------------------------------------------------------- index arrays
def _with_arrays(
    b: Builder, dims: Sequence[Dim], items: list[Item], arrays: list[Array]
) -> Selection:
    """Return the selection of an index with arrays, the result's axes ordered as in NumPy."""
    for array in arrays:
        if array.dtype.kind not in "iu":
            raise NotCovered("an index that is an array of flags", b.where)
    shape = b.broadcast(arrays)
    advanced = [k for k, i in enumerate(items) if isinstance(i, Array | Number)]
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    before = sum(1 for i in items[: advanced[0]] if i is None or isinstance(i, Slice))
    first = before if together else 0
    rank = len(shape)
    index: list[Affine] = []
    rest: list[Dim] = []
    gathered: list[tuple[str, Array, Dim]] = []
    axis = 0
    for item in items:
        if item is None:
            rest.append(Dim(ONE, constant_extent(1)))
            continue
        if isinstance(item, Number):
            index.append(checked_index(b, item, dims[axis]))
        elif isinstance(item, Array):
            name = b.fresh("index")
            gathered.append((name, item, dims[axis]))
            index.append(named(name))
            check_bounds(b, item, dims[axis])
        else:
            assert isinstance(item, Slice)
            start, length = sliced(b, item, dims[axis], None)
            place = len(rest) if len(rest) < first else len(rest) + rank
            index.append(start + named(f"@{place}").scaled(item.step))
            rest.append(length)
        axis += 1
    result = (*rest[:first], *shape, *rest[first:])
    return Selection(tuple(index), result, tuple(gathered), first, rank)


def check_bounds(b: Builder, array: Array, dim: Dim) -> None:
    """Guard the entries of an index array against the bounds of an axis, once per pair."""
    what = f"{array.entry} within {dim.size}"
    if array.storage is not None:
        if b.known(array.storage, what):
            return
        b.learn(array.storage, what, True)
    variables = [b.variable() for _ in array.dims]
    entry = at(array.entry, tuple(map(named, variables)))
    test = Apply(
        "|",
        (
            Apply("<", (entry, Integer(dim.size.scaled(-1)))),
            Apply(">=", (entry, Integer(dim.size))),
        ),
    )
    body: list[Node] = [Guard(test, b.where)]
    for variable, one in zip(reversed(variables), reversed(array.dims), strict=True):
        body = [Nest(variable, one, body)]
    for node in body:
        b.body.insert(b.earliest(b.body, node), node)


def gathers(
    b: Builder, chosen: Selection, index: tuple[Affine, ...]
) -> tuple[list[Node], dict[str, Affine]]:
    """Return statements that read the index arrays at an index of the result."""
    statements: list[Node] = []
    names: dict[str, Affine] = {}
    own = index[chosen.first : chosen.first + chosen.rank]
    dims = chosen.dims[chosen.first : chosen.first + chosen.rank]
    for name, array, dim in chosen.gathered:
        fresh = b.fresh(name)
        entry = b.entry(array, own, dims)
        if array.dtype != INT64:
            entry = Apply("np.int64", (entry,))
        statements.append(Assign(fresh, (), entry, "=", b.where))
        place = b.fresh("place")
        turned = Apply(
            "if",
            (
                Apply("<", (Load(fresh), Integer(ZERO))),
                Apply("+", (Load(fresh), Integer(dim.size))),
                Load(fresh),
            ),
        )
        statements.append(Assign(place, (), turned, "=", b.where))
        names[name] = named(place)
    return statements, names


def read(b: Builder, array: Array, items: Sequence[Item], type_: Any, hint: object) -> Rep:
    """``array[items]``."""
    chosen = selection(b, array.dims, items, type_)
    if chosen.gathered:
        made = b.storage(hint, chosen.dims, array.dtype)

        def inside(i: tuple[Affine, ...]) -> list[Node]:
            statements, names = gathers(b, chosen, i)
            by = {**names, **{f"@{k}": one for k, one in enumerate(i)}}
            index = tuple(place.replaced(by) for place in chosen.index)
            value = at(array.entry, index)
            return [*statements, Assign(made.name, i, value, "=", b.where)]

        b.nest(chosen.dims, inside)
        return of_storage(made.name, chosen.dims, array.dtype)
    entry = at(array.entry, chosen.index)
    if chosen.dims:
        return Array(entry, chosen.dims, array.dtype)
    extent = type_.value if isinstance(type_, Numeric) else None
    if not isinstance(entry, Load):
        return b.assign(entry, array.dtype, hint, extent=extent)
    if not entry.index:
        return Number(entry, array.dtype, False, extent)
    return b.assign(entry, array.dtype, hint, extent=extent)


# ------------------------------------------------------------------------------- storing
def target_of_store(b: Builder, array: Array, *, in_place: bool, hint: object) -> Array:
    """Return the array itself if a store may change it; otherwise a copy."""
    return array if in_place and _is_writable(b, array) else b.copied(array, hint)


def write(b: Builder, target: Array, items: Sequence[Item], value: Rep, how: str) -> None:
    """Write ``target[items] = value`` (or ``+=``) into a storage, of which this may be a view."""
    chosen = selection(b, target.dims, items)
    if not isinstance(value, Number | Array):
        raise NotCovered("a structure stored in an array", b.where)
    dtype = value.dtype
    if isinstance(value, Array) and len(value.dims) > len(chosen.dims):
        extra = len(value.dims) - len(chosen.dims)
        if not all(b.is_one(d) for d in value.dims[:extra]):
            raise NotCovered("a store of more axes than there are", b.where)
        value = Array(
            at(value.entry, (*([ZERO] * extra), *axes(len(chosen.dims)))),
            value.dims[extra:],
            value.dtype,
        )
    if isinstance(value, Array):
        for mine, other in zip(reversed(chosen.dims), reversed(value.dims), strict=False):
            if not b.is_one(other):
                b.same(mine, other)
    if value.dtype.kind == "f" and target.dtype.kind != "f":
        raise NotCovered("floats stored in an array of integers", b.where)
    base = target.entry
    assert isinstance(base, Load)

    def inside(i: tuple[Affine, ...]) -> list[Node]:
        statements, names = gathers(b, chosen, i)
        by = {**names, **{f"@{k}": one for k, one in enumerate(i)}}
        index = tuple(place.replaced(by) for place in chosen.index)
        place = at(base, index)
        assert isinstance(place, Load)
        stored = converted(b.entry(value, i, chosen.dims), dtype, target.dtype)
        return [*statements, Assign(place.storage, place.index, stored, how, b.where)]

    if isinstance(value, Array) and value.storage is not None and _overlaps(b, value, base):
        value = b.copied(value)
    b.nest(chosen.dims, inside)
    b.written(base.storage)


def _is_writable(b: Builder, array: Array) -> bool:
    if array.storage is None:
        return False
    storage = b.storages.get(array.storage)
    return storage is not None and not storage.is_argument


def _overlaps(b: Builder, value: Array, base: Load) -> bool:
    """Return True if the stored value may alias the storage that is written."""
    assert isinstance(value.entry, Load)
    return b.group_of(value.entry.storage) == b.group_of(base.storage)


# ------------------------------------------------------------------------------- layouts
def transposed(array: Array, order: Sequence[int]) -> Array:
    """Return the array with its axes in another order."""
    back = {old: new for new, old in enumerate(order)}
    entry = at(array.entry, tuple(named(f"@{back[k]}") for k in range(len(order))))
    return Array(entry, tuple(array.dims[k] for k in order), array.dtype)


def flipped(array: Array, flipped_axes: Sequence[int]) -> Array:
    """Return the array with some axes reversed."""
    places = list(axes(len(array.dims)))
    for k in flipped_axes:
        places[k] = array.dims[k].size - ONE - places[k]
    return Array(at(array.entry, tuple(places)), array.dims, array.dtype)


def expanded(array: Array, at_axis: int) -> Array:
    """Return the array with one more axis of length 1."""
    rank = len(array.dims)
    places = tuple(named(f"@{k if k < at_axis else k + 1}") for k in range(rank))
    dims = (*array.dims[:at_axis], Dim(ONE, constant_extent(1)), *array.dims[at_axis:])
    return Array(at(array.entry, places), dims, array.dtype)


def without_axes(array: Array, removed: Sequence[int]) -> Array:
    """Return the array without some axes of length 1."""
    kept = [k for k in range(len(array.dims)) if k not in removed]
    places = [ZERO] * len(array.dims)
    for new, old in enumerate(kept):
        places[old] = named(f"@{new}")
    return Array(at(array.entry, tuple(places)), tuple(array.dims[k] for k in kept), array.dtype)


def diagonal(array: Array, offset: int, b: Builder) -> Array:
    """Return the diagonal of a matrix."""
    rows, columns = array.dims
    if offset != 0:
        raise NotCovered("a diagonal beside the main one", b.where)
    b.same(rows, columns)
    return Array(at(array.entry, (named("@0"), named("@0"))), (rows,), array.dtype)


def broadcast_to(b: Builder, rep: Rep, dims: tuple[Dim, ...]) -> Array:
    """Return a number or an array, broadcast to lengths `dims`."""
    if isinstance(rep, Number):
        if rep.dtype.kind == "i":
            return Array(rep.expr, dims, covered_dtype(rep.dtype))
        return Array(rep.expr, dims, rep.dtype)
    assert isinstance(rep, Array)
    places = []
    for mine, wanted, k in zip(
        rep.dims,
        dims[len(dims) - len(rep.dims) :],
        range(len(dims) - len(rep.dims), len(dims)),
        strict=True,
    ):
        if b.is_one(mine):
            places.append(ZERO)
        else:
            b.same(mine, wanted)
            places.append(named(f"@{k}"))
    return Array(at(rep.entry, tuple(places)), dims, rep.dtype)


# -------------------------------------------------------------------------------- index IR
def items_of(b: Any, index: Arg) -> list[Item]:
    """Return the representations of the items of an index."""
    if isinstance(index, Display) and index.kind == "tuple":
        args: Sequence[Arg] = index.items
    elif isinstance(index, Const) and isinstance(index.value, tuple):
        args = [Const(v) for v in index.value]
    else:
        args = [index]
    return [_item(b, arg) for arg in args]


def _item(b: Any, arg: Arg) -> Item:
    if isinstance(arg, Const):
        return _constant_item(b, arg.value)
    if isinstance(arg, Display):
        return _display_item(b, arg)
    rep = b.rep(arg)
    if isinstance(rep, Number) and rep.dtype.kind in "iu":
        if isinstance(arg.type, Numeric) and rep.extent is None:
            return Number(rep.expr, rep.dtype, rep.may_be_python, arg.type.value)
        return rep
    if isinstance(rep, Array):
        return rep
    if isinstance(rep, Parts):
        return listed(b.builder, rep)
    if isinstance(rep, Known) and rep.value is None:
        return None
    raise NotCovered("an index that is no integer", b.builder.where)


def _constant_item(b: Any, value: Any) -> Item:
    if isinstance(value, list):
        return listed(b.builder, b.rep(Const(value)))
    if value is None or value is Ellipsis:
        return value
    if isinstance(value, slice):
        parts = (Const(value.start), Const(value.stop), Const(value.step))
        return _display_item(b, Display("slice", parts))
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise NotCovered("an index that is no integer", b.builder.where)
    return integer(int(value), constant_extent(int(value)))


def _display_item(b: Any, arg: Display) -> Item:
    if arg.kind == "list":
        return listed(b.builder, b.rep(arg))
    if arg.kind != "slice":
        raise NotCovered("an index that is a tuple in a tuple", b.builder.where)
    start, stop, step = (_bound(b, part) for part in arg.items)
    if step is not None and step.constant is None:
        raise NotCovered("a slice whose step is not known", b.builder.where)
    size = 1 if step is None or step.constant is None else step.constant
    return Slice(start, stop, size, arg.items)  # type: ignore[arg-type]


def listed(b: Builder, rep: Rep) -> Array:
    """Return a list of integers as an array."""
    if not isinstance(rep, Parts) or not rep.items:
        raise NotCovered("an index that is a list", b.where)
    made = b.storage("places", (Dim(whole(len(rep.items))),), INT64)
    for k, one in enumerate(rep.items):
        if not isinstance(one, Number) or one.dtype.kind not in "iu":
            raise NotCovered("an index that is a list of flags", b.where)
        b.emit(Assign(made.name, (whole(k),), one.expr, "=", b.where))
    dims = (Dim(whole(len(rep.items)), constant_extent(len(rep.items))),)
    return of_storage(made.name, dims, INT64)


def _bound(b: Any, arg: Arg) -> Number | None:
    if isinstance(arg, Const) and arg.value is None:
        return None
    rep = b.rep(arg)
    if not isinstance(rep, Number) or rep.dtype.kind not in "iu":
        raise NotCovered("a slice whose bound is no integer", b.builder.where)
    if isinstance(arg, Value) and isinstance(arg.type, Numeric) and rep.extent is None:
        return Number(rep.expr, rep.dtype, rep.may_be_python, arg.type.value)
    return rep
