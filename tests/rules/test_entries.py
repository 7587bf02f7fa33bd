"""Entries of results depend on those entries of operands that the row tells of.

Some entries are moved a little, one at a time: what changes in the results shows what they depend
on.  Functions that move entries have tests of their own.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import integrate, linalg, special, stats

from srcad.ir.library_operations import is_elementwise
from srcad.rules.registry import qualified_name, row_of
from srcad.startup.identifiers import module_of
from tests.rules.samples import CALLS as SAMPLES

CALLS: dict[Any, list[tuple[Any, Any]]] = {}
for function, args, kwargs in SAMPLES:
    if not module_of(function).startswith("srcad"):
        CALLS.setdefault(function, []).append((args, kwargs))


def by_name(f: Any) -> str:
    return qualified_name(f) or f.__name__


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 1


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [np.asarray(value)]


def name_of_parameter(f: Any, k: int) -> str:
    parameters = row_of(f).parameters
    return parameters[min(k, len(parameters) - 1)] if parameters else ""


Moved = tuple[tuple[int, ...], np.ndarray]


def moved(f: Any, args: Any, kwargs: Any, k: int) -> Iterator[Moved]:
    """Give indices of some entries of an operand, each with the places that change in results."""
    before = leaves(f(*args, **kwargs))
    count = args[k].size
    for place in sorted({0, count // 3, 2 * count // 3, count - 1}):
        given = args[k].copy()
        given.flat[place] += 1e-5 * (1 + abs(given.flat[place]))
        after = leaves(f(*args[:k], given, *args[k + 1 :], **kwargs))
        at = tuple(map(int, np.unravel_index(place, given.shape)))
        for one, other in zip(before, after, strict=True):
            yield at, (one != other) & ((one == one) | (other == other))


def within(at: tuple[int, ...], shape: tuple[int, ...], changed: np.ndarray, axes: Any) -> bool:
    """Return True if nothing changes but along these axes from where the entry stands.

    The shape of the operand is broadcast to that of the result.
    """
    if len(shape) > changed.ndim:
        return False
    allowed = np.ones(changed.shape, bool)
    places = np.indices(changed.shape)
    for axis in range(-len(shape), 0):
        if shape[axis] not in (1, changed.shape[axis]) and axis not in axes:
            return False
        if shape[axis] > 1 and axis not in axes:
            allowed &= places[axis] == at[axis]
    return not changed[~allowed].any()


def axes_of(f: Any, args: Any, kwargs: Any, ndim: int) -> tuple[int, ...] | None:
    """Return the axes that a call names, counted from the end; None if it names none."""
    names = row_of(f).parameters
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    axis = given.get("axis")
    if axis is None:
        return None
    return tuple(k if k < 0 else k - ndim for k in (axis if isinstance(axis, tuple) else (axis,)))


def is_each(f: Any, args: Any, kwargs: Any, k: int) -> bool:
    return all(within(at, args[k].shape, y, ()) for at, y in moved(f, args, kwargs, k))


def is_along(f: Any, args: Any, kwargs: Any, k: int) -> bool:
    """Return True if entries depend on those along the axes that are named, or on any."""
    shape = args[k].shape
    axes = axes_of(f, args, kwargs, len(shape)) or range(-len(shape), 0)
    found = moved(f, args, kwargs, k)
    return all(y.shape == shape and within(at, shape, y, axes) for at, y in found)


def is_running(f: Any, args: Any, kwargs: Any, k: int) -> bool:
    """Return True if entries depend on those up to their place along one axis."""
    shape, named = args[k].shape, axes_of(f, args, kwargs, args[k].ndim)
    for axis in named or range(-len(shape), 0):
        if all(
            y.ndim == len(shape) and y.shape[axis] >= shape[axis]
            and within(at, shape, y, (axis,)) and not np.moveaxis(y, axis, 0)[: at[axis]].any()
            for at, y in moved(f, args, kwargs, k)
        ):  # fmt: skip
            return True
    flat = [(np.ravel_multi_index(at, shape), y) for at, y in moved(f, args, kwargs, k)]
    return named is None and all(y.ndim == 1 and not y[:at].any() for at, y in flat)


def is_reduced(f: Any, args: Any, kwargs: Any, k: int) -> bool:
    """Return True if entries depend on those along axes that are taken away."""
    shape, ndim = args[k].shape, args[k].ndim
    found = [*moved(f, args, kwargs, k)]
    for count in range(1, ndim + 1):
        for axes in itertools.combinations(range(-ndim, 0), count):
            kept = tuple(1 if axis in axes else shape[axis] for axis in range(-ndim, 0))
            short = tuple(shape[axis] for axis in range(-ndim, 0) if axis not in axes)
            if all(
                y.shape in (kept, short) and within(at, shape, y.reshape(kept), axes)
                for at, y in found
            ):
                return True
    return False


def is_stacked(f: Any, args: Any, kwargs: Any, k: int) -> bool:
    """Return True if two stacked matrices have the results of each of them, stacked."""
    if {a.ndim for a in args if is_array(a)} != {2}:
        return True
    other = [1.05 * a if is_array(a) else a for a in args]
    both = [np.stack(pair) if is_array(pair[0]) else pair[0] for pair in zip(args, other)]
    try:
        of_both = leaves(f(*both, **kwargs))
    except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
        return False
    of_each = zip(leaves(f(*args, **kwargs)), leaves(f(*other, **kwargs)), strict=True)
    return all(
        y.shape == (2, *one.shape) and np.allclose(y, np.stack(pair))
        for y, pair in zip(of_both, of_each, strict=True)
        for one in pair
    )


def is_evaluated(f: Any, args: Any, kwargs: Any, k: int) -> bool:
    """Return True if entries depend on the one at their place of `x`, and on all of others."""
    return name_of_parameter(f, k) != "x" or is_each(f, args, kwargs, k)


def is_paired(f: Any, args: Any, kwargs: Any, k: int) -> bool:
    """Return True if entries of a matrix depend on two rows, those of their places."""
    rows_ = 0 if kwargs.get("rowvar", True) else args[k].ndim - 1
    if args[k].ndim < 2 or len(args) > 1:
        return True
    for at, y in moved(f, args, kwargs, k):
        if y.ndim != 2:
            return False
        y[at[rows_]] = y[:, at[rows_]] = False
        if y.any():
            return False
    return True


HOLDS = {
    "each": is_each, "running": is_running, "lines": is_along, "reduced": is_reduced,
    "stacked": is_stacked, "evaluated": is_evaluated, "paired": is_paired,
}  # fmt: skip


def cases_of(f: Any) -> list[tuple[Any, Any, Any, int]]:
    """Return calls, each with the position of an array that says more than a number does."""
    return [
        (f, args, kwargs, k)
        for args, kwargs in CALLS[f] for k, a in enumerate(args)
        if is_array(a) and a.size < 50 and (a.ndim > 1 or row_of(f).required > 1)
    ]  # fmt: skip


TOLD = [f for f in CALLS if row_of(f).entries in HOLDS and cases_of(f)]
# Functions that behave so, and of which it is not asked so far.
MORE: dict[Any, str] = {
    **dict.fromkeys((divmod, np.full), "each"),
    np.gradient: "lines",
    **dict.fromkeys((np.unwrap, np.polynomial.polynomial.polyint), "running"),
    **dict.fromkeys((np.mean, np.median), "reduced"),
    **dict.fromkeys((np.logaddexp.reduce, np.logaddexp2.reduce, np.hypot.reduce), "reduced"),
    **dict.fromkeys((np.linalg.tensorsolve, np.linalg.tensorinv), "stacked"),
    **dict.fromkeys((np.linalg.trace, np.linalg.matrix_norm), "stacked"),
    **dict.fromkeys((integrate.trapezoid, integrate.romb, integrate.simpson), "reduced"),
    **dict.fromkeys((stats.gmean, stats.hmean, stats.sem, stats.skew, stats.kurtosis), "reduced"),
    **dict.fromkeys((linalg.norm, stats.entropy), "reduced"),
    **dict.fromkeys((stats.moment, stats.trim_mean, stats.iqr, stats.pmean), "reduced"),
    **dict.fromkeys((special.jvp, special.yvp, special.ivp, special.kvp, special.h1vp), "each"),
    **dict.fromkeys((special.h2vp, special.spherical_jn, special.spherical_yn), "each"),
    **dict.fromkeys((special.spherical_in, special.spherical_kn, special.sph_harm_y), "each"),
    **dict.fromkeys((special.polygamma, special.comb, special.perm), "each"),
    special.multigammaln: "each",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", TOLD, ids=by_name)
def test_entries_depend_on_those_that_the_row_tells_of(f):
    word, cases = row_of(f).entries, cases_of(f)

    assert all(HOLDS[word](*case) for case in cases), f"column entries of {by_name(f)}"


def narrowest(f: Any) -> str:
    """Return the word that is true of a function of numbers, of one with `axis`, or of matrices."""
    row = row_of(f)
    has_axis = "axis" in (*row.parameters, *row.keywords)
    words = ["each", *(("running", "lines", "reduced") if has_axis else ())]
    words += ["stacked"] if module_of(f) == "numpy.linalg" else []
    cases = cases_of(f)
    return next((w for w in words if cases and all(HOLDS[w](*case) for case in cases)), "")


# What moves entries, products, and methods of distributions have tests of their own.
OTHERS = [
    f for f in CALLS
    if row_of(f).entries not in ("moved", "contracted", "crossed", "paired", "evaluated")
    and not isinstance(f, types.MethodType) and cases_of(f)
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", OTHERS, ids=by_name)
def test_row_tells_the_narrowest_word_that_is_true_of_entries(f):
    told = row_of(f).entries or MORE.get(f, "")
    told = told or ("each" if is_elementwise(f) else "")

    assert narrowest(f) == told, f"column entries of {by_name(f)}"


PRODUCTS = [f for f in CALLS if row_of(f).kind == "bilinear" and module_of(f)[:5] != "scipy"]
PRODUCTS += [np.linalg.multi_dot]


def positive(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(positive, value))
    return np.abs(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("f", PRODUCTS, ids=by_name)
def test_products_of_positive_numbers_are_positive_where_they_are_no_differences(f):
    results = [f(*map(positive, args), **kwargs) for args, kwargs in CALLS[f]]
    is_positive = all((np.asarray(y) >= 0).all() for y in results)

    told = "contracted" if is_positive else "crossed"
    assert row_of(f).entries == told, f"column entries of {by_name(f)}"
