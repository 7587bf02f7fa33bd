"""Reading entries: ``x[index]``, take, diagonals and triangles.

The cotangent of a read is zeros with the read's cotangent added at the index.  `add_at` is
``x_bar[index] += y_bar``; `add_at_repeated` is for arrays of positions, which may name a place
twice.
"""

import operator

import numpy as np

from srcad.rules.declare import linear, nondifferentiable
from srcad.rules.registry import static
from srcad.rules.row import Result
from srcad.rules.shape import ones
from srcad.rules.writes import add_at, add_at_repeated, updated
from srcad.runtime import has_same_numbers, last_writes, unbroadcast


@static
def names_places_twice(index):
    """Return True if an index has arrays or lists of positions in it."""
    if isinstance(index, tuple):
        return any(names_places_twice(item) for item in index)
    if isinstance(index, (list, np.ndarray)):
        return np.asarray(index).dtype.kind != "b"
    return False


@linear(
    operator.getitem,
    entries="moved",
    selects="index",
    memory="shared",
    samples=lambda f, m, mask, array: [
        f(m, 1), f(m, -1), f(m, slice(1, 3)), f(m, slice(None, None, -2)), f(m, (slice(None), 1)),
        f(m, (Ellipsis, 1)), f(m, (None, slice(0, 2))), f(m, (1, 2)), f(m, [0, 0, 2]),
        f(m, np.array([0, 2, 2, 0, 1])), f(m, np.array([[0, 1], [2, 2]])),
        f(m, ([0, 1, 1], [1, 2, 2])), f(m, (slice(None), [0, 3, 0])), f(m, np.ix_([0, 2], [1, 3])),
        f(m, (1, [0, 2, 2])), f(m, Ellipsis), f(m, m > 0), f(m, mask[:3]),
        f(m, (slice(None), mask)), f(m, np.int64(2)), f(m, ()), f(array(), ())],
)  # fmt: skip
def getitem(y_bar, a, index):
    if names_places_twice(index):
        return add_at_repeated(np.zeros_like(a), index, y_bar), None
    return add_at(np.zeros_like(a), index, y_bar), None


# ------------------------------------------------------------------------ writes
@linear(updated, samples=())
def updated_(y_bar, array, index, value):
    """``array[index] = value``: what was overwritten gets no cotangent."""
    value_bar = y_bar[index]
    if names_places_twice(index):
        value_bar = value_bar * last_writes(y_bar, index)
    return updated(y_bar, index, 0.0), None, unbroadcast(value_bar, value)


nondifferentiable(last_writes, has_same_numbers)


@linear(add_at, add_at_repeated, samples=())
def add_at_(y_bar, array, index, value):
    """``array[index] += value``."""
    return y_bar, None, unbroadcast(y_bar[index], value)


# ------------------------------------------------------------------------ positions
@static
def whole(count):
    """`count` times ``:``."""
    return (slice(None),) * count


def at(places, axis, ndim):
    """The index of places along one axis."""
    return whole(axis % ndim) + (places,)  # noqa: RUF005 - perhaps not known


@linear(
    np.take, rounds="exactly",
    entries="moved", order="C", selects="indices",
    samples=lambda f, v, m, t: [
        f(v, [0, 0, 3]), f(m, np.array([0, 2, 2, 0, 1]), 0),
        f(m, np.array([0, 2, 2, 0, 1]), axis=1), f(m, [[0, 5], [5, 11]]), f(t, [0, -1, 0], axis=-1),
        f(t, 1, -2), f(v, [0, 5, -9], mode="wrap"), f(v, [0, 5, -9], mode="clip")],
)  # fmt: skip
def take(y_bar, a, indices, axis=None, *, mode="raise"):
    known = isinstance(indices, (int, np.integer, np.ndarray, list))
    places = indices if known else np.asarray(indices)
    if mode != "raise":
        n = np.size(a) if axis is None or np.ndim(a) == 0 else np.shape(a)[axis]
        places = np.mod(indices, n) if mode == "wrap" else np.clip(indices, 0, n - 1)
    if np.ndim(a) == 1 or (axis == 0 and np.ndim(a) > 0):
        return add_at_repeated(np.zeros_like(a), places, y_bar), None
    if axis is None or np.ndim(a) == 0:
        flat = np.zeros_like(np.ravel(a))
        return np.reshape(add_at_repeated(flat, places, y_bar), np.shape(a)), None
    return add_at_repeated(np.zeros_like(a), at(places, axis, np.ndim(a)), y_bar), None


@linear(
    np.take_along_axis,
    entries="moved", samples=lambda f, m, t: [
        f(m, np.argsort(m, 1), 1), f(m, np.array([[0], [0], [1]]), 1),
        f(t, np.array([[[0], [0], [1]]]), 0), f(m, np.array([1, 1]), None)],
)  # fmt: skip
def take_along_axis(y_bar, arr, indices, axis=-1):
    if axis is None:
        flat = np.zeros_like(np.ravel(arr))
        return np.reshape(add_at_repeated(flat, indices, y_bar), np.shape(arr)), None
    return add_at_repeated(np.zeros_like(arr), along(indices, np.shape(arr), axis), y_bar), None


def along(indices, shape, axis):
    """The full index of positions along one axis: every other axis names its own place."""
    own = axis % len(shape)
    return tuple(
        indices if k == own else np.reshape(np.arange(n), turned(k, len(shape)))
        for k, n in enumerate(shape)
    )


@static
def turned(k, rank):
    """The shape of a vector on axis `k` of an array."""
    return (*(1,) * k, -1, *(1,) * (rank - k - 1))


@linear(
    np.compress,
    rounds="exactly",
    order="C",
    entries="moved",
    selects="condition",
    result=Result(any_lengths=True),
    samples=lambda f, v, m, mask: [f(mask, v), f([True, False, True], m, 0), f(mask, m, axis=-1)],
)
def compress(y_bar, condition, a, axis=None):
    places = np.flatnonzero(condition)
    if axis is None or np.ndim(a) == 0:
        flat = add_at(np.zeros_like(np.ravel(a)), places, y_bar)
        return None, np.reshape(flat, np.shape(a))
    return None, add_at(np.zeros_like(a), at(places, axis, np.ndim(a)), y_bar)


@linear(
    np.extract,
    entries="moved",
    selects="condition",
    result=Result(any_lengths=True),
    samples=lambda f, m: [f(m > 0, m)],
)
def extract(y_bar, condition, arr):
    places = np.flatnonzero(condition)
    return None, np.reshape(add_at(np.zeros_like(np.ravel(arr)), places, y_bar), np.shape(arr))


@linear(
    np.delete,
    entries="moved",
    selects="obj",
    samples=lambda f, v, m: [f(v, 1), f(m, [0, 2], 0), f(m, [0, 2])],
)
def delete(y_bar, arr, obj, axis=None):
    """The entries that stay are found by deleting from their numbers."""
    if axis is None:
        places = np.delete(np.arange(np.size(arr)), obj)
        flat = add_at(np.zeros_like(np.ravel(arr)), places, y_bar)
        return np.reshape(flat, np.shape(arr)), None
    places = np.delete(np.arange(np.shape(arr)[axis]), obj)
    return add_at(np.zeros_like(arr), at(places, axis, np.ndim(arr)), y_bar), None


@linear(
    np.insert,
    entries="moved", samples=lambda f, v, m, array: [
        f(v, 1, 0.5), f(v, [1, 1, 3], array(3)), f(m, 1, array(4), axis=0), f(m, [0, 2], 0.5, 1),
        f(m, 2, 0.3), f(m, [0, 2], array(3, 2), axis=1), f(v, [3, 1], array(2)),
        f(m, 1, array(3), axis=1), f(v, 2, array(3))],
)  # fmt: skip
def insert(y_bar, arr, obj, values, axis=None):
    """The places are found by inserting -1, -2 and so on into the numbers of the old entries."""
    n = np.size(arr) if axis is None else np.shape(arr)[axis]
    count = (np.size(y_bar) if axis is None else np.shape(y_bar)[axis]) - n
    places = np.argsort(np.insert(np.arange(n), obj, -1 - np.arange(count)))
    new, old = places[:count][::-1], places[count:]
    if axis is None:
        return np.reshape(y_bar[old], np.shape(arr)), None, written(y_bar[new], values)
    arr_bar = y_bar[at(old, axis, np.ndim(arr))]
    values_bar = y_bar[at(new, axis, np.ndim(arr))]
    if np.ndim(obj) == 0:
        values_bar = np.moveaxis(values_bar, axis, 0)
    return arr_bar, None, written(values_bar, values)


def written(bar, values):
    """The cotangent of values that were broadcast; they may have further axes of length 1."""
    if np.ndim(values) > np.ndim(bar):
        bar = np.reshape(bar, ones(np.ndim(values) - np.ndim(bar)) + np.shape(bar))
    return unbroadcast(bar, values)


# ------------------------------------------------------------------------ diagonals
def on_diagonal(a, y_bar, offset):
    """Zeros like `a` with `y_bar` on a diagonal of the last two axes (of any two lengths)."""
    steps = np.arange(np.shape(y_bar)[-1])
    rows = steps - offset if offset < 0 else steps
    columns = steps + offset if offset > 0 else steps
    if np.ndim(a) == 2:
        return add_at(np.zeros_like(a), (rows, columns), y_bar)
    return add_at(np.zeros_like(a), (Ellipsis, rows, columns), y_bar)


@linear(
    np.diag,
    entries="moved", adds_zeros=True, memory="read-only view", samples=lambda f, v, m, square: [
        *[f(x, k) for x in (v, m, m.T, square(3)) for k in (0, 1, -1)], f(v)],
)  # fmt: skip
def diag(y_bar, v, k=0):
    if np.ndim(v) == 1:
        return np.diagonal(y_bar) if k == 0 else np.diagonal(y_bar, k)
    if k == 0 and v.shape[0] == v.shape[1]:
        return np.diag(y_bar)
    return on_diagonal(v, y_bar, k)


@linear(
    np.diagflat,
    order="C",
    entries="moved",
    adds_zeros=True,
    samples=lambda f, array: [f(array(2, 2), 1)],
)
def diagflat(y_bar, v, k=0):
    return np.reshape(np.diagonal(y_bar, k), np.shape(v))


@linear(
    np.diagonal,
    method="diagonal",
    entries="moved", memory="read-only view", samples=lambda f, m, t: [
        *[f(x, offset=k) for x in (m, m.T, t) for k in (0, 1, -1)], f(t, 0, 2, 0), f(m, 1, 1, 0)],
)  # fmt: skip
def diagonal(y_bar, a, offset=0, axis1=0, axis2=1):
    if np.ndim(a) == 2 and axis1 == 0 and axis2 == 1:
        return on_diagonal(a, y_bar, offset)
    bar = on_diagonal(np.moveaxis(a, (axis1, axis2), (-2, -1)), y_bar, offset)
    return np.moveaxis(bar, (-2, -1), (axis1, axis2))


@linear(
    np.linalg.diagonal,
    entries="moved",
    memory="read-only view",
    samples=lambda f, t: [f(t, offset=1)],
)
def last_diagonal(y_bar, x, *, offset=0):
    return on_diagonal(x, y_bar, offset)


@linear(
    np.trace,
    method="trace",
    samples=lambda f, m, t: [
        *[f(x, offset=k) for x in (m, m.T, t) for k in (0, 1)], f(t, 1, 2, 0), f(m, 1, 1, 0)],
)  # fmt: skip
def trace(y_bar, a, offset=0, axis1=0, axis2=1):
    ones = diagonal_mask(np.shape(a)[axis1], np.shape(a)[axis2], offset)
    if np.ndim(a) == 2 and axis1 == 0 and axis2 == 1:
        return y_bar * ones
    if np.ndim(a) == 2:
        return y_bar * ones.T
    return np.moveaxis(np.expand_dims(y_bar, (-2, -1)) * ones, (-2, -1), (axis1, axis2))


@linear(np.linalg.trace, samples=lambda f, m, t: [f(t), f(m, offset=1)])
def last_trace(y_bar, x, *, offset=0):
    ones = diagonal_mask(np.shape(x)[-2], np.shape(x)[-1], offset)
    return np.expand_dims(y_bar, (-2, -1)) * ones


def diagonal_mask(rows, columns, offset):
    """True on one diagonal; a mask of bools keeps the dtype of what it multiplies."""
    if offset == 0:
        return np.eye(rows, columns, dtype=bool)
    return np.eye(rows, columns, offset, dtype=bool)


# ------------------------------------------------------------------------ triangles
@linear(
    np.tril,
    order="keeps",
    entries="moved",
    adds_zeros=True,
    selects="shape",
    samples=lambda f, v, t: [f(t[0]), f(t, -1), f(v, 1)],
)
def tril(y_bar, m, k=0):
    """A vector is repeated as rows first."""
    return unbroadcast(np.tril(y_bar) if k == 0 else np.tril(y_bar, k), m)


@linear(
    np.triu,
    order="keeps",
    entries="moved",
    adds_zeros=True,
    selects="shape",
    samples=lambda f, v, t: [f(t[0]), f(t, -1), f(v, 1)],
)
def triu(y_bar, m, k=0):
    """A vector is repeated as rows first."""
    return unbroadcast(np.triu(y_bar) if k == 0 else np.triu(y_bar, k), m)
