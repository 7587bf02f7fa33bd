"""Linear algebra: systems, inverses, determinants, norms, factorisations.

Matrices stand on the last two axes.  Source, unless a rule says otherwise: Giles (2008),
*Collected matrix derivative results for forward and reverse mode algorithmic differentiation*.
"""

import numpy as np

from srcad.rules.declare import adjoint
from srcad.rules.row import NoPartial
from srcad.rules.running import others
from srcad.runtime import unbroadcast

FULL_MATRICES = NoPartial(
    "the full bases of np.linalg.svd are not unique; pass full_matrices=False"
)


def transposed(a):
    """Every matrix of a stack, transposed."""
    return a.T if np.ndim(a) == 2 else np.swapaxes(a, -1, -2)


def per_matrix(numbers, a):
    """One number per matrix of a stack, so that it multiplies the matrices."""
    return numbers if np.ndim(a) == 2 else np.expand_dims(numbers, (-2, -1))


def scaled(weights, a):
    """``diag(weights) @ a``."""
    return weights[..., :, None] * a


# ------------------------------------------------------------------------ systems
@adjoint(
    np.linalg.solve,
    samples=lambda f, w, array, square: [
        f(square(3), w), f(square(3), array(3, 2)), f(array(2, 3, 3) + 3 * np.eye(3), w),
        f(square(3), array(2, 3, 2)), f(array(2, 3, 3) + 3 * np.eye(3), array(3, 2))],
)  # fmt: skip
def solve(y_bar, y, a, b):
    """``a y = b``, so ``b_bar`` solves ``a.T b_bar = y_bar``, and ``a_bar = -b_bar y.T``.

    Shapes: ``a`` (..., n, n); ``b`` and ``y`` (n,) or (..., n, k).
    """
    if np.ndim(b) == 1 and np.ndim(a) > 2:
        rows = np.linalg.solve(transposed(a), y_bar[..., None])
        return -rows @ y[..., None, :], unbroadcast(rows[..., 0], b)
    b_bar = np.linalg.solve(transposed(a), y_bar)
    if np.ndim(b) == 1:
        return -np.outer(b_bar, y), b_bar
    return unbroadcast(-b_bar @ transposed(y), a), unbroadcast(b_bar, b)


@adjoint(
    np.linalg.inv,
    samples=lambda f, array, square: [f(square(3)), f(array(2, 3, 3) + 3 * np.eye(3))],
)
def inv(y_bar, y, a):
    """``y = a**-1``: ``a_bar = -y.T y_bar y.T``."""
    return -transposed(y) @ y_bar @ transposed(y)


@adjoint(np.linalg.pinv, samples=lambda f, m, t: [f(m), f(m.T), f(t)])
def pinv(y_bar, y, a, *, hermitian=False):
    """At matrices whose rank does not change nearby.

    Source: Golub and Pereyra (1973), *The differentiation of pseudo-inverses*.
    """
    y_t, g_t = transposed(y), transposed(y_bar)
    left = g_t - (a @ y) @ g_t
    right = g_t - g_t @ (y @ a)
    return -y_t @ y_bar @ y_t + left @ y @ y_t + y_t @ y @ right


@adjoint(
    np.linalg.matrix_power,
    memory={"n": (1,)},
    samples=lambda f, square: [f(square(3), n) for n in (0, 1, 2, 5, -1, -3)],
)
def matrix_power(y_bar, y, a, n):
    """The sum of ``a.T**k y_bar a.T**(n - 1 - k)``; for n < 0 of the inverse."""
    if n == 0:
        return np.zeros_like(a), None
    if n < 0:
        base = np.linalg.inv(a)
        return inv(powered(y_bar, transposed(base), -n), base, a), None
    return powered(y_bar, transposed(a), n), None


def powered(y_bar, a_t, n):
    """The cotangent of a positive power, by Horner's scheme."""
    bar, right = y_bar, y_bar
    for _ in range(n - 1):
        right = right @ a_t
        bar = a_t @ bar + right
    return bar


# ------------------------------------------------------------------------ determinants
@adjoint(
    np.linalg.det,
    samples=lambda f, array, square: [f(square(3)), f(array(2, 3, 3)), f(array(4, 4))],
    kinks=lambda f: [
        (f([[1, 2], [2, 4]]), [[4, -2], [-2, 1]]), (f(np.zeros((3, 3))), np.zeros((3, 3)))],
)  # fmt: skip
def det(y_bar, y, a):
    """The partials are the cofactors, which exist for singular matrices too."""
    return per_matrix(y_bar, a) * cofactors(a)


def cofactors(a):
    """The matrix of cofactors: ``det(a) * inv(a).T`` where that exists."""
    u, s, vh = np.linalg.svd(a)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return per_matrix(sign, a) * (u @ scaled(others(s), vh))


@adjoint(cofactors, samples=())
def second_cofactors(y_bar, y, a):
    """With ``a = u s vh``, the second partials of the determinant are products of n - 2 of ``s``.

    They are finite for every matrix; differentiating the decomposition would divide by zero.
    """
    u, s, vh = np.linalg.svd(a)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    eye = np.eye(np.shape(a)[-1], dtype=bool)
    pairs = others(np.where(eye, 1.0, s[..., None, :])) * np.logical_not(eye)
    g = transposed(u) @ y_bar @ transposed(vh)
    weights = np.sum(pairs * np.diagonal(g, 0, -2, -1)[..., None, :], axis=-1)
    inner = scaled(weights, np.ones_like(g)) * eye - pairs * transposed(g)
    return per_matrix(sign, a) * (u @ inner @ vh)


@adjoint(np.linalg.slogdet, samples=lambda f, array, square: [f(square(3)), f(array(2, 3, 3))])
def slogdet(y_bar, y, a):
    """The sign is constant; ``logabsdet`` has the partials ``inv(a).T``."""
    if y_bar[1] is None:
        return None
    return per_matrix(y_bar[1], a) * transposed(np.linalg.inv(a))


# ------------------------------------------------------------------------ factorisations
@adjoint(
    np.linalg.cholesky,
    samples=lambda f, spd: [f(spd(3, 3)), f(spd(2, 3, 3)), f(spd(3, 3), upper=True)],
)
def cholesky(y_bar, y, a, *, upper=False):
    """``a = l l.T``; the cotangent is symmetrised.

    Source: Murray (2016), *Differentiation of the Cholesky decomposition*, equation 10.
    """
    lower, lower_bar = (transposed(y), transposed(y_bar)) if upper else (y, y_bar)
    product = transposed(lower) @ lower_bar
    halved = (np.tril(product) + np.tril(product, -1)) / 2
    lower_t = transposed(lower)
    left = np.linalg.solve(lower_t, halved)
    bar = np.linalg.solve(lower_t, transposed(left))
    return (bar + transposed(bar)) / 2


def gaps(w, eye):
    """``1 / (w[j] - w[i])``, and 0 on the diagonal."""
    return 1 / (w[..., None, :] - w[..., :, None] + eye) - eye


@adjoint(np.linalg.eigh, samples=lambda f, spd: [f(spd(4, 4)), f(spd(2, 3, 3), UPLO="U")])
def eigh(y_bar, y, a, UPLO="L"):
    """Only the triangle that NumPy reads has a derivative.

    Eigenvectors of equal eigenvalues have none: nan where their cotangent is used.
    """
    w, v = y
    w_bar, v_bar = y_bar
    if v_bar is None:
        return triangle(v @ scaled(w_bar, transposed(v)), UPLO)
    eye = np.eye(np.shape(a)[-1], dtype=bool)
    inner = gaps(w, eye) * (transposed(v) @ v_bar)
    if w_bar is not None:
        inner = inner + w_bar[..., None] * eye
    return triangle(v @ inner @ transposed(v), UPLO)


@adjoint(np.linalg.eigvalsh, samples=lambda f, spd: [f(spd(4, 4)), f(spd(2, 3, 3), "U")])
def eigvalsh(y_bar, y, a, UPLO="L"):
    v = np.linalg.eigh(a, UPLO)[1]
    return triangle(v @ scaled(y_bar, transposed(v)), UPLO)


def triangle(bar, uplo):
    """The cotangent of a symmetric matrix, folded into the triangle that was read."""
    if uplo == "L":
        return np.tril(bar) + np.tril(transposed(bar), -1)
    return np.triu(bar) + np.triu(transposed(bar), 1)


@adjoint(np.linalg.svdvals, samples=lambda f, m: [f(m)])
def svdvals(y_bar, y, x):
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u @ scaled(y_bar, vh)


@adjoint(
    np.linalg.svd,
    samples=lambda f, m, t, square: [
        f(m, full_matrices=False), f(m.T, full_matrices=False), f(t, compute_uv=False),
        f(square(3)), f(t, False)],
)  # fmt: skip
def svd(y_bar, y, a, full_matrices=True, compute_uv=True, *, hermitian=False):
    """Singular values alone have a derivative everywhere (of equal ones, one of several).

    Bases of equal singular values have none: nan where their cotangent is used.
    Source: Townsend (2016), *Differentiating the singular value decomposition*.
    """
    if not compute_uv:
        return svdvals(y_bar, y, a)
    u_bar, s_bar, vh_bar = y_bar
    if u_bar is None and vh_bar is None:
        return svdvals(s_bar, y[1], a)
    tall, wide = np.shape(a)[-2] > np.shape(a)[-1], np.shape(a)[-2] < np.shape(a)[-1]
    if full_matrices and (tall or wide):
        return FULL_MATRICES
    u, s, vh = y
    eye = np.eye(np.shape(s)[-1], dtype=bool)
    gap = gaps(s * s, eye)
    inner = np.zeros_like(gap) if s_bar is None else s_bar[..., None] * eye
    outside = None
    if u_bar is not None:
        turn = transposed(u) @ u_bar
        inner = inner + gap * (turn - transposed(turn)) * s[..., None, :]
        if tall:
            outside = (u_bar - u @ turn) / s[..., None, :] @ vh
    if vh_bar is not None:
        turn = vh @ transposed(vh_bar)
        inner = inner + s[..., :, None] * (gap * (turn - transposed(turn)))
        if wide:
            outside = u @ ((vh_bar - transposed(turn) @ vh) / s[..., :, None])
    bar = u @ inner @ vh
    return bar if outside is None else bar + outside
