"""Products, running sums and products, and differences between neighbours."""

import math

import numpy as np

from srcad.rules.conjugates import conj
from srcad.rules.declare import adjoint, linear
from srcad.rules.reduction import kept, selected, taking_part
from srcad.rules.shape import flattened, ones, part, unflattened
from srcad.runtime import unbroadcast


# ------------------------------------------------------------------------ running sums
@linear(
    np.cumsum,
    rounds="in dtype of out",
    method="cumsum",
    order="keeps",
    entries="running",
    samples=lambda f, m: [f(m), f(m, 0), f(m, -1), f(m, 1), f(m[0])],
)
def cumsum(y_bar, a, axis=None, dtype=None):
    if np.ndim(a) == 1:
        return np.cumsum(y_bar[::-1])[::-1]
    if axis is None or np.ndim(a) == 0:
        return np.reshape(np.cumsum(y_bar[::-1])[::-1], np.shape(a))
    return np.flip(np.cumsum(np.flip(y_bar, axis), axis), axis)


@adjoint(
    np.nancumsum,
    rounds="in dtype of out",
    entries="running",
    nan="left out",
    samples=lambda f, m: [f(m), f(m, 0), f(m, -1), f(m, 1)],
)
def nancumsum(y_bar, y, a, axis=None, dtype=None):
    """At nan: 0."""
    return np.where(np.isnan(a), 0.0, cumsum(y_bar, a, axis))


if hasattr(np, "cumulative_sum"):  # NumPy 2.1

    @linear(
        np.cumulative_sum,
        entries="running",
        samples=lambda f, v, m: [f(v), f(m, axis=0), f(m, axis=-1, include_initial=True)],
    )
    def cumulative_sum(y_bar, x, *, axis=None, dtype=None, include_initial=False):
        """As `np.cumsum`, perhaps after a first 0."""
        along = 0 if axis is None else axis
        return cumsum(part(y_bar, 1, None, along) if include_initial else y_bar, x, axis)


# ------------------------------------------------------------------------ differences
@linear(
    np.ediff1d, active=("ary", "to_end", "to_begin"),
    samples=lambda f, v, m, array: [
        f(m), f(v, 0.5), f(v, array(2), array(3)), f(v, to_begin=0.7), f(v[:1])],
)  # fmt: skip
def ediff1d(y_bar, ary, to_end=None, to_begin=None):
    """Differences of all entries, between what is put before and after them."""
    start = 0 if to_begin is None else np.size(to_begin)
    stop = start + np.maximum(np.size(ary) - 1, 0)
    zero = np.zeros_like(np.ravel(ary)[:1])
    bar = np.reshape(backward(zero, y_bar[start:stop], 0), np.shape(ary))
    end_bar = None if to_end is None else np.reshape(y_bar[stop:], np.shape(to_end))
    begin_bar = None if to_begin is None else np.reshape(y_bar[:start], np.shape(to_begin))
    return bar, end_bar, begin_bar


@linear(
    np.diff, order="keeps", memory={"n": (0,)}, active=("a", "prepend", "append"),
    samples=lambda f, v, m, t, array: [
        f(m), f(m, 2), f(t, 1, 0), f(t, 2, 1), f(v, prepend=0.5),
        f(v, append=array(4), prepend=array(2)), f(m, 1, 0, append=array(1, 4)),
        f(v, 3, append=1.5), f(v, 6), f(v, prepend=0.5, append=1.5)],
)  # fmt: skip
def diff(y_bar, a, n=1, axis=-1, prepend=None, append=None):
    """The transpose of a difference is minus the difference of the cotangent between zeros."""
    if prepend is None and append is None:
        zero = np.zeros_like(part(a, None, 1, axis))
        if n == 1:
            return backward(zero, y_bar, axis), None, None
    else:  # the array may be empty, what is put before and after it has differences
        zero = np.zeros_like(np.sum(y_bar, axis=axis, keepdims=True))
    bar = y_bar
    for _ in range(n):
        bar = backward(zero, bar, axis)
    start = 0 if prepend is None else length(prepend, axis)
    stop = start + np.shape(a)[axis]
    if prepend is None and append is None:
        return part(bar, 0, stop, axis), None, None
    if append is None:
        return part(bar, start, stop, axis), unbroadcast(part(bar, 0, start, axis), prepend), None
    end = stop + length(append, axis)
    append_bar = unbroadcast(part(bar, stop, end, axis), append)
    if prepend is None:
        return part(bar, 0, stop, axis), None, append_bar
    prepend_bar = unbroadcast(part(bar, 0, start, axis), prepend)
    return part(bar, start, stop, axis), prepend_bar, append_bar


def backward(zero, y_bar, axis):
    """The transpose of one difference."""
    if np.ndim(y_bar) == 1:
        return -np.diff(np.concatenate((zero, y_bar, zero)))
    return -np.diff(np.concatenate((zero, y_bar, zero), axis), axis=axis)


def length(array, axis):
    """The length along an axis of what is put before or after an array; a number counts once."""
    return 1 if np.ndim(array) == 0 else np.shape(array)[axis]


# ------------------------------------------------------------------------ products
@adjoint(
    np.prod, rounds="in dtype of out", method="prod", order="keeps", entries="reduced",
    active=("a", "initial"),
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where),
        f(m, axis=None, keepdims=True), f(np.array([0, 2.0, 3])), f(m, initial=0.5),
        f(m, 1, initial=-1.5, where=where)],
    kinks=lambda f: [(f([0, 2, 3]), [6, 0, 0]), (f([0, 0, 3]), [0, 0, 0])],
)  # fmt: skip
def prod(y_bar, y, a, axis=None, dtype=None, *, keepdims=False, initial=None, where=None):
    """Each entry's partial is the product of the others: never ``y / a``, so zeros are right."""
    factors = conj(a if where is None else np.where(where, a, 1))
    initial_bar = None
    if initial is not None:
        initial_bar = np.sum(y_bar * np.prod(factors, axis, keepdims=keepdims))
        y_bar = y_bar * conj(initial)
    bar = kept(y_bar, a, axis, keepdims)
    if np.ndim(a) == 1:
        rest = others(factors)
    elif axis is None or np.ndim(a) == 0:
        rest = np.reshape(others(np.ravel(factors)), np.shape(a))
    elif isinstance(axis, (int, np.integer)):
        rest = np.moveaxis(others(np.moveaxis(factors, axis, -1)), -1, axis)
    else:
        rest = unflattened(others(flattened(factors, axis)), a, axis)
    return selected(bar * rest, where), initial_bar


@adjoint(
    np.nanprod, rounds="in dtype of out", entries="reduced", nan="left out",
    active=("a", "initial"),
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, axis=(0, 2)), f(m, axis=1, where=where),
        f(m, 0, initial=0.5)],
    kinks=lambda f: [(f([2, math.nan, 3]), [3, 0, 2])],
)  # fmt: skip
def nanprod(y_bar, y, a, axis=None, dtype=None, *, keepdims=False, initial=None, where=None):
    """At nan: 0."""
    numbers = taking_part(np.logical_not(np.isnan(a)), where)
    return prod(
        y_bar, y, np.where(numbers, a, 1.0), axis,
        keepdims=keepdims, initial=initial, where=numbers,
    )  # fmt: skip


def others(a):
    """The product of all other entries, along the last axis."""
    if np.ndim(a) == 1:
        return before(a) * before(a[::-1])[::-1]
    return before(a) * np.flip(before(np.flip(a, -1)), -1)


def before(a):
    """The product of all entries before each, along the last axis."""
    if np.ndim(a) == 1:
        return np.concatenate((np.ones_like(a[:1]), np.cumprod(a[:-1])))
    ones = np.ones_like(a[..., :1])
    return np.concatenate((ones, np.cumprod(a[..., :-1], -1)), -1)


@adjoint(
    np.cumprod,
    rounds="in dtype of out",
    method="cumprod",
    order="keeps",
    entries="running",
    samples=lambda f, m: [f(m), f(m, 0), f(m, -1), f(m, 1), f(np.array([2.0, 0, 3, 0]))],
)
def cumprod(y_bar, y, a, axis=None, dtype=None):
    """``y[i] = a[0] .. a[i]``: one sweep from the end, without division, so zeros are right."""
    a = conj(a)
    if np.ndim(a) == 1:
        return before(a) * swept(y_bar, a)
    if axis is None or np.ndim(a) == 0:
        return np.reshape(before(np.ravel(a)) * swept(y_bar, np.ravel(a)), np.shape(a))
    sums = swept(np.moveaxis(y_bar, axis, 0), np.moveaxis(a, axis, 0))
    return np.moveaxis(before(np.moveaxis(a, axis, -1)), -1, axis) * np.moveaxis(sums, 0, axis)


if hasattr(np, "cumulative_prod"):  # NumPy 2.1

    @adjoint(
        np.cumulative_prod,
        entries="running",
        samples=lambda f, v, m: [f(v), f(m, axis=0), f(m, axis=-1, include_initial=True)],
    )
    def cumulative_prod(y_bar, y, x, *, axis=None, dtype=None, include_initial=False):
        """As `np.cumprod`, perhaps after a first 1."""
        along = 0 if axis is None else axis
        if include_initial:
            y_bar = part(y_bar, 1, None, along)
        return cumprod(y_bar, y, x, axis)


@adjoint(
    np.nancumprod,
    rounds="in dtype of out",
    entries="running",
    nan="left out",
    samples=lambda f, m: [f(m), f(m, 0), f(m, -1), f(np.array([2.0, 0, 3, 0]))],
)
def nancumprod(y_bar, y, a, axis=None, dtype=None):
    """At nan: 0."""
    is_nan = np.isnan(a)
    return np.where(is_nan, 0.0, cumprod(y_bar, y, np.where(is_nan, 1.0, a), axis))


def swept(y_bar, a):
    """Along the first axis, ``s[i] = y_bar[i] + a[i + 1] * s[i + 1]``."""
    later = np.zeros_like(np.sum(y_bar, axis=0))
    sums = [later]
    for x, g in zip(a[::-1], y_bar[::-1], strict=True):
        here = g + later
        later = x * here
        sums.append(here)
    return np.reshape(np.array(sums)[1:], np.shape(a))[::-1]


# ------------------------------------------------------------------------ integrals
@adjoint(
    np.trapezoid, active=("y", "x", "dx"),
    samples=lambda f, v, m, t, array: [
        f(v), f(m, dx=0.7, axis=0), f(m, v), f(m, array(3, 4)), f(t, array(3), axis=1),
        f(t, array(3, 4)), f(m, np.arange(4)), f(t, np.arange(3), 1.0, axis=1)],
)  # fmt: skip
def trapezoid(y_bar, integral, y, x=None, dx=1.0, axis=-1):
    """The sum of ``width / 2 * (left + right)``; points on one axis, in `x` or at distance `dx`."""
    return from_intervals(0.5 * np.expand_dims(y_bar, axis), y, x, dx, axis)


def from_intervals(g, y, x, dx, axis):
    """The cotangents from `g`, half of those of the areas over the intervals."""
    pairs = part(y, 1, None, axis) + part(y, None, -1, axis)
    if x is None:
        widths = dx
    elif np.ndim(x) == 1:
        shape = ones(np.ndim(y) - 1) + (-1,)  # noqa: RUF005 - perhaps not known
        widths = np.moveaxis(np.reshape(np.diff(x), shape), -1, axis)
    else:
        widths = np.diff(x, axis=axis)
    share = np.broadcast_to(g * conj(widths), np.shape(pairs))
    zero = np.zeros_like(part(y, None, 1, axis))
    bar = np.concatenate((share, zero), axis) + np.concatenate((zero, share), axis)
    if x is None:
        return bar, None, np.sum(g * conj(pairs))
    pairs = conj(pairs)
    if np.ndim(x) > 1:
        widths_bar = unbroadcast(g * pairs, widths)
        return bar, backward(np.zeros_like(part(x, None, 1, axis)), widths_bar, axis), None
    widths_bar = unbroadcast(np.moveaxis(g * pairs, axis, -1), np.diff(x))
    return bar, backward(np.zeros_like(x[:1]), widths_bar, -1), None


# ------------------------------------------------------------------------ jumps
@adjoint(
    np.unwrap, active=("p", "period"),
    samples=lambda f, v, m: [
        f(9 * v), f(9 * m, axis=0), f(9 * m, 1.0, 1, period=3.0), f(9 * v, discont=4.0)],
)  # fmt: skip
def unwrap(y_bar, y, p, discont=None, axis=-1, *, period=2 * math.pi):
    """Periods are added, as many as are between `y` and `p`."""
    return y_bar, np.sum(y_bar * np.round((y - p) / period))
