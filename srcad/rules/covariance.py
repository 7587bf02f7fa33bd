"""Weighted averages, covariances and correlations."""

from typing import Any

import numpy as np

from srcad.rules.conjugates import conj, real_part
from srcad.rules.declare import adjoint
from srcad.rules.linalg import adjoined
from srcad.rules.reduction import count, kept, spread
from srcad.rules.registry import is_known, static
from srcad.rules.row import Result
from srcad.rules.shape import ones, span, trailing


# ------------------------------------------------------------------------ averages
@static
def other_axes(axis, ndim):
    """The axes of an array that are not reduced; a single one is a number."""
    reduced = {k % max(ndim, 1) for k in (axis if isinstance(axis, tuple) else (axis,))}
    rest = tuple(k for k in range(ndim) if k not in reduced)
    return rest[0] if len(rest) == 1 else rest


@static
def is_ascending(axis, ndim):
    """Return True if axes are in ascending order, so that weights need no transposition."""
    axes = [k % max(ndim, 1) for k in (axis if isinstance(axis, tuple) else (axis,))]
    return axes == sorted(axes)


@adjoint(
    np.average, real_only=True,
    result=Result(lambda returned=False: 2 if returned else 1), active=("a", "weights"),
    samples=lambda f, v, m, t, near: [
        f(m), f(m, 1), f(v, weights=near(0.5, 2.0, 4)), f(m, None, near(0.5, 2.0, 3, 4)),
        f(m, 0, near(0.5, 2.0, 3)), f(m, -1, near(0.5, 2.0, 4), keepdims=True),
        f(m, 1, near(0.5, 2.0, 3, 4), True), f(t, (0, 2), near(0.5, 2.0, 2, 4)),
        f(t, 1, near(0.5, 2.0, 3), returned=True), f(m, 0, returned=True),
        f(m, axis=0, weights=np.array([1.0, 2.0, 3.0]))],
)  # fmt: skip
def average(y_bar, y, a, axis=None, weights=None, returned=False, *, keepdims=False):
    """``y = sum(a * w) / sum(w)``: ``a_bar = g w / sum(w)``, ``w_bar = g (a - y) / sum(w)``.

    Weights of fewer axes than `a` belong to the axes that are reduced.
    """
    g, mean = (y_bar[0], y[0]) if returned else (y_bar, y)
    sum_bar = y_bar[1] if returned else None
    if weights is None:
        if g is None:
            return None, None
        return spread(g / count(a, axis, keepdims, None), a, axis, keepdims), None
    if np.ndim(axis) == 1 and not isinstance(axis, tuple):
        axis = tuple(axis)
    is_full = np.ndim(weights) == np.ndim(a)
    full = weights if is_full else on_axes(weights, np.ndim(a), axis)
    a_bar = None
    each: Any = 0.0
    if g is not None:
        if returned:
            total = kept(y[1], a, axis, keepdims)
        else:
            total = np.sum(full) if axis is None else np.sum(full, axis=axis, keepdims=True)
        share = kept(g, a, axis, keepdims) / total
        a_bar = share * conj(full)
        each = share * conj(a - kept(mean, a, axis, keepdims))
    if sum_bar is not None:
        each = np.broadcast_to(each + kept(sum_bar, a, axis, keepdims), np.shape(a))
    if is_full:
        return a_bar, each
    if is_known(axis) and is_ascending(axis, np.ndim(a)):
        return a_bar, np.sum(each, axis=other_axes(axis, np.ndim(a)))
    rows = np.moveaxis(each, axis, trailing(np.ndim(weights)))
    return a_bar, np.sum(rows, axis=span(0, np.ndim(a) - np.ndim(weights)))


def on_axes(weights, ndim, axis):
    """Weights on their own axes among `ndim`; the others have length 1."""
    if is_known(axis) and is_ascending(axis, ndim):
        return np.expand_dims(weights, other_axes(axis, ndim))
    spread_out = np.reshape(weights, ones(ndim - np.ndim(weights)) + np.shape(weights))
    return np.moveaxis(spread_out, trailing(np.ndim(weights)), axis)


# ------------------------------------------------------------------------ covariances
def as_rows(m, rowvar):
    """The variables as the rows of a matrix."""
    if np.ndim(m) == 1:
        return m[None, :]
    if np.ndim(m) == 0:
        return np.reshape(m, (1, 1))
    return m if rowvar else m.T


def as_rows_of_second(y, rowvar):
    """The variables of the second argument as rows; NumPy keeps a single row as it is."""
    if np.ndim(y) < 2 or rowvar:
        return as_rows(y, True)
    return y if np.shape(y)[0] == 1 else y.T


def as_given(bar, m, rowvar):
    """The cotangent of a matrix of rows in the shape of the argument."""
    if np.ndim(m) < 2:
        return np.reshape(bar, np.shape(m))
    return bar if rowvar else bar.T


def split_rows(bar, m, y, rowvar):
    """The cotangents of both arguments from that of all rows."""
    if y is None:
        return as_given(bar, m, rowvar), None
    n = np.shape(as_rows(m, rowvar))[0]
    is_turned = np.ndim(y) == 2 and not rowvar and np.shape(y)[0] != 1
    return as_given(bar[:n], m, rowvar), as_given(bar[n:], y, not is_turned)


@adjoint(
    np.cov, real_only=True, active=("m", "y", "aweights"),
    result=Result(squeezed=True), entries="paired",
    samples=lambda f, v, m, near, array: [
        f(m), f(v), f(m, array(2, 4)), f(v, array(4)), f(m, rowvar=False), f(m, array(3, 2), False),
        f(m, bias=True), f(m, ddof=0), f(m, ddof=2), f(m, fweights=np.array([1, 2, 1, 3])),
        f(m, aweights=near(0.5, 2.0, 4)), f(m, ddof=0, aweights=near(0.5, 2.0, 4)),
        f(m, v, True, False, None, np.array([1, 2, 1, 3]), near(0.5, 2.0, 4))],
)  # fmt: skip
def cov(
    y_bar, c, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *,
    dtype=None,
):  # fmt: skip
    """``c = x diag(w) x.T / f`` of centred rows ``x``: ``x_bar = (g + g.T) x diag(w) / f``.

    The cotangent of the mean is 0.  With ``w = fweights aweights``, ``s = sum(w)`` and
    ``q = sum(w aweights)`` NumPy divides by ``f = s - ddof q / s``.
    """
    x = as_rows(m, rowvar)
    if y is not None:
        x = np.concatenate((x, as_rows_of_second(y, rowvar)))
    if ddof is None:
        ddof = 0 if bias else 1
    n = np.shape(x)[0]
    g = np.reshape(y_bar, (n, n))
    if fweights is None and aweights is None:
        centred = x - np.mean(x, axis=1, keepdims=True)
        bar = (g + adjoined(g)) @ centred / (np.shape(x)[1] - ddof)
        m_bar, second = split_rows(bar, m, y, rowvar)
        return m_bar, second, None
    w = weights_of(fweights, aweights)
    total = np.sum(w)
    centred = x - (x @ (w / total))[:, None]
    squares = 0.0 if aweights is None else np.sum(w * aweights)
    factor = total - ddof if aweights is None else total - ddof * squares / total
    bar = (g + adjoined(g)) @ centred * (w / factor)
    m_bar, second = split_rows(bar, m, y, rowvar)
    if aweights is None:
        return m_bar, second, None
    w_bar = np.sum(real_part(conj(centred) * (g @ centred)), axis=0) / factor
    factor_bar = -np.sum(real_part(conj(y_bar) * c)) / factor
    slope = 1 + ddof * squares / total**2 - 2 * ddof / total * aweights
    counts = 1 if fweights is None else fweights
    return m_bar, second, counts * (w_bar + factor_bar * slope)


def weights_of(fweights, aweights):
    """The weight of each observation."""
    if fweights is None:
        return aweights
    return np.asarray(fweights) if aweights is None else fweights * aweights


@adjoint(
    np.corrcoef, active=("x", "y"), result=Result(squeezed=True), entries="paired",
    samples=lambda f, v, m, array: [
        f(m), f(m, array(2, 4)), f(v, array(4)), f(m, rowvar=False), f(m, array(3, 2), False)],
)  # fmt: skip
def corrcoef(y_bar, r, x, y=None, rowvar=True, *, dtype=None):
    """``r = z z.T`` of centred rows of length 1: ``z_bar = (g + g.T) z``, made orthogonal to z.

    The correlation of one variable with itself is 1.
    """
    if np.ndim(r) == 0:
        return None, None
    rows = as_rows(x, rowvar)
    if y is not None:
        rows = np.concatenate((rows, as_rows_of_second(y, rowvar)))
    n = np.shape(rows)[0]
    g = np.reshape(y_bar, (n, n))
    centred = rows - np.mean(rows, axis=1, keepdims=True)
    size = np.sqrt(np.sum(real_part(centred * conj(centred)), axis=1, keepdims=True))
    z = centred / size
    z_bar = (g + adjoined(g)) @ z
    along = np.sum(real_part(z_bar * conj(z)), axis=1, keepdims=True)
    return split_rows((z_bar - z * along) / size, x, y, rowvar)
