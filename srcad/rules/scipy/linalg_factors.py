"""Factors of matrices by SciPy: Cholesky, LU."""

import numpy as np
from scipy import linalg

from srcad.rules.declare import adjoint, nondifferentiable
from srcad.rules.linalg import adjoined, cholesky_cotangent, transposed, triangle
from srcad.rules.row import DOUBLE, Result
from srcad.rules.scipy import IS_BEFORE_1_18
from srcad.rules.scipy.linalg_systems import NUMBER, order_of_rows, overwrites


# ------------------------------------------------------------------------ Cholesky
@adjoint(
    linalg.cholesky,
    refuses=overwrites("a"),
    result=DOUBLE,
    samples=lambda f, spd: [f(spd(3, 3)), f(spd(2, 3, 3)), f(spd(3, 3), lower=True)],
)
def cholesky(y_bar, y, a, lower=False, overwrite_a=False, check_finite=True):
    """As of `numpy.linalg.cholesky`: the cotangent is symmetric."""
    if np.ndim(a) < 2:
        return NUMBER
    if lower:
        return cholesky_cotangent(y, y_bar)
    return cholesky_cotangent(adjoined(y), adjoined(y_bar))


@adjoint(
    linalg.cho_factor,
    refuses=overwrites("a"),
    result=Result(2),
    samples=lambda f, spd: [f(spd(3, 3)), f(spd(2, 3, 3)), f(spd(3, 3), lower=True)],
)
def cho_factor(y_bar, y, a, lower=False, overwrite_a=False, check_finite=True):
    """The other triangle of the result is zero; before SciPy 1.18 it was that of `a`."""
    if np.ndim(a) < 2:
        return NUMBER
    c_bar = y_bar[0]
    if c_bar is None:
        return None
    if lower:
        a_bar = cholesky_cotangent(np.tril(y[0]), np.tril(c_bar))
    else:
        a_bar = cholesky_cotangent(adjoined(np.triu(y[0])), adjoined(np.triu(c_bar)))
    if IS_BEFORE_1_18:  # the other triangle holds the entries of the matrix
        return a_bar + (np.triu(c_bar, 1) if lower else np.tril(c_bar, -1))
    return a_bar


# ------------------------------------------------------------------------ LU
@adjoint(
    linalg.lu_factor, refuses=overwrites("a"), max_rank=2, real_only=True, result=Result(2),
    samples=lambda f, array, square: [
        f(square(3)), f(square(3)[[2, 0, 1]]), f(array(3, 5)), f(array(5, 3))],
)  # fmt: skip
def lu_factor(y_bar, y, a, overwrite_a=False, check_finite=True):
    """Both triangles stand in one matrix, without the diagonal of the lower one."""
    lu, piv = y
    g = y_bar[0]
    if g is None:
        return None
    m, n = np.shape(a)
    k = min(m, n)
    lower = np.tril(lu[:, :k], -1) + np.eye(m, k, dtype=lu.dtype)
    bar = lu_cotangent(lower, np.triu(lu[:k]), g[:, :k], g[:k])
    return bar[np.argsort(order_of_rows(piv, m))]


@adjoint(
    linalg.lu, refuses=overwrites("a"), real_only=True,
    result=Result(lambda permute_l=False: 2 if permute_l else 3, static=("p_indices",)),
    samples=lambda f, array, square: [
        f(square(3)[[2, 0, 1]]), f(array(2, 3, 3)), f(array(3, 5)), f(array(5, 3)),
        f(square(3)[[2, 0, 1]], True), f(array(5, 3), permute_l=True),
        f(square(3)[[2, 0, 1]], p_indices=True), f(array(2, 3, 3), p_indices=True)],
)  # fmt: skip
def lu(y_bar, y, a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    """``a = p l u`` with a constant `p`."""
    if np.size(a) == 0:  # SciPy's `p` has no rows then, whatever those of `a` are
        return np.zeros_like(a)
    if permute_l:
        turned = transposed(linalg.lu(a, check_finite=False)[0])
        l_bar = None if y_bar[0] is None else turned @ y_bar[0]
        return transposed(turned) @ lu_cotangent(turned @ y[0], y[1], l_bar, y_bar[1])
    bar = lu_cotangent(y[1], y[2], y_bar[1], y_bar[2])
    if not p_indices:
        return y[0] @ bar
    return bar[y[0]] if np.ndim(a) == 2 else np.eye(np.shape(a)[-2], dtype=bar.dtype)[y[0]] @ bar


def lu_cotangent(lower, upper, lower_bar, upper_bar):
    """The cotangent of ``lower @ upper``, of m rows and n columns, with ones on the left diagonal.

    The first k rows and columns, with k the smaller of m and n, have the factors of a square
    matrix; those that go beyond them follow from these by one system.

    Source: Seeger, Hetzel, Dai, Meissner and Lawrence (2017), *Auto-differentiating linear
    algebra*, and de Hoog, Anderssen and Lukas (2011), *Differentiation of matrix functionals using
    triangular factorization*, for square matrices.
    """
    k = np.shape(lower)[-1]
    if lower_bar is None:
        lower_bar = np.zeros_like(lower)
    if upper_bar is None:
        upper_bar = np.zeros_like(upper)
    first, second = lower[..., :k, :], upper[..., :, :k]
    left, right = np.tril(lower_bar[..., :k, :], -1), np.triu(upper_bar[..., :, :k])
    if np.shape(upper)[-1] > k:
        beyond = linalg.solve_triangular(
            first,
            upper_bar[..., :, k:],
            trans=1,
            lower=True,
            unit_diagonal=True,
            check_finite=False,
        )
        left = left - np.tril(beyond @ transposed(upper[..., :, k:]), -1)
        square = square_cotangent(first, second, left, right)
        return np.concatenate((square, beyond), -1)
    if np.shape(lower)[-2] > k:
        beyond = solved_from_right(lower_bar[..., k:, :], second)
        right = right - np.triu(transposed(lower[..., k:, :]) @ beyond)
        square = square_cotangent(first, second, left, right)
        return np.concatenate((square, beyond), -2)
    return square_cotangent(first, second, left, right)


def square_cotangent(lower, upper, lower_bar, upper_bar):
    """The cotangent of the product of two triangles of one size."""
    inner = np.tril(transposed(lower) @ lower_bar, -1) + np.triu(upper_bar @ transposed(upper))
    inner = solved_from_right(inner, upper)
    return linalg.solve_triangular(
        lower, inner, trans=1, lower=True, unit_diagonal=True, check_finite=False
    )


def solved_from_right(a, upper):
    """``a @ inv(upper.T)``."""
    return transposed(linalg.solve_triangular(upper, transposed(a), check_finite=False))


# ------------------------------------------------------------------------ LDL
@adjoint(
    linalg.ldl, refuses=overwrites("a"), max_rank=2, real_only=True, result=Result(3),
    samples=lambda f, array: [
        f(array(4, 4) + 4 * np.eye(4)), f(array(4, 4) * (1 - np.eye(4))),
        f(array(5, 5), lower=False), f(array(4, 4) * (1 - np.eye(4)), False, False)],
)  # fmt: skip
def ldl(y_bar, y, A, lower=True, hermitian=True, overwrite_a=False, check_finite=True):
    """The order of the rows and the sizes of the blocks are constant.

    In that order ``A = l d l.T``, so ``l**-1 dA l**-T = p d + dd + d p.T`` with ``dl = l p``: the
    blocks of the diagonal are those of `dd`, and `p` is zero there and beyond.  With a zero pivot
    `l` has no derivative.
    """
    lu, d, perm = y
    lu_bar, d_bar, _ = y_bar
    factor = lu[perm]
    same = same_block(d)
    inner = 0.0 if d_bar is None else np.where(same, d_bar, 0.0)
    if lu_bar is not None:
        pivots = np.where(zero_pivots(d), np.nan, d)
        moved = transposed(np.linalg.solve(pivots, transposed(transposed(factor) @ lu_bar[perm])))
        inner = inner + np.where(same, 0.0, np.tril(moved) if lower else np.triu(moved))
    left = linalg.solve_triangular(
        factor, inner, trans=1, lower=lower, unit_diagonal=True, check_finite=False
    )
    bar = linalg.solve_triangular(
        factor, transposed(left), trans=1, lower=lower, unit_diagonal=True, check_finite=False
    )
    order = np.argsort(perm)
    return triangle(transposed(bar)[order][:, order], "L" if lower else "U")


@nondifferentiable
def same_block(d):
    """Whether the row and the column of an entry belong to one block of 1 or 2 rows."""
    block = np.cumsum(np.append(True, np.diagonal(d, -1) == 0)[: len(d)])
    return block[:, None] == block


@nondifferentiable
def zero_pivots(d):
    """Where the diagonal is zero and the block has one row."""
    block = np.diagonal(d) == 0
    block[:-1] &= np.diagonal(d, -1) == 0
    block[1:] &= np.diagonal(d, -1) == 0
    return np.diag(block)
