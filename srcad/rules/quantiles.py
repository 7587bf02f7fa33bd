"""Quantiles and percentiles, with or without nan, by every method of NumPy.

A quantile is a weighted mean of one or two entries, which are neighbours in sorted order: those
around a position between 0 and n - 1.  The position is NumPy's own quantile of the ranks ``0, 1,
..``; for the default method it is ``(n - 1) q``.  Its derivative with respect to the level is
``n + 1 - alpha - beta``, and 0 at a knot, where one entry is the quantile, and outside of the
knots.  Entries that tie have the cotangent in any order.

Source: Hyndman and Fan (1996), *Sample quantiles in statistical packages*; their nine methods are
positions ``n q + alpha + q (1 - alpha - beta) - 1``.
"""

import numpy as np

from srcad.rules.conjugates import ORDER, may_be_complex
from srcad.rules.declare import adjoint
from srcad.rules.registry import is_known, static
from srcad.rules.row import NoPartial
from srcad.rules.shape import flattened, unflattened
from srcad.rules.writes import add_at_repeated

# Alpha and beta of the methods that interpolate; the others are constant between jumps by `q`.
PARAMETERS = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0), "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (0.375, 0.375),
}  # fmt: skip

# NumPy moves the axes of such levels to other places than for one axis.
LEVELS = NoPartial(
    "for several axes, its rule is for levels q of at most one axis: use np.ravel(q)"
)


@static
def interpolates(method):
    """Return True if the position depends on the level without jumps."""
    return method in PARAMETERS


@static
def slope(method):
    """The derivative of the position by the level, without the number of entries."""
    first, second = PARAMETERS.get(method, (0.5, 0.5))
    return 1.0 - first - second


def rate(n, method):
    """The derivative of the position by the level; 0 of a method that does not interpolate."""
    return n + slope(method) if interpolates(method) else 0.0 * n


def position_of(n, q, method):
    """Return the positions of the levels `q` in `n` sorted entries."""
    if method == "linear":
        return np.multiply(n - 1, q)
    return np.quantile(np.arange(n), q, method=method)


def as_rows(a, axis):
    """A vector of all entries that are reduced, or a matrix with a row for each result."""
    if np.ndim(a) == 1:
        return a
    if axis is None or np.ndim(a) == 0:
        return np.ravel(a)
    if isinstance(axis, (int, np.integer)):
        moved = np.moveaxis(a, axis, -1)
        return moved if np.ndim(a) == 2 else np.reshape(moved, (-1, np.shape(moved)[-1]))
    flat = flattened(a, axis)
    return np.reshape(flat, (-1, np.shape(flat)[-1]))


def as_given(rows, a, axis):
    """The inverse of `as_rows`."""
    if np.ndim(a) == 1:
        return rows
    if axis is None or np.ndim(a) == 0:
        return np.reshape(rows, np.shape(a))
    if isinstance(axis, (int, np.integer)):
        moved = np.moveaxis(a, axis, -1)
        return np.moveaxis(np.reshape(rows, np.shape(moved)), -1, axis)
    return unflattened(np.reshape(rows, np.shape(flattened(a, axis))), a, axis)


def levels_last(y_bar, rows, q):
    """The cotangent with one last axis of all levels, and before it that of the rows."""
    if np.ndim(rows) == 1:
        return np.reshape(y_bar, (np.size(q),))
    return np.reshape(y_bar, (np.size(q), np.shape(rows)[0])).T


def cotangents(y_bar, rows, order, low, high, share, position_rate):
    """The cotangents of rows of entries and, for each row, of the levels.

    ``(1 - share) low + share high`` is the quantile, of entries at the ranks `low` and `high`.
    These have one last axis of all levels, as the cotangent has, and before that none or those of
    the rows.  `position_rate` is the derivative of the position by the level.
    """
    first = at_ranks(order, low)
    second = at_ranks(order, high)
    bar = add_at_repeated(np.zeros_like(rows), first, y_bar * (1 - share))
    bar = add_at_repeated(bar, second, y_bar * share)
    step = rows[second] - rows[first]
    return bar, y_bar * step * position_rate


def total_of_levels(level_bar, q, method):
    """The sum over all rows; None if the method is constant between jumps by the level."""
    if is_known(method) and not interpolates(method):
        return None
    each = level_bar if np.ndim(level_bar) == 1 else np.sum(level_bar, axis=0)
    return np.reshape(each, np.shape(q))


def at_ranks(order, ranks):
    """The index of the entries with these ranks, in each row."""
    if np.ndim(order) == 1:
        return order[ranks]
    places = order[:, ranks] if np.ndim(ranks) == 1 else np.take_along_axis(order, ranks, -1)
    return np.arange(np.shape(order)[0])[:, None], places


@adjoint(
    np.quantile,
    samples=lambda f, v, m, t, array: [
        f(array(5), 0.3), f(m, 0.4, 1), f(t, np.array([0.15, 0.8]), -1, keepdims=True),
        f(t, np.array([[0.15, 0.8, 0.3]]), (0, 2)),
        *[f(array(6), np.array([0.22, 0.71]), method=k) for k in (
            "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
            "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
            "lower", "higher", "midpoint", "nearest")]],
    kinks=lambda f: [(f([4, 1, 2, 3], 0.3), [0, 0.1, 0.9, 0])],
)  # fmt: skip
def quantile(y_bar, y, a, q, axis=None, *, method="linear", keepdims=False):
    """Only the entries at the ranks that are needed are put in order.

    The derivative by the level is the step between both entries, times that of the position.
    """
    if may_be_complex(a):
        return ORDER, ORDER
    rows = as_rows(a, axis)
    n = np.shape(rows)[-1]
    position = np.reshape(position_of(n, q, method), (np.size(q),))
    low = np.astype(np.floor(position), int)
    high = np.astype(np.ceil(position), int)
    share = np.astype(position - low, rows.dtype)
    order = np.argpartition(rows, np.concatenate((low, high)), axis=-1)
    g = levels_last(y_bar, rows, q)
    bar, level_bar = cotangents(g, rows, order, low, high, share, rate(n, method))
    return as_given(bar, a, axis), total_of_levels(level_bar, q, method)


@adjoint(
    np.percentile,
    samples=lambda f, m, t, array: [
        f(array(5), 30.0), f(t, np.array([15.0, 80.0]), (0, 2), keepdims=True),
        f(m, 40.0, 0, method="weibull"), f(m, 40, 0, method="nearest")],
    kinks=lambda f: [(f([4, 1, 2, 3], 30), [0, 0.1, 0.9, 0])],
)  # fmt: skip
def percentile(y_bar, y, a, q, axis=None, *, method="linear", keepdims=False):
    """As `quantile`, of hundredths."""
    a_bar, level_bar = quantile(y_bar, y, a, q / 100, axis, method=method, keepdims=keepdims)
    return a_bar, None if level_bar is None else level_bar / 100


# ------------------------------------------------------------------------ without nan
@adjoint(
    np.nanquantile, order="other", nan="left out",
    samples=lambda f, m, t, array: [
        f(array(5), 0.3), f(m, 0.4, 1), f(t, np.array([0.15, 0.8]), (0, 2), keepdims=True),
        *[f(m, np.array([0.22, 0.71]), 0, method=k) for k in (
            "inverted_cdf", "interpolated_inverted_cdf", "hazen", "midpoint")]],
    kinks=lambda f: [(f([4, np.nan, 1, 2, 3], 0.3), [0, 0, 0.1, 0.9, 0])],
)  # fmt: skip
def nanquantile(y_bar, y, a, q, axis=None, *, method="linear", keepdims=False):
    """Ranks and counts of each row are those of its numbers; at nan: 0."""
    if may_be_complex(a):
        return ORDER, ORDER
    if np.size(axis) > 1 and np.ndim(q) > 1:
        return LEVELS, LEVELS
    if np.size(a) == 0:
        return np.zeros_like(a), np.multiply(0.0, q)
    rows = as_rows(a, axis)
    numbers = np.logical_not(np.isnan(rows))
    order = np.argsort(rows, axis=-1, kind="stable")
    position = np.nanquantile(
        np.where(numbers, np.argsort(order, axis=-1), np.nan), q, axis=-1, method=method
    )
    position = levels_last(np.where(np.isnan(position), 0.0, position), rows, q)
    low = np.astype(np.floor(position), int)
    high = np.astype(np.ceil(position), int)
    share = np.astype(position - low, rows.dtype)
    g = levels_last(y_bar, rows, q)
    n = np.sum(numbers, axis=-1, keepdims=True, dtype=rows.dtype)
    bar, level_bar = cotangents(g, rows, order, low, high, share, rate(n, method))
    return as_given(np.where(numbers, bar, 0.0), a, axis), total_of_levels(level_bar, q, method)


@adjoint(
    np.nanpercentile, order="other", nan="left out",
    samples=lambda f, m, t, array: [
        f(array(5), 30.0), f(t, np.array([15.0, 80.0]), (0, 2), keepdims=True),
        f(m, 40.0, 0, method="weibull"), f(m, 40, 0, method="nearest")],
)  # fmt: skip
def nanpercentile(y_bar, y, a, q, axis=None, *, method="linear", keepdims=False):
    """As `nanquantile`, of hundredths."""
    a_bar, level_bar = nanquantile(y_bar, y, a, q / 100, axis, method=method, keepdims=keepdims)
    return a_bar, None if level_bar is None else level_bar / 100
