"""Putting arrays together and taking them apart.

The arrays to join come as one argument; its entry is the list of their cotangents, in order, or
one array of them if they are the rows of one array.
"""

import numpy as np

from srcad.rules.declare import adjoint, linear
from srcad.rules.row import NoPartial, Result
from srcad.rules.shape import part
from srcad.runtime import unbroadcast

DEEP_BLOCKS = NoPartial("np.block has a rule for one or two levels of lists and arrays of two axes")


def parts(y_bar, arrays, axis):
    """The pieces of a cotangent that belong to arrays joined along one axis."""
    bars = []
    start = 0
    for a in arrays:
        stop = start + np.shape(a)[axis]
        bars.append(part(y_bar, start, stop, axis))
        start = stop
    return bars


def as_given(bars, arrays):
    """The cotangents as the arrays came."""
    return bars if isinstance(arrays, (list, tuple)) else np.stack(bars)


@linear(
    np.concatenate, rounds="exactly", order="keeps",
    entries="moved", lists=("arrays",), samples=lambda f, v, m, t, array: [
        f([m, array(2, 4)]), f((m, array(3, 1), m), 1), f((m, array(3, 1)), axis=-1),
        f((m, v), axis=None), f((t, array(2, 3, 2)), axis=2)],
)  # fmt: skip
def concatenate(y_bar, arrays, axis=0, *, dtype=None):
    if axis is not None:
        return as_given(parts(y_bar, arrays, axis), arrays)
    bars = []
    start = 0
    for a in arrays:
        stop = start + np.size(a)
        bars.append(np.reshape(y_bar[start:stop], np.shape(a)))
        start = stop
    return as_given(bars, arrays)


@linear(
    np.stack,
    rounds="exactly",
    order="keeps",
    entries="moved",
    lists=("arrays",),
    samples=lambda f, v, m, array: [f([v, array(4)]), f([m, m, m], 1), f((m, m), axis=-1)],
)
def stack(y_bar, arrays, axis=0, *, dtype=None):
    rows = y_bar if axis == 0 else np.moveaxis(y_bar, axis, 0)
    return [rows[k] for k in range(len(arrays))] if isinstance(arrays, (list, tuple)) else rows


@linear(
    np.vstack,
    order="keeps",
    entries="moved",
    lists=("tup",),
    samples=lambda f, v, m, array: [f([v, m, array(4)]), f([0.5, 0.2])],
)
def vstack(y_bar, tup, *, dtype=None):
    bars = []
    start = 0
    for a in tup:
        stop = start + (np.shape(a)[0] if np.ndim(a) > 1 else 1)
        bars.append(np.reshape(y_bar[start:stop], np.shape(a)))
        start = stop
    return as_given(bars, tup)


@linear(
    np.hstack,
    order="keeps",
    entries="moved",
    lists=("tup",),
    samples=lambda f, v, m, array: [f([v, array(2)]), f([m, array(3, 1)]), f([0.5, 0.2])],
)
def hstack(y_bar, tup, *, dtype=None):
    bars = []
    start = 0
    for a in tup:
        if np.ndim(a) > 1:
            stop = start + np.shape(a)[1]
            bars.append(y_bar[:, start:stop])
        else:
            stop = start + np.size(a)
            bars.append(np.reshape(y_bar[start:stop], np.shape(a)))
        start = stop
    return as_given(bars, tup)


@linear(
    np.dstack,
    entries="moved",
    lists=("tup",),
    samples=lambda f, v, m, t, array: [f([m, m]), f([v, array(4)]), f([t, array(2, 3, 1)])],
)
def dstack(y_bar, tup):
    bars = []
    start = 0
    for a in tup:
        stop = start + (np.shape(a)[2] if np.ndim(a) > 2 else 1)
        bars.append(np.reshape(y_bar[:, :, start:stop], np.shape(a)))
        start = stop
    return as_given(bars, tup)


@linear(
    np.column_stack,
    entries="moved",
    lists=("tup",),
    samples=lambda f, v, m, array: [f([v, array(4)]), f([m, array(3)])],
)
def column_stack(y_bar, tup):
    bars = []
    start = 0
    for a in tup:
        stop = start + (np.shape(a)[1] if np.ndim(a) > 1 else 1)
        bars.append(np.reshape(y_bar[:, start:stop], np.shape(a)))
        start = stop
    return as_given(bars, tup)


@linear(
    np.append,
    order="keeps",
    entries="moved",
    samples=lambda f, v, m: [f(m, v), f(v, 0.5), f(m, m, axis=1)],
)
def append(y_bar, arr, values, axis=None):
    if axis is None:
        n = np.size(arr)
        return np.reshape(y_bar[:n], np.shape(arr)), np.reshape(y_bar[n:], np.shape(values))
    bars = parts(y_bar, (arr, values), axis)
    return bars[0], bars[1]


# ------------------------------------------------------------------------ taking apart
# The result is a list, and so is its cotangent, with an array for every piece.
PARTS = Result(None, parts="indices_or_sections")


@linear(
    np.split,
    np.array_split,
    entries="moved",
    result=PARTS,
    memory="shared",
    samples=lambda f, v, m: [f(v, 2), f(m, [1], 1), f(m, 3)],
)
def split(y_bar, ary, indices_or_sections, axis=0):
    return np.concatenate(y_bar, axis), None


@linear(
    np.hsplit,
    entries="moved",
    result=PARTS,
    memory="shared",
    samples=lambda f, v, m: [f(m, 2), f(v, [1, 3])],
)
def hsplit(y_bar, ary, indices_or_sections):
    return np.concatenate(y_bar, 0 if np.ndim(ary) == 1 else 1), None


@linear(np.vsplit, entries="moved", result=PARTS, memory="shared", samples=lambda f, m: [f(m, 3)])
def vsplit(y_bar, ary, indices_or_sections):
    return np.concatenate(y_bar, 0), None


@linear(np.dsplit, entries="moved", result=PARTS, memory="shared", samples=lambda f, t: [f(t, 2)])
def dsplit(y_bar, ary, indices_or_sections):
    return np.concatenate(y_bar, 2), None


@adjoint(
    np.meshgrid, entries="moved", result=Result(None, static=("indexing",)),
    memory={"copy": (False,)}, samples=lambda f, v, array: [
        f(v, array(3)), f(v, array(3), array(2), indexing="ij"), f(v, array(3), array(2)), f(v, v),
        f(v)],
)  # fmt: skip
def meshgrid(y_bar, y, *xi, indexing="xy"):
    """Sum over the axes along which each vector was repeated."""
    bars = []
    for k in range(len(xi)):
        axis = 1 - k if indexing == "xy" and k < 2 and len(xi) > 1 else k
        others = tuple(j for j in range(len(xi)) if j != axis)
        bar = None if y_bar[k] is None else np.sum(y_bar[k], axis=others)
        bars.append(None if bar is None else np.reshape(bar, np.shape(xi[k])))
    return bars


# ------------------------------------------------------------------------ choices between arrays
@linear(
    np.select, order="C", entries="moved", adds_zeros=True, selects="condlist",
    active=("choicelist", "default"), lists=("condlist", "choicelist"),
    samples=lambda f, v, m, mask, array: [
        f([mask, v > 0], [v, array(4)], 0.5), f([m > 0.5, m > -0.5], [m, v], array(3, 1)),
        f([m > 0.5], [m])],
)  # fmt: skip
def select(y_bar, condlist, choicelist, default=0):
    """The first array whose condition holds has the cotangent."""
    bars = []
    free = True
    for k in range(len(choicelist)):
        owned = np.logical_and(free, condlist[k])
        bars.append(unbroadcast(y_bar * owned, choicelist[k]))
        free = np.logical_and(free, np.logical_not(condlist[k]))
    return as_given(bars, choicelist), unbroadcast(y_bar * free, default)


@linear(
    np.choose, rounds="exactly", method="choose", order="C", entries="moved", selects="a",
    lists=("choices",),
    samples=lambda f, v, m, array: [
        f(np.array([0, 1, 1, 0]), [v, array(4)]), f(np.array([[0], [1], [0]]), [m, v]),
        f(np.array([0, 3, -1, 1]), [v, array(4)], mode="wrap"),
        f(np.array([0, 3, -1, 1]), [v, array(4)], mode="clip")],
)  # fmt: skip
def choose(y_bar, a, choices, *, mode="raise"):
    """The array whose number is in `a` has the cotangent."""
    count = len(choices)
    place = a
    if mode != "raise":
        place = np.mod(a, count) if mode == "wrap" else np.clip(a, 0, count - 1)
    bars = []
    for k in range(count):
        bars.append(unbroadcast(y_bar * (place == k), choices[k]))
    return None, as_given(bars, choices)


# ------------------------------------------------------------------------ blocks
@linear(
    np.block, entries="moved", takes_lists=True, samples=lambda f, v, w, m, array: [
        f([[m, array(3, 2)], [array(1, 4), array(1, 2)]]), f([v, w]), f([[v], [m]])],
)  # fmt: skip
def block(y_bar, arrays):
    """Rows of blocks; nested deeper, or with more than two axes, there is no rule."""
    if not isinstance(arrays, (list, tuple)):
        return y_bar
    if not isinstance(arrays[0], (list, tuple)):
        if any(np.ndim(a) > 2 for a in arrays):
            return DEEP_BLOCKS
        return pieces(y_bar, arrays)
    if any(isinstance(a, (list, tuple)) or np.ndim(a) > 2 for row in arrays for a in row):
        return DEEP_BLOCKS
    bars = []
    top = 0
    for row in arrays:
        height = np.shape(row[0])[0] if np.ndim(row[0]) > 1 else 1
        bars.append(pieces(y_bar[top : top + height], row))
        top = top + height
    return bars


def pieces(y_bar, row):
    """The cotangents of blocks side by side."""
    bars = []
    left = 0
    for a in row:
        width = np.shape(a)[-1] if np.ndim(a) > 0 else 1
        bars.append(np.reshape(y_bar[..., left : left + width], np.shape(a)))
        left = left + width
    return bars
