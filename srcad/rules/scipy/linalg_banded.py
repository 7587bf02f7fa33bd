"""Factors, eigenvalues and eigenvectors of symmetric banded matrices by SciPy.

Row k of a lower band holds the k-th diagonal below the main one, and row ``u - k`` of an upper band
of ``u + 1`` rows the k-th above it; see `scipy.linalg.cholesky_banded`.  The corners of a band that
lie outside of the matrix are not read.
"""

import numpy as np
from scipy import linalg

from srcad.rules.declare import adjoint, nondifferentiable, tangent
from srcad.rules.gaps import VALUES
from srcad.rules.linalg import of_turn
from srcad.rules.row import Result
from srcad.rules.scipy.linalg_special import (
    band_of_product,
    shifted,
    symmetric_band,
    transposed_band,
)
from srcad.rules.scipy.linalg_spectral import among_all, padded
from srcad.rules.scipy.linalg_systems import overwrites

VALUES.update(dict.fromkeys((linalg.eig_banded, linalg.eigvals_banded), 0))

_MAX_EV = "its rule is for max_ev=0, which returns all eigenvalues that are selected"


# ------------------------------------------------------------------------ Cholesky
@adjoint(
    linalg.cholesky_banded, refuses=overwrites("ab"), max_rank=2, real_only=True,
    samples=lambda f, array: [
        f(array(2, 5) + np.array([[0], [6]])), f(array(3, 5) + np.array([[0], [0], [9]])),
        f(array(3, 5) + np.array([[9], [0], [0]]), lower=True),
        f(array(1, 4) + 4, lower=True)],
)  # fmt: skip
def cholesky_banded(y_bar, y, ab, overwrite_ab=False, lower=False, check_finite=True):
    """SciPy copies the corners that lie outside of the matrix."""
    return by_columns(reversed_columns, y, y_bar, lower)


@tangent(linalg.cholesky_banded)
def cholesky_banded_tangent(ab_dot, y, ab, overwrite_ab=False, lower=False, check_finite=True):
    return by_columns(moved_columns, y, ab_dot, lower)


def by_columns(recurrence, y, change, lower):
    """The result of a recurrence for the columns of a factor `y` in a band, and of its change."""
    count, n = np.shape(y)
    if count == 0:
        return np.zeros_like(y)
    if lower:
        inside = np.arange(n) < n - np.arange(count)[:, None]
        found = recurrence(np.where(inside, y, 0.0), np.where(inside, change, 0.0))
        return np.where(inside, found, change)
    inside = np.arange(n) >= np.arange(count)[::-1, None]
    found = recurrence(transposed_band(y, 0, count - 1), transposed_band(change, 0, count - 1))
    return np.where(inside, transposed_band(found, count - 1, 0), change)


def reversed_columns(factor, factor_bar):
    """The cotangent of ``l l.T`` for that of `l`, both lower bands that are 0 in the corners.

    It is the recurrence that subtracts ``outer(below, below)`` of each column from the matrix that
    remains, run backwards.  `later` is the part of ``a_bar + a_bar.T`` that a column changes.
    """
    u = np.shape(factor)[0] - 1
    bar = np.zeros_like(factor)
    later = np.zeros_like(factor, shape=(u + 1, u + 1))
    for j in range(np.shape(factor)[1] - 1, -1, -1):
        below = factor[1:, j]
        below_bar = (factor_bar[1:, j] - later[:u, :u] @ below) / factor[0, j]
        both = (factor_bar[0, j] - below @ below_bar) / factor[0, j]
        later[1:, 1:] = np.copy(later[:u, :u])
        later[0, 1:] = below_bar
        later[1:, 0] = below_bar
        later[0, 0] = both
        bar[1:, j] = below_bar
        bar[0, j] = both / 2
    return bar


def moved_columns(factor, dot):
    """The tangent of `l` for that of ``l l.T``, both lower bands that are 0 in the corners.

    `taken` is the change of what the columns before have subtracted from the next ones.
    """
    u = np.shape(factor)[0] - 1
    moved = np.zeros_like(factor)
    taken = np.zeros_like(factor, shape=(u + 1, u + 1))
    for j in range(np.shape(factor)[1]):
        below = factor[1:, j]
        moved[0, j] = (dot[0, j] - taken[0, 0]) / (2 * factor[0, j])
        moved[1:, j] = (dot[1:, j] - taken[1:, 0] - below * moved[0, j]) / factor[0, j]
        product = np.outer(moved[1:, j], below)
        taken[:u, :u] = taken[1:, 1:] + product + product.T
        taken[u, :] = 0.0
        taken[:, u] = 0.0
    return moved


@adjoint(
    linalg.cho_solve_banded, refuses=overwrites("b"), max_rank=2, real_only=True,
    lists=("cb_and_lower",),
    samples=lambda f, v, array: [
        f((array(2, 4) + np.array([[0], [5]]), False), v),
        f((array(3, 4) + np.array([[5], [0], [0]]), True), array(4, 2)),
        f((array(3, 4) + np.array([[0], [0], [5]]), False), array(4, 2)),
        f((array(2, 4) + np.array([[5], [0]]), True), v)],
)  # fmt: skip
def cho_solve_banded(y_bar, y, cb_and_lower, b, overwrite_b=False, check_finite=True):
    """The matrix is ``l l.T``: the band of ``-(b_bar (l.T y).T + y (l.T b_bar).T)`` is `l_bar`.

    An upper band holds ``u = l.T``, and `u_bar` is the transpose.
    """
    cb, lower = cb_and_lower
    bar = linalg.cho_solve_banded(cb_and_lower, y_bar, check_finite=False)
    turned_y, turned_bar = product_of_upper(cb, y, lower), product_of_upper(cb, -bar, lower)
    count = np.shape(cb)[0]
    if lower:
        cb_bar = band_of_product(-bar, turned_y, 0, count)
        return (cb_bar + band_of_product(y, turned_bar, 0, count), None), bar
    cb_bar = band_of_product(turned_y, -bar, 1 - count, 1)
    return (cb_bar + band_of_product(turned_bar, y, 1 - count, 1), None), bar


def product_of_upper(cb, x, lower):
    """``l.T x`` for a lower band of `l`, ``u x`` for an upper band of `u`."""
    last = np.shape(cb)[0] - 1
    total = np.zeros_like(x)
    for count in range(last + 1):
        diagonal = cb[count] if lower else shifted(cb[last - count], count)
        total = total + (diagonal if np.ndim(x) == 1 else diagonal[:, None]) * shifted(x, count)
    return total


# ------------------------------------------------------------------------ eigenvalues
@adjoint(
    linalg.eigvals_banded, refuses=overwrites("a_band"), max_rank=2, real_only=True,
    active=("a_band",),
    samples=lambda f, array: [
        f(array(2, 4)), f(array(3, 4), lower=True), f(array(1, 3)),
        f(array(2, 4), select="i", select_range=(1, 2)),
        f(array(2, 4), True, False, "v", (-9.0, 9.0))],
)  # fmt: skip
def eigvals_banded(
    y_bar, y, a_band, lower=False, overwrite_a_band=False, select="a", select_range=None,
    check_finite=True,
):  # fmt: skip
    """The band of ``v w_bar v.T``."""
    if np.shape(a_band)[0] == 0:
        return np.zeros_like(a_band)
    v = linalg.eig_banded(a_band, lower=lower, select=select, select_range=select_range)[1]
    return symmetric_cotangent(v * y_bar, v, a_band, lower)


@adjoint(
    linalg.eig_banded, refuses={**overwrites("a_band"), "max_ev": _MAX_EV}, max_rank=2,
    real_only=True,
    result=Result(lambda eigvals_only=False: 1 if eigvals_only else 2), active=("a_band",),
    samples=lambda f, array: [
        f(array(2, 4)), f(array(3, 4), lower=True), f(array(2, 4), eigvals_only=True),
        f(array(2, 4), True, True, select="i", select_range=(0, 1)),
        f(array(2, 4), select="i", select_range=(1, 2)),
        f(array(2, 4), True, select="v", select_range=(-9.0, 0.5))],
)  # fmt: skip
def eig_banded(
    y_bar, y, a_band, lower=False, eigvals_only=False, overwrite_a_band=False, select="a",
    select_range=None, max_ev=0, check_finite=True,
):  # fmt: skip
    """The band of the cotangent by `scipy.linalg.eigh`.

    Eigenvectors of equal eigenvalues have none: nan, and a warning, where they are coupled.
    """
    if np.shape(a_band)[0] == 0:
        return np.zeros_like(a_band)
    if eigvals_only:
        v = linalg.eig_banded(a_band, lower=lower, select=select, select_range=select_range)[1]
        return symmetric_cotangent(v * y_bar, v, a_band, lower)
    w, v = y
    w_bar, v_bar = y_bar
    if v_bar is None:
        return symmetric_cotangent(v * w_bar, v, a_band, lower)
    if select not in (0, "a", "all"):
        all_w, all_v = linalg.eig_banded(a_band, lower=lower)
        first = first_selected(all_w, select, select_range)
        last = first + np.shape(w)[0]
        v, v_bar = among_all(v, v_bar, all_v, first, last)
        w_bar = None if w_bar is None else padded(w_bar, all_w, first, last)
        w = all_w
    left = v @ of_turn(v.T @ v_bar, v_bar, w, w_bar)
    if w_bar is not None:
        left = left + v * w_bar
    return symmetric_cotangent(left, v, a_band, lower)


@nondifferentiable
def first_selected(all_w, select, select_range):
    """The number of the first eigenvalue of a range of numbers, or of a range of values."""
    if select in (2, "i", "index"):
        return select_range[0]
    return np.sum(all_w <= select_range[0])


def symmetric_cotangent(left, right, a_band, lower):
    """As `symmetric_band`, but of an upper band of one column SciPy reads the first row."""
    bar = symmetric_band(left, right, np.shape(a_band)[0], lower)
    return bar if lower or np.shape(a_band)[1] > 1 else bar[::-1]
