"""Linear algebra: systems, inverses, determinants, norms, factorisations.

Matrices stand on the last two axes.  Source, unless a rule says otherwise: Giles (2008),
*Collected matrix derivative results for forward and reverse mode algorithmic differentiation*.
"""

import numpy as np

from srcad.rules.conjugates import conj, may_be_complex, real_part
from srcad.rules.declare import adjoint, linear
from srcad.rules.gaps import over_gaps, uncoupled
from srcad.rules.row import NoPartial, Result
from srcad.rules.running import others
from srcad.runtime import checked_phase, unbroadcast

FULL_MATRICES = NoPartial(
    "the full bases of np.linalg.svd are not unique; pass full_matrices=False"
)

COMPLETE = NoPartial(
    "the last columns of a complete q are not unique; take mode='reduced', or r alone"
)
MODES = NoPartial("its rule is for mode='reduced', 'complete' and 'r'")


def transposed(a):
    """Every matrix of a stack, transposed."""
    return a.T if np.ndim(a) == 2 else np.swapaxes(a, -1, -2)


def adjoined(a):
    """Every matrix of a stack, transposed and conjugated."""
    return conj(transposed(a))


def per_matrix(numbers, a):
    """One number per matrix of a stack, so that it multiplies the matrices."""
    return numbers if np.ndim(a) == 2 else np.expand_dims(numbers, (-2, -1))


def scaled(weights, a):
    """``diag(weights) @ a``."""
    return weights[..., :, None] * a


# ------------------------------------------------------------------------ systems
@adjoint(
    np.linalg.solve,
    entries="stacked",
    order="stacks",
    samples=lambda f, w, array, square: [
        f(square(3), w), f(square(3), array(3, 2)), f(array(2, 3, 3) + 3 * np.eye(3), w),
        f(square(3), array(2, 3, 2)), f(array(2, 3, 3) + 3 * np.eye(3), array(3, 2))],
)  # fmt: skip
def solve(y_bar, y, a, b):
    """``a y = b``, so ``b_bar`` solves ``a.T b_bar = y_bar``, and ``a_bar = -b_bar y.T``.

    Of complex matrices ``.T`` is the conjugate transpose, here and below.

    Shapes: ``a`` (..., n, n); ``b`` and ``y`` (n,) or (..., n, k).
    """
    if np.ndim(b) == 1 and np.ndim(a) > 2:
        rows = np.linalg.solve(adjoined(a), y_bar[..., None])
        return -rows @ conj(y)[..., None, :], unbroadcast(rows[..., 0], b)
    b_bar = np.linalg.solve(adjoined(a), y_bar)
    if np.ndim(b) == 1:
        return -np.outer(b_bar, conj(y)), b_bar
    return unbroadcast(-b_bar @ adjoined(y), a), unbroadcast(b_bar, b)


@adjoint(
    np.linalg.inv,
    entries="stacked",
    order="stacks",
    samples=lambda f, array, square: [f(square(3)), f(array(2, 3, 3) + 3 * np.eye(3))],
)
def inv(y_bar, y, a):
    """``y = a**-1``: ``a_bar = -y.T y_bar y.T``."""
    return -adjoined(y) @ y_bar @ adjoined(y)


@adjoint(
    np.linalg.tensorsolve,
    samples=lambda f, array: [
        f(array(2, 3, 6) + np.reshape(3 * np.eye(6), (2, 3, 6)), array(2, 3)),
        f(array(2, 6, 3) + np.moveaxis(np.reshape(3 * np.eye(6), (2, 3, 6)), 1, 2), array(2, 3),
          (1,))],
)  # fmt: skip
def tensorsolve(y_bar, y, a, b, axes=None):
    """The axes of `b`, and the others of `a`, are one axis of a system."""
    n = np.size(b)
    if axes is None:
        matrix = np.reshape(a, (n, n))
        bar = np.linalg.solve(adjoined(matrix), np.ravel(y_bar))
        a_bar = np.reshape(-np.outer(bar, conj(np.ravel(y))), np.shape(a))
        return a_bar, np.reshape(bar, np.shape(b))
    last = tuple(range(np.ndim(a) - len(axes), np.ndim(a)))
    moved = np.moveaxis(a, axes, last)
    bar = np.linalg.solve(adjoined(np.reshape(moved, (n, n))), np.ravel(y_bar))
    a_bar = np.reshape(-np.outer(bar, conj(np.ravel(y))), np.shape(moved))
    return np.moveaxis(a_bar, last, axes), np.reshape(bar, np.shape(b))


@adjoint(
    np.linalg.tensorinv,
    samples=lambda f, array: [
        f(array(2, 3, 6) + np.reshape(3 * np.eye(6), (2, 3, 6))),
        f(array(4, 2, 2) + np.reshape(3 * np.eye(4), (4, 2, 2)), 1)],
)  # fmt: skip
def tensorinv(y_bar, y, a, ind=2):
    """The first `ind` axes are the rows of a matrix."""
    n = 1
    for k in range(ind):
        n = n * np.shape(a)[k]
    turned = adjoined(np.reshape(y, (n, n)))
    return np.reshape(-turned @ np.reshape(y_bar, (n, n)) @ turned, np.shape(a))


@adjoint(
    np.linalg.pinv, entries="stacked",
    samples=lambda f, m, t, square: [
        f(m), f(m.T), f(t), f(square(3), hermitian=True), f(m, 1e-9), f(m.T, rtol=1e-9)],
)  # fmt: skip
def pinv(y_bar, y, a, rcond=None, hermitian=False, *, rtol=None):
    """At matrices with a rank that does not change nearby; `rcond` and `rtol` decide the rank.

    Of a symmetric matrix NumPy reads the lower triangle only.
    """
    if not hermitian:
        return pinv_cotangent(y_bar, y, a)
    return triangle(pinv_cotangent(y_bar, y, mirrored(a)), "L")


def mirrored(a):
    """The symmetric matrix of a lower triangle."""
    return np.tril(a) + adjoined(np.tril(a, -1))


def pinv_cotangent(y_bar, y, a):
    """Source: Golub and Pereyra (1973), *The differentiation of pseudo-inverses*."""
    y_t, g_t = adjoined(y), adjoined(y_bar)
    left = g_t - (a @ y) @ g_t
    right = g_t - g_t @ (y @ a)
    return -y_t @ y_bar @ y_t + left @ y @ y_t + y_t @ y @ right


@adjoint(
    np.linalg.lstsq, real_only=True, result=Result(4, any_lengths=True),
    samples=lambda f, v, m, w, array: [
        f(m.T, v), f(m.T, array(4, 2)), f(m, w), f(m.T, v, 1e-9)],
)  # fmt: skip
def lstsq(y_bar, y, a, b, rcond=None):
    """At matrices with a rank that does not change nearby; `rcond` decides the rank."""
    return least_squares(y_bar, y, a, b, np.linalg.pinv(np.asarray(a, y[0].dtype), rtol=rcond))


def least_squares(y_bar, y, a, b, inverse):
    """The cotangents of the solution, its squared residuals, and the singular values.

    With ``x = inverse b``, ``r = b - a x`` and ``z = inverse.T x_bar``: ``b_bar = z`` and
    ``a_bar = -z x.T + r (inverse z).T + inverse.T x (x_bar - a.T z).T``.  There are no residuals if
    the columns of `a` depend on each other.

    Source: Golub and Pereyra (1973), *The differentiation of pseudo-inverses*.
    """
    x_bar, squares_bar, _, s_bar = y_bar
    x = y[0]
    r = b - a @ x
    a_bar, b_bar = None, None
    if x_bar is not None:
        z = adjoined(inverse) @ x_bar
        a_bar = outer(-z, x) + outer(r, inverse @ z)
        a_bar = a_bar + outer(adjoined(inverse) @ x, x_bar - adjoined(a) @ z)
        b_bar = z
    if squares_bar is not None and np.size(y[1]) > 0:
        of_r = 2 * r * squares_bar
        a_bar = -outer(of_r, x) if a_bar is None else a_bar - outer(of_r, x)
        b_bar = of_r if b_bar is None else b_bar + of_r
    if s_bar is not None:
        of_s = svdvals(s_bar, y[3], a)
        a_bar = of_s if a_bar is None else a_bar + of_s
    return a_bar, b_bar


def outer(left, right):
    """``left right.T`` of two vectors, or of two matrices."""
    return np.outer(left, conj(right)) if np.ndim(right) == 1 else left @ adjoined(right)


@adjoint(
    np.linalg.matrix_power,
    entries="stacked",
    memory={"n": (1,)},
    samples=lambda f, square: [f(square(3), n) for n in (0, 1, 2, 5, -1, -3)],
)
def matrix_power(y_bar, y, a, n):
    """The sum of ``a.T**k y_bar a.T**(n - 1 - k)``; for n < 0 of the inverse."""
    if n == 0:
        return np.zeros_like(a), None
    if n < 0:
        base = np.linalg.inv(a)
        return inv(powered(y_bar, adjoined(base), -n), base, a), None
    return powered(y_bar, adjoined(a), n), None


def powered(y_bar, a_t, n):
    """The cotangent of a positive power, by Horner's scheme."""
    bar, right = y_bar, y_bar
    for _ in range(n - 1):
        right = right @ a_t
        bar = a_t @ bar + right
    return bar


# ------------------------------------------------------------------------ determinants
@adjoint(
    np.linalg.det, entries="stacked",
    samples=lambda f, array, square: [f(square(3)), f(array(2, 3, 3)), f(array(4, 4))],
    kinks=lambda f: [
        (f([[1, 2], [2, 4]]), [[4, -2], [-2, 1]]), (f(np.zeros((3, 3))), np.zeros((3, 3)))],
)  # fmt: skip
def det(y_bar, y, a):
    """The partials are the cofactors, which exist for singular matrices too."""
    return per_matrix(y_bar, a) * cofactors(a)


def cofactors(a):
    """The matrix of cofactors, conjugated: ``det(a) * inv(a).T``; nan if one entry is infinite."""
    finite = np.all(np.isfinite(a), axis=(-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(finite, a, 0.0))
    sign = conj(np.linalg.det(u) * np.linalg.det(vh))
    return np.where(finite, per_matrix(sign, a) * (u @ scaled(others(s), vh)), np.nan)


@adjoint(cofactors, samples=())
def second_cofactors(y_bar, y, a):
    """With ``a = u s vh``, the second partials of the determinant are products of n - 2 of ``s``.

    They are finite for every matrix; differentiating the decomposition would divide by zero.
    """
    u, s, vh = np.linalg.svd(a)
    sign = conj(np.linalg.det(u) * np.linalg.det(vh))
    eye = np.eye(np.shape(a)[-1], dtype=bool)
    pairs = others(np.where(eye, 1.0, s[..., None, :])) * np.logical_not(eye)
    g = conj(adjoined(u) @ y_bar @ adjoined(vh))
    weights = np.sum(pairs * np.diagonal(g, 0, -2, -1)[..., None, :], axis=-1)
    inner = scaled(weights, np.ones_like(g)) * eye - pairs * transposed(g)
    return per_matrix(sign, a) * (u @ inner @ vh)


@adjoint(
    np.linalg.slogdet,
    entries="stacked",
    result=Result(2, fields=("sign", "logabsdet")),
    samples=lambda f, array, square: [f(square(3)), f(array(2, 3, 3))],
)
def slogdet(y_bar, y, a):
    """The sign is constant; ``logabsdet`` has the partials ``inv(a).T``.

    Of a complex matrix both are parts of the logarithm of its determinant, whose slope that is.
    """
    if may_be_complex(a):
        slope = adjoined(inverse_or_nan(a))
        return per_matrix(of_logarithm(y_bar[0], y_bar[1], y[0]), a) * slope
    if y_bar[1] is None:
        return None
    return per_matrix(y_bar[1], a) * transposed(inverse_or_nan(a))


def inverse_or_nan(a):
    """The inverse; nan of a matrix with the determinant 0, of which there is none."""
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        singular = np.linalg.det(a)[..., None, None] == 0
        unit = np.eye(np.shape(a)[-1], dtype=a.dtype)
        return np.where(singular, np.nan, np.linalg.inv(np.where(singular, unit, a)))


@adjoint(inverse_or_nan, entries="stacked", order="stacks", samples=())
def inverse_or_nan_rule(y_bar, y, a):
    return -(adjoined(y) @ y_bar @ adjoined(y))


def of_logarithm(sign_bar, log_bar, sign):
    """The cotangent of ``log(det(a))`` from those of its real part and of its phase."""
    if sign_bar is None:
        return log_bar
    turn = 1j * np.imag(np.conjugate(sign) * sign_bar)
    return turn if log_bar is None else log_bar + turn


# ------------------------------------------------------------------------ factorisations
@adjoint(
    np.linalg.qr, entries="stacked",
    result=Result(lambda mode="reduced": 1 if mode == "r" else 2, fields=("Q", "R")),
    samples=lambda f, m, t, square: [
        f(m.T), f(m), f(square(3), "complete"), f(m.T, mode="r"), f(m, "r"), f(t),
        f(m, "complete")],
)  # fmt: skip
def qr(y_bar, y, a, mode="reduced"):
    """The signs are constant."""
    if mode in ("raw", "economic", "full", "f", "e"):
        return MODES
    if mode == "r":
        return qr_cotangent(None, y_bar, np.linalg.qr(a)[0], y)
    if mode == "complete" and np.shape(a)[-2] > np.shape(a)[-1]:
        if y_bar[0] is not None:
            return COMPLETE
        n = np.shape(a)[-1]
        return qr_cotangent(None, y_bar[1][..., :n, :], y[0][..., :n], y[1][..., :n, :])
    return qr_cotangent(y_bar[0], y_bar[1], y[0], y[1])


def qr_cotangent(q_bar, r_bar, q, r):
    """The cotangent of ``q @ r``, of m rows and n columns, with k columns in `q`.

    A matrix with more columns than rows is ``q [r1 r2]`` with square `r1`.  The cotangent of its
    right part is ``q r2_bar``, and ``a2 r2_bar.T`` is added to `q_bar`.

    Sources: Walter and Lehmann (2012), *Algorithmic differentiation of linear algebra functions
    with application in optimum experimental design*; Roberts and Roberts (2020), *QR and LQ
    decomposition matrix backpropagation algorithms for square, wide, and deep matrices*.
    """
    k = np.shape(q)[-1]
    if np.shape(r)[-1] <= k:
        return thin_cotangent(q_bar, r_bar, q, r)
    if r_bar is None:
        first_bar = thin_cotangent(q_bar, None, q, r[..., :, :k])
        return np.concatenate((first_bar, np.zeros_like(q @ r[..., :, k:])), -1)
    right = r_bar[..., :, k:]
    from_right = q @ (r[..., :, k:] @ adjoined(right))
    full_bar = from_right if q_bar is None else q_bar + from_right
    first_bar = thin_cotangent(full_bar, r_bar[..., :, :k], q, r[..., :, :k])
    return np.concatenate((first_bar, q @ right), -1)


def thin_cotangent(q_bar, r_bar, q, r):
    """The cotangent of ``q @ r`` with square `r`: nan or infinite if a diagonal entry is 0."""
    if q_bar is None:
        turn = r_bar @ adjoined(r)
    elif r_bar is None:
        turn = -adjoined(q) @ q_bar
    else:
        turn = r_bar @ adjoined(r) - adjoined(q) @ q_bar
    inner = np.triu(turn) + adjoined(np.triu(turn, 1))
    if may_be_complex(q):
        inner = np.where(np.eye(np.shape(r)[-1], dtype=bool), np.real(inner), inner)
    bar = q @ inner if q_bar is None else q_bar + q @ inner
    return bar @ lower_inverse(adjoined(r))


@adjoint(
    np.linalg.cholesky,
    entries="stacked",
    samples=lambda f, spd: [f(spd(3, 3)), f(spd(2, 3, 3)), f(spd(3, 3), upper=True)],
)
def cholesky(y_bar, y, a, *, upper=False):
    """``a = l l.T``; the cotangent is symmetrised.

    Products with the inverse are less work than systems, which NumPy solves as if `l` were full.
    Source: Murray (2016), *Differentiation of the Cholesky decomposition*, equation 10.
    """
    if upper:
        return cholesky_cotangent(adjoined(y), adjoined(y_bar))
    return cholesky_cotangent(y, y_bar)


def cholesky_cotangent(lower, lower_bar):
    """The cotangent of ``lower @ lower.T`` for that of the triangle."""
    inverse = lower_inverse(lower)
    bar = adjoined(inverse) @ half_triangle(adjoined(lower) @ lower_bar) @ inverse
    return (bar + adjoined(bar)) / 2


def half_triangle(a):
    """The lower triangle with half of its diagonal."""
    triangle = np.tril(a)
    places = np.arange(np.shape(a)[-1])
    triangle[..., places, places] /= 2
    return triangle


@linear(half_triangle, samples=())
def triangle_of_half(y_bar, a):
    return half_triangle(y_bar)


def lower_inverse(a):
    """The inverse of a lower triangular matrix, some rows at a time: mostly products of matrices.

    NumPy has no solver for triangles, and its general one takes several times as long.  The inverse
    is nan if an entry on the diagonal is 0.
    """
    n = np.shape(a)[-1]
    if n <= 48:
        return inverse_or_nan(a)
    inverse = np.zeros_like(a)
    for start in range(0, n, 32):
        rows = slice(start, start + 32)
        block = inverse_or_nan(a[..., rows, rows])
        before = a[..., rows, :start] @ inverse[..., :start, :start]
        inverse[..., rows, :start] = -block @ before
        inverse[..., rows, rows] = block
    return inverse


@adjoint(lower_inverse, samples=())
def inverse_of_triangle(y_bar, y, a):
    return np.tril(-adjoined(y) @ y_bar @ adjoined(y))


def triangle_of_product(lower, a):
    """The lower triangle of ``lower @ a @ lower.T`` for a lower triangle, in blocks.

    It takes a little more than half of the work of the two products.
    """
    n = np.shape(a)[-1]
    if n <= 64:
        return np.tril(lower @ a @ adjoined(lower))
    product = np.zeros_like(a)
    first, rest = slice(0, n // 2), slice(n // 2, n)
    top, bottom = lower[..., first, first], lower[..., rest, rest]
    side = lower[..., rest, first]
    rows = side @ a[..., first, :] + bottom @ a[..., rest, :]
    product[..., first, first] = triangle_of_product(top, a[..., first, first])
    product[..., rest, first] = rows[..., first] @ adjoined(top)
    corner = rows[..., first] @ adjoined(side) + rows[..., rest] @ adjoined(bottom)
    product[..., rest, rest] = np.tril(corner)
    return product


@adjoint(triangle_of_product, samples=())
def product_in_a_triangle(y_bar, y, lower, a):
    bar = np.tril(y_bar)
    lower_bar = np.tril(bar @ lower @ adjoined(a) + adjoined(bar) @ lower @ a)
    return lower_bar, adjoined(lower) @ bar @ lower


def of_turn(turn, v_bar, w, w_bar):
    """The quotients for a cotangent ``turn = v.T v_bar`` of orthonormal vectors of a matrix.

    Turns of orthonormal vectors are antisymmetric, so that only that part of `turn` counts.
    """
    k = (turn - adjoined(turn)) / 2
    return over_gaps(k, w, w, uncoupled(k, w, w, w_bar, turn, v_bar))


@adjoint(
    np.linalg.eigh,
    entries="stacked",
    result=Result(2, fields=("eigenvalues", "eigenvectors")),
    samples=lambda f, spd: [f(spd(4, 4)), f(spd(2, 3, 3), UPLO="U")],
)
def eigh(y_bar, y, a, UPLO="L"):
    """Only the triangle that NumPy reads has a derivative.

    Eigenvectors of equal eigenvalues have none: nan, and a warning, where their cotangent couples
    them.  The phase of a complex one is no function of the matrix, and what depends on it raises.
    """
    w, v = y
    w_bar, v_bar = y_bar
    if v_bar is None:
        return triangle(of_levels(a, w_bar, w, v, UPLO), UPLO)
    eye = np.eye(np.shape(a)[-1], dtype=bool)
    turn = adjoined(v) @ v_bar
    if may_be_complex(a):
        turn = checked_phase(turn, np.imag(np.diagonal(turn, 0, -2, -1)))
    inner = of_turn(turn, v_bar, w, w_bar)
    if w_bar is not None:
        inner = inner + w_bar[..., None] * eye
    return triangle(v @ inner @ adjoined(v), UPLO)


@adjoint(
    np.linalg.eigvalsh,
    entries="stacked",
    samples=lambda f, spd: [f(spd(4, 4)), f(spd(2, 3, 3), "U")],
)
def eigvalsh(y_bar, y, a, UPLO="L"):
    """``v diag(y_bar) v.T``, folded into the triangle that is read."""
    w, v = np.linalg.eigh(a, UPLO)
    return triangle(of_levels(a, y_bar, w, v, UPLO), UPLO)


def of_levels(a, g, w, v, uplo):
    """``v diag(g) v.T`` of the eigenvalues `w` and the eigenvectors `v` of a symmetric matrix.

    It has its own derivative, by the matrix: levels with equal weights do not turn into each other,
    so that the derivatives of their vectors do not matter.
    """
    return v @ scaled(g, adjoined(v))


def of_fixed_levels(a, g, w, v, uplo):
    """The same for weights without a derivative."""
    return of_levels(a, g, w, v, uplo)


@adjoint(of_levels, active=("a", "g", "w", "v"), samples=())
def level_weights(y_bar, y, a, g, w, v, uplo):
    return of_moved_levels(y_bar, a, g, w, v, uplo, False)


@adjoint(of_fixed_levels, active=("a", "g", "w", "v"), samples=())
def fixed_level_weights(y_bar, y, a, g, w, v, uplo):
    return of_moved_levels(y_bar, a, g, w, v, uplo, True)


def of_moved_levels(y_bar, a, g, w, v, uplo, fixed):
    """The cotangents of the matrix and of the weights."""
    inner = adjoined(v) @ ((y_bar + adjoined(y_bar)) / 2) @ v
    bar = v @ between_levels(inner, g, w, fixed) @ adjoined(v)
    return unbroadcast(triangle(bar, uplo), a), unbroadcast(on_diagonal(inner), g), None, None


def between_levels(inner, g, w, fixed):
    """``inner[i, j] * (g[j] - g[i]) / (w[j] - w[i])``, and 0 on the diagonal.

    At equal levels that is the slope of a function ``g = f(w)``, and unknown, unless the weights
    are `fixed` and equal.
    """
    change = g[..., None, :] - g[..., :, None]
    is_equal = change == 0
    return over_gaps(inner * change, w, w, is_equal if fixed else is_equal & (inner == 0))


def on_diagonal(a):
    """The real parts of the diagonal of each matrix."""
    return real_part(np.diagonal(a, 0, -2, -1))


def triangle(bar, uplo):
    """The cotangent of a symmetric matrix, folded into the triangle that was read."""
    if may_be_complex(bar):
        return complex_triangle(bar, uplo)
    if uplo == "L":
        return np.tril(bar) + np.tril(transposed(bar), -1)
    return np.triu(bar) + np.triu(transposed(bar), 1)


def complex_triangle(bar, uplo):
    """The same of a Hermitian matrix: the imaginary part of its diagonal is not read."""
    eye = np.eye(np.shape(bar)[-1], dtype=bool)
    both = bar + adjoined(bar)
    folded = np.tril(both) if uplo == "L" else np.triu(both)
    return np.where(eye, np.real(bar), folded)


@adjoint(
    np.linalg.eigvals, order="gaps", entries="stacked",
    result=Result(dtype="real or complex"),
    samples=lambda f, array, spd: [
        f(array(4, 4)), f(spd(3, 3) + array(3, 3) / 9), f(array(2, 3, 3))],
)  # fmt: skip
def eigvals(y_bar, y, a):
    """``v**-T w_bar v.T``: infinite or nan at a matrix without a basis of eigenvectors."""
    v = np.linalg.eig(a)[1]
    bar = np.linalg.solve(adjoined(v), scaled(y_bar, adjoined(v)))
    return bar if may_be_complex(a) else np.real(bar)


@adjoint(
    np.linalg.eig,
    entries="stacked",
    result=Result(2, dtype="real or complex", fields=("eigenvalues", "eigenvectors")),
    samples=(),
)
def eig(y_bar, y, a):
    """The results may be complex where the matrix is real.

    The vectors have the length 1, and a phase that is no function of the matrix: what depends on it
    raises.  Equal eigenvalues: nan, and a warning, where the cotangent couples their vectors.

    Source: Boeddeker, Hanebrink, Drude, Heymann and Haeb-Umbach (2017), *On the computation of
    complex-valued gradients with application to statistically optimum beamforming*, section 4.
    """
    w, v = y
    w_bar, v_bar = y_bar
    if v_bar is None:
        inner = scaled(w_bar, adjoined(v))
    else:
        eye = np.eye(np.shape(a)[-1], dtype=bool)
        turn = adjoined(v) @ v_bar
        turn = checked_phase(turn, np.imag(np.diagonal(turn, 0, -2, -1)))
        along = np.real(np.diagonal(turn, 0, -2, -1))
        k = turn - adjoined(v) @ v * along[..., None, :]
        dropped = uncoupled(k, conj(w), conj(w), w_bar, turn, v_bar)
        middle = over_gaps(k, conj(w), conj(w), dropped)
        if w_bar is not None:
            middle = middle + w_bar[..., None] * eye
        inner = middle @ adjoined(v)
    bar = np.linalg.solve(adjoined(v), inner)
    return bar if may_be_complex(a) else np.real(bar)


@adjoint(np.linalg.svdvals, entries="stacked", samples=lambda f, m: [f(m)])
def svdvals(y_bar, y, x):
    """``u diag(y_bar) vh``."""
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return of_stretches(x, y_bar, u, s, vh)


def of_stretches(a, g, u, s, vh):
    """``u diag(g) vh`` of the singular values `s` and the bases `u` and `vh` of a matrix.

    It has its own derivative for the same reason as `of_levels`.
    """
    return u @ scaled(g, vh)


def of_fixed_stretches(a, g, u, s, vh):
    """The same for weights without a derivative."""
    return of_stretches(a, g, u, s, vh)


# What takes the place of each of these where the second argument carries no derivative.
OF_FIXED = {of_levels: of_fixed_levels, of_stretches: of_fixed_stretches}


@adjoint(of_stretches, active=("a", "g", "u", "s", "vh"), samples=())
def stretch_weights(y_bar, y, a, g, u, s, vh):
    inner = adjoined(u) @ y_bar @ adjoined(vh)
    bar = of_moved_stretches(y_bar, inner, g, u, s, vh, False)
    return unbroadcast(bar, a), unbroadcast(on_diagonal(inner), g), None, None, None


@adjoint(of_fixed_stretches, active=("a", "g", "u", "s", "vh"), samples=())
def fixed_stretch_weights(y_bar, y, a, g, u, s, vh):
    inner = adjoined(u) @ y_bar @ adjoined(vh)
    bar = of_moved_stretches(y_bar, inner, g, u, s, vh, True)
    return unbroadcast(bar, a), unbroadcast(on_diagonal(inner), g), None, None, None


def of_moved_stretches(a_dot, inner, g, u, s, vh, fixed):
    """The change of ``u diag(g) vh`` by that of the bases, which is its own adjoint.

    The eigenvalues of ``[[0, a], [a.T, 0]]`` are `s` and ``-s``, with the weights `g` and ``-g``.
    The symmetric part of ``inner = u.T a_dot v`` turns levels of the same sign into each other,
    the antisymmetric part those of opposite signs; the kernel has the level 0.
    """
    total = g[..., None, :] + g[..., :, None]
    alike, opposite = (inner + adjoined(inner)) / 2, (inner - adjoined(inner)) / 2
    is_opposite = total == 0
    dropped = is_opposite if fixed else is_opposite & (opposite == 0)
    turns = between_levels(alike, g, s, fixed) + over_gaps(opposite * total, -s, s, dropped)
    slopes = g / np.where(g == 0, 1.0, s) if fixed else g / s
    if may_be_complex(inner):
        phases = 1j * np.imag(np.diagonal(inner, 0, -2, -1)) * slopes
        turns = turns + phases[..., None] * np.eye(np.shape(s)[-1], dtype=bool)
    moved = u @ turns @ vh
    if np.shape(u)[-2] > np.shape(s)[-1]:
        moved = moved + (a_dot @ adjoined(vh) - u @ inner) @ scaled(slopes, vh)
    if np.shape(vh)[-1] > np.shape(s)[-1]:
        moved = moved + u @ scaled(slopes, adjoined(u) @ a_dot - inner @ vh)
    return moved


@adjoint(
    np.linalg.svd, order="gaps", entries="stacked",
    result=Result(
        lambda compute_uv=True: 3 if compute_uv else 1,
        static=("full_matrices",), fields=("U", "S", "Vh")),
    samples=lambda f, m, t, square: [
        f(m, full_matrices=False), f(m.T, full_matrices=False), f(t, compute_uv=False),
        f(square(3)), f(t, False), f(square(3), hermitian=True),
        f(square(3), compute_uv=False, hermitian=True)],
)  # fmt: skip
def svd(y_bar, y, a, full_matrices=True, compute_uv=True, *, hermitian=False):
    """Singular values alone have a derivative everywhere (of equal ones, one of several).

    Bases of equal singular values have none: nan, and a warning, where their cotangent couples
    them.  That of ``u @ vh`` does not.  Of a symmetric matrix NumPy reads the lower triangle only.

    Source: Townsend (2016), *Differentiating the singular value decomposition*.
    """
    if hermitian:
        return triangle(svd_cotangent(y_bar, y, mirrored(a), full_matrices, compute_uv), "L")
    return svd_cotangent(y_bar, y, a, full_matrices, compute_uv)


def svd_cotangent(y_bar, y, a, full_matrices, compute_uv):
    if not compute_uv:
        return svdvals(y_bar, y, a)
    u_bar, s_bar, vh_bar = y_bar
    if u_bar is None and vh_bar is None:
        return svdvals(s_bar, y[1], a)
    tall, wide = np.shape(a)[-2] > np.shape(a)[-1], np.shape(a)[-2] < np.shape(a)[-1]
    if full_matrices and (tall or wide):
        return FULL_MATRICES
    u, s, vh = y
    left = None if u_bar is None else adjoined(u) @ u_bar
    right = None if vh_bar is None else vh @ adjoined(vh_bar)
    inner = of_turns(left, right, u_bar, vh_bar, s, s_bar)
    if s_bar is not None:
        inner = inner + s_bar[..., None] * np.eye(np.shape(s)[-1], dtype=bool)
    if may_be_complex(a):
        inner = inner + of_phases(u, s, vh, u_bar, vh_bar)
    outside = None
    if u_bar is not None and tall:
        outside = (u_bar - u @ left) / s[..., None, :] @ vh
    if vh_bar is not None and wide:
        outside = u @ ((vh_bar - adjoined(right) @ vh) / s[..., :, None])
    bar = u @ inner @ vh
    return bar if outside is None else bar + outside


def of_turns(left, right, u_bar, vh_bar, s, s_bar):
    """The quotients for ``left = u.T u_bar`` and ``right = vh vh_bar.T``, of which one may be None.

    With ``P = left - left.T`` and ``Q = right - right.T`` it is ``(P s[j] + s[i] Q)``, divided by
    ``s[j]**2 - s[i]**2``.  In two parts, the quotient by the gap is 0 where the cotangent is that
    of ``u @ vh``.
    """
    if left is None:
        return of_parts(right, -right, s, s_bar, right, adjoined(vh_bar), None, None)
    if right is None:
        return of_parts(left, left, s, s_bar, left, u_bar, None, None)
    both, apart = left + right, left - right
    return of_parts(both, apart, s, s_bar, left, u_bar, right, adjoined(vh_bar))


def of_parts(both, apart, s, s_bar, left, u_bar, right, v_bar):
    """The quotients by differences and by sums of singular values."""
    k, k_of_sums = (both - adjoined(both)) / 2, (apart - adjoined(apart)) / 2
    no_gaps = uncoupled(k, s, s, s_bar, left, u_bar, right, v_bar)
    no_sums = uncoupled(k_of_sums, -s, s, s_bar, left, u_bar, right, v_bar)
    return over_gaps(k, s, s, no_gaps) + over_gaps(k_of_sums, -s, s, no_sums)


def of_phases(u, s, vh, u_bar, vh_bar):
    """The cotangents of the phases of complex bases: the matrix gives those of ``u @ vh`` only.

    Source: Wan and Zhang (2019), *Automatic differentiation for complex valued SVD*.
    """
    nothing = np.zeros_like(s)[..., None, :]
    left = nothing if u_bar is None else phases(np.conjugate(u) * u_bar)
    right = nothing if vh_bar is None else phases(transposed(vh * np.conjugate(vh_bar)))
    eye = np.eye(np.shape(s)[-1], dtype=bool)
    return 1j * checked_phase(left, left + right) / s[..., None, :] * eye


def phases(products):
    """The change by turning each column of a basis, as one row."""
    return np.imag(np.sum(products, axis=-2, keepdims=True))
