"""NumPy functions and methods that write into an array: stores of what they leave there."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad import errors, runtime
from srcad.frontend.branches import try_regions
from srcad.frontend.domain.access_paths import Step
from srcad.frontend.domain.values import AbstractValue, Constant, SliceValue, TupleValue
from srcad.frontend.library.builtins import read_prelude
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import array_stores
from srcad.frontend.prelude import builtins
from srcad.frontend.store.memory_effects import flat
from srcad.frontend.store.origins import may_be_array, origin
from srcad.ir.argument_types import types_in
from srcad.ir.core import Arg, Const, Display, Value
from srcad.ir.disjoint import index_parts
from srcad.ir.memory import reads_a_copy
from srcad.ir.traits import is_indexed
from srcad.rules.indexing import along
from srcad.rules.registry import qualified_name, row_of
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.structures import ListOf, Type

NOTHING = Constant(None)


def target_array(state: Machine, box: AbstractValue, what: str) -> Value:
    """Return the array that is written into; anything else is refused."""
    if isinstance(box, TupleValue) and len(box.items) == 1:
        (box,) = box.items
    if not may_be_array(box):
        state.refuse(
            errors.MutationError,
            f"cannot write into this with {what!r}",
            why="srcad does not know the array that is written into.",
            help=("bind the result to a name instead",),
        )
    assert isinstance(box, Value)
    return box


# ------------------------------------------------------------------------------ functions
@means(np.copyto)
def copyto(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.copyto(dst, src, where=mask)``."""
    array, value = target_array(state, args[0], "np.copyto"), args[1]
    where = kwargs.get("where")
    if where is not None:
        value = state.emit(np.where, where, value, array)
    array_stores.store(state, array, array_stores.EVERYTHING, value)
    return NOTHING


@means(np.fill_diagonal)
def fill_diagonal(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.fill_diagonal(a, value)`` of a matrix."""
    array = target_array(state, args[0], "np.fill_diagonal")
    rank = array.type.shape if isinstance(array.type, Numeric) else None
    if rank is None or len(rank) != 2 or kwargs or len(args) != 2:
        refuse_write_form(state, "np.fill_diagonal", "only of a matrix, and without 'wrap'")
    length = state.emit(min, *[state.item(shape_value(state, array), k) for k in (0, 1)])
    places = state.emit(np.arange, length)
    array_stores.store(state, array, Display("tuple", (places, places)), args[1])
    return NOTHING


def shape_value(state: Machine, array: Value) -> Value:
    return state.shape(array)


@means(np.nan_to_num)
def in_place_unless_copied(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.nan_to_num(a, copy=False)`` writes into `a` and returns it."""
    given = {**dict(zip(("x", "copy", "nan", "posinf", "neginf"), args, strict=False)), **kwargs}
    array, copy = given.pop("x"), given.pop("copy", Constant(True))
    if not isinstance(copy, Constant):
        refuse_write_form(state, "np.nan_to_num", "only where it is known whether it copies")
    elif not copy.value and may_be_array(array):
        assert isinstance(array, Value)
        value = state.emit(np.nan_to_num, array, kwargs=given)
        return array_stores.store(state, array, array_stores.EVERYTHING, value)
    return None


@means(np.median, np.percentile, np.quantile, np.nanmedian, np.nanpercentile, np.nanquantile)
def may_overwrite(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.median(a, overwrite_input=True)`` leaves the entries of `a` in another order."""
    overwrite = kwargs.get("overwrite_input", Constant(False))
    if isinstance(overwrite, Constant) and not overwrite.value:
        return None
    return state.refuse(
        errors.MutationError,
        "cannot read the option 'overwrite_input'",
        why="it leaves the entries of the array in an order of which nothing is said.",
        help=("leave it out",),
    )


@means(np.putmask)
def putmask(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.putmask(a, mask, value)`` of one value, or of an array of the same shape."""
    array, mask, value = target_array(state, args[0], "np.putmask"), args[1], args[2]
    alike = isinstance(value, Value) and array_stores.have_same_shape(array.type, value.type)
    if not alike and not _is_scalar(value):
        refuse_write_form(
            state, "np.putmask", "only with one value, or values of the array's shape"
        )
    array_stores.store(
        state, array, array_stores.EVERYTHING, state.emit(np.where, mask, value, array)
    )
    return NOTHING


@means(np.place)
def place(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.place(a, mask, values)``: the values again and again, as many as the mask has places."""
    array, mask, value = target_array(state, args[0], "np.place"), args[1], args[2]
    mask = state.emit(np.astype, state.emit(np.asarray, mask), Constant(bool))
    if not _is_scalar(value):
        value = state.emit(np.resize, value, state.emit(np.count_nonzero, mask))
    array_stores.store(state, array, state.arg(mask), value)
    return NOTHING


def _is_scalar(box: AbstractValue) -> bool:
    if isinstance(box, Constant):
        return isinstance(box.value, int | float | complex)
    return isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.is_scalar


@means(np.put)
def put(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.put(a, places, values)``: places of the flat array."""
    array = target_array(state, args[0], "np.put")
    if kwargs or len(args) != 3:
        refuse_write_form(state, "np.put", "only in its plain form")
    places = positions(state, args[1])
    array_stores.store(state, flat(state, array), state.arg(places), args[2])
    return NOTHING


@means(np.take)
def take(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.take(a, indices)`` of flags: they are the positions 0 and 1."""
    given = {**dict(zip(("a", "indices"), args, strict=False)), **kwargs}
    indices = given.get("indices")
    if indices is None or (places := positions(state, indices)) is indices:
        return None
    array, options = given.pop("a"), {k: v for k, v in given.items() if k != "indices"}
    return state.emit(np.take, array, places, *args[2:], kwargs=options)


def positions(state: Machine, indices: AbstractValue) -> AbstractValue:
    """Return flags as the integers that ``np.take`` and ``np.put`` read them as."""
    types = [_of_items(type_) for type_ in types_in(state.arg(indices))]
    if not types or not all(isinstance(type_, Numeric) and type_.kind == "b" for type_ in types):
        return indices
    return state.emit(np.asarray, indices, Constant(int))


def _of_items(type_: Type) -> Type:
    while isinstance(type_, ListOf):
        type_ = type_.item
    return type_


@means(np.put_along_axis)
def put_along_axis(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.put_along_axis(a, indices, values, axis)``."""
    names = ("arr", "indices", "values", "axis")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    array = target_array(state, given["arr"], "np.put_along_axis")
    axis = given["axis"]
    if not isinstance(axis, Constant) or not isinstance(axis.value, int):
        refuse_write_form(state, "np.put_along_axis", "only with an axis that is known")
    place = apply(
        state, Constant(along), (given["indices"], state.box(shape_value(state, array)), axis), {}
    )
    array_stores.store(state, array, state.arg(place), given["values"])
    return NOTHING


def refuse_write_form(state: Machine, name: str, why: str) -> None:
    state.refuse(
        errors.MutationError,
        f"cannot read this call of {name!r}",
        why=f"it is read {why}.",
        help=("write with an index:  a[...] = value",),
    )


# ------------------------------------------------------------------------------ ufuncs
def at(state: Machine, ufunc: np.ufunc, args: Args) -> AbstractValue:
    """``np.add.at(a, index, value)``."""
    array = target_array(state, args[0], f"np.{ufunc.__name__}.at")
    law = row_of(ufunc).law
    if law not in ("sum", "difference"):
        return _at_once(state, ufunc, array, args)
    array_stores.before_arithmetic(state, array)
    value = args[2] if law == "sum" else array_stores.negated(state, args[2])
    array_stores.store(state, array, state.arg(args[1]), value, "add each")
    return NOTHING


def _at_once(state: Machine, ufunc: np.ufunc, array: Value, args: Args) -> AbstractValue:
    """``np.multiply.at(a, index, value)``: place by place where one may be named twice."""
    index = state.arg(args[1])
    array_stores.before_arithmetic(state, array)
    if reads_a_copy(index) and not _is_mask(index):
        return _at_each(state, ufunc, array, args)
    old = state.emit(operator.getitem, array, index)
    array_stores.store(state, array, index, state.emit(ufunc, old, *args[2:]))
    return NOTHING


def _at_each(state: Machine, ufunc: np.ufunc, array: Value, args: Args) -> AbstractValue:
    """``np.multiply.at(a, positions, values)`` of a list of positions along the first axis."""
    if len(args) != 3:
        refuse_write_form(state, f"np.{ufunc.__name__}.at", "with a place and a value")
    if isinstance(args[1], TupleValue):
        return _at_each_entry(state, ufunc, array, args[1].items, args[2])
    places = state.emit(np.ravel, state.emit(np.asarray, args[1]))
    rest = state.shape(state.emit(operator.getitem, array, places))
    values = state.emit(np.broadcast_to, args[2], rest)
    _each(state, builtins.applied_at, Constant(ufunc), array, places, values)
    return NOTHING


def _at_each_entry(
    state: Machine, ufunc: np.ufunc, array: Value, places: Args, value: AbstractValue
) -> AbstractValue:
    """``np.multiply.at(a, (rows, columns), values)``: a position along every axis."""
    shape = array.type.shape if isinstance(array.type, Numeric) else None
    if shape is None or len(shape) != len(places) or any(isinstance(p, SliceValue) for p in places):
        refuse_write_form(state, f"np.{ufunc.__name__}.at", "with positions along every axis")
    where = state.shape(state.emit(operator.getitem, array, TupleValue(places)))
    flat_places = tuple(
        state.emit(np.ravel, state.emit(np.broadcast_to, state.emit(np.asarray, place), where))
        for place in places
    )
    values = state.emit(np.ravel, state.emit(np.broadcast_to, value, where))
    _each(
        state, builtins.applied_at_entries, Constant(ufunc), array, TupleValue(flat_places), values
    )
    return NOTHING


def _each(state: Machine, loop: Any, *args: AbstractValue) -> None:
    """Read a loop over places: NumPy, too, has looked at all of them before it writes."""

    def build() -> None:
        read_prelude(state, loop, *args)

    try_regions.surely(state, build)


def _is_mask(index: Arg) -> bool:
    return isinstance(index, Value) and isinstance(index.type, Numeric) and index.type.kind == "b"


def into(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return a call with ``out=``: the result is stored there; None where it has none."""
    function, out = callee.value, kwargs.get("out")
    if isinstance(function, np.ufunc) and len(args) > function.nin:
        if function.nout > 1:
            refuse_write_form(state, f"np.{function.__name__}", "with one result only")
        out, args = args[function.nin], args[: function.nin]
    if out is None or (isinstance(out, Constant) and out.value is None):
        return _where_told(state, callee, args, kwargs)
    array = target_array(state, out, getattr(function, "__name__", "out"))
    rest = {name: box for name, box in kwargs.items() if name != "out"}
    where = rest.pop("where", None) if isinstance(function, np.ufunc) else None
    array_stores.before_arithmetic(state, array)
    with state.kept(array) as kept:
        value = apply(state, callee, args, rest)
        if not isinstance(function, np.ufunc):
            value = _in_dtype_of(state, callee, array, args, rest, value)
        kept_array = kept.box
    assert isinstance(kept_array, Value)
    if isinstance(function, np.ufunc) and row_of(function).rounds != "exactly" and not rest:
        value = _rounded(state, function, kept_array, args, value)
    if where is not None:
        value = state.emit(np.where, where, value, kept_array)
    array_stores.check_cast(state, kept_array, value, runtime.write_out, callee, *args)
    value = array_stores.check_fits(state, kept_array, value)
    return array_stores.store(state, kept_array, array_stores.EVERYTHING, value)


def _in_dtype_of(
    state: Machine,
    callee: Constant,
    array: Value,
    args: Args,
    kwargs: Kwargs,
    value: AbstractValue,
) -> AbstractValue:
    """Return the result of a function as NumPy calculates it for ``out=`` of another dtype.

    A sum is calculated in the dtype of `out` where that is wider, a mean and other reductions
    partly so.
    """
    function, wanted = callee.value, dtype_of(array)
    found, rounds = dtype_of(value) or dtype_of(args[0]), row_of(function).rounds
    is_sum = rounds == "in dtype of out"
    if is_sum and _is_no_dtype(args[2:3]):
        args = args[:2]
    if rounds == "exactly" or wanted is None or found is None or same_dtype(wanted, found):
        return value
    if "dtype" in kwargs or (is_sum and len(args) > 2):
        return value
    is_float = wanted.kind in "fc" and found.kind in "fc"
    is_narrow = is_float and not np.can_cast(found, wanted)
    is_mean = function in (np.mean, np.nanmean)
    if is_sum and is_narrow and not is_mean:
        return value
    if not is_sum or (is_mean and (is_narrow or not is_float)):
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot store the result of {qualified_name(function)} in an array of another dtype",
            why=f"it would be {found}, 'out' is {wanted}, and NumPy calculates partly in one of "
            "them and partly in the other.",
            help=(f"convert the array before the call:  x.astype(np.{wanted})",),
        )
    return apply(state, callee, args, {**kwargs, "dtype": Constant(wanted)})


def _is_no_dtype(given: Args) -> bool:
    return len(given) == 1 and isinstance(given[0], Constant) and given[0].value is None


def dtype_of(box: AbstractValue) -> np.dtype[Any] | None:
    """Return the dtype of an array or number; None if it is not known."""
    type_ = box.type if isinstance(box, Value) else None
    return type_.dtype if isinstance(type_, Numeric) else None


def _where_told(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Return a ufunc with ``where=`` and without ``out=``; None for any other call.

    The entries that are left out are memory that was not initialised.  Here they are zero, and
    carry no derivative.
    """
    function, where = callee.value, kwargs.get("where")
    if not isinstance(function, np.ufunc) or function.nout != 1 or where is None:
        return None
    if isinstance(where, Constant) and where.value is True:
        return None
    rest = {name: box for name, box in kwargs.items() if name not in ("where", "out")}
    if not state.is_active(*args, *rest.values()):
        return None
    return state.emit(np.where, where, apply(state, callee, args, rest), Const(False))


def _rounded(
    state: Machine, function: np.ufunc, array: Value, args: Args, value: AbstractValue
) -> AbstractValue:
    """Return a result as it is rounded in a view that may run backwards.

    Where NumPy finds that operands overlap with the view, it writes into a buffer first.
    """
    where = origin(state, array)
    overlaps = any(
        box is not array and not origin(state, box).everything.isdisjoint(where.objects)
        for box in args
        if isinstance(box, Value)
    )
    if overlaps or not isinstance(value, Value) or not _may_be_backward(where.steps):
        return value
    return state.emit(
        runtime.rounded_as_in_place, value, Const(function), array, *args, type=value.type
    )


def _may_be_backward(steps: tuple[Step, ...] | None) -> bool:
    for step in steps or ():
        if is_indexed(step.target):
            if any(_steps_back(part) for part in index_parts(step.args[0])):
                return True
        elif step.target in (np.flip, np.flipud, np.fliplr, np.rot90):
            return True
    return False


def _steps_back(part: Arg) -> bool:
    """Return True if a part of an index is a slice that may run backwards."""
    if not isinstance(part, Display) or part.kind != "slice":
        return False
    step = part.items[2]
    return not isinstance(step, Const) or (isinstance(step.value, int) and step.value < 0)


# ------------------------------------------------------------------------------ methods
def fill(state: Machine, receiver: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    array_stores.store(
        state, receiver, array_stores.EVERYTHING, args[0] if args else kwargs["value"]
    )
    return NOTHING


def sort(state: Machine, receiver: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    array_stores.store(
        state,
        receiver,
        array_stores.EVERYTHING,
        state.emit(np.sort, receiver, *args, kwargs=kwargs),
    )
    return NOTHING


def put_items(state: Machine, receiver: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    """``x.put(places, values)``."""
    return put(state, (receiver, *args), kwargs) or NOTHING


def shuffle(state: Machine, generator: AbstractValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """``rng.shuffle(a)`` of data without derivative."""
    array = target_array(state, args[0], "shuffle")
    if state.is_active(array):
        refuse_write_form(
            state, "shuffle", "of data without derivative only; index with rng.permutation(n)"
        )
    shuffled = state.emit(
        runtime.shuffled, generator, array, *args[1:], kwargs=kwargs, effect=True, type=array.type
    )
    array_stores.replace_all(state, array, shuffled)
    return NOTHING


def view(state: Machine, receiver: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    if args or kwargs:
        refuse_write_form(state, "view", "as another name of the same array only")
    return state.identity(receiver)
