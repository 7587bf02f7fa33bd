"""Slopes by finite differences: `np.gradient`."""

import numpy as np

from srcad.rules.conjugates import REAL_ONLY, may_be_complex
from srcad.rules.declare import adjoint
from srcad.rules.registry import static
from srcad.rules.row import Result
from srcad.rules.running import backward
from srcad.rules.shape import part


@static
def axes_of(axis, ndim):
    """The axes along which slopes are taken, in order and from 0 on."""
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(k % max(ndim, 1) for k in axes)


@static
def on_axis(axis, ndim):
    """The shape of a vector on one axis of an array."""
    return (1,) * axis + (-1,) + (1,) * (ndim - axis - 1)


@static
def other_axes(axis, ndim):
    """All axes but one."""
    return tuple(k for k in range(ndim) if k != axis)


def count_of_slopes(axis=None, ndim=None):
    """The number of results: one for each axis."""
    return ndim if axis is None else np.size(axis)


@adjoint(
    np.gradient, result=Result(count_of_slopes),
    samples=lambda f, v, m, t: [
        f(v), f(m), f(m, 0.7, axis=0), f(m, 0.7, 0.3), f(m, 0.6), f(v, 0.3, edge_order=2),
        f(v, np.array([0.1, 0.5, 1.1, 2.0]), edge_order=2), f(t, axis=(1, 2)),
        f(m, np.array([0.1, 0.5, 2.0]), np.array([0.1, 0.5, 1.1, 2.0])), f(t, 0.4, axis=-1)],
)  # fmt: skip
def gradient(y_bar, y, f, *varargs, axis=None, edge_order=1):
    """The sum over the axes, of which each has its own result if there are several."""
    if may_be_complex(f) or any(may_be_complex(width) for width in varargs):
        return REAL_ONLY, [REAL_ONLY for _ in varargs]
    axes = axes_of(axis, np.ndim(f))
    bar = None
    spacing_bars = []
    for k in range(len(axes)):
        g, slopes = (y_bar[k], y[k]) if len(axes) > 1 else (y_bar, y)
        spacing = 1.0 if len(varargs) == 0 else varargs[0] if len(varargs) == 1 else varargs[k]
        spacing_bar = None
        if g is not None:
            if np.ndim(spacing) == 0:
                one = of_even_slopes(g, f, axes[k], edge_order) / spacing
                spacing_bar = -np.sum(g * slopes) / spacing
            else:
                one, spacing_bar = of_slopes(g, f, spacing, axes[k], edge_order)
            bar = one if bar is None else bar + one
        spacing_bars.append(spacing_bar)
    if len(varargs) == 1 and len(axes) > 1:
        total = 0.0
        for one in spacing_bars:
            total = total if one is None else total + one
        return bar, [total]
    return bar, spacing_bars[: len(varargs)]


def of_even_slopes(g, f, axis, edge_order):
    """Points at distance 1: the mean of both slopes, at the ends one slope.

    Of second order, the end has half of the change of the slope beside it.
    """
    zero = np.zeros_like(part(g, None, 1, axis))
    first, last = part(g, None, 1, axis), part(g, -1, None, axis)
    inside = 0.5 * part(g, 1, -1, axis)
    bar = np.concatenate((first, inside), axis) + np.concatenate((inside, last), axis)
    if edge_order == 2:
        nothing = np.zeros_like(part(g, 3, None, axis))
        bar = bar + np.concatenate((0.5 * first, -0.5 * first, nothing), axis)
        bar = bar + np.concatenate((nothing, -0.5 * last, 0.5 * last), axis)
    return backward(zero, bar, axis)


def of_slopes(g, f, x, axis, edge_order):
    """Points at ``x``: slopes ``s``, weighted by the width of the interval on the other side.

    Of second order, the end has ``s + (s - t) w / (w + v)``, where ``t`` and ``v`` are slope and
    width of the next interval.
    """
    shape = on_axis(axis, np.ndim(f))
    w = np.reshape(np.diff(x), shape)
    s = np.diff(f, axis=axis) / w
    before, after = part(w, None, -1, axis), part(w, 1, None, axis)
    slope_before, slope_after = part(s, None, -1, axis), part(s, 1, None, axis)
    both = before + after
    first, last = part(g, None, 1, axis), part(g, -1, None, axis)
    inside = part(g, 1, -1, axis) / both
    zero = np.zeros_like(first)
    s_bar = np.concatenate((first, inside * before), axis)
    s_bar = s_bar + np.concatenate((inside * after, last), axis)
    middle = (slope_before * after + slope_after * before) / both
    w_bar = np.concatenate((inside * (slope_after - middle), zero), axis)
    w_bar = w_bar + np.concatenate((zero, inside * (slope_before - middle)), axis)
    if edge_order == 2:
        nothing = np.zeros_like(part(g, 3, None, axis))
        v, u = part(before, None, 1, axis), part(after, None, 1, axis)
        change = first * (part(slope_before, None, 1, axis) - part(slope_after, None, 1, axis))
        share, change = first * v / (v + u), change / (v + u) ** 2
        s_bar = s_bar + np.concatenate((share, -share, nothing), axis)
        w_bar = w_bar + np.concatenate((change * u, -change * v, nothing), axis)
        u, v = part(before, -1, None, axis), part(after, -1, None, axis)
        change = last * (part(slope_after, -1, None, axis) - part(slope_before, -1, None, axis))
        share, change = last * v / (v + u), change / (v + u) ** 2
        s_bar = s_bar + np.concatenate((nothing, -share, share), axis)
        w_bar = w_bar + np.concatenate((nothing, -change * v, change * u), axis)
    w_bar = w_bar - s_bar * s / w
    widths_bar = np.sum(w_bar, axis=other_axes(axis, np.ndim(f))) if np.ndim(f) > 1 else w_bar
    x_bar = backward(np.zeros_like(x[:1]), widths_bar, 0)
    return backward(zero, s_bar / w, axis), x_bar
