"""Convolutions and correlations of vectors.

All modes are pieces of the full result: its cotangent is that of the piece between zeros.
"""

import numpy as np

from srcad.rules.conjugates import conj
from srcad.rules.declare import bilinear
from srcad.rules.registry import static
from srcad.rules.row import Result


@static
def skipped(mode, n, m, is_correlation):
    """How many entries of the full result come before those that are returned."""
    short = min(n, m)
    if mode == "full":
        return 0
    if mode == "valid":
        return short - 1
    # NumPy correlates the longer vector with the shorter one, and turns the result round.
    return short // 2 if is_correlation and m > n else (short - 1) // 2


def vector(a):
    """A number as a vector; a vector itself."""
    return a if np.ndim(a) == 1 else np.ravel(a)


def in_full(y_bar, a, v, mode, is_correlation):
    """The cotangent of the full result."""
    if mode == "full":
        return y_bar
    n, m = np.size(a), np.size(v)
    before = skipped(mode, n, m, is_correlation)
    after = n + m - 1 - np.size(y_bar) - before
    zeros = np.zeros_like(y_bar, shape=(before,)), np.zeros_like(y_bar, shape=(after,))
    return np.concatenate((zeros[0], y_bar, zeros[1]))


@bilinear(
    np.convolve, entries="contracted", result=Result(any_lengths=True),
    samples=lambda f, v, w, array: [
        f(v, w), f(w, v), f(v, w, "same"), f(w, v, "same"), f(v, w, "valid"), f(w, v, mode="valid"),
        f(array(5), v, "same"), f(array(6), array(2), "same")],
)  # fmt: skip
def convolve(y_bar, a, v, mode="full"):
    """Each cotangent is the correlation of `y_bar` with the other vector."""
    bar = in_full(y_bar, a, v, mode, False)
    a_bar = np.correlate(bar, vector(v), "valid")
    v_bar = np.correlate(bar, vector(a), "valid")
    return np.reshape(a_bar, np.shape(a)), np.reshape(v_bar, np.shape(v))


@bilinear(
    np.correlate, entries="contracted", result=Result(any_lengths=True),
    samples=lambda f, v, w, array: [
        f(v, w), f(w, v), f(v, w, "same"), f(w, v, "same"), f(v, w, "full"), f(w, v, mode="full"),
        f(array(5), v, "same"), f(v, array(5), "same")],
)  # fmt: skip
def correlate(y_bar, a, v, mode="valid"):
    """``y`` is the convolution of `a` with the conjugate of `v` in opposite order."""
    bar = in_full(y_bar, a, v, mode, True)
    a_bar = np.convolve(bar, vector(v), "valid")
    v_bar = conj(np.correlate(bar, vector(a), "valid")[::-1])
    return np.reshape(a_bar, np.shape(a)), np.reshape(v_bar, np.shape(v))
