"""The functions logsumexp, softmax and log_softmax of SciPy.

An entry of ``-inf`` gets the cotangent 0, also if all entries of a slice are ``-inf``.
"""

import numpy as np
from scipy import special

from srcad.rules.conjugates import REAL_ONLY, conj, may_be_complex
from srcad.rules.declare import adjoint
from srcad.rules.reduction import kept
from srcad.rules.registry import is_known, static
from srcad.runtime import unbroadcast


@adjoint(
    special.logsumexp, entries="reduced", active=("a", "b"),
    samples=lambda f, v, m, t, near: [
        f(v), f(t), f(t, 0), f(t, -1, keepdims=True), f(t, axis=(0, 2)), f(t, (-1, 0), None, True),
        f(t, axis=(1,)), f(m, 1, near(0.5, 2.0, 3, 4)), f(m, b=near(0.5, 2.0, 4), axis=0),
        f(m, 0, 2.0, keepdims=True), f(v[:1]), f(v, b=near(0.5, 2.0, 3, 4), axis=1), f(0.7)],
    kinks=lambda f: [
        (f([-np.inf, -np.inf]), [0, 0]), (f([-np.inf, 0]), [0, 1]), (f([np.inf, 0]), [1, 0]),
        (f([3, 0], None, [0, 1]), [0, 1])],
)  # fmt: skip
def logsumexp(y_bar, y, a, axis=None, b=None, keepdims=False, return_sign=False):
    """``a_bar = y_bar b exp(a - y)`` and ``b_bar = y_bar exp(a - y)``."""
    if return_sign:
        return signed(y_bar[0], y[0], y[1], a, axis, b, keepdims)
    return shares(y_bar, y, a, axis, b, keepdims)


def signed(y_bar, y, sign, a, axis, b, keepdims):
    """The cotangents where the result is the logarithm of an absolute value, and a sign."""
    if may_be_complex(y):
        return REAL_ONLY, REAL_ONLY
    return shares(None if y_bar is None else y_bar * sign, y, a, axis, b, keepdims)


def shares(y_bar, y, a, axis, b, keepdims):
    """The cotangents of the numbers and of their weights."""
    if y_bar is None:
        return None, None
    full = a if b is None else a + b
    power = below(a, kept(y, full, axis, keepdims))
    bar = kept(y_bar, full, axis, keepdims)
    if b is None:
        return unbroadcast(bar * conj(np.exp(power)), a), None
    taking_part = np.where(b == 0, 0.0, power)
    a_bar = bar * conj(b * np.exp(taking_part))
    b_bar = bar * conj(np.exp(power))
    if np.ndim(full) > 0:
        b_bar = np.broadcast_to(b_bar, np.shape(full))  # `a` may be shorter than `b`
    return unbroadcast(a_bar, a), unbroadcast(b_bar, b)


def below(a, total):
    """``a - total``, but 0 where both are ``inf``, and ``-inf`` where both are ``-inf``."""
    if may_be_complex(total) or not is_known(total.dtype):
        return np.where(a == np.inf, 0.0, a - np.where(total == -np.inf, 0.0, total))
    most = largest(total.dtype)
    return np.minimum(a, most) - np.clip(total, -most, most)


@static
def largest(dtype):
    """The largest finite number of a dtype."""
    return float(np.finfo(dtype).max)


@adjoint(
    special.softmax, real_only=True, entries="lines",
    samples=lambda f, v, m, t: [
        f(v), f(t), f(t, 0), f(t, -1), f(t, axis=(0, 2)), f(m, axis=(1,)), f(v[:1])],
    kinks=lambda f: [(f([-np.inf, 0]), [0, 0])],
)  # fmt: skip
def softmax(y_bar, y, x, axis=None):
    """``y (y_bar - sum(y_bar y))``, where any number may be taken from ``y_bar``.

    It is that of an entry above 0.5, of which there is one at most: where ``y`` is nearly 1 the
    difference would cancel.
    """
    difference = y_bar - np.sum(np.where(y > 0.5, y_bar, 0.0), axis=axis, keepdims=True)
    return y * (difference - np.sum(difference * y, axis=axis, keepdims=True))


@adjoint(
    special.log_softmax, real_only=True, entries="lines",
    samples=lambda f, v, m, t: [
        f(v), f(t), f(t, 0), f(t, -1), f(t, axis=(0, 2)), f(m, axis=(1,)), f(v[:1])],
)  # fmt: skip
def log_softmax(y_bar, y, x, axis=None):
    """``y_bar - exp(y) sum(y_bar)``; of a share above 0.5, ``1 - exp(y)`` is that of the others."""
    share = np.exp(y)
    dominates = share > 0.5
    others = np.sum(np.where(dominates, 0.0, share), axis=axis, keepdims=True)
    rest = np.sum(np.where(dominates, 0.0, y_bar), axis=axis, keepdims=True)
    total = np.sum(y_bar, axis=axis, keepdims=True)
    return np.where(dominates, y_bar * others - share * rest, y_bar - share * total)
