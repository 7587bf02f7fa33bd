"""Methods of ufuncs along an axis that have a formula of their own.

The front end reads ``np.add.reduce`` and others as the function of NumPy that does the same.
"""

import numpy as np

from srcad.rules.declare import adjoint, linear
from srcad.rules.reduction import kept, selected
from srcad.rules.writes import add_at_repeated


# ------------------------------------------------------------------------ reductions
@adjoint(
    np.logaddexp.reduce, active=("array", "initial"),
    samples=lambda f, v, m, t, where: [
        f(v), f(t), f(t, -1, keepdims=True), f(t, None), f(t, axis=(0, 2)),
        f(m, axis=1, where=where), f(m, 0, initial=0.5), f(v[:1])],
    kinks=lambda f: [
        (f([-np.inf, -np.inf]), [0, 0]), (f([-np.inf, 0]), [0, 1]), (f([np.inf, 0]), [1, 0])],
)  # fmt: skip
def logaddexp_reduce(
    y_bar, y, array, axis=0, dtype=None, *, keepdims=False, initial=None, where=None
):
    """``array_bar = y_bar exp(array - y)``."""
    shares = np.exp(below(array, kept(y, array, axis, keepdims)))
    initial_bar = None if initial is None else np.sum(y_bar * np.exp(below(initial, y)))
    return selected(kept(y_bar, array, axis, keepdims) * shares, where), initial_bar


@adjoint(
    np.logaddexp2.reduce, active=("array", "initial"),
    samples=lambda f, v, m, t, where: [
        f(v), f(t), f(t, -1, keepdims=True), f(t, None), f(t, axis=(0, 2)),
        f(m, axis=1, where=where), f(m, 0, initial=0.5), f(v[:1])],
    kinks=lambda f: [
        (f([-np.inf, -np.inf]), [0, 0]), (f([-np.inf, 0]), [0, 1]), (f([np.inf, 0]), [1, 0])],
)  # fmt: skip
def logaddexp2_reduce(
    y_bar, y, array, axis=0, dtype=None, *, keepdims=False, initial=None, where=None
):
    """``array_bar = y_bar 2**(array - y)``."""
    shares = np.exp2(below(array, kept(y, array, axis, keepdims)))
    initial_bar = None if initial is None else np.sum(y_bar * np.exp2(below(initial, y)))
    return selected(kept(y_bar, array, axis, keepdims) * shares, where), initial_bar


def below(a, total):
    """``a - total``; 0 for inf, and -inf for -inf, also where all entries are infinite."""
    return np.where(a == np.inf, 0.0, a - np.where(total == -np.inf, 0.0, total))


@adjoint(
    np.hypot.reduce, active=("array", "initial"),
    samples=lambda f, v, m, t, where: [
        f(v), f(t), f(t, -1, keepdims=True), f(t, None), f(t, axis=(0, 2)),
        f(m, axis=1, where=where), f(m, 0, initial=0.5), f(v[:1])],
    kinks=lambda f: [(f([0, 0]), [0, 0])],
)  # fmt: skip
def hypot_reduce(y_bar, y, array, axis=0, dtype=None, *, keepdims=False, initial=None, where=None):
    """``array_bar = y_bar array / y``; 0 where all entries are 0."""
    length = y + (y == 0)
    initial_bar = None if initial is None else np.sum(y_bar * initial / length)
    bar = kept(y_bar, array, axis, keepdims) * array / kept(length, array, axis, keepdims)
    return selected(bar, where), initial_bar


# ------------------------------------------------------------------------ running extremes
@adjoint(
    np.maximum.accumulate, np.minimum.accumulate, real_only=True, entries="running",
    samples=lambda f, v, m, t: [f(v), f(m), f(m, -1), f(t, 1), f(v[:1])],
    kinks=lambda f: [(f([1, 1, 1]), [1, 1, 1]), (f([1, np.nan, 0]), [1, 2, 0])],
)  # fmt: skip
def running_extreme(y_bar, y, array, axis=0, dtype=None):
    """The last entry so far that is equal to a result gets its cotangent; after a nan, the nan."""
    return to_owners(y_bar, array, (array == y) | (array != array), axis)


@adjoint(
    np.fmax.accumulate, np.fmin.accumulate, real_only=True, entries="running", nan="left out",
    samples=lambda f, v, m, t: [f(v), f(m), f(m, -1), f(t, 1), f(v[:1])],
    kinks=lambda f: [
        (f([1, 1, 1]), [1, 1, 1]), (f([1, np.nan, np.nan]), [3, 0, 0]),
        (f([np.nan, 2, np.nan]), [1, 2, 0])],
)  # fmt: skip
def running_extreme_of_numbers(y_bar, y, array, axis=0, dtype=None):
    """The last entry equal to a result gets its cotangent; a nan only before any number."""
    return to_owners(y_bar, array, (array == y) | (y != y), axis)


def to_owners(y_bar, array, owns, axis):
    """Add each cotangent to the last entry up to it with `owns` True."""
    if np.ndim(array) == 1:
        owners = np.maximum.accumulate(np.where(owns, np.arange(np.size(array)), 0))
        return add_at_repeated(np.zeros_like(array), owners, y_bar)
    places = np.moveaxis(np.reshape(np.arange(np.size(array)), np.shape(array)), axis, 0)
    first = places[:1]
    owners = np.maximum.accumulate(np.where(np.moveaxis(owns, axis, 0), places, first))
    bar = add_at_repeated(np.zeros_like(np.ravel(array)), owners, np.moveaxis(y_bar, axis, 0))
    return np.reshape(bar, np.shape(array))


# ------------------------------------------------------------------------ sums of segments
@linear(
    np.add.reduceat, active=("array",),
    samples=lambda f, v, m, t: [
        f(v, [0, 2]), f(v, [1, 3, 0, 0]), f(v, np.array([2])), f(m, [0, 1], 0), f(m, [1, 3], -1),
        f(t, [0, 2, 1], axis=1)],
)  # fmt: skip
def add_reduceat(y_bar, array, indices, axis=0, dtype=None):
    """Each entry gets the cotangents of the segments that it belongs to, perhaps several."""
    starts = np.asarray(indices)
    counts = np.maximum(np.append(starts[1:], np.shape(array)[axis]) - starts, 1)
    before = np.cumsum(counts) - counts
    places = np.repeat(starts - before, counts) + np.arange(np.sum(counts))
    if np.ndim(array) == 1:
        return add_at_repeated(np.zeros_like(array), places, np.repeat(y_bar, counts))
    zero = np.zeros_like(np.moveaxis(array, axis, 0))
    bars = np.repeat(np.moveaxis(y_bar, axis, 0), counts, axis=0)
    return np.moveaxis(add_at_repeated(zero, places, bars), 0, axis)
