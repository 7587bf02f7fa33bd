"""The type of a call's result, from two runs on small stand-ins.

The stand-ins of the two runs differ in their lengths and contents.  What comes back in both tells
the result's form and dtype, and every length that is explained in both runs by the same expression
of the operands' extents is that expression.  A result whose shape depends on data disagrees between
the runs and stays unknown.  Where a length is a constant beside unknown ones, a third run with
shorter unknown lengths tells if it is the smaller of the two.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np

from srcad.ir.argument_types import argument_type, types_in
from srcad.ir.core import Arg, Const, Display
from srcad.ir.inference.cases import Case, agreed, cases, in_case, of_other_ranks
from srcad.ir.inference.memo import outline, question, remembered
from srcad.ir.traits import is_indexed
from srcad.rules import registry
from srcad.startup.identifiers import module_of, ufunc_of
from srcad.types.join import join, type_of_constant
from srcad.types.numeric import FLOAT, NUMBER, Numeric, joined_form, same_dtype
from srcad.types.sizes import (
    Extent,
    Symbol,
    at_least,
    constant_extent,
    fresh_extent,
    has_index,
    is_one,
    resolved,
    same,
    symbol_extent,
)
from srcad.types.structures import OPAQUE, ListOf, Opaque, PlacesOf, TupleOf, Type, Undefined

Sizes = dict[Symbol | Extent, int]
Args = tuple[Arg, ...]
Kwargs = tuple[tuple[str, Arg], ...]
# In opposite order, so that the smaller of two lengths (a diagonal) is never explained as one of
# them.
_FIRST = (7, 11, 13, 17, 19, 23, 29, 31)
_SECOND = (33, 29, 26, 23, 20, 18, 15, 12)
_FEW = 3  # with more lengths than these the stand-ins stay small by smaller ones
_SMALL_FIRST = (2, 3, 4, 5, 6, 7, 8, 9)
_SMALL_SECOND = (9, 8, 7, 6, 4, 3, 5, 2)
# Options that choose the axes of an operand, and so the lengths of the result.
AXES = frozenset({"axis", "axes", "axis1", "axis2", "source", "destination", "start"})
_ITEMS = (2, 4)  # of a list: no length above differs by 2, so none explains that of a list


_ANY_COMPLEX = np.dtype(complex)


def fallback(target: Any, args: Args, kwargs: Kwargs) -> Type:
    """Return the type of a result without running the function, from its row or its module."""
    declared = _declared(target, args, kwargs)
    if declared is not None:
        return declared
    module = module_of(target)
    if module == "math":
        return FLOAT
    if module == "srcad.rules.scipy.rotations":
        return Numeric(FLOAT.dtype, None, "any")  # of vectors of 3 and 4 entries only
    if target is np.frompyfunc:
        return Opaque(np.ufunc)
    if isinstance(target, type) and not issubclass(target, np.generic | np.ndarray):
        return Opaque(target) if module.startswith("numpy") else OPAQUE
    known = isinstance(target, np.ufunc) or module.startswith("numpy") or module == "_operator"
    known = known or ufunc_of(target) is not None
    return NUMBER if known else OPAQUE


def _declared(target: Any, args: Args, kwargs: Kwargs) -> Type | None:
    """Return the declared type of a result; None if the function has no declaration."""
    if isinstance(target, np.ufunc) and target.nout > 1:
        return TupleOf((NUMBER,) * target.nout)
    rule = registry.row_of(target)
    result = rule.result
    if result is None:
        has_one = rule.shipped and rule.kind not in ("", "nondifferentiable") and not rule.saves
        if not has_one or module_of(target).startswith(("srcad.", "math")):
            return None
        return NUMBER
    given = {**dict(zip(rule.parameters, args, strict=False)), **dict(kwargs)}
    options = {name: given[name] for name in result.options if name in given}
    if not all(isinstance(arg, Const) for arg in options.values()):
        return OPAQUE
    known = {name: arg.value for name, arg in options.items() if isinstance(arg, Const)}
    first = argument_type(args[0]) if args else None
    if isinstance(first, Numeric) and first.shape is not None:
        known["ndim"] = len(first.shape)
    count = result.count_for(known)
    if count is None:
        return OPAQUE
    is_double = result.dtype == "double" and _are_doubles((*args, *(arg for _, arg in kwargs)))
    one = Numeric(np.dtype(np.float64), None, "array") if is_double else NUMBER
    if result.dtype == "complex":
        one = _complex(rule, None)
    return one if count == 1 else TupleOf((one,) * count)


def _complex_if_always(target: Any, found: Type) -> Type:
    """Return the type of a result of unknown dtype, which is complex where it always is.

    Of a number that may have 32 or 64 bits the runs do not agree upon the dtype.
    """
    if not isinstance(found, Numeric) or found.dtype is not None:
        return found
    is_complex = registry.declared_result(target).dtype == "complex"
    return _complex(registry.row_of(target), found.shape) if is_complex else found


def _complex(rule: Any, shape: Any) -> Numeric:
    """Return a complex type: an array, or a number too if the function is elementwise."""
    return Numeric(_ANY_COMPLEX, shape, "any" if rule.kind == "derivative" else "array")


def is_known(type_: Type) -> bool:
    """Return True if a stand-in can be made for a type, with choices for what it leaves open."""
    match type_:
        case TupleOf(items, cls=cls):
            # A dict or an object is one thing to NumPy, not the sequence of its parts.
            return issubclass(cls, tuple | list) and all(is_known(t) for t in items)
        case PlacesOf():
            return False
        case ListOf(item):
            return isinstance(item, Numeric) or (isinstance(item, ListOf) and is_known(item))
        case _:
            return True


def filled(type_: Numeric, lengths: tuple[int, ...], run: int) -> Any:
    """Return a number or array of this type; what it holds differs between the runs.

    Of many integers only the first one does: as lengths or counts (``np.tile(x, counts)``) they
    would ask for more memory than there is.
    """
    dtype = type_.dtype
    assert dtype is not None
    if dtype.kind == "b":
        content: Any = run == 0
    elif dtype.kind in "iu":
        content = 1 + run
    else:
        content = 0.5 if run == 0 else 0.25
    if type_.form == "array":
        result = np.full(lengths, content, dtype)
        if dtype.kind in "iu" and result.size > 4:
            result.flat[1:] = 1
        if len(lengths) >= 2 and dtype.kind in "fc":
            result = result * 0.01 + np.eye(*lengths[-2:], dtype=dtype)
        return result
    if type_.form == "numpy":
        return dtype.type(content)
    return {"b": bool, "f": float, "c": complex}.get(dtype.kind, int)(content)


def _evaluated(extent: Extent, sizes: Sizes) -> int:
    extent = resolved(extent)
    if extent in sizes:
        return sizes[extent]
    return extent.constant + sum(k * sizes[symbol] for symbol, k in extent.terms)


def _example_of(arg: Arg, sizes: Sizes, run: int, case: Case, *, is_place: bool = False) -> Any:
    """Return a stand-in for an argument; a place is one that every array has: the first."""
    if isinstance(arg, Display):
        is_place = is_place and arg.kind in ("tuple", "list")
        parts = [_example_of(a, sizes, run, case, is_place=is_place) for a in arg.items]
        makers: dict[str, Callable[[list[Any]], Any]] = {
            "tuple": tuple,
            "list": list,
            "slice": lambda p: slice(*p),
            "range": lambda p: range(*p),
            "dict": lambda p: dict(zip(p[::2], p[1::2], strict=True)),
        }
        return makers[arg.kind](parts)
    if isinstance(arg, Const):
        return arg.value
    found = _example_of_type(in_case(arg.type, case), sizes, run)
    is_int = isinstance(arg.type, Numeric) and arg.type.kind in "iu"
    return found * 0 if is_place and is_int else found


def _example_of_type(type_: Type, sizes: Sizes, run: int) -> Any:
    match type_:
        case Numeric():
            assert type_.shape is not None
            if type_.value is not None and not has_index(type_.value):
                return _evaluated(type_.value, sizes)
            lengths = tuple(_evaluated(e, sizes) for e in type_.shape)
            return filled(type_, lengths, run)
        case TupleOf(items):
            return tuple(_example_of_type(t, sizes, run) for t in items)
        case ListOf(item):
            return [_example_of_type(item, sizes, run)] * _ITEMS[run]
        case _:
            raise TypeError("no stand-in")


def _extents_in(arg: Arg) -> Iterator[Extent]:
    if isinstance(arg, Display):
        for a in arg.items:
            yield from _extents_in(a)
    else:
        yield from _extents_of_type(arg.type)


def _extents_of_type(type_: Type) -> Iterator[Extent]:
    if isinstance(type_, Numeric):
        if type_.value is not None and not has_index(type_.value):
            yield resolved(type_.value)
        for extent in type_.shape or ():
            yield resolved(extent)
    elif isinstance(type_, TupleOf):
        for t in type_.items:
            yield from _extents_of_type(t)
    elif isinstance(type_, ListOf):
        yield from _extents_of_type(type_.item)


def by_running(target: Any, args: Args, kwargs: Kwargs) -> Type:
    """Return the type of a call's result, from two runs on stand-ins."""
    named = tuple(arg for _, arg in kwargs)
    if not all(is_known(t) for arg in (*args, *named) for t in types_in(arg)):
        return fallback(target, args, kwargs)
    squeezed = registry.declared_result(target).squeezed
    if squeezed and not _settle_squeezed(target, args, kwargs):
        return fallback(target, args, kwargs)
    tries = [
        (given, case)
        for given in of_other_ranks(args)
        for case in cases(t for a in (*given, *named) for t in types_in(a))
    ]
    for _ in range(4):
        extents = [e for a in (*args, *named) for e in _extents_in(a)]
        names = list(dict.fromkeys(s for e in extents for s, _ in e.terms))
        runs = _runs(names, extents)
        with quiet():
            found = [_tried(target, given, kwargs, runs, case) for given, case in tries]
        if any(found):
            results = [
                None if pair is None else _explained(pair[0], pair[1], extents, runs)
                for pair in found
            ]
            short = _shorter(names, extents)
            if short is not None and any(map(_has_constant_length, results)):
                with quiet():
                    again = [_tried(target, given, kwargs, [short], case) for given, case in tries]
                pairs = zip(results, again, strict=True)
                results = [t if one is None else _without_minima(t, one[0]) for t, one in pairs]
            types = (t for a in (*args, *named) for t in types_in(a))
            found_type = agreed([case for _, case in tries], results, types)
            return _completed(target, args, kwargs, found_type)
        if not _settle_ones(names) and not _merge_one_pair(runs[0]):
            break
    return fallback(target, args, kwargs)


def _settle_squeezed(target: Any, args: Args, kwargs: Kwargs) -> bool:
    """Settle which lengths are 1: the result has no axis for those.

    Return False if that of an array cannot be told, as of ``x[mask]``.
    """
    extents = [e for arg in (*args, *(arg for _, arg in kwargs)) for e in _extents_in(arg)]
    is_told = None not in [is_one(extent) for extent in extents]
    has_axis = len(args) > 1 or "axis" in dict(kwargs)
    return is_told or has_axis or "axis" not in registry.row_of(target).parameters


def _completed(target: Any, args: Args, kwargs: Kwargs, found: Type) -> Type:
    """Return the type that the runs agree upon, without what they do not tell."""
    if found is OPAQUE:
        return fallback(target, args, kwargs)
    return _complex_if_always(target, found)


def _are_doubles(args: Args) -> bool:
    """Return True if all arguments that are no constants are of float64."""
    types = [type_ for arg in args if not isinstance(arg, Const) for type_ in types_in(arg)]
    return types != [] and all(isinstance(t, Numeric) and t.dtype == np.float64 for t in types)


@functools.cache
def parameter_names(target: Any) -> tuple[str, ...]:
    """Return the names of a function's parameters, up to ``*args``."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name for p in parameters if p.kind is not p.VAR_POSITIONAL)


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings about stand-ins that the user's values will never be like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _tried(
    target: Any,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
    runs: list[Sizes],
    case: Case,
) -> tuple[Any, ...] | None:
    """Return the results of the runs for one choice of types; None if the call raises."""
    reads = is_indexed(target) or target is np.take

    def run_all() -> tuple[Any, ...]:
        return tuple(
            outline(
                target(
                    *[
                        _example_of(a, sizes, run, case, is_place=reads and k == 1)
                        for k, a in enumerate(args)
                    ],
                    **{name: _example_of(a, sizes, run, case) for name, a in kwargs},
                )
            )
            for run, sizes in enumerate(runs)
        )

    def lengths(extent: Extent) -> tuple[int, ...]:
        return tuple(_evaluated(extent, sizes) for sizes in runs)

    found: tuple[Any, ...] | None = remembered(
        question(target, args, kwargs, case, lengths), run_all
    )
    return found


def _runs(symbols: list[Symbol], extents: list[Extent]) -> list[Sizes]:
    """Return the lengths in both runs, of each symbol and of each difference that is too short.

    ``n - m`` is a length like any other: nothing says that it is small where ``n`` is.
    """
    names: list[Symbol | Extent] = [*symbols]
    while True:
        bases = _bases(len(names))
        runs: list[Sizes] = [
            dict(zip(names, _lengths(base, len(names)), strict=True)) for base in bases
        ]
        short = [
            e
            for e in extents
            if e not in names
            and _is_difference(e)
            and any(_evaluated(e, sizes) < 1 for sizes in runs)
        ]
        if not short:
            return runs
        names += dict.fromkeys(short)


def _shorter(symbols: list[Symbol], extents: list[Extent]) -> Sizes | None:
    """Return lengths below all known ones for the unknown ones; None if there are not both."""
    known = [e.constant for e in extents if not e.terms and e.constant > 1]
    if not known or not symbols:
        return None
    return {symbol: max(1, min(known) - 1 - k) for k, symbol in enumerate(symbols)}


def _has_constant_length(type_: Type | None) -> bool:
    """Return True if a result has an axis of a known length above 1."""
    if isinstance(type_, TupleOf):
        return any(map(_has_constant_length, type_.items))
    shape = type_.shape if isinstance(type_, Numeric) else None
    return any(not e.terms and e.constant > 1 for e in shape or ())


def _without_minima(type_: Type | None, short: Any) -> Any:
    """Return the type of a result without the known lengths that are others in a shorter one."""
    if isinstance(type_, TupleOf) and isinstance(short, tuple) and len(short) == len(type_.items):
        return type_.of(tuple(map(_without_minima, type_.items, short)))
    if not isinstance(type_, Numeric) or not type_.shape or len(type_.shape) != np.ndim(short):
        return type_
    lengths = zip(type_.shape, np.shape(short), strict=True)
    shape = tuple(e if e.terms or e.constant == n else fresh_extent() for e, n in lengths)
    return type_.of_shape(shape, type_.form)


def _is_difference(extent: Extent) -> bool:
    return any(k > 0 for _, k in extent.terms) and (
        extent.constant < 0 or any(k < 0 for _, k in extent.terms)
    )


def _bases(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the lengths of the two runs."""
    return (_FIRST, _SECOND) if count <= _FEW else (_SMALL_FIRST, _SMALL_SECOND)


def _lengths(base: tuple[int, ...], count: int) -> list[int]:
    return [base[k % len(base)] + 40 * (k // len(base)) for k in range(count)]


def _settle_ones(symbols: list[Symbol]) -> bool:
    """Take lengths for 1 that are 1 in the example (an axis that broadcasts)."""
    one = constant_extent(1)
    settled = [s.example == 1 and same(Extent(((s, 1),)), one) for s in symbols]  # all of them
    return any(settled)


def _merge_one_pair(sizes: Sizes) -> bool:
    """Take two lengths for equal that are equal in the example (a matrix that must be square)."""
    lengths = [name if isinstance(name, Extent) else symbol_extent(name) for name in sizes]
    return any(same(left, right) for left, right in combinations(lengths, 2))


def _explained(first: Any, second: Any, extents: list[Extent], runs: list[Sizes]) -> Type:
    if isinstance(first, tuple) and isinstance(second, tuple):
        if len(first) != len(second):
            return OPAQUE
        pairs = zip(tuple(first), tuple(second), strict=True)
        return TupleOf(tuple(_explained(a, b, extents, runs) for a, b in pairs))
    if isinstance(first, list) and isinstance(second, list):
        items = [type_of_constant(a) for a in (*first, *second)]
        result: Type = Undefined()
        for t in items:
            result = join(result, t)
        return ListOf(result)
    a, b = type_of_constant(first), type_of_constant(second)
    if not isinstance(a, Numeric) or not isinstance(b, Numeric):
        return join(a, b) if type(first) is type(second) else OPAQUE
    dtype = a.dtype if same_dtype(a.dtype, b.dtype) else None
    form = joined_form(a.form, b.form)
    if np.ndim(first) != np.ndim(second):
        return Numeric(dtype, None, form)
    lengths = zip(np.shape(first), np.shape(second), strict=True)
    return Numeric(dtype, tuple(_explain(m, n, extents, runs) for m, n in lengths), form)


def _explain(m: int, n: int, extents: list[Extent], runs: list[Sizes]) -> Extent:
    """Return the expression of the extents that is `m` in the first run, `n` in the second."""
    if m == n:
        return constant_extent(m)
    known = [(e, _evaluated(e, runs[0]), _evaluated(e, runs[1])) for e in dict.fromkeys(extents)]
    for extent, p, q in known:
        if (p, q) == (m, n):
            return extent
    for extent, p, q in known:
        offset = m - p
        if offset == n - q and abs(offset) <= 6 and (offset > 0 or at_least(extent, -offset)):
            return extent + constant_extent(offset)
    for k, (extent, p, q) in enumerate(known):
        for other, r, s in known[k:]:
            if (p + r, q + s) == (m, n):
                return extent + other
    return fresh_extent()
