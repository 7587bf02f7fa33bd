"""Functions that move entries about: reshape, transpose, flip, tile, pad and their like."""

import math

import numpy as np

from srcad.rules.declare import facts, linear
from srcad.rules.registry import is_known, static
from srcad.rules.row import NoPartial, Result
from srcad.rules.writes import add_at_repeated
from srcad.runtime import unbroadcast

MEMORY_ORDER = NoPartial("its result depends on the memory layout; write order='C' or order='F'")


@static
def ones(count):
    """`count` axes of length 1."""
    return (1,) * count


def part(array, start, stop, axis):
    """``array[start:stop]`` along one axis."""
    if axis == 0 or np.ndim(array) == 1:
        return array[start:stop]
    if axis == -1:
        return array[..., start:stop]
    if axis == 1:
        return array[:, start:stop]
    return np.moveaxis(np.moveaxis(array, axis, 0)[start:stop], 0, axis)


@static
def span(start, stop):
    """The axes from `start` up to `stop`."""
    return tuple(range(start, stop))


def trailing(count):
    """The last `count` axes."""
    return span(-count, 0) if is_known(count) else np.arange(-count, 0)


@static
def product(lengths):
    """The number of entries of a shape."""
    return math.prod(lengths)


def flattened(array, axis):
    """Several axes made into one, the last; `axis` may be a number too."""
    moved = np.moveaxis(array, axis, trailing(np.size(axis)))
    rest = np.ndim(array) - np.size(axis)
    lengths, count = np.shape(moved)[:rest], product(np.shape(moved)[rest:])
    return np.reshape(moved, lengths + (count,))  # noqa: RUF005 - perhaps not known


def unflattened(rows, array, axis):
    """The last axis made into several again, in the places that they have in `array`."""
    last = trailing(np.size(axis))
    return np.moveaxis(np.reshape(rows, np.shape(np.moveaxis(array, axis, last))), last, axis)


# ------------------------------------------------------------------------ new shapes
@linear(
    np.reshape,
    entries="moved",
    order="reshaped",
    cost="nothing",
    memory="view or copy",
    samples=lambda f, t: [f(t, (4, 6)), f(t, -1), f(t, (6, 4), order="F")],
)
def reshape(y_bar, a, shape, order="C", *, copy=None):
    if order not in ("C", "F"):
        return MEMORY_ORDER, None
    if order == "F":
        return np.reshape(y_bar, np.shape(a), "F"), None
    return np.reshape(y_bar, np.shape(a)), None


@linear(
    np.ravel,
    method="ravel",
    entries="moved",
    order="reshaped",
    cost="nothing",
    memory="view or copy",
    samples=lambda f, t: [f(t), f(t, "F")],
)
def ravel(y_bar, a, order="C"):
    if order not in ("C", "F"):
        return MEMORY_ORDER
    if order == "F":
        return np.reshape(y_bar, np.shape(a), "F")
    return np.reshape(y_bar, np.shape(a))


@linear(
    np.squeeze,
    method="squeeze",
    entries="moved",
    order="shows",
    cost="nothing",
    memory="view",
    result=Result(squeezed=True),
    samples=lambda f, array: [f(array(3, 1)), f(array(3, 1), axis=1)],
)
def squeeze(y_bar, a, axis=None):
    return np.reshape(y_bar, np.shape(a))


@linear(
    np.expand_dims,
    entries="moved",
    order="shows",
    cost="nothing",
    memory="view",
    samples=lambda f, m: [f(m, 0), f(m, (0, -1))],
)
def expand_dims(y_bar, a, axis):
    return np.reshape(y_bar, np.shape(a)), None


@linear(
    np.atleast_1d,
    entries="moved",
    memory="view",
    samples=lambda f, v, array: [f(v), f(array()), f(v, v)],
)
@linear(
    np.atleast_2d,
    np.atleast_3d,
    entries="moved",
    memory="view",
    samples=lambda f, v, m, t, array: [f(v), f(m), f(array()), f(t), f(v, m)],
)
def atleast(y_bar, *arys):
    if len(arys) == 1:
        return [np.reshape(y_bar, np.shape(arys[0]))]
    return [reshaped(y_bar[k], arys[k]) for k in range(len(arys))]


def reshaped(y_bar, a):
    """A cotangent in the shape of `a`; None stays None."""
    return None if y_bar is None else np.reshape(y_bar, np.shape(a))


@linear(
    np.broadcast_to,
    entries="moved",
    order="part",
    cost="nothing",
    memory="read-only view",
    samples=lambda f, array: [f(array(3, 1), (2, 3, 4)), f(0.5, (3,))],
)
def broadcast_to(y_bar, array, shape, subok=False):
    return unbroadcast(y_bar, array), None


@linear(
    np.broadcast_arrays,
    entries="moved",
    result=Result(None),
    memory="shared",
    samples=lambda f, v, array: [f(array(3, 1), v)],
)
def broadcast_arrays(y_bar, *args):
    return [None if y_bar[k] is None else unbroadcast(y_bar[k], args[k]) for k in range(len(args))]


@linear(
    np.ix_,
    entries="moved",
    result=Result(None),
    memory="shared",
    samples=lambda f, v, w: [f(v, w), f(v)],
)
def ix_(y_bar, *args):
    """Each vector has an axis of its own; flags become the places where they hold."""
    return [None if y_bar[k] is None else np.reshape(y_bar[k], -1) for k in range(len(args))]


@linear(unbroadcast, order="shows", memory="shared", samples=())
def unbroadcast_(y_bar, g, x):
    return np.broadcast_to(y_bar, np.shape(g)), None


# ------------------------------------------------------------------------ new order of axes
@static
def inverse(axes):
    """The permutation that undoes `axes`, which may count from the end."""
    order = [axis % len(axes) for axis in axes]
    return tuple(order.index(k) for k in range(len(order)))


@linear(
    np.transpose,
    entries="moved",
    order="turned",
    cost="nothing",
    memory="view",
    samples=lambda f, t: [f(t), f(t, (1, 2, 0)), f(t, (-1, 0, 1))],
)
def transpose(y_bar, a, axes=None):
    if axes is None:
        return np.transpose(y_bar)
    if isinstance(axes, (tuple, list)):
        return np.transpose(y_bar, inverse(axes))
    return np.moveaxis(y_bar, span(0, np.ndim(a)), axes)


@linear(
    np.matrix_transpose, entries="moved", order="turned", memory="view", samples=lambda f, t: [f(t)]
)
@linear(np.linalg.matrix_transpose, entries="moved", memory="view", samples=lambda f, t: [f(t)])
def matrix_transpose(y_bar, x):
    return np.swapaxes(y_bar, -1, -2)


@linear(
    np.swapaxes,
    method="swapaxes",
    entries="moved",
    order="turned",
    cost="nothing",
    memory="view",
    samples=lambda f, t: [f(t, 0, -1)],
)
def swapaxes(y_bar, a, axis1, axis2):
    return np.swapaxes(y_bar, axis1, axis2), None, None


@linear(
    np.moveaxis,
    entries="moved",
    order="turned",
    cost="nothing",
    memory="view",
    samples=lambda f, t: [f(t, 0, -1), f(t, (0, 1), (-1, 0))],
)
def moveaxis(y_bar, a, source, destination):
    return np.moveaxis(y_bar, destination, source), None, None


@static
def rolled(axis, start, ndim):
    """Where ``np.rollaxis`` puts an axis."""
    axis, start = axis % ndim, start + ndim if start < 0 else start
    return start - 1 if axis < start else start


@linear(
    np.rollaxis,
    entries="moved",
    memory="view",
    samples=lambda f, t: [f(t, 2), f(t, 0, 3), f(t, -2, 1)],
)
def rollaxis(y_bar, a, axis, start=0):
    return np.moveaxis(y_bar, rolled(axis, start, np.ndim(a)), axis), None


# ------------------------------------------------------------------------ new places
@linear(
    np.flip,
    entries="moved",
    order="turned",
    memory="view",
    samples=lambda f, t: [f(t), f(t, 1), f(t, (0, 2))],
)
def flip(y_bar, m, axis=None):
    return np.flip(y_bar, axis)


@linear(np.fliplr, entries="moved", memory="view", samples=lambda f, m: [f(m)])
def fliplr(y_bar, m):
    return np.fliplr(y_bar)


@linear(np.flipud, entries="moved", memory="view", samples=lambda f, m: [f(m)])
def flipud(y_bar, m):
    return np.flipud(y_bar)


@linear(np.rot90, entries="moved", memory="view", samples=lambda f, m, t: [f(m), f(t, 3, (1, 2))])
def rot90(y_bar, m, k=1, axes=(0, 1)):
    return np.rot90(y_bar, -k, axes)


@linear(
    np.roll,
    entries="moved",
    order="keeps",
    samples=lambda f, m: [f(m, 2), f(m, -1, 1), f(m, (1, 2), (0, 1))],
)
def roll(y_bar, a, shift, axis=None):
    if isinstance(shift, (tuple, list)):
        return np.roll(y_bar, tuple(-s for s in shift), axis), None
    if isinstance(shift, int):
        return np.roll(y_bar, -shift, axis), None
    return np.roll(y_bar, np.negative(shift, dtype=int), axis), None


# ------------------------------------------------------------------------ copies of entries
@static
def repetitions(reps, ndim):
    """``np.tile``'s counts, one per axis of the result."""
    reps = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    return (1,) * (ndim - len(reps)) + reps


@static
def every_second(count):
    """The axes 0, 2, 4 and so on, `count` of them."""
    return tuple(range(0, 2 * count, 2))


@linear(
    np.tile,
    entries="moved", samples=lambda f, v, m, t, array: [
        f(v, 2), f(m, (2, 3)), f(v, (2, 3)), f(m, 2), f(t, (2, 1)), f(array(), 3)],
)  # fmt: skip
def tile(y_bar, A, reps):
    """Split each axis of the result into (copy, entry) and sum over the copies."""
    if not isinstance(reps, (int, np.integer, tuple, list)):
        places = np.ravel(np.tile(numbered(A), reps))
        flat = add_at_repeated(np.zeros_like(np.ravel(A)), places, np.ravel(y_bar))
        return np.reshape(flat, np.shape(A)), None
    counts = repetitions(reps, np.ndim(A))
    lengths = (1,) * (len(counts) - np.ndim(A)) + np.shape(A)
    split = [n for pair in zip(counts, lengths, strict=True) for n in pair]
    copies = np.reshape(y_bar, tuple(split))
    if len(counts) == 1:
        return np.reshape(np.sum(copies, axis=0), np.shape(A)), None
    return np.reshape(np.sum(copies, axis=every_second(len(counts))), np.shape(A)), None


def numbered(array):
    """The numbers of an array's entries, in its shape."""
    return np.reshape(np.arange(np.size(array)), np.shape(array))


@linear(
    np.repeat, method="repeat",
    entries="moved", order="C", samples=lambda f, v, m, array: [
        f(v, 3), f(m, 2), f(m, 2, 0), f(m, 3, -1), f(v, [1, 2, 0, 3]), f(m, np.array([2, 0, 1]), 0),
        f(array(), 2)],
)  # fmt: skip
def repeat(y_bar, a, repeats, axis=None):
    if np.ndim(a) == 1:
        return summed_runs(y_bar, a, repeats), None
    if axis is None or np.ndim(a) == 0:
        return np.reshape(summed_runs(y_bar, np.ravel(a), repeats), np.shape(a)), None
    runs = summed_runs(np.moveaxis(y_bar, axis, 0), np.moveaxis(a, axis, 0), repeats)
    return np.moveaxis(runs, 0, axis), None


def summed_runs(y_bar, a, repeats):
    """The sum over each entry's copies, along the first axis."""
    if isinstance(repeats, (int, np.integer)):
        runs = np.reshape(y_bar, (np.shape(a)[0], repeats) + np.shape(a)[1:])  # noqa: RUF005
        return np.sum(runs, axis=1)
    places = np.repeat(np.arange(np.shape(a)[0]), repeats)
    return add_at_repeated(np.zeros_like(a), places, y_bar)


@linear(
    np.resize,
    entries="moved",
    samples=lambda f, v, m: [f(v, 7), f(m, (2, 3)), f(m, (5, 4)), f(v, (2, 4))],
)
def resize(y_bar, a, new_shape):
    """The entries in memory order, again and again; zeros if there are none."""
    places = np.ravel(np.resize(numbered(a), new_shape))
    zeros = np.zeros_like(a, shape=(np.maximum(np.size(a), 1),))
    flat = add_at_repeated(zeros, places, np.ravel(y_bar))
    return np.reshape(flat[: np.size(a)], np.shape(a)), None


@linear(
    np.lib.stride_tricks.sliding_window_view,
    entries="moved",
    memory="read-only view",
    samples=lambda f, v, m, t: [f(v, 3), f(m, (2, 3)), f(m, 2, 1), f(t, (2, 2), axis=(0, 2))],
)
def sliding_window_view(y_bar, x, window_shape, axis=None):
    """Each entry is in several windows; they are found by the windows of the numbers."""
    windows = np.lib.stride_tricks.sliding_window_view(numbered(x), window_shape, axis)
    flat = add_at_repeated(np.zeros_like(np.ravel(x)), np.ravel(windows), np.ravel(y_bar))
    return np.reshape(flat, np.shape(x)), None


facts(np.trim_zeros, memory="shared", result=Result(any_lengths=True))


@linear(
    np.real_if_close, real_only=True, entries="moved", memory="shared", samples=lambda f, m: [f(m)]
)
def real_if_close(y_bar, a, tol=100):
    """Of real numbers the argument itself."""
    return y_bar
