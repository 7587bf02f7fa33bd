"""Functions of matrices by SciPy, and equations with unknown matrices.

The derivative of ``f(a)`` along `e` is the upper right block of ``f([[a, e], [0, a]])``; its
adjoint is the derivative at ``a.T``.  Source: Higham (2008), *Functions of matrices*, theorem 3.6.

Of the Sylvester, Lyapunov and Riccati equations the cotangent solves an equation of the same kind.
Source: Kao and Hennequin (2020), *Automatic differentiation of Sylvester, Lyapunov, and algebraic
Riccati equations*.
"""

import numpy as np
from scipy import linalg

from srcad.rules.conjugates import REAL_ONLY, conj, may_be_complex
from srcad.rules.declare import adjoint, nondifferentiable
from srcad.rules.linalg import adjoined, transposed
from srcad.rules.row import DOUBLE, Result
from srcad.rules.scipy.linalg_systems import NUMBER

_ADDED = dict.fromkeys("es", "its rule is for the Riccati equation without e and s")


def blocks(a, e):
    """``[[a, e], [0, a]]``."""
    top = np.concatenate((a, e), -1)
    return np.concatenate((top, np.concatenate((np.zeros_like(a), a), -1)), -2)


def corner(a):
    """The upper right block."""
    n = np.shape(a)[-1] // 2
    return a[..., :n, n:]


# ------------------------------------------------------------------------ exponentials
@adjoint(linalg.expm, result=DOUBLE, samples=lambda f, array: [f(array(3, 3)), f(array(2, 3, 3))])
def expm(y_bar, y, A):
    """The derivative at the transpose along the cotangent, which SciPy has a function for.

    Source: Al-Mohy and Higham (2009), *Computing the Frechet derivative of the matrix exponential,
    with an application to condition number estimation*.
    """
    if np.ndim(A) < 2:
        return NUMBER
    if np.ndim(A) > 2 and np.size(A) == 0:  # SciPy has no direction of an empty stack
        return np.zeros_like(A)
    bar = linalg.expm_frechet(adjoined(A), y_bar, compute_expm=False)
    return np.astype(bar, y.dtype, copy=False)


@adjoint(
    linalg.expm_frechet, result=Result(lambda compute_expm=True: 2 if compute_expm else 1),
    samples=lambda f, array: [
        f(array(3, 3), array(3, 3)), f(array(3, 3), array(3, 3), compute_expm=False)],
)  # fmt: skip
def expm_frechet(y_bar, y, A, E, method=None, compute_expm=True, check_finite=True):
    """The derivative is linear in `E`; along `A` it is the second derivative of the exponential."""
    if not compute_expm:
        return of_direction(y_bar, A, E)
    if y_bar[1] is None:
        return expm(y_bar[0], y[0], A), None
    A_bar, E_bar = of_direction(y_bar[1], A, E)
    return (A_bar if y_bar[0] is None else A_bar + expm(y_bar[0], y[0], A)), E_bar


def of_direction(bar, a, e):
    """The cotangents of ``corner(expm(blocks(a, e)))``."""
    n = np.shape(a)[-1]
    side = np.concatenate((np.zeros_like(bar), bar), -1)
    inner = np.concatenate((side, np.zeros_like(side)), -2)
    whole = linalg.expm_frechet(adjoined(blocks(a, e)), inner, compute_expm=False)
    return whole[..., :n, :n] + whole[..., n:, n:], whole[..., :n, n:]


# ------------------------------------------------------------------------ other functions
@adjoint(linalg.cosm, samples=lambda f, array: [f(array(3, 3)), f(array(2, 2, 2))])
def cosm(y_bar, y, A):
    return corner(linalg.cosm(blocks(adjoined(A), y_bar)))


@adjoint(linalg.sinm, samples=lambda f, array: [f(array(3, 3)), f(array(2, 2, 2))])
def sinm(y_bar, y, A):
    return corner(linalg.sinm(blocks(adjoined(A), y_bar)))


@adjoint(linalg.tanm, samples=lambda f, array: [f(array(3, 3) / 4), f(array(2, 2, 2) / 4)])
def tanm(y_bar, y, A):
    return corner(linalg.tanm(blocks(adjoined(A), y_bar)))


@adjoint(linalg.coshm, samples=lambda f, array: [f(array(3, 3)), f(array(2, 2, 2))])
def coshm(y_bar, y, A):
    return corner(linalg.coshm(blocks(adjoined(A), y_bar)))


@adjoint(linalg.sinhm, samples=lambda f, array: [f(array(3, 3)), f(array(2, 2, 2))])
def sinhm(y_bar, y, A):
    return corner(linalg.sinhm(blocks(adjoined(A), y_bar)))


@adjoint(linalg.tanhm, samples=lambda f, array: [f(array(3, 3) / 4), f(array(2, 2, 2) / 4)])
def tanhm(y_bar, y, A):
    return corner(linalg.tanhm(blocks(adjoined(A), y_bar)))


@adjoint(
    linalg.signm,
    result=Result(dtype="real or complex"),
    samples=lambda f, array: [f(array(3, 3) + 3 * np.diag([1, -1, 1]))],
)
def signm(y_bar, y, A):
    # SciPy below 1.18 converts the block matrix, which is defective, from float32 to float64.
    found = corner(linalg.signm(blocks(adjoined(A), y_bar)))
    return np.astype(found, y_bar.dtype, copy=False)


@nondifferentiable
def turn_from_cut(A):
    """A number ``u`` of modulus 1 such that ``u A`` has no negative eigenvalue, for a real `A`.

    The block matrix has each eigenvalue twice, and of a negative one rounding would decide on which
    side of the branch cut each copy lies.  No eigenvalue crosses the cut by the multiplication, so
    ``log(u A) = log(u) + log(A)``.
    """
    angles = np.angle(np.linalg.eigvals(A))
    return complex(np.exp(-0.5j * min(np.pi + np.min(angles, initial=0.0), 2.0)))


@adjoint(
    linalg.logm,
    result=Result(dtype="real or complex"),
    samples=lambda f, square, spd: [f(square(3)), f(spd(2, 2, 2))],
)
def logm(y_bar, y, A):
    """Of real matrices, too, the result may be complex; see `fractional_matrix_power`."""
    a, g = transposed(A), conj(y_bar)
    if may_be_complex(y):
        u = turn_from_cut(A)
        a, g = u * a, u * g
    return conj(corner(linalg.logm(blocks(a, g))))


@adjoint(
    linalg.sqrtm,
    result=Result(dtype="real or complex"),
    samples=lambda f, square, spd: [f(square(3)), f(spd(2, 2, 2))],
)
def sqrtm(y_bar, y, A):
    """``y y = A``, so ``y.T A_bar + A_bar y.T = y_bar``."""
    if np.ndim(A) < 2:
        return NUMBER
    return linalg.solve_sylvester(adjoined(y), adjoined(y), y_bar)


@adjoint(
    linalg.fractional_matrix_power,
    result=Result(dtype="real or complex"),
    samples=lambda f, square: [f(square(3), 0.7), f(square(3), -1.3)],
)
def fractional_matrix_power(y_bar, y, A, t):
    """The slope by `t` is ``logm(A) y``.

    The transpose and not the adjoint: at a negative eigenvalue the power is not the conjugate of
    that at the conjugate.
    """
    a, g = transposed(A), conj(y_bar)
    scale = 1.0
    if may_be_complex(y):
        u = turn_from_cut(A)
        a, g, scale = u * a, u * g, u**-t
    A_bar = scale * corner(linalg.fractional_matrix_power(blocks(a, g), t))
    return conj(A_bar), np.sum(y_bar * conj(linalg.logm(A) @ y))


# ------------------------------------------------------------------------ equations
@adjoint(
    linalg.solve_sylvester,
    result=DOUBLE,
    samples=lambda f, square, array: [f(square(3), square(2), array(3, 2))],
)
def solve_sylvester(y_bar, y, a, b, q):
    """``a y + y b = q``."""
    if may_be_complex(y) and not (may_be_complex(a) and may_be_complex(b) and may_be_complex(q)):
        return REAL_ONLY, REAL_ONLY, REAL_ONLY
    q_bar = linalg.solve_sylvester(adjoined(a), adjoined(b), y_bar)
    return -q_bar @ adjoined(y), -adjoined(y) @ q_bar, q_bar


@adjoint(
    linalg.solve_continuous_lyapunov,
    real_only=True,
    result=DOUBLE,
    samples=lambda f, square, array: [f(square(3), array(3, 3))],
)
def solve_continuous_lyapunov(y_bar, y, a, q):
    """``a y + y a.T = q``."""
    if np.ndim(a) < 2:
        return NUMBER, NUMBER
    q_bar = linalg.solve_continuous_lyapunov(adjoined(a), y_bar)
    return -q_bar @ adjoined(y) - adjoined(q_bar) @ y, q_bar


@adjoint(
    linalg.solve_discrete_lyapunov, real_only=True, result=DOUBLE,
    samples=lambda f, array: [
        f(array(3, 3) / 4, array(3, 3)), f(array(3, 3) / 4, array(3, 3), "bilinear")],
)  # fmt: skip
def solve_discrete_lyapunov(y_bar, y, a, q, method=None):
    """``y = a y a.T + q``."""
    q_bar = linalg.solve_discrete_lyapunov(adjoined(a), y_bar, method)
    return q_bar @ a @ adjoined(y) + adjoined(q_bar) @ a @ y, q_bar


@adjoint(
    linalg.solve_continuous_are,
    refuses=_ADDED,
    max_rank=2,
    real_only=True,
    result=DOUBLE,
    samples=lambda f, array, spd: [
        f(array(3, 3), array(3, 2), spd(3, 3), spd(2, 2)),
        f(array(3, 3), array(3, 2), spd(3, 3), spd(2, 2), balanced=False),
    ],
)
def solve_continuous_are(y_bar, y, a, b, q, r, e=None, s=None, balanced=True):
    """``a.T y + y a - y b r**-1 b.T y + q = 0``; the cotangents of `q` and `r` are symmetric.

    With ``k = r**-1 b.T y`` and ``closed = a - b k``, ``closed q_bar + q_bar closed.T = -y_bar``.
    """
    if np.ndim(a) < 2 or np.ndim(b) < 2 or np.ndim(q) < 2 or np.ndim(r) < 2:
        return NUMBER, NUMBER, NUMBER, NUMBER
    gain = np.linalg.solve(r, b.T @ y)
    q_bar = linalg.solve_continuous_lyapunov(a - b @ gain, -0.5 * (y_bar + y_bar.T))
    a_bar = 2 * y @ q_bar
    right = q_bar @ gain.T
    return a_bar, -a_bar @ gain.T, q_bar, gain @ right


@adjoint(
    linalg.solve_discrete_are,
    refuses=_ADDED,
    max_rank=2,
    real_only=True,
    result=DOUBLE,
    samples=lambda f, array, spd: [
        f(array(3, 3), array(3, 2), spd(3, 3), spd(2, 2)),
        f(array(3, 3), array(3, 2), spd(3, 3), spd(2, 2), balanced=False),
    ],
)
def solve_discrete_are(y_bar, y, a, b, q, r, e=None, s=None, balanced=True):
    """``y = a.T y a - a.T y b (r + b.T y b)**-1 b.T y a + q``; see `solve_continuous_are`.

    With ``k = (r + b.T y b)**-1 b.T y a`` and ``closed = a - b k``,
    ``q_bar = closed q_bar closed.T + y_bar``.
    """
    if np.ndim(a) < 2 or np.ndim(b) < 2 or np.ndim(q) < 2 or np.ndim(r) < 2:
        return NUMBER, NUMBER, NUMBER, NUMBER
    turned = b.T @ y
    gain = np.linalg.solve(r + turned @ b, turned @ a)
    closed = a - b @ gain
    q_bar = linalg.solve_discrete_lyapunov(closed, 0.5 * (y_bar + y_bar.T))
    a_bar = 2 * y @ closed @ q_bar
    return a_bar, -a_bar @ gain.T, q_bar, gain @ q_bar @ gain.T
