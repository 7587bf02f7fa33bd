"""Padded arrays: `np.pad` in all its modes.

NumPy pads the axes in order, so that the transposes come in opposite order: those of the last axis
first.
"""

import numpy as np

from srcad.rules.conjugates import ORDER, may_be_complex
from srcad.rules.declare import adjoint
from srcad.rules.registry import is_known, static
from srcad.rules.row import NoPartial
from srcad.rules.shape import numbered, part
from srcad.rules.tangents import tangent_of
from srcad.rules.writes import add_at_repeated
from srcad.runtime import unbroadcast

PAD_MODE = NoPartial("np.pad has a rule for the modes that are strings, not for a function")
PAD_WIDTH = NoPartial("in this mode, the widths and the rank must be known before the call")


@static
def margins(pad_width, ndim):
    """How much is put before and after, one pair per axis."""
    if isinstance(pad_width, dict):
        widths = {axis % ndim: width for axis, width in pad_width.items()}
        pairs = [widths.get(axis, 0) for axis in range(ndim)]
        pairs = [pair if isinstance(pair, (tuple, list)) else (pair, pair) for pair in pairs]
        return tuple((int(before), int(after)) for before, after in pairs)
    rows = np.broadcast_to(np.asarray(pad_width), (ndim, 2))
    return tuple((int(rows[k, 0]), int(rows[k, 1])) for k in range(ndim))


def rows_of(pad_width, ndim):
    """As `margins`, also of a width that is not known before the call."""
    if is_known(pad_width):
        return margins(pad_width, ndim)
    return np.broadcast_to(np.asarray(pad_width), (ndim, 2))


def inner(y_bar, pad_width, array):
    """The block of a padded array that is the array itself."""
    if np.ndim(array) == 0:
        return y_bar
    told = isinstance(pad_width, (int, np.integer, tuple, list, dict, np.ndarray))
    if not told or not is_known(np.ndim(array)):
        own = np.pad(np.ones(np.shape(array), bool), pad_width)
        return np.reshape(y_bar[own], np.shape(array))
    widths = margins(pad_width, np.ndim(array))
    if np.ndim(array) == 1:
        return y_bar[widths[0][0] : widths[0][0] + np.shape(array)[0]]
    lengths = np.shape(array)
    return y_bar[tuple(slice(w[0], w[0] + n) for w, n in zip(widths, lengths, strict=True))]


@adjoint(
    np.pad, active=("array", "constant_values", "end_values"),
    samples=lambda f, v, m, array: [
        f(v, 2), f(m, (1, 2)), f(m, ((1, 0), (2, 3))), f(m, 1, constant_values=0.5), f(m, {-1: 2}),
        f(m, ((1, 0), (2, 3)), constant_values=array(2, 2)), f(m, 2, constant_values=array(2)),
        *[f(m, ((2, 1), (1, 3)), mode=mode) for mode in (
            "edge", "reflect", "symmetric", "wrap", "mean", "maximum", "minimum", "median")],
        f(v, 2, "linear_ramp", end_values=0.5), f(m, ((2, 1), (0, 3)), mode="linear_ramp"),
        f(m, ((2, 1), (0, 3)), "linear_ramp", end_values=array(2, 2)),
        f(v, 2, mode="mean", stat_length=3),
        *[f(m, 1, mode, stat_length=((2, 1), (3, 2))) for mode in ("maximum", "median")],
        f(m, ((2, 1), (0, 7)), "reflect", reflect_type="odd"),
        f(v, (5, 1), "symmetric", reflect_type="odd"),
        f(m, 2, "linear_ramp", end_values=array(2))],
)  # fmt: skip
def pad(
    y_bar, y, array, pad_width, mode="constant", *, constant_values=0, end_values=0,
    stat_length=None, reflect_type="even",
):  # fmt: skip
    """The padding is constant, or copies of entries (found by padding their indices)."""
    if mode == "constant":
        array_bar, constant_bar = of_constant_mode(y_bar, array, pad_width, constant_values)
        return array_bar, constant_bar, None
    if mode == "empty":
        return inner(y_bar, pad_width, array), None, None
    if mode in ("edge", "wrap") or (mode in ("reflect", "symmetric") and reflect_type == "even"):
        places = np.ravel(np.pad(numbered(array), pad_width, mode))
        bar = add_at_repeated(np.zeros_like(np.ravel(array)), places, np.ravel(y_bar))
        return np.reshape(bar, np.shape(array)), None, None
    if not is_known(np.ndim(array)) or (isinstance(pad_width, dict) and not is_known(pad_width)):
        return PAD_WIDTH, PAD_WIDTH, PAD_WIDTH
    widths = rows_of(pad_width, np.ndim(array))
    if mode in ("reflect", "symmetric"):
        return of_odd_reflections(y_bar, array, widths, mode), None, None
    if mode == "mean":
        return of_means(y_bar, array, widths, stat_length), None, None
    if mode in ("maximum", "minimum", "median"):
        if may_be_complex(array):
            return ORDER, None, None
        return of_statistics(y_bar, y, array, widths, stat_length, mode), None, None
    if mode != "linear_ramp":
        return PAD_MODE, None, None
    array_bar, pairs = of_ramps(y_bar, array, widths)
    end_bar = np.sum(pairs) if np.ndim(end_values) == 0 else unbroadcast(pairs, end_values)
    return array_bar, None, end_bar


def of_constant_mode(y_bar, array, pad_width, constant_values):
    """The block of the array, and the sums of what is around it."""
    array_bar = inner(y_bar, pad_width, array)
    if np.ndim(constant_values) == 0:
        return array_bar, np.sum(y_bar) - np.sum(array_bar)
    if not is_known(np.ndim(array)) or (isinstance(pad_width, dict) and not is_known(pad_width)):
        return array_bar, PAD_WIDTH
    pairs = of_constants(y_bar, array, rows_of(pad_width, np.ndim(array)))
    return array_bar, unbroadcast(pairs, constant_values)


@tangent_of(np.pad)
def pad_tangent(
    array_dot, constant_dot, end_dot, y, array, pad_width, mode="constant", *, constant_values=0,
    end_values=0, stat_length=None, reflect_type="even",
):  # fmt: skip
    """The function itself, except for the modes that order the entries."""
    dot = np.zeros_like(array) if array_dot is None else array_dot
    if mode == "constant":
        if constant_dot is None:
            return np.pad(dot, pad_width)
        return np.pad(dot, pad_width, constant_values=constant_dot)
    if mode == "empty":
        return np.pad(dot, pad_width)
    if mode == "linear_ramp":
        if end_dot is None:
            return np.pad(dot, pad_width, mode)
        return np.pad(dot, pad_width, mode, end_values=end_dot)
    if mode in ("reflect", "symmetric"):
        return np.pad(dot, pad_width, mode, reflect_type=reflect_type)
    if mode in ("edge", "wrap"):
        return np.pad(dot, pad_width, mode)
    if mode == "mean":
        return np.pad(dot, pad_width, mode, stat_length=stat_length)
    if not is_known(np.ndim(array)) or (isinstance(pad_width, dict) and not is_known(pad_width)):
        return PAD_WIDTH
    widths = rows_of(pad_width, np.ndim(array))
    return tangent_of_statistics(dot, y, array, widths, stat_length, mode)


def of_constants(y_bar, array, widths):
    """The cotangents of one number before and one after each axis."""
    bar = y_bar
    pairs = []
    for k in range(np.ndim(array)):
        axis = np.ndim(array) - 1 - k
        n, first = np.shape(array)[axis], widths[axis][0]
        before, after = part(bar, 0, first, axis), part(bar, first + n, None, axis)
        pairs.append(np.stack((np.sum(before), np.sum(after))))
        bar = part(bar, first, first + n, axis)
    return np.stack(pairs[::-1])


# ------------------------------------------------------------------------ odd reflections
def of_odd_reflections(y_bar, array, widths, mode):
    """The transposes of all axes, which are independent of each other."""
    bar = y_bar
    for axis in range(np.ndim(array)):
        n = np.shape(array)[axis]
        if np.ndim(array) == 1:
            bar = of_odd_rows(bar, n, widths[axis], mode)
        else:
            rows = of_odd_rows(np.moveaxis(bar, axis, -1), n, widths[axis], mode)
            bar = np.moveaxis(rows, -1, axis)
    return bar


def of_odd_rows(bar, n, width, mode):
    """The transpose along the last axis.

    Each entry of the result is ``f a[0] + l a[n - 1] + (1 - f - l) a[p]``, where ``p`` is its place
    by even reflection, and ``f`` and ``l`` are found by padding the derivatives of the ends.
    """
    places = np.arange(n)
    at_first = np.astype(places == 0, bar.dtype)
    at_last = np.astype((places == n - 1) & (places > 0), bar.dtype)
    first = np.pad(at_first, width, mode, reflect_type="odd")
    last = np.pad(at_last, width, mode, reflect_type="odd")
    p = np.pad(places, width, mode)
    between = bar * (1 - first - last)
    if np.ndim(bar) == 1:
        inside = add_at_repeated(np.zeros_like(bar, shape=(n,)), p, between)
        return inside + (bar @ first) * at_first + (bar @ last) * at_last
    zeros = np.zeros_like(bar, shape=np.shape(bar)[:-1] + (n,))  # noqa: RUF005
    inside = add_at_repeated(zeros, (..., p), between)
    return inside + (bar @ first)[..., None] * at_first + (bar @ last)[..., None] * at_last


# ------------------------------------------------------------------------ statistics
def of_statistics(y_bar, y, array, widths, stat_length, mode):
    """Before and after each axis is a statistic of its first and of its last entries."""
    bar, whole = y_bar, y
    for k in range(np.ndim(array)):
        axis = np.ndim(array) - 1 - k
        n, first = np.shape(array)[axis], widths[axis][0]
        before = np.sum(part(bar, 0, first, axis), axis=axis, keepdims=True)
        after = np.sum(part(bar, first + n, None, axis), axis=axis, keepdims=True)
        bar, whole = part(bar, first, first + n, axis), part(whole, first, first + n, axis)
        if stat_length is None:
            bar = bar + (before + after) * shares(whole, axis, mode)
        else:
            left, right = lengths(stat_length, np.ndim(array), axis, n)
            bar = bar + before * shares_of_first(whole, left, axis, mode)
            bar = bar + after * shares_of_last(whole, right, axis, mode)
    return bar


def tangent_of_statistics(array_dot, y, array, widths, stat_length, mode):
    """The sums of the entries' tangents times their shares, axis by axis."""
    dot = array_dot
    for axis in range(np.ndim(array)):
        n, (first, last) = np.shape(array)[axis], widths[axis]
        whole = y
        for k in range(axis, np.ndim(array)):
            start = widths[k][0]
            whole = part(whole, start, start + np.shape(array)[k], k)
        if stat_length is None:
            share = shares(whole, axis, mode)
            before = np.sum(dot * share, axis=axis, keepdims=True)
            after = before
        else:
            left, right = lengths(stat_length, np.ndim(array), axis, n)
            share = shares_of_first(whole, left, axis, mode)
            before = np.sum(dot * share, axis=axis, keepdims=True)
            share = shares_of_last(whole, right, axis, mode)
            after = np.sum(dot * share, axis=axis, keepdims=True)
        before, after = np.repeat(before, first, axis), np.repeat(after, last, axis)
        dot = np.concatenate((before, dot, after), axis)
    return dot


def lengths(stat_length, ndim, axis, n):
    """How many of the first, and of the last of `n` entries are taken."""
    first, last = rows_of(stat_length, ndim)[axis]
    return min(first, n), min(last, n)


def shares_of_first(a, count, axis, mode):
    """The shares in a statistic of the first entries along an axis; 0 of the others."""
    first, others = part(a, 0, count, axis), part(a, count, None, axis)
    return np.concatenate((shares(first, axis, mode), np.zeros_like(others)), axis)


def shares_of_last(a, count, axis, mode):
    """The shares in a statistic of the last entries along an axis; 0 of the others."""
    start = np.shape(a)[axis] - count
    others, last = part(a, 0, start, axis), part(a, start, None, axis)
    return np.concatenate((np.zeros_like(others), shares(last, axis, mode)), axis)


def shares(a, axis, mode):
    """The derivative of a statistic along an axis by each entry; extremes that tie share."""
    if mode == "median":
        order = np.argsort(a, axis=axis, kind="stable")
        rank = np.argsort(order, axis=axis)
        n = np.shape(a)[axis]
        low = np.astype(rank == (n - 1) // 2, a.dtype)
        return 0.5 * (low + np.astype(rank == n // 2, a.dtype))
    if mode == "maximum":
        extreme = np.max(a, axis=axis, keepdims=True)
    else:
        extreme = np.min(a, axis=axis, keepdims=True)
    owners = np.astype((a == extreme) | (a != a), a.dtype)
    return owners / np.sum(owners, axis=axis, keepdims=True)


# ------------------------------------------------------------------------ means and ramps
def of_means(y_bar, array, widths, stat_length):
    """Before and after each axis is the mean of its first and of its last entries.

    The axes are padded in order, so their transposes come in opposite order.
    """
    bar = y_bar
    for k in range(np.ndim(array)):
        axis = np.ndim(array) - 1 - k
        n, first = np.shape(array)[axis], widths[axis][0]
        before = np.sum(part(bar, 0, first, axis), axis=axis, keepdims=True)
        after = np.sum(part(bar, first + n, None, axis), axis=axis, keepdims=True)
        inside = part(bar, first, first + n, axis)
        if stat_length is None:
            bar = inside + (before + after) / n
        else:
            lengths = rows_of(stat_length, np.ndim(array))[axis]
            left, right = min(lengths[0], n), min(lengths[1], n)
            places = np.reshape(np.arange(n), turned(axis, np.ndim(array)))
            bar = inside + before / left * (places < left) + after / right * (places >= n - right)
    return bar


def of_ramps(y_bar, array, widths):
    """Before and after each axis are ramps between its ends and a pair of numbers."""
    bar = y_bar
    pairs = []
    for k in range(np.ndim(array)):
        axis = np.ndim(array) - 1 - k
        n, (first, last) = np.shape(array)[axis], widths[axis]
        shape = turned(axis, np.ndim(array))
        rise = np.reshape(np.linspace(0, 1, first, False, dtype=bar.dtype), shape)
        fall = np.flip(np.reshape(np.linspace(0, 1, last, False, dtype=bar.dtype), shape), axis)
        before, after = part(bar, 0, first, axis), part(bar, first + n, None, axis)
        pairs.append(np.stack((np.sum(before * (1 - rise)), np.sum(after * (1 - fall)))))
        places = np.reshape(np.arange(n), shape)
        before = np.sum(before * rise, axis=axis, keepdims=True)
        after = np.sum(after * fall, axis=axis, keepdims=True)
        inside = part(bar, first, first + n, axis)
        bar = inside + before * (places == 0) + after * (places == n - 1)
    return bar, np.stack(pairs[::-1]) if len(pairs) > 0 else np.zeros((0, 2))


@static
def turned(k, rank):
    """The shape of a vector on axis `k` of an array."""
    return (*(1,) * k, -1, *(1,) * (rank - k - 1))
