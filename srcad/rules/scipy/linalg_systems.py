"""Systems of linear equations by SciPy: general, triangular, or with a factor that is kept.

Of ``a y = b`` the cotangent `b_bar` solves ``a.T b_bar = y_bar``, and ``a_bar = -b_bar y.T``, of
which the part that SciPy reads counts.  Right-hand sides are one vector or the columns of matrices.
Source: Giles (2008), *Collected matrix derivative results for forward and reverse mode algorithmic
differentiation*, section 2.3.
"""

import numpy as np
from scipy import linalg

from srcad.rules.conjugates import REAL_ONLY, conj, may_be_complex
from srcad.rules.declare import adjoint, nondifferentiable
from srcad.rules.linalg import adjoined, per_matrix, triangle
from srcad.rules.linalg import cofactors as _cofactors
from srcad.rules.row import DOUBLE, NoPartial
from srcad.runtime import checked_rows, unbroadcast


def overwrites(*names):
    """The options by which SciPy writes into arguments with these names, each with the reason."""
    reason = "SciPy writes into the argument, whose numbers a derivative needs; leave it out"
    return {f"overwrite_{name}": reason for name in names}


NUMBER = NoPartial("a number takes the place of the matrix; pass an array of shape (1, 1)")

_SYMMETRIC = ("pos", "positive definite", "sym", "symmetric", "her", "hermitian")
_GENERAL = (None, "gen", "general")


def columns(y_bar, a, b):
    """The cotangent of solutions as the columns of matrices, where one vector met a stack."""
    return y_bar[..., None] if np.ndim(b) == 1 and np.ndim(a) > 2 else y_bar


def vectors(bar, a, b):
    """What belongs to `b`, of `columns`."""
    return bar[..., 0] if np.ndim(b) == 1 and np.ndim(a) > 2 else bar


def products(left, right, a, b):
    """``left right.T`` for solutions of systems with the matrix `a` and right-hand side `b`."""
    if np.ndim(b) > 1:
        return unbroadcast(left @ adjoined(right), a)
    if np.ndim(a) > 2:
        return left[..., :, None] * conj(right)[..., None, :]
    return np.outer(left, conj(right))


def part_read(bar, assume_a, lower):
    """The cotangent of a matrix of which `scipy.linalg.solve` and `inv` read a part only."""
    if assume_a in _SYMMETRIC:
        return triangle(bar, "L" if lower else "U")
    if assume_a == "upper triangular":
        return np.triu(bar)
    if assume_a == "lower triangular":
        return np.tril(bar)
    if assume_a == "diagonal":
        return np.tril(np.triu(bar))
    return np.tril(np.triu(bar, -1), 1) if assume_a == "tridiagonal" else bar


@adjoint(
    linalg.solve, refuses=overwrites("a", "b"), result=DOUBLE,
    samples=lambda f, w, array, square, spd: [
        f(square(3), w), f(square(3), array(3, 2), transposed=True),
        f(spd(3, 3), w, True, assume_a="pos"),
        f(square(3), w, assume_a="upper triangular"),
        f(square(3), array(3, 2), assume_a="lower triangular", transposed=True),
        f(square(4), array(4), assume_a="tridiagonal"),
        f(array(2, 3, 3) + 3 * np.eye(3), w, assume_a="diagonal"),
        f(square(3), array(2, 3, 2), assume_a="gen")],
)  # fmt: skip
def solve(
    y_bar, y, a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True,
    assume_a=None, transposed=False,
):  # fmt: skip
    """Both systems are solved in the same way; `assume_a` tells what is read of the matrix."""
    if np.ndim(a) < 2:
        return NUMBER, NUMBER
    g = columns(y_bar, a, b)
    if may_be_complex(y):
        if assume_a not in _GENERAL or transposed:
            return REAL_ONLY, REAL_ONLY
        bar = vectors(linalg.solve(adjoined(a), g, check_finite=False), a, b)
    else:
        bar = linalg.solve(
            a, g, lower=lower, check_finite=False, assume_a=assume_a, transposed=not transposed
        )
        bar = vectors(bar, a, b)
    a_bar = products(-y, bar, a, b) if transposed else products(-bar, y, a, b)
    return checked_rows(part_read(a_bar, assume_a, lower), a, b), unbroadcast(bar, b)


@adjoint(
    linalg.solve_triangular, refuses=overwrites("b"), result=DOUBLE,
    samples=lambda f, w, array, square: [
        f(square(3), w), f(square(3), array(3, 2), lower=True), f(square(3), w, 1),
        f(square(3), array(3, 2), "T", True), f(square(3), w, trans="N", unit_diagonal=True),
        f(square(3), w, trans=2, lower=True, unit_diagonal=True),
        f(array(2, 3, 3) + 3 * np.eye(3), w, lower=True),
        f(array(2, 3, 3) + 3 * np.eye(3), array(3, 2))],
)  # fmt: skip
def solve_triangular(
    y_bar, y, a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True
):
    """The other triangle is not read, and of a unit triangle the diagonal neither."""
    is_turned = trans not in (0, "N")
    g = columns(y_bar, a, b)
    if not may_be_complex(y):
        bar = linalg.solve_triangular(
            a, g, 0 if is_turned else 1, lower, unit_diagonal, check_finite=False
        )
    elif trans in (1, "T"):
        return REAL_ONLY, REAL_ONLY
    else:
        bar = linalg.solve_triangular(
            a, g, 0 if is_turned else 2, lower, unit_diagonal, check_finite=False
        )
    bar = vectors(bar, a, b)
    a_bar = products(-y, bar, a, b) if is_turned else products(-bar, y, a, b)
    if lower:
        a_bar = np.tril(a_bar, -1 if unit_diagonal else 0)
    else:
        a_bar = np.triu(a_bar, 1 if unit_diagonal else 0)
    return a_bar, unbroadcast(bar, b)


# ------------------------------------------------------------------------ with a factor
@adjoint(
    linalg.cho_solve, refuses=overwrites("b"), result=DOUBLE, lists=("c_and_lower",),
    samples=lambda f, w, array, square: [
        f((square(3), True), w), f((square(3), False), array(3, 2)), f((square(3), False), w),
        f((square(3), True), array(3, 2)), f((array(2, 3, 3) + 3 * np.eye(3), True), w)],
)  # fmt: skip
def cho_solve(y_bar, y, c_and_lower, b, overwrite_b=False, check_finite=True):
    """The matrix is ``l l.T`` or ``u.T u``; the other triangle of the factor is not read.

    With ``s = b_bar y.T + y b_bar.T``, ``l_bar`` is the lower triangle of ``-s l`` and ``u_bar``
    the upper one of ``-u s``; the products are made from the side of the vectors.
    """
    c, lower = c_and_lower
    g = linalg.cho_solve(c_and_lower, columns(y_bar, c, b), check_finite=False)
    g, x = -g, columns(y, c, b)
    if lower:
        factor = np.tril(c)
        turned = adjoined(factor)
        bar = np.tril(products(g, turned @ x, c, x) + products(x, turned @ g, c, x))
    else:
        factor = np.triu(c)
        bar = np.triu(products(factor @ g, x, c, x) + products(factor @ x, g, c, x))
    return (bar, None), unbroadcast(-vectors(g, c, b), b)


@adjoint(
    linalg.lu_solve, refuses=overwrites("b"), max_rank=2, real_only=True,
    result=DOUBLE, lists=("lu_and_piv",),
    samples=lambda f, w, array, square: [
        f((square(3), np.array([1, 2, 2])), w), f((square(3), np.array([0, 2, 2])), array(3, 2)),
        f((square(3), np.array([2, 1, 2])), w, 1),
        f((square(3), np.array([1, 1, 2])), array(3, 2), trans=2)],
)  # fmt: skip
def lu_solve(y_bar, y, lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """The matrix is ``l u`` with its rows in another order; `l` has ones on its diagonal."""
    lu, piv = lu_and_piv
    bar = linalg.lu_solve(lu_and_piv, y_bar, 0 if trans else 1, check_finite=False)
    order = order_of_rows(piv, np.size(piv))
    left, right = (-y[order], bar) if trans else (-bar[order], y)
    l_bar = products(left, np.triu(lu) @ right, lu, b)
    u_bar = products(left + np.tril(lu, -1).T @ left, right, lu, b)
    return (np.tril(l_bar, -1) + np.triu(u_bar), None), bar


def order_of_rows(piv, count):
    """The order of rows after row k was exchanged with row ``piv[k]``, for each k in turn."""
    order = np.arange(count)
    for k, other in enumerate(piv):
        order[k], order[other] = order[other], order[k]
    return order


nondifferentiable(order_of_rows, memory="fresh")


# ------------------------------------------------------------------------ inverse, determinant
@adjoint(
    linalg.inv, refuses=overwrites("a"), result=DOUBLE,
    samples=lambda f, array, square, spd: [
        f(square(3)), f(array(2, 3, 3) + 3 * np.eye(3)),
        f(square(3) + 2 * np.eye(3), assume_a="sym"), f(spd(3, 3), assume_a="pos", lower=True),
        f(square(3), assume_a="upper triangular"), f(square(3), assume_a="lower triangular"),
        f(square(3), assume_a="gen")],
)  # fmt: skip
def inv(y_bar, y, a, overwrite_a=False, check_finite=True, *, assume_a=None, lower=False):
    """``a_bar = -y.T y_bar y.T``, of which the part that SciPy reads counts."""
    if assume_a not in _GENERAL and may_be_complex(y):
        return REAL_ONLY
    return part_read(-adjoined(y) @ y_bar @ adjoined(y), assume_a, lower)


@adjoint(
    linalg.det, refuses=overwrites("a"),
    samples=lambda f, array, square: [f(square(3)), f(array(2, 3, 3)), f(array(4, 4))],
    kinks=lambda f: [
        (f([[1, 2], [2, 4]]), [[4, -2], [-2, 1]]), (f(np.zeros((3, 3))), np.zeros((3, 3)))],
)  # fmt: skip
def det(y_bar, y, a, overwrite_a=False, check_finite=True):
    """The partials are the cofactors, which exist for singular matrices too."""
    return per_matrix(y_bar, a) * _cofactors(a)
