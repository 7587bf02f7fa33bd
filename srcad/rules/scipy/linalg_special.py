"""Matrices that SciPy makes from vectors or from other matrices, banded systems, least squares."""

import numpy as np
from scipy import linalg

from srcad.rules.conjugates import conj
from srcad.rules.declare import adjoint, bilinear, linear, tangent
from srcad.rules.linalg import least_squares
from srcad.rules.row import DOUBLE, Result
from srcad.rules.scipy.linalg_systems import overwrites
from srcad.runtime import unbroadcast


# ------------------------------------------------------------------------ patterns
@linear(
    linalg.block_diag,
    entries="moved",
    adds_zeros=True,
    samples=lambda f, v, m, array: [f(m, array(2, 2)), f(m, v, array(1, 2)), f(m)],
)
def block_diag(y_bar, *arrs):
    bars = []
    row, column = 0, 0
    for a in arrs:
        below = row + (np.shape(a)[-2] if np.ndim(a) > 1 else 1)
        right = column + (np.shape(a)[-1] if np.ndim(a) > 0 else 1)
        block = y_bar[..., row:below, column:right]
        bars.append(unbroadcast(block, a) if np.ndim(a) > 1 else np.reshape(block, np.shape(a)))
        row, column = below, right
    return bars


def antidiagonal_sums(a):
    """The sums of the entries for which the two places add up to 0, 1, .. .

    With as many zeros behind each row as there are rows, less one, each row of the reshaped array
    starts one place further to the right.
    """
    m, n = np.shape(a)
    if m == 0:
        return np.zeros_like(a, shape=(0,))
    padded = np.concatenate((a, np.zeros_like(a, shape=(m, m))), 1)
    return np.sum(np.reshape(np.ravel(padded)[: m * (m + n - 1)], (m, m + n - 1)), axis=0)


def nothing_of(y_bar, c, r):
    """The cotangents of the column and the row of an empty matrix."""
    c_bar = np.zeros_like(y_bar, shape=np.shape(c))
    if r is None:
        return c_bar, None
    return c_bar, np.zeros_like(y_bar, shape=np.shape(r))


@linear(
    linalg.toeplitz,
    max_rank=1,
    real_only=True,
    entries="moved",
    active=("c", "r"),
    samples=lambda f, v, w: [f(v), f(v, w), f(w, v), f(v, r=v)],
)
def toeplitz(y_bar, c, r=None):
    """Sums along the diagonals; the first entry of `r` is not read."""
    if np.size(y_bar) == 0:
        return nothing_of(y_bar, c, r)
    m = np.size(c)
    sums = antidiagonal_sums(y_bar[::-1])
    c_bar = sums[:m][::-1]
    above = sums[m:]
    zero = np.zeros_like(sums[:1])
    r_bar = np.concatenate((zero, above))
    if r is None:
        return np.reshape(c_bar + r_bar, np.shape(c)), None
    return np.reshape(c_bar, np.shape(c)), np.reshape(r_bar, np.shape(r))


@linear(linalg.circulant, max_rank=1, entries="moved", samples=lambda f, v: [f(v), f(v[:1])])
def circulant(y_bar, c):
    n = np.size(c)
    sums = antidiagonal_sums(y_bar[::-1])
    around = np.concatenate((np.zeros_like(sums[:1]), sums[n:][::-1]))
    return np.reshape(sums[:n][::-1] + around, np.shape(c))


@linear(
    linalg.hankel,
    max_rank=1,
    entries="moved",
    adds_zeros=True,
    active=("c", "r"),
    samples=lambda f, v, w: [f(v), f(v, w), f(w, v), f(v, r=v)],
)
def hankel(y_bar, c, r=None):
    """Sums along the other diagonals; the first entry of `r` is not read."""
    if np.size(y_bar) == 0:
        return nothing_of(y_bar, c, r)
    m = np.size(c)
    sums = antidiagonal_sums(y_bar)
    c_bar = np.reshape(sums[:m], np.shape(c))
    if r is None:
        return c_bar, None
    return c_bar, np.reshape(np.concatenate((np.zeros_like(sums[:1]), sums[m:])), np.shape(r))


@adjoint(linalg.companion, max_rank=1, samples=lambda f, near: [f(near(0.5, 2.0, 4))])
def companion(y_bar, y, a):
    """The first row is ``-a[1:] / a[0]``."""
    row = -y_bar[0] / conj(a[0])
    return np.concatenate((np.sum(row * conj(y[0]), keepdims=True), row))


@bilinear(linalg.khatri_rao, max_rank=2, samples=lambda f, m, array: [f(m, array(2, 4)), f(m, m)])
def khatri_rao(y_bar, a, b):
    """Each column is the Kronecker product of two columns."""
    g = np.reshape(y_bar, (np.shape(a)[0], np.shape(b)[0], np.shape(a)[1]))
    return np.einsum("ijk,jk->ik", g, conj(b)), np.einsum("ijk,ik->jk", g, conj(a))


# ------------------------------------------------------------------------ bands
def shifted(x, count):
    """``x[j + count]`` for each j along the first axis, 0 outside."""
    if count == 0:
        return x
    if count > 0:
        return np.concatenate((x[count:], np.zeros_like(x[:count])))
    return np.concatenate((np.zeros_like(x[count:]), x[:count]))


def band_of_product(left, right, first, last):
    """The diagonals `first` to `last`, as SciPy stores them, of ``left right.T``."""
    rows = []
    for count in range(first, last):
        row = shifted(left, count) * right
        rows.append(row if np.ndim(row) == 1 else np.sum(row, axis=1))
    return np.array(rows)


def transposed_band(ab, nlower, nupper):
    """The band of the transpose, which has `nupper` diagonals below the main one."""
    rows = []
    for count in range(-nlower, nupper + 1):
        rows.append(shifted(ab[nupper - count], count))
    return np.array(rows)


@linear(transposed_band, samples=())
def band_of_transpose(y_bar, ab, nlower, nupper):
    return transposed_band(y_bar, nupper, nlower), None, None


@adjoint(
    linalg.solve_banded, refuses=overwrites("ab", "b"), max_rank=2, real_only=True,
    result=DOUBLE, active=("ab", "b"),
    samples=lambda f, v, array, near: [
        f((1, 1), array(3, 4) + np.array([[0], [4], [0]]), v),
        f((1, 2), array(4, 5) + np.array([[0], [0], [5], [0]]), array(5, 2)),
        f((0, 1), array(2, 4) + np.array([[0], [4]]), v), f((0, 0), near(1.0, 2.0, 1, 4), v)],
)  # fmt: skip
def solve_banded(
    y_bar, y, l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True
):  # fmt: skip
    """The corners of `ab` that lie outside of the matrix are not read."""
    nlower, nupper = l_and_u
    turned = transposed_band(ab, nlower, nupper)
    bar = linalg.solve_banded((nupper, nlower), turned, y_bar, check_finite=False)
    return band_of_product(-bar, y, -nupper, nlower + 1), bar


@adjoint(
    linalg.solveh_banded, refuses=overwrites("ab", "b"), max_rank=2, real_only=True, result=DOUBLE,
    samples=lambda f, v, array: [
        f(array(2, 4) + np.array([[0], [6]]), v),
        f(array(3, 4) + np.array([[9], [0], [0]]), array(4, 2), lower=True),
        f(array(3, 4) + np.array([[0], [0], [9]]), array(4, 2))],
)  # fmt: skip
def solveh_banded(
    y_bar, y, ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True
):  # fmt: skip
    """A diagonal that is stored stands for that on the other side, too."""
    bar = linalg.solveh_banded(ab, y_bar, lower=lower, check_finite=False)
    return symmetric_band(-bar, y, np.shape(ab)[0], lower), bar


def symmetric_band(left, right, count, lower):
    """The band of ``left right.T`` as a cotangent of a symmetric matrix of `count` diagonals.

    A diagonal that is stored stands for that on the other side, too.
    """
    first, last = (0, count) if lower else (1 - count, 1)
    both = band_of_product(left, right, first, last) + band_of_product(right, left, first, last)
    if lower:
        return np.concatenate((0.5 * both[:1], both[1:]))
    return np.concatenate((both[:-1], 0.5 * both[-1:]))


def symmetric_band_product(ab, x, lower):
    """``a x``, where `ab` stores the diagonals of a symmetric `a`."""
    last = np.shape(ab)[0] - 1
    main = ab[0 if lower else last]
    total = (main if np.ndim(x) == 1 else main[:, None]) * x
    for count in range(1, last + 1):
        stored = ab[count] if lower else shifted(ab[last - count], count)
        diagonal = stored if np.ndim(x) == 1 else stored[:, None]
        total = total + diagonal * shifted(x, count) + shifted(diagonal * x, -count)
    return total


@tangent(linalg.solveh_banded)
def solveh_banded_tangent(
    ab_dot, b_dot, y, ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True
):  # fmt: skip
    """``a y = b``, so ``a y_dot = b_dot - a_dot y``."""
    if ab_dot is None:
        return linalg.solveh_banded(ab, b_dot, lower=lower, check_finite=False)
    moved = symmetric_band_product(ab_dot, y, lower)
    right = -moved if b_dot is None else b_dot - moved
    return linalg.solveh_banded(ab, right, lower=lower, check_finite=False)


# ------------------------------------------------------------------------ least squares
@adjoint(
    linalg.lstsq, refuses=overwrites("a", "b"), max_rank=2, real_only=True,
    result=Result(4, any_lengths=True),
    samples=lambda f, v, m, w, array: [
        f(m.T, v), f(m.T, array(4, 2)), f(m, w), f(m.T, v, 1e-9),
        f(m.T, v, lapack_driver="gelss"),
        f(m.T, v, check_finite=False)],
)  # fmt: skip
def lstsq(
    y_bar, y, a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True,
    lapack_driver=None,
):  # fmt: skip
    """At matrices with a rank that does not change nearby."""
    return least_squares(y_bar, y, a, b, np.linalg.pinv(np.asarray(a, y[0].dtype), rtol=cond))
