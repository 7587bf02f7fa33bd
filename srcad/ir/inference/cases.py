"""The candidates for a number of unknown form, dtype or rank that type inference tries.

A number that is a Python float on one path and a NumPy scalar on another has no one stand-in.
It has one for each kind that it may be, and what the results have in common is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from srcad.ir.core import Arg, Display, Value
from srcad.startup.records import dataclass
from srcad.types.join import join
from srcad.types.numeric import DType, Form, Numeric, complex_ones
from srcad.types.sizes import constant_extent, fresh_extent
from srcad.types.structures import UNDEFINED, ListOf, PlacesOf, TupleOf, Type, numbers_in

_FLOAT64 = np.dtype(np.float64)
_OF_PYTHON = frozenset(np.dtype(t) for t in (np.float64, np.int64, np.complex128, np.bool_))


@dataclass(frozen=True)
class Case:
    """One choice for everything that a type leaves open."""

    form: Form = "numpy"
    dtype: DType = _FLOAT64
    rank: int = 0


_ONLY = (Case(),)
_FORMS: tuple[Form, ...] = ("python", "numpy", "array")
_DTYPES = (_FLOAT64, *(np.dtype(t) for t in (np.int64, np.float32, np.complex128)))
_RANKS = (0, 1, 2, 3)
_LENGTHS = (constant_extent(3),) * 3  # equal ones fit most functions; what they lead to is dropped


def cases(types: Iterable[Type], *, ranks: bool = True) -> tuple[Case, ...]:
    """Return the choices to try for these types; a single one if they leave nothing open."""
    left = frozenset[str]().union(*map(_open, types))
    if not left:
        return _ONLY
    kinds = list(product(_FORMS if "form" in left else ("array",), _RANKS[: 1 + 3 * ranks]))
    if "rank" not in left or not ranks:
        kinds = [(form, rank) for form, rank in kinds if rank == 0]
    dtypes = _DTYPES if "dtype" in left else _DTYPES[:1]
    return tuple(
        Case(form, dtype, rank)
        for dtype in dtypes
        for form, rank in kinds
        if form == "array" or rank == 0
    )


def of_other_ranks(args: Sequence[Arg]) -> Iterator[tuple[Arg, ...]]:
    """Yield the arguments, with each rank in turn for the second of those that leave theirs open.

    A choice has one rank for all; the two operands of ``np.dot`` may have different ones.
    """
    places = [k for k, arg in enumerate(args) if has_open_rank(arg)][1:]
    for rank in _RANKS if places else ():
        yield tuple(_of_rank(a, rank) if k in places else a for k, a in enumerate(args))
    if not places:
        yield tuple(args)


def has_open_rank(arg: Arg) -> bool:
    """Return True if an argument is, or holds, a number of unknown rank."""
    if isinstance(arg, Display):
        return any(map(has_open_rank, arg.items))
    return isinstance(arg, Value) and "rank" in _open(arg.type)


def _of_rank(arg: Arg, rank: int) -> Arg:
    if isinstance(arg, Display):
        return Display(arg.kind, tuple(_of_rank(item, rank) for item in arg.items))
    return Value(with_rank(arg.type, rank)) if isinstance(arg, Value) else arg


def with_rank(type_: Type, rank: int) -> Type:
    """Return the type with a rank for each that it leaves open."""
    match type_:
        case Numeric(shape=None, form=form):
            return type_.of_shape(_LENGTHS[:rank], "array" if rank else form)
        case TupleOf(items):
            return type_.of(tuple(with_rank(t, rank) for t in items))
        case ListOf(item) if not isinstance(type_, PlacesOf):
            return ListOf(with_rank(item, rank))
    return type_


def _open(type_: Type) -> frozenset[str]:
    """Return the unknown properties of the numbers in a type."""
    match type_:
        case Numeric(dtype, shape, form):
            vague = form in ("any", "number") and not shape
            left = {"form": vague, "dtype": dtype is None, "rank": shape is None}
            return frozenset(name for name, is_left in left.items() if is_left)
        case TupleOf(items):
            return frozenset[str]().union(*map(_open, items))
        case ListOf(item):
            return _open(item)
    return frozenset()


def in_case(type_: Type, case: Case) -> Type:
    """Return the type with what it leaves open as a choice says."""
    match type_:
        case Numeric(dtype, shape, form, value):
            if form not in ("any", "number") and dtype is not None and shape is not None:
                return type_
            shape = _LENGTHS[: case.rank] if shape is None else shape
            dtype = case.dtype if dtype is None else dtype
            if form in ("any", "number"):
                number: Form = "numpy" if case.form == "array" else case.form
                form = number if form == "number" else "array" if shape else case.form
            if form == "python" and dtype not in _OF_PYTHON:
                form = "numpy"
            return Numeric(dtype, shape, form, value)
        case TupleOf(items):
            return type_.of(tuple(in_case(t, case) for t in items))
        case ListOf(item) if not isinstance(type_, PlacesOf):
            return ListOf(in_case(item, case))
    return type_


def agreed(options: Sequence[Case], found: Sequence[Type | None], operands: Iterable[Type]) -> Type:
    """Return the common type of the results for all choices; None stands for one that raises.

    What only few of the dtypes or ranks tried lead to says nothing of those that were not tried.
    Which dtypes of a result meet is known if an operand is complex on some path, and if all are
    real, or the result is real for complex ones, too, as that of `np.abs` is: then for the choices
    among their dtypes.
    """
    result: Type = UNDEFINED
    for type_ in found:
        result = result if type_ is None else join(result, type_)
    if _few(options, found, "dtype", 3):
        result = _of_any_dtype(result)
    if any(case.rank for case in options):
        result = of_any_lengths(result, rank=not _few(options, found, "rank", 2))
    if all(type_.dtype is not None for type_ in numbers_in(result)):
        return result
    numbers = [number for type_ in operands for number in numbers_in(type_)]
    if any(number.has_complex for number in numbers):
        return result
    of_real: Type = UNDEFINED
    may_be_complex = any(number.may_be_complex for number in numbers)
    if not may_be_complex or _is_real_of_complex(options, found):
        pairs = zip(options, found, strict=True)
        tried = frozenset().union(*(number.joined for number in numbers)) & {*_DTYPES}
        for case, type_ in pairs:
            if type_ is not None and case.dtype in (tried or {_FLOAT64}):
                of_real = join(of_real, type_)
    return _with_joined(result, of_real)


def _is_real_of_complex(options: Sequence[Case], found: Sequence[Type | None]) -> bool:
    """Return True if complex numbers were tried, and the result is real for all of them."""
    pairs = zip(options, found, strict=True)
    of_complex = [t for case, t in pairs if t is not None and case.dtype.kind == "c"]
    numbers = [number for type_ in of_complex for number in numbers_in(type_)]
    return bool(numbers) and all(number.is_real for number in numbers)


def _few(options: Sequence[Case], found: Sequence[Type | None], name: str, enough: int) -> bool:
    """Return True if several of a thing were tried and too few did not raise."""
    pairs = [(getattr(c, name), t) for c, t in zip(options, found, strict=True)]
    led = {tried for tried, type_ in pairs if type_ is not None}
    return len({tried for tried, _ in pairs}) > 1 and len(led) < enough


def _of_any_dtype(type_: Type) -> Type:
    match type_:
        case Numeric(_, shape, form):
            return Numeric(None, shape, form, joined=complex_ones(type_.dtypes))
        case TupleOf(items):
            return type_.of(tuple(_of_any_dtype(t) for t in items))
        case ListOf(item):
            return ListOf(_of_any_dtype(item))
    return type_


def _with_joined(type_: Type, of_real: Type) -> Type:
    """Return the type with the dtypes that another one has, in place of those of all choices."""
    match type_:
        case Numeric(None, shape, form, value):
            joined = of_real.dtypes if isinstance(of_real, Numeric) else frozenset()
            return Numeric(None, shape, form, value, joined=joined)
        case TupleOf(items):
            others: tuple[Type, ...] = (UNDEFINED,) * len(items)
            if isinstance(of_real, TupleOf) and len(of_real.items) == len(items):
                others = of_real.items
            return type_.of(tuple(map(_with_joined, items, others)))
        case ListOf(item) if not isinstance(type_, PlacesOf):
            other = of_real.item if isinstance(of_real, ListOf) else UNDEFINED
            return ListOf(_with_joined(item, other))
    return type_


def of_any_lengths(type_: Type, *, rank: bool = True) -> Type:
    """Return the type of what has other lengths (without `rank`, another number of them)."""
    match type_:
        case Numeric(shape=shape, form=form):
            shape = None if shape is None or not rank else tuple(fresh_extent() for _ in shape)
            return type_.of_shape(shape, form)
        case TupleOf(items):
            return type_.of(tuple(of_any_lengths(t, rank=rank) for t in items))
        case ListOf(item):
            return ListOf(of_any_lengths(item, rank=rank))
    return type_
