"""The shapes that follow exactly from the operands' extents: reads, reshapes, joins, products."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, Literal

import numpy as np

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Const, Display, Value
from srcad.ir.disjoint import index_parts
from srcad.ir.inference.elementwise import broadcast
from srcad.types.numeric import NUMBER, Numeric, Shape, int_type
from srcad.types.sizes import (
    Extent,
    at_least,
    constant_extent,
    fresh_extent,
    resolved,
    same,
)
from srcad.types.structures import ListOf, TupleOf, Type

Kwargs = tuple[tuple[str, Arg], ...]
Formula = Callable[[tuple[Arg, ...], dict[str, Arg]], Type | None]
_TYPES: dict[Any, Formula] = {}  # what `gives_type_of` has registered

_ZERO, _ONE = constant_extent(0), constant_extent(1)


def gives_type_of(*targets: Any) -> Callable[[Formula], Formula]:
    """Register the formula for the type of the result of some callees."""

    def register(formula: Formula) -> Formula:
        _TYPES.update(dict.fromkeys(targets, formula))
        return formula

    return register


# The shape of the result of indexing.
#
# A slice cuts its bounds to the axis, so what it leaves is a linear expression only where it is
# known which of them lie inside. That is asked of `srcad.types.sizes`, which records what it
# takes from the example: ``x[:d]`` has length ``d`` as long as ``d`` is at most the length of
# ``x``. An axis of which nothing is known gets a fresh length; the others keep theirs.

# What stands between the brackets for one axis: its slice, that one place is taken, or a mask.
Place = Literal["integer"] | tuple[Arg, ...] | EllipsisType | Value | None


@gives_type_of(operator.getitem)
def read_type(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``array[index]`` by integers, slices, ``None`` and ``...``; or by slices and one mask."""
    array = argument_type(args[0])
    if not isinstance(array, Numeric) or array.form != "array" or array.shape is None:
        return None
    places = [_place(part) for part in index_parts(args[1])]
    known = [place for place in places if place is not NotImplemented]
    shape = _shape_read(array.shape, known)
    if len(known) < len(places) or shape is None:
        return None
    return array.of_shape(shape, "array" if shape or Ellipsis in known else "numpy")


def _place(part: Arg) -> Any:
    """Return the effect of one part of an index, as a `Place`.

    NotImplemented for arrays and the like.
    """
    if isinstance(part, Display):
        return part.items if part.kind == "slice" else NotImplemented
    if isinstance(part, Const):
        value = part.value
        if value is None or value is Ellipsis:
            return value
        if isinstance(value, slice):
            return tuple(map(Const, (value.start, value.stop, value.step)))
    type_ = part.type
    if isinstance(part, Value) and _mask_rank(part):
        return part
    whole = isinstance(type_, Numeric) and type_.form in ("python", "numpy") and type_.kind in "iu"
    return "integer" if whole else NotImplemented


def _mask_rank(mask: Value) -> int:
    """Return the number of axes of an array of flags; 0 for everything else."""
    type_ = mask.type
    is_mask = isinstance(type_, Numeric) and type_.form == "array" and type_.kind == "b"
    return len(type_.shape or ()) if is_mask and isinstance(type_, Numeric) else 0


def _selected(mask: Value) -> Extent:
    """Return the number of true entries of a mask, the same wherever it selects."""
    if mask.selected is None:
        mask.selected = fresh_extent()
    return mask.selected


def _shape_read(shape: Shape, places: list[Place]) -> Shape | None:
    masks = [place for place in places if isinstance(place, Value)]
    if len(masks) > 1 or (masks and "integer" in places):
        return None
    taken = sum(map(_mask_rank, masks))
    taken += sum(isinstance(place, str | tuple) for place in places)
    left = len(shape) - taken
    if left < 0 or places.count(Ellipsis) > 1:
        return None
    if Ellipsis not in places:
        places = [*places, Ellipsis]
    result: list[Extent] = []
    axis = 0
    for place in places:
        if place is None:
            result.append(_ONE)
        elif isinstance(place, EllipsisType):
            result += shape[axis : axis + left]
            axis += left
        elif isinstance(place, Value):
            result.append(_selected(place))
            axis += _mask_rank(place)
        else:
            if not isinstance(place, str):
                result.append(_sliced(shape[axis], place))
            axis += 1
    return tuple(result)


def _sliced(length: Extent, parts: Sequence[Arg]) -> Extent:
    """Return the length of ``x[start:stop:step]``, in its symbols where these decide it."""
    step = _bound(parts[2], _ONE)
    if step is None or step.terms or step.constant == 0:
        return fresh_extent()
    if step.constant == -1 and all(_is_none(part) for part in parts[:2]):
        return length
    ends = span(length, parts[0], parts[1]) if step.constant >= 1 else None
    found = None if ends is None else resolved(ends[1] - ends[0])
    if found is None or (found.terms and step.constant > 1):
        return _other_slice(resolved(length), parts, step)
    return found if step.constant == 1 else constant_extent(-(-found.constant // step.constant))


def _other_slice(length: Extent, parts: Sequence[Arg], step: Extent) -> Extent:
    """Return the length of a slice that is no linear expression: equal ones have the same."""
    bounds = [None if _is_none(part) else _bound(part, _ZERO) for part in parts[:2]]
    if any(b is None and not _is_none(part) for b, part in zip(bounds, parts, strict=False)):
        return fresh_extent()
    known = [e for e in (*bounds, length) if e is not None]
    symbol = next((s for e in known for s, _ in e.terms), None)
    if symbol is None:
        first, last = (None if e is None else e.constant for e in bounds)
        places = range(*slice(first, last, step.constant).indices(length.constant))
        return constant_extent(len(places))
    return symbol.slices.setdefault((*bounds, step, length), fresh_extent())


def _is_none(arg: Arg) -> bool:
    return isinstance(arg, Const) and arg.value is None


def _bound(arg: Arg, default: Extent) -> Extent | None:
    """Return a part of a slice as an extent; None if it is not known."""
    if _is_none(arg):
        return resolved(default)
    type_ = argument_type(arg)
    value = type_.value if isinstance(type_, Numeric) else None
    return None if value is None else resolved(value)


def span(length: Extent, first: Arg, last: Arg) -> tuple[Extent, Extent] | None:
    """From where to where ``first:last`` goes on an axis; None if it is not known.

    Both lie on the axis, and the second is not before the first.
    """
    length = resolved(length)
    start, stop = _inside(length, _bound(first, _ZERO)), _inside(length, _bound(last, length))
    if start is None or stop is None:
        return None
    if not at_least(start, 0) and at_least(start.scaled(-1), 0):
        start = _ZERO
    if not at_least(length - stop, 0) and at_least(stop - length, 0):
        stop = length
    if not at_least(start, 0) or not at_least(length - stop, 0):
        return None
    if at_least(stop - start, 0):
        return resolved(start), resolved(stop)
    return (resolved(start), resolved(start)) if at_least(start - stop, 0) else None


def _inside(length: Extent, bound: Extent | None) -> Extent | None:
    """Return a bound counted from the start of the axis; None if its sign is not known."""
    if bound is None or at_least(bound, 0):
        return bound
    return length + bound if at_least(bound.scaled(-1), 1) else None


def exact_type(target: Any, args: tuple[Arg, ...], kwargs: Kwargs) -> Type | None:
    """Return the type of a call if its shape follows from extents; None for other calls."""
    found = _TYPES.get(target)
    return found(args, dict(kwargs)) if found is not None else None


# ------------------------------------------------------------------------------- reshaping
@gives_type_of(np.reshape)
def _reshaped(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``np.reshape(a, shape)`` has the lengths that it is asked for, or raises."""
    array = argument_type(args[0])
    wanted = args[1] if len(args) > 1 else kwargs.get("shape", kwargs.get("newshape"))
    asked = None if wanted is None else _lengths(wanted)
    if asked is None or not isinstance(array, Numeric) or set(kwargs) - _SHAPES - {"order"}:
        return None
    free = [k for k, length in enumerate(asked) if length == constant_extent(-1)]
    if len(free) > 1:
        return None
    for k in free:
        asked[k] = _remaining_length(array.shape, [*asked[:k], *asked[k + 1 :]])
    known = [fresh_extent() if length is None else length for length in asked]
    return array.of_shape(tuple(known), "array")


_SHAPES = {"shape", "newshape"}


def _lengths(shape: Arg) -> list[Extent | None] | None:
    """Return the lengths that a shape names; None for one that is not known."""
    type_ = argument_type(shape)
    items = type_.items if isinstance(type_, TupleOf) else (type_,)
    if not all(isinstance(t, Numeric) and t.is_scalar and t.kind in "iu" for t in items):
        return None
    values = [t.value for t in items if isinstance(t, Numeric)]
    lengths = [None if value is None else resolved(value) for value in values]
    return [None if e is not None and not _is_length(e) else e for e in lengths]


def _is_length(extent: Extent) -> bool:
    return extent == constant_extent(-1) or at_least(extent, 0) is True


def _remaining_length(whole: Shape | None, others: Sequence[Extent | None]) -> Extent | None:
    """Return the length of which the product with others is that of a shape.

    None if it is not known.
    """
    if whole is None:
        return None
    left = [e for e in map(resolved, whole) if e != _ONE]
    for other in others:
        if other is None or other == _ONE:
            continue
        if other not in left:
            return None
        left.remove(other)
    return _product(left)


def _product(lengths: Sequence[Extent]) -> Extent | None:
    """Return the product, where that is linear."""
    if _ZERO in lengths:
        return None
    numbers = [e.constant for e in lengths if not e.terms]
    symbolic = [e for e in lengths if e.terms]
    factor = math.prod(numbers)
    if len(symbolic) > 1:
        return None
    return symbolic[0].scaled(factor) if symbolic else constant_extent(factor)


@gives_type_of(np.ravel)
def _raveled(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    array = argument_type(args[0])
    if not isinstance(array, Numeric):
        return None
    length = _remaining_length(array.shape, ())
    return array.of_shape((length or fresh_extent(),), "array")


@gives_type_of(np.broadcast_to)
def _widened(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``np.broadcast_to(a, shape)`` has the lengths that it is asked for, or raises."""
    array = argument_type(args[0])
    asked = _lengths(args[1]) if len(args) == 2 and not kwargs else None
    if not isinstance(array, Numeric) or asked is None or constant_extent(-1) in asked:
        return None
    known = [fresh_extent() if length is None else length for length in asked]
    return array.of_shape(tuple(known), "array")


# ------------------------------------------------------------------------------- joining
@gives_type_of(np.concatenate)
def _joined(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``np.concatenate((a, b, ...), axis)``: the lengths along the axis add up."""
    axis = args[1] if len(args) > 1 else kwargs.get("axis", Const(0))
    parts = argument_type(args[0])
    if not isinstance(parts, TupleOf) or set(kwargs) - {"axis"} or not isinstance(axis, Const):
        return None
    arrays = [t for t in parts.items if isinstance(t, Numeric) and t.form == "array" and t.shape]
    dtypes = [t.dtype for t in arrays if t.dtype is not None]
    ranks = {len(t.shape or ()) for t in arrays}
    if len(dtypes) < len(parts.items) or len(ranks) != 1 or type(axis.value) is not int:
        return None
    (rank,) = ranks
    if not -rank <= axis.value < rank:
        return None
    shapes = [t.shape for t in arrays if t.shape]
    shape = list(shapes[0])
    shape[axis.value] = sum((s[axis.value] for s in shapes), _ZERO)
    return Numeric(np.result_type(*dtypes), tuple(shape), "array")


# ------------------------------------------------------------------------------- products
@gives_type_of(np.dot)
def _multiplied(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``np.dot(a, b)``: the last axis of one and the second last (or only) one of the other."""
    types = [argument_type(arg) for arg in args]
    arrays = [t for t in types if isinstance(t, Numeric) and t.form == "array" and t.shape]
    dtypes = [t.dtype for t in arrays if t.dtype is not None and t.kind in "fc"]
    if len(args) != 2 or len(dtypes) != 2 or kwargs:
        return None
    left, right = (t.shape or () for t in arrays)
    same(*contracted(left, right))
    shape = (*left[:-1], *right[:-2], *(right[-1:] if len(right) > 1 else ()))
    return Numeric(np.result_type(*dtypes), shape, "array" if shape else "numpy")


@gives_type_of(operator.matmul, np.matmul)
def _matrix_product(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """Return the type of ``a @ b``, with the axes of a stack broadcast."""
    a, b = argument_type(args[0]), argument_type(args[1])
    if not isinstance(a, Numeric) or not isinstance(b, Numeric) or not a.shape or not b.shape:
        return None
    left, right = a.shape, b.shape
    same(*contracted(left, right))
    batch = broadcast([left[:-2], right[:-2]])
    assert batch is not None
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    known = a.dtype is not None and b.dtype is not None
    dtype = np.result_type(a.dtype, b.dtype) if known else None
    if dtype is not None and dtype.kind == "b":
        return None
    shape_ = (*batch, *rows, *columns)
    return Numeric(dtype, shape_, "array" if shape_ else "numpy")


def is_matrix_product(target: Any) -> bool:
    """Return True if the last axis of one operand meets the second last of the other one."""
    try:
        return _TYPES.get(target) in (_multiplied, _matrix_product)
    except TypeError:
        return False


def contracted(left: Shape, right: Shape) -> tuple[Extent, Extent]:
    """Return the two lengths over which a product sums."""
    return left[-1], right[-2] if len(right) > 1 else right[0]


@gives_type_of(np.einsum)
def _summed(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``np.einsum(subscripts, ...)``, also where lengths are not known to agree."""
    if not isinstance(args[0], Const) or not isinstance(args[0].value, str) or kwargs:
        return None
    inputs, arrow, output = args[0].value.replace(" ", "").partition("->")
    arrays = [argument_type(arg) for arg in args[1:]]
    lengths: dict[str, Extent] = {}
    for letters, array in zip(inputs.split(","), arrays, strict=False):
        if not isinstance(array, Numeric) or array.shape is None or array.dtype is None:
            return None
        if "." in letters or len(letters) != len(array.shape):
            return None
        for letter, length in zip(letters, array.shape, strict=True):
            if letter not in lengths or resolved(lengths[letter]) == _ONE:
                lengths[letter] = length
            elif resolved(length) != _ONE:
                same(lengths[letter], length)
    if len(inputs.split(",")) != len(arrays) or not set(output) <= set(lengths):
        return None
    if not arrow:
        output = "".join(sorted(k for k in lengths if inputs.count(k) == 1))
    dtypes = [array.dtype for array in arrays if isinstance(array, Numeric) and array.dtype]
    shape = tuple(lengths[letter] for letter in output)
    return Numeric(np.result_type(*dtypes), shape, "array" if shape else "numpy")


@gives_type_of(np.outer)
def _outer(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``np.outer(a, b)`` of arrays of any rank: trying it out would make too large arrays."""
    arrays = [argument_type(arg) for arg in args]
    sizes: list[Extent] = []
    dtypes: list[Any] = []
    for array in arrays:
        if not isinstance(array, Numeric) or not array.shape or array.dtype is None or kwargs:
            return None
        sizes.append(array.shape[0] if len(array.shape) == 1 else fresh_extent())
        dtypes.append(array.dtype)
    return Numeric(np.result_type(*dtypes), tuple(sizes), "array") if len(sizes) == 2 else None


@gives_type_of(np.size)
def _size(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``array.size``: a product of lengths of which at most one is unknown before the call."""
    array = argument_type(args[0])
    if len(args) > 1 or kwargs or not isinstance(array, Numeric) or array.shape is None:
        return None
    product = constant_extent(1)
    for length in map(resolved, array.shape):
        if product.terms and length.terms:
            return None
        counted, factor = (length, product) if length.terms else (product, length)
        product = counted.scaled(factor.constant)
    return int_type(product)


@gives_type_of(np.broadcast_arrays)
def _broadcast(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    """``np.broadcast_arrays(*arrays)``."""
    types = [argument_type(arg) for arg in args]
    arrays = [t for t in types if isinstance(t, Numeric)]
    if kwargs or len(arrays) < len(types):
        return None
    shape = broadcast([t.shape for t in arrays])
    return TupleOf(tuple(t.of_shape(shape, "array") for t in arrays))


def _pieces_of_split(axis: int | None) -> Formula:
    """Return the list of arrays that ``np.split`` and its kin return.

    None: along the axis asked for.
    """

    def parts(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
        array = argument_type(args[0]) if args else None
        if not isinstance(array, Numeric) or array.shape is None:
            found = array if isinstance(array, Numeric) else NUMBER
            return ListOf(found.of_shape(None, "array"))
        along = axis if axis is not None else _axis_of(args, kwargs)
        if axis == 1 and len(array.shape) == 1:
            along = 0
        cut = None if along is None else along % max(len(array.shape), 1)
        shape = tuple(fresh_extent() if cut in (None, k) else n for k, n in enumerate(array.shape))
        return ListOf(array.of_shape(shape, "array"))

    return parts


def _axis_of(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> int | None:
    axis = args[2] if len(args) > 2 else kwargs.get("axis", Const(0))
    return axis.value if isinstance(axis, Const) and isinstance(axis.value, int) else None


gives_type_of(np.split, np.array_split)(_pieces_of_split(None))
gives_type_of(np.vsplit)(_pieces_of_split(0))
gives_type_of(np.hsplit)(_pieces_of_split(1))
gives_type_of(np.dsplit)(_pieces_of_split(2))
