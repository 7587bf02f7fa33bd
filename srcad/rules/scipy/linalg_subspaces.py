"""Bases of the range and of the null space of a matrix, angles and rotations between them."""

import numpy as np
from scipy import linalg

from srcad.rules.declare import adjoint
from srcad.rules.linalg import adjoined, of_turns
from srcad.rules.row import NoPartial, Result
from srcad.rules.scipy.linalg_systems import overwrites
from srcad.runtime import checked_basis

LEFT_OF_TALL = NoPartial(
    "of a matrix with more rows than columns p is singular on the left: pass side='right'"
)
RIGHT_OF_WIDE = NoPartial(
    "of a matrix with more columns than rows p is singular on the right: pass side='left'"
)
WIDE = NoPartial("its rule is for matrices that have no more columns than rows")


@adjoint(
    linalg.orthogonal_procrustes,
    max_rank=2,
    real_only=True,
    result=Result(2),
    samples=lambda f, array: [f(array(4, 3), array(4, 3)), f(array(2, 2), array(2, 2))],
)
def orthogonal_procrustes(y_bar, y, A, B, check_finite=True):
    """The results are the orthogonal factor `R` of ``A.T B``, and the trace of the other factor."""
    R_bar, scale_bar = y_bar
    if R_bar is None:
        bar = scale_bar * y[0]
        return B @ bar.T, A @ bar
    product = A.T @ B
    bar = of_polar(R_bar, None, y[0], y[0].T @ product, product)
    if scale_bar is not None:
        bar = bar + scale_bar * y[0]
    return B @ bar.T, A @ bar


@adjoint(
    linalg.polar, max_rank=2, result=Result(2),
    samples=lambda f, m, square: [
        f(m.T), f(square(3)), f(m, "left"), f(square(3), side="left")],
)  # fmt: skip
def polar(y_bar, y, a, side="right"):
    """With ``a = u p``, ``p = (a.T a)**0.5``: solutions of ``p x + x p = k``, at equal values too.

    The factors `u` of a matrix of which the rank is not full, and `p`, are not smooth: nan.
    """
    u_bar, p_bar = y_bar
    if side == "left":
        if np.shape(a)[0] > np.shape(a)[1]:
            return LEFT_OF_TALL
        of_u = None if u_bar is None else adjoined(u_bar)
        return adjoined(of_polar(of_u, p_bar, adjoined(y[0]), y[1], adjoined(a)))
    if np.shape(a)[0] < np.shape(a)[1]:
        return RIGHT_OF_WIDE
    return of_polar(u_bar, p_bar, y[0], y[1], a)


def of_polar(u_bar, p_bar, u, p, a):
    """Source: Higham (2008), *Functions of matrices*, section 8.1."""
    bar = None
    if u_bar is not None:
        turn = adjoined(u) @ u_bar
        bar = u @ over_sums(turn - adjoined(turn), p)
        if np.shape(a)[0] > np.shape(a)[1]:
            bar = bar + adjoined(np.linalg.solve(p, adjoined(u_bar - u @ turn)))
    if p_bar is None:
        return bar
    of_p = a @ over_sums(p_bar + adjoined(p_bar), p)
    return of_p if bar is None else bar + of_p


def over_sums(k, p):
    """The solution of ``p x + x p = k`` for a symmetric `p` without negative eigenvalues.

    Where a sum of eigenvalues is 0 up to rounding it is 0 if so is the right-hand side, or nan.
    """
    w, v = np.linalg.eigh(p)
    sums = w[:, None] + w
    eps = np.finfo(w.dtype).eps
    is_zero = sums <= max(1e-9, 100 * eps) * np.max(w, initial=0.0)
    inner = adjoined(v) @ k @ v
    is_small = np.abs(inner) <= 64 * np.size(w) * eps * np.max(np.abs(k), initial=0.0)
    quotient = inner / np.where(is_zero, 1.0, sums)
    found = np.where(is_zero, np.where(is_small, 0.0, np.nan), quotient)
    return (v @ found @ adjoined(v)).astype(k.dtype)


@adjoint(over_sums, active=("k", "p"), samples=())
def solution(y_bar, y, k, p):
    """``p x_dot + x_dot p = k_dot - p_dot x - x p_dot``."""
    bar = over_sums(y_bar, p)
    return bar, -(bar @ adjoined(y) + adjoined(y) @ bar)


@adjoint(
    linalg.orth,
    max_rank=2,
    real_only=True,
    samples=lambda f, m, array: [f(m.T), f(array(3, 5)), f(m.T, 1e-9)],
)
def orth(y_bar, y, A, rcond=None):
    """The left singular vectors, at matrices with a rank that does not change nearby.

    Source: Townsend (2016), *Differentiating the singular value decomposition*.
    """
    rank = np.shape(y)[1]
    _, s, vt = linalg.svd(A, full_matrices=False, check_finite=False)
    s, vt = s[:rank], vt[:rank]
    turn = y.T @ y_bar
    inner = of_turns(turn, None, y_bar, None, s, None)
    return (y @ inner + (y_bar - y @ turn) / s) @ vt


@adjoint(
    linalg.null_space, refuses=overwrites("a"), max_rank=2, real_only=True,
    samples=lambda f, m, array: [
        f(m), f(array(2, 3)), f(m, rcond=1e-9), f(m, lapack_driver="gesvd")],
)  # fmt: skip
def null_space(
    y_bar, y, A, rcond=None, *, overwrite_a=False, check_finite=True, lapack_driver="gesdd"
):
    """``A y = 0``, so ``dy = -pinv(A) dA y``, but for a rotation of the basis.

    What depends on such a rotation raises.
    """
    turn = y.T @ y_bar
    bar = checked_basis(y_bar, turn - turn.T)
    return -np.linalg.pinv(A, rtol=rcond).T @ bar @ y.T


@adjoint(
    linalg.subspace_angles, real_only=True,
    samples=lambda f, array: [
        f(array(5, 2), array(5, 2)), f(array(5, 2), array(5, 3)), f(array(5, 3), array(5, 2)),
        f(array(4, 1), array(4, 1))],
)  # fmt: skip
def subspace_angles(y_bar, y, A, B):
    """The cosines are the singular values of ``QA.T QB``, of the factors q of both matrices.

    The angles do not depend on the bases: of the cotangent of ``QA`` only what is orthogonal to it
    counts.  An angle of 0 has no derivative: nan or infinite.

    Source: Bjorck and Golub (1973), *Numerical methods for computing angles between linear
    subspaces*.
    """
    if np.shape(A)[0] < np.shape(A)[1] or np.shape(B)[0] < np.shape(B)[1]:
        return WIDE, WIDE
    qa, ra = np.linalg.qr(A)
    qb, rb = np.linalg.qr(B)
    u, _, vt = np.linalg.svd(qa.T @ qb, full_matrices=False)
    weights = (-y_bar / np.sin(y))[::-1]
    left, right = qa @ u, qb @ vt.T
    qa_bar, qb_bar = (right * weights) @ u.T, (left * weights) @ vt
    A_bar = linalg.solve_triangular(ra, (qa_bar - qa @ (qa.T @ qa_bar)).T, check_finite=False).T
    B_bar = linalg.solve_triangular(rb, (qb_bar - qb @ (qb.T @ qb_bar)).T, check_finite=False).T
    return A_bar, B_bar
