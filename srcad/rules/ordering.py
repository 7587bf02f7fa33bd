"""Sorting and what is found by it: order statistics, interpolation between sorted points."""

import numpy as np

from srcad.rules.conjugates import ORDER, REAL_ONLY, conj, may_be_complex
from srcad.rules.declare import adjoint, facts, nondifferentiable, tangent
from srcad.rules.row import Result
from srcad.rules.shape import flattened, unflattened
from srcad.rules.writes import add_at_repeated, updated
from srcad.runtime import unbroadcast


@adjoint(np.sort, samples=lambda f, v, t: [f(t), f(t, 0), f(t, 1), f(t, None), f(v)])
def sort(y_bar, y, a, axis=-1, *, kind=None, stable=None):
    """Each entry gets the cotangent of the place where it went; ties keep their order."""
    if may_be_complex(a):
        return ORDER
    if axis is None:
        return np.reshape(unsorted(y_bar, np.ravel(a)), np.shape(a))
    if np.ndim(a) == 1:
        return unsorted(y_bar, a)
    order = stable_order(a, axis)
    return np.take_along_axis(y_bar, np.argsort(order, axis=axis), axis)


def unsorted(y_bar, a):
    """The entries of `y_bar` at the places that those of a sorted `a` come from."""
    return updated(np.zeros_like(y_bar), stable_order(a, -1), y_bar)


def stable_order(a, axis):
    """``np.argsort(a, axis, kind="stable")``, which takes longer and is only needed for ties."""
    order = np.argsort(a, axis=axis)
    ordered = np.moveaxis(np.take_along_axis(a, order, axis), axis, -1)
    if np.all(ordered[..., 1:] > ordered[..., :-1]):
        return order
    return np.argsort(a, axis=axis, kind="stable")


nondifferentiable(stable_order, memory="fresh")


@adjoint(
    np.partition,
    active=("a",),
    samples=lambda f, v, t: [f(t, 1), f(t, 0, 1), f(v, (0, 2)), f(t, 3, None)],
)
def partition(y_bar, y, a, kth, axis=-1, *, kind="introselect"):
    """Each entry gets the cotangent of the place where it went, as by `np.argpartition`."""
    if may_be_complex(a):
        return ORDER
    order = np.argpartition(a, kth, axis=axis)
    if axis is None:
        return np.reshape(y_bar[np.argsort(order)], np.shape(a))
    if np.ndim(a) == 1:
        return y_bar[np.argsort(order)]
    return np.take_along_axis(y_bar, np.argsort(order, axis=axis), axis)


@tangent(np.partition)
def partition_tangent(a_dot, y, a, kth, axis=-1, *, kind="introselect"):
    if may_be_complex(a):
        return ORDER
    order = np.argpartition(a, kth, axis=axis)
    if axis is None:
        return np.ravel(a_dot)[order]
    if np.ndim(a) == 1:
        return a_dot[order]
    return np.take_along_axis(a_dot, order, axis)


@adjoint(
    np.unique, real_only=True, takes_lists=False, active=("ar",),
    refuses={"axis": "np.unique has a rule for single entries, without axis=."},
    result=Result(
        lambda return_index=False, return_inverse=False, return_counts=False: (
            1 + return_index + return_inverse + return_counts
        ),
        static=("axis",),
        any_lengths=True,
    ),
    samples=lambda f, v, m: [
        f(v), f(m), f(m, return_index=True), f(v, False, True), f(m, return_counts=True)],
    kinks=lambda f: [(f([2, 1, 2]), [1, 1, 0])],
)  # fmt: skip
def unique(
    y_bar, y, ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
    equal_nan=True, sorted=True,
):  # fmt: skip
    """The first of equal entries has the cotangent."""
    several = return_index or return_inverse or return_counts
    g = y_bar[0] if several else y_bar
    first = np.unique(ar, return_index=True, equal_nan=equal_nan)[1]
    bar = add_at_repeated(np.zeros_like(np.ravel(ar)), first, g)
    return np.reshape(bar, np.shape(ar))


@adjoint(np.unique_values, result=Result(any_lengths=True), samples=lambda f, v, m: [f(v), f(m)])
def unique_values(y_bar, y, x):
    """The first of equal entries has the cotangent; the values come in any order."""
    return REAL_ONLY if may_be_complex(x) else at_first(y_bar[np.argsort(y)], x)


@adjoint(
    np.unique_all,
    result=Result(4, any_lengths=True, fields=("values", "indices", "inverse_indices", "counts")),
    samples=lambda f, v, m: [f(v), f(m)],
)
def unique_all(y_bar, y, x):
    return REAL_ONLY if may_be_complex(x) else at_first(y_bar[0], x)


@adjoint(
    np.unique_counts, result=Result(2, any_lengths=True, fields=("values", "counts")),
    samples=lambda f, v, m: [f(v), f(m)],
)  # fmt: skip
def unique_counts(y_bar, y, x):
    return REAL_ONLY if may_be_complex(x) else at_first(y_bar[0], x)


@adjoint(
    np.unique_inverse, result=Result(2, any_lengths=True, fields=("values", "inverse_indices")),
    samples=lambda f, v, m: [f(v), f(m)],
)  # fmt: skip
def unique_inverse(y_bar, y, x):
    return REAL_ONLY if may_be_complex(x) else at_first(y_bar[0], x)


def at_first(values_bar, x):
    """Cotangents of distinct values in ascending order, in the places of the first of equals."""
    first = np.unique(x, return_index=True, equal_nan=False)[1]
    bar = add_at_repeated(np.zeros_like(np.ravel(x)), first, values_bar)
    return np.reshape(bar, np.shape(x))


facts(np.union1d, np.setdiff1d, np.setxor1d, memory="shared", result=Result(any_lengths=True))
facts(np.intersect1d, memory="shared",
      result=Result(lambda return_indices=False: 3 if return_indices else 1, any_lengths=True),
)  # fmt: skip


@adjoint(
    np.median,
    samples=lambda f, t, array: [
        f(array(5)), f(t, 1), f(t, axis=2, keepdims=True), f(t, (0, 2)), f(t, [1, -1]),
        f(t, axis=(0, 1), keepdims=True)],
    kinks=lambda f: [(f([3, 1, 2]), [0, 0, 1]), (f([4, 1, 2, 3]), [0, 0, 0.5, 0.5])],
)  # fmt: skip
def median(y_bar, y, a, axis=None, *, keepdims=False):
    """The middle entry, or half of each of the two middle ones, in stable order."""
    if may_be_complex(a):
        return ORDER
    if axis is None:
        flat = np.ravel(a)
        return np.reshape(middle(np.reshape(y_bar, (1,)), flat), np.shape(a))
    if isinstance(axis, (int, np.integer)):
        bar = y_bar if keepdims else np.expand_dims(y_bar, int(axis))
        rows = middle(np.moveaxis(bar, axis, -1), np.moveaxis(a, axis, -1))
        return np.moveaxis(rows, -1, axis)
    flat = flattened(a, axis)
    bar = np.reshape(y_bar, np.shape(flat)[:-1] + (1,))  # noqa: RUF005 - perhaps not known
    return unflattened(middle(bar, flat), a, axis)


def middle(y_bar, a):
    """`y_bar` shared by the entries in the middle of the last axis."""
    rank = np.argsort(np.argsort(a, axis=-1, kind="stable"), axis=-1)
    n = np.shape(a)[-1]
    return 0.5 * y_bar * (rank == (n - 1) // 2) + 0.5 * y_bar * (rank == n // 2)


@adjoint(
    np.nanmedian, order="other", entries="reduced", nan="left out",
    samples=lambda f, t, array: [
        f(array(5)), f(t, 1), f(t, axis=2, keepdims=True), f(t, (0, 2)),
        f(t, axis=(0, 1), keepdims=True)],
    kinks=lambda f: [
        (f([3, np.nan, 1, 2]), [0, 0, 0, 1]), (f([4, 1, np.nan, 2, 3]), [0, 0, 0, 0.5, 0.5])],
)  # fmt: skip
def nanmedian(y_bar, y, a, axis=None, *, keepdims=False):
    """The middle number, or half of each of the two middle ones, in stable order; at nan: 0."""
    if may_be_complex(a):
        return ORDER
    flat = np.ravel(a) if axis is None else flattened(a, axis)
    numbers = np.logical_not(np.isnan(flat))
    rank = np.argsort(np.argsort(flat, axis=-1, kind="stable"), axis=-1)
    n = np.sum(numbers, axis=-1, keepdims=True)
    bar = np.reshape(y_bar, np.shape(flat)[:-1] + (1,))  # noqa: RUF005 - perhaps not known
    both = 0.5 * bar * (rank == (n - 1) // 2) + 0.5 * bar * (rank == n // 2)
    rows = np.where(numbers, both, 0.0)
    return np.reshape(rows, np.shape(a)) if axis is None else unflattened(rows, a, axis)


@adjoint(
    np.interp,
    refuses={"period": "np.interp has a rule without period=."},
    entries="evaluated",
    order="C",
    active=("x", "xp", "fp", "left", "right"),
    samples=lambda f, v, near: [
        f(near(-1.5, 4.5, 6), np.array([0.03, 1.0, 2.1, 4.0]), v),
        f(near(-1.5, 4.5, 6), np.array([0.03, 1.0, 2.1, 4.0]), v, left=0.4),
        f(0.7, np.array([0.03, 1.0, 2.1, 4.0]), v),
        f(near(-1.5, 4.5, 6), np.array([0.03, 1.0, 2.1, 4.0]), v, right=-0.3),
        f(near(-1.5, 4.5, 6), np.array([0.03, 1.0, 2.1, 4.0]), v, 0.4, -0.3),
        f(near(-1.5, 4.5, 2, 3), np.array([0.03, 1.0, 2.1, 4.0]), v)],
)  # fmt: skip
def interp(y_bar, y, x, xp, fp, left=None, right=None, period=None):
    """Piecewise linear: at a point of `xp`, the slope of the interval to its right."""
    last = np.size(xp) - 1
    k = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, last - 1)
    low, high = np.asarray(xp)[k], np.asarray(xp)[k + 1]
    width = np.where(high > low, high - low, 1.0)
    slope = conj(np.asarray(fp)[k + 1] - np.asarray(fp)[k]) / width
    within = (x >= np.asarray(xp)[0]) & ~(x > np.asarray(xp)[-1])  # the last may be nan
    t = (x - low) / width
    inside = y_bar * within
    below = y_bar * (x < np.asarray(xp)[0])
    above = y_bar * (x > np.asarray(xp)[-1])
    low_bar = inside * (1 - t) + below if left is None else inside * (1 - t)
    high_bar = inside * t + above if right is None else inside * t
    fp_bar = add_at_repeated(add_at_repeated(np.zeros_like(fp), k, low_bar), k + 1, high_bar)
    xp_bar = add_at_repeated(np.zeros_like(xp), k, -(inside * slope * (1 - t)))
    xp_bar = add_at_repeated(xp_bar, k + 1, -(inside * slope * t))
    return unbroadcast(inside * slope, x), xp_bar, fp_bar, np.sum(below), np.sum(above)
