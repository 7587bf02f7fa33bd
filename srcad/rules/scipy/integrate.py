"""Integrals of sampled functions, of `scipy.integrate`.

They are linear in the samples, with weights that depend on the points, or on their distance.
"""

from itertools import pairwise

import numpy as np
from scipy import integrate

from srcad.rules.conjugates import conj
from srcad.rules.declare import adjoint, nondifferentiable, tangent
from srcad.rules.running import backward, from_intervals, trapezoid
from srcad.rules.shape import ones, part
from srcad.rules.tangents import trapezoid as trapezoid_tangent
from srcad.runtime import unbroadcast

nondifferentiable(integrate.newton_cotes)

adjoint(
    integrate.trapezoid, active=("y", "x", "dx"),
    samples=lambda f, v, m, t, array: [
        f(v), f(m, dx=0.7, axis=0), f(m, v), f(t, array(3), axis=1), f(t, array(2, 3, 4))],
)(trapezoid)  # fmt: skip
tangent(integrate.trapezoid)(trapezoid_tangent)


@adjoint(
    integrate.cumulative_trapezoid, active=("y", "x", "dx"),
    samples=lambda f, v, m, t, array: [
        f(v), f(m, dx=0.7, axis=0), f(m, v, initial=0), f(t, array(3), axis=1, initial=0),
        f(t, array(2, 3, 4))],
)  # fmt: skip
def cumulative_trapezoid(y_bar, integral, y, x=None, dx=1.0, axis=-1, initial=None):
    """An interval is part of its integral and of all later ones."""
    bar = y_bar if initial is None else part(y_bar, 1, None, axis)
    return from_intervals(0.5 * np.flip(np.cumsum(np.flip(bar, axis), axis), axis), y, x, dx, axis)


# ------------------------------------------------------------------------ Simpson's rule
@adjoint(
    integrate.simpson, real_only=True, active=("y", "x", "dx"),
    samples=lambda f, v, m, t, near, array: [
        f(array(5)), f(v), f(m, dx=0.7, axis=0), f(array(2)), f(v, np.sort(array(4))),
        f(array(2, 5), np.sort(array(5))), f(t, np.sort(array(3)), axis=1), f(array(2), array(2)),
        f(m, np.sort(array(3, 4))), f(array(5, 2), np.sort(array(5, 2), 0), axis=0)],
)  # fmt: skip
def simpson(y_bar, integral, y, x=None, *, dx=1.0, axis=-1):
    """Pairs of intervals; of an even number of points the last interval by the last three.

    Source: Cartwright (2017), *Simpson's rule cumulative integration with MS Excel and irregularly
    spaced data*, equation 8.
    """
    if x is None:
        weights = simpson_weights(np.shape(y)[axis], y.dtype.type)
        y_bar, dx_bar = by_weights(y_bar, y, dx, axis, weights)
        return y_bar, None, dx_bar
    if np.shape(y)[axis] == 1:
        return np.zeros_like(y), np.zeros_like(x), None
    rows, g = at_end(y, axis), y_bar[..., None]
    widths = np.diff(at_end(x, axis))
    if np.shape(rows)[-1] % 2 == 1:
        bar, widths_bar = pairs(g, rows, widths)
    elif np.shape(rows)[-1] == 2:
        bar, widths_bar = 0.5 * g * widths * np.ones_like(rows), 0.5 * g * (rows + rows[..., ::-1])
        widths_bar = widths_bar[..., :1]
    else:
        bar, widths_bar = pairs(g, rows[..., :-1], widths[..., :-1])
        last_bar, last_widths_bar = last_interval(g, rows[..., -3:], widths[..., -2:])
        bar = filled(bar, 0, 1) + filled(last_bar, np.shape(rows)[-1] - 3, 0)
        widths_bar = filled(widths_bar, 0, 1) + filled(last_widths_bar, np.shape(rows)[-1] - 3, 0)
    widths_bar = unbroadcast(widths_bar, widths)
    x_bar = backward(np.zeros_like(at_end(x, axis)[..., :1]), widths_bar, -1)
    return from_end(bar, axis), from_end(x_bar, axis), None


def at_end(a, axis):
    """The points on the last axis; those of one dimension are there."""
    return a if axis == -1 or np.ndim(a) == 1 else np.moveaxis(a, axis, -1)


def from_end(a, axis):
    """The last axis in its place."""
    return a if axis == -1 or np.ndim(a) == 1 else np.moveaxis(a, -1, axis)


def filled(a, before, after):
    """Rows between zeros."""
    return np.pad(a, [(0, 0)] * (np.ndim(a) - 1) + [(before, after)])


def ratio(a, b):
    """``a / b``, and 0 for ``b = 0``: between points that coincide."""
    return a * (b != 0) / (b + (b == 0))


def pairs(g, y, widths):
    """The cotangents of an odd number of samples, and of the widths ``h`` and ``k`` of each pair.

    A pair has the integral ``(h + k) / 6 * b``, where with ``r = h / k``
    ``b = 2 * (y0 + y1 + y2) + r * (y1 - y2) + (y1 - y0) / r``.
    """
    h, k = widths[..., ::2], widths[..., 1::2]
    y0, y1, y2 = y[..., :-1:2], y[..., 1::2], y[..., 2::2]
    r, s, size = ratio(h, k), ratio(k, h), (h + k) / 6
    b = 2 * (y0 + y1 + y2) + r * (y1 - y2) + s * (y1 - y0)
    first, second, third = size * (2 - s), size * (2 + r + s), size * (2 - r)
    even = filled(g * first, 0, 1) + filled(g * third, 1, 0)
    bar = np.concatenate((alternating(even[..., :-1], g * second), even[..., -1:]), -1)
    slope = size * ((y1 - y2) * r - (y1 - y0) * s)
    h_bar, k_bar = g * (b / 6 + ratio(slope, h)), g * (b / 6 - ratio(slope, k))
    return bar, alternating(h_bar, k_bar)


def last_interval(g, y, widths):
    """The cotangents of the last three samples, and of the widths ``h`` and ``k`` between them.

    The last interval has the integral ``k / 6 * c`` with ``r = k / h`` and
    ``c = y2 * (2 * r + 3) / (r + 1) + y1 * (r + 3) - y0 * r**2 / (r + 1)``.
    """
    h, k = widths[..., :1], widths[..., 1:]
    y0, y1, y2 = y[..., :1], y[..., 1:2], y[..., 2:]
    r = ratio(k, h)
    weights = -r * r / (r + 1), r + 3, (2 * r + 3) / (r + 1)
    c = weights[0] * y0 + weights[1] * y1 + weights[2] * y2
    slope = k / 6 * (y1 - (y2 + y0 * r * (r + 2)) / (r + 1) ** 2)
    bar = np.concatenate([g * (k / 6 * w) * np.ones_like(y0) for w in weights], -1)
    return bar, np.concatenate((-g * ratio(slope * r, h), g * (c / 6 + ratio(slope, h))), -1)


def alternating(a, b):
    """The entries of two arrays in turn, on the last axis."""
    shape = np.shape(a)[:-1] + (2 * np.shape(a)[-1],)  # noqa: RUF005 - perhaps not known
    return np.reshape(np.stack((a, b), -1), shape)


# ------------------------------------------------------------------------ its running integral
@adjoint(
    integrate.cumulative_simpson, real_only=True, active=("y", "x", "dx", "initial"),
    samples=lambda f, m, t, array, near: [
        f(array(2, 5), dx=near(0.5, 2.0, 2, 1), initial=0.3), f(array(2)),
        f(m, x=np.sort(array(3)), axis=0),
        f(t, x=np.sort(array(2, 3, 4), 1), axis=1, initial=array(2, 1, 4)),
        f(array(2), x=np.sort(array(2)))],
)  # fmt: skip
def cumulative_simpson(y_bar, integral, y, *, x=None, dx=1.0, axis=-1, initial=None):
    """The integral over an interval is part of all later ones.

    From the first on, every other interval has the parabola through its ends and the next point;
    the others, and the last one, have that through their ends and the point before.  Source:
    Cartwright (2017), *Simpson's rule cumulative integration with MS Excel and irregularly spaced
    data*, equations 8 and 10.
    """
    bar, initial_bar = y_bar, None
    if initial is not None:
        bar = part(y_bar, 1, None, axis)
        initial_bar = unbroadcast(np.sum(y_bar, axis=axis, keepdims=True), initial)
    if np.shape(y)[axis] < 3:
        if x is None:
            bar = cumulative_trapezoid(bar, integral, y, x, 1.0, axis)[0]
            return dx * bar, None, unbroadcast(y * bar, dx), initial_bar
        bars = cumulative_trapezoid(bar, integral, y, x, dx, axis)
        return bars[0], bars[1], None, initial_bar
    g = np.flip(np.cumsum(np.flip(at_end(bar, axis), -1), -1), -1)
    g, h = g[..., :-1] * every_other(np.shape(g)[-1]), g[..., 1:] * others(np.shape(g)[-1])
    if x is None:
        bar = filled(5 * g - h, 0, 2) + filled(8 * (g + h), 1, 1) + filled(5 * h - g, 2, 0)
        bar = from_end(bar / 12, axis)
        return dx * bar, None, unbroadcast(y * bar, dx), initial_bar
    rows, widths = at_end(y, axis), np.diff(at_end(x, axis))
    bar, widths_bar = outer_interval(g, rows, widths)
    back, widths_back = outer_interval(h[..., ::-1], rows[..., ::-1], widths[..., ::-1])
    widths_bar = unbroadcast(widths_bar + widths_back[..., ::-1], widths)
    x_bar = backward(np.zeros_like(at_end(x, axis)[..., :1]), widths_bar, -1)
    return from_end(bar + back[..., ::-1], axis), from_end(x_bar, axis), None, initial_bar


@nondifferentiable
def every_other(n):
    """Which of `n` intervals, the last left out, have the parabola through the next point."""
    return np.arange(n - 1) % 2 == 0


@nondifferentiable
def others(n):
    """Which of `n` intervals, the first left out, have the parabola through the point before."""
    places = np.arange(1, n)
    return (places % 2 == 1) | (places == n - 1)


def outer_interval(g, y, widths):
    """The cotangents of samples and widths, `g` being those of the first of two intervals each.

    With the widths ``h`` and ``k``, ``r = h / (h + k)`` and ``p = r * h / k`` its integral is
    ``h / 6 * b``, where ``b = (3 - r) * y0 + (3 + p + r) * y1 - p * y2``.  The partials are
    ``h r_h = -k r_k = r * (1 - r)`` and ``h p_h = -k p_k = p * (2 - r)``.
    """
    h, k = widths[..., :-1], widths[..., 1:]
    r = h / (h + k)
    p = r * h / k
    y0, y1, y2 = y[..., :-2], y[..., 1:-1], y[..., 2:]
    b = (3 - r) * y0 + (3 + p + r) * y1 - p * y2
    share = g * h / 6
    bar = (
        filled(share * (3 - r), 0, 2) + filled(share * (3 + p + r), 1, 1) - filled(share * p, 2, 0)
    )
    slope = r * (1 - r) * (y1 - y0) + p * (2 - r) * (y1 - y2)
    return bar, filled(g / 6 * (b + slope), 0, 1) - filled(share / k * slope, 1, 0)


# ------------------------------------------------------------------------ points at one distance
@nondifferentiable
def simpson_weights(n, dtype):
    """The weights of Simpson's rule for `n` points at distance 1."""
    weights = np.zeros(n, np.result_type(dtype, np.float32))
    if n == 2:
        return weights + weights.dtype.type(0.5)
    odd = n - 1 + n % 2
    if odd > 1:
        weights[:odd] = 2 / 3
        weights[1:odd:2] = 4 / 3
        weights[[0, odd - 1]] = 1 / 3
    if odd < n:
        weights[-3:] += np.array([-1, 8, 5]) / 12
    return weights


@nondifferentiable
def romberg_weights(n, dtype):
    """The weights of Romberg's rule for `n` points at distance 1.

    Each is a sum of those of trapezoidal rules of halved steps, extrapolated.
    """
    levels = (n - 1).bit_length()
    rows = list(np.eye(levels))
    for order in range(1, levels):
        rows = [b + (b - a) / (4**order - 1) for a, b in pairwise(rows)]
    weights = np.zeros(n)
    for level in range(levels):
        step = (n - 1) >> level
        weights[::step] += rows[0][level] * step
        weights[[0, -1]] -= rows[0][level] * step / 2
    return weights.astype(np.result_type(dtype, np.float32))


@adjoint(
    integrate.romb, real_only=True, active=("y", "dx"),
    samples=lambda f, array: [
        f(array(5)), f(array(2, 9), 0.7), f(array(3, 2), axis=0), f(array(2, 2)), f(array(9), 0.5)],
)  # fmt: skip
def romb(y_bar, integral, y, dx=1.0, axis=-1, show=False):
    """Richardson's extrapolation of trapezoidal rules."""
    if np.shape(y)[axis] == 1:
        return np.zeros_like(y), None
    return by_weights(y_bar, y, dx, axis, romberg_weights(np.shape(y)[axis], y.dtype.type))


def by_weights(y_bar, y, dx, axis, weights):
    """The cotangents of samples, and of their distance, of ``dx * (weights @ y)``."""
    if np.ndim(y) > 1:
        places = np.reshape(weights, ones(np.ndim(y) - 1) + (-1,))  # noqa: RUF005
        bar = np.expand_dims(y_bar, axis) * np.moveaxis(places, -1, axis)
    else:
        bar = y_bar * weights
    return dx * bar, np.sum(conj(y) * bar)
