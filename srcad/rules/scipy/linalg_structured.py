"""Matrices with a pattern, Toeplitz and circulant ones among them, and their systems, by SciPy.

A matrix with the first column `c` and the first row `r` that is constant along its diagonals has
the cotangents of its entries summed along these.  For ``left right.T`` the sums are a correlation,
``sum(left[j + k] * right[j])``, which takes O(n log n) operations.
"""

import numpy as np
from scipy import linalg

from srcad.rules.declare import adjoint, bilinear, linear, tangent
from srcad.rules.row import DOUBLE, NoPartial, Result
from srcad.rules.scipy.linalg_special import antidiagonal_sums

STACK = NoPartial("its rule is for one first column: call it for each item of the stack")
_AXES = "its rule is for the default axes: move the axes by np.moveaxis"


# ------------------------------------------------------------------------ patterns
@linear(
    linalg.diagsvd,
    max_rank=1,
    entries="moved",
    adds_zeros=True,
    samples=lambda f, w: [f(w, 3, 4), f(w, 5, 3), f(w, M=3, N=3)],
)
def diagsvd(y_bar, s, M, N):
    return np.diagonal(y_bar), None, None


@linear(
    linalg.leslie,
    max_rank=1,
    entries="moved",
    adds_zeros=True,
    samples=lambda f, v, w: [f(v, w)],
)
def leslie(y_bar, f, s):
    """The first row is `f`, the diagonal below the main one is `s`."""
    return y_bar[0], np.diagonal(y_bar, -1)


@linear(
    linalg.convolution_matrix, max_rank=1, entries="moved", adds_zeros=True,
    result=Result(any_lengths=True),
    active=("a",),
    samples=lambda f, v: [
        f(v, 3), f(v, 6), f(v, 3, "same"), f(v, 6, mode="same"), f(v, 3, "valid"),
        f(v, 6, "valid")],
)  # fmt: skip
def convolution_matrix(y_bar, a, n, mode="full"):
    """Entry (i, j) is ``a[i - j + first]``, with `first` rows of the full matrix left out."""
    m = np.size(a)
    sums = antidiagonal_sums(y_bar[:, ::-1])
    if mode == "full":
        return sums[n - 1 : n - 1 + m]
    left_out = min(m, n) - 1
    first = left_out if mode == "valid" else left_out // 2
    return sums[n - 1 - first : n - 1 - first + m]


# ------------------------------------------------------------------------ Toeplitz
def correlation(left, right, count):
    """``sum(left[j + k] * right[j])`` for each k below `count`, the places taken modulo `count`.

    Of matrices the sum is over their columns as well.
    """
    product = np.fft.rfft(left, count, 0) * np.conjugate(np.fft.rfft(right, count, 0))
    return np.fft.irfft(product if np.ndim(left) == 1 else np.sum(product, axis=1), count)


@bilinear(correlation, active=("left", "right"), samples=())
def of_correlation(y_bar, left, right, count):
    """Of `left` a convolution with the places taken modulo `count`, of `right` a correlation."""
    bar = np.fft.rfft(y_bar, count)
    bar = bar if np.ndim(left) == 1 else bar[:, None]
    left_bar = np.fft.irfft(bar * np.fft.rfft(right, count, 0), count, 0)
    right_bar = np.fft.irfft(np.conjugate(bar) * np.fft.rfft(left, count, 0), count, 0)
    return left_bar[: np.shape(left)[0]], right_bar[: np.shape(right)[0]]


def along_diagonals(left, right):
    """The sums along the diagonals of ``left right.T`` of m rows and n columns.

    Those of the main diagonal and below have m entries, those above it n, the first of them 0.
    """
    m, n = np.shape(left)[0], np.shape(right)[0]
    sums = correlation(left, right, max(m + n - 1, 1))
    return sums[:m], np.concatenate((np.zeros_like(sums[:1]), sums[m:][::-1]))[:n]


@adjoint(
    linalg.solve_toeplitz, max_rank=2, real_only=True, result=DOUBLE, lists=("c_or_cr",),
    samples=lambda f, v, w, array: [
        f((w + np.array([5.0, 0, 0]), array(3)), array(3)),
        f((w + np.array([5.0, 0, 0]), array(3)), array(3, 2)),
        f(v + np.array([7.0, 0, 0, 0]), array(4)), f(v + np.array([7.0, 0, 0, 0]), array(4, 2))],
)  # fmt: skip
def solve_toeplitz(y_bar, y, c_or_cr, b, check_finite=True):
    """The transposed matrix has `c` as its row; without `r` the matrix is symmetric."""
    if isinstance(c_or_cr, tuple):
        c, r = c_or_cr
        b_bar = linalg.solve_toeplitz(
            (np.concatenate((c[:1], r[1:])), c), y_bar, check_finite=False
        )
        c_bar, r_bar = along_diagonals(-b_bar, y)
        return (c_bar, r_bar), b_bar
    b_bar = linalg.solve_toeplitz(c_or_cr, y_bar, check_finite=False)
    c_bar, r_bar = along_diagonals(-b_bar, y)
    return c_bar + r_bar, b_bar


@tangent(linalg.solve_toeplitz)
def solve_toeplitz_tangent(c_or_cr_dot, b_dot, y, c_or_cr, b, check_finite=True):
    """``a y = b``, so ``a y_dot = b_dot - a_dot y``."""
    if c_or_cr_dot is None:
        return linalg.solve_toeplitz(c_or_cr, b_dot, check_finite=False)
    moved = linalg.matmul_toeplitz(c_or_cr_dot, y)
    right = -moved if b_dot is None else b_dot - moved
    return linalg.solve_toeplitz(c_or_cr, right, check_finite=False)


@bilinear(
    linalg.matmul_toeplitz, max_rank=2, real_only=True, result=DOUBLE, lists=("c_or_cr",),
    samples=lambda f, v, w, array: [
        f((v, w), array(3)), f((w, v), array(4, 2)), f(v, array(4)), f(v, array(4, 2))],
)  # fmt: skip
def matmul_toeplitz(y_bar, c_or_cr, x, check_finite=False, workers=None):
    """The transposed matrix has `c` as its row; without `r` the matrix is symmetric."""
    if isinstance(c_or_cr, tuple):
        c, r = c_or_cr
        turned = (np.concatenate((c[:1], r[1:])), c)
        c_bar, r_bar = along_diagonals(y_bar, x)
        return (c_bar, r_bar), linalg.matmul_toeplitz(turned, y_bar, workers=workers)
    c_bar, r_bar = along_diagonals(y_bar, x)
    return c_bar + r_bar, linalg.matmul_toeplitz(c_or_cr, y_bar, workers=workers)


# ------------------------------------------------------------------------ circulant
@adjoint(
    linalg.solve_circulant, max_rank=2, real_only=True, order="gaps", result=DOUBLE,
    refuses={
        **dict.fromkeys(("caxis", "baxis", "outaxis"), _AXES),
        "singular": "its rule is for singular='raise'; of other systems write np.linalg.lstsq",
    },
    samples=lambda f, v, array: [
        f(v + np.array([7.0, 0, 0, 0]), array(4)), f(v + np.array([7.0, 0, 0, 0]), array(4, 2)),
        f(v + np.array([7.0, 0, 0, 0]), array(4), tol=1e-9)],
)  # fmt: skip
def solve_circulant(y_bar, y, c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0):
    """The transposed matrix has the first column `c` with all but the first entry reversed."""
    if np.ndim(c) != 1:
        return STACK, STACK
    b_bar = linalg.solve_circulant(np.concatenate((c[:1], c[1:][::-1])), y_bar)
    n = np.size(c)
    return correlation(-b_bar, y, max(n, 1))[:n], b_bar


@tangent(linalg.solve_circulant)
def solve_circulant_tangent(
    c_dot, b_dot, y, c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0
):
    """``a y = b``, so ``a y_dot = b_dot - a_dot y``."""
    if c_dot is None:
        return linalg.solve_circulant(c, b_dot)
    moved = linalg.circulant(c_dot) @ y
    return linalg.solve_circulant(c, -moved if b_dot is None else b_dot - moved)
