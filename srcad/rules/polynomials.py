"""Polynomials given by their coefficients, from the highest power down."""

import numpy as np

from srcad.rules.conjugates import conj, may_be_complex
from srcad.rules.convolution import vector
from srcad.rules.declare import adjoint, linear
from srcad.rules.linalg import pinv_cotangent
from srcad.rules.registry import static
from srcad.rules.row import NoPartial, Result

MATRIX = NoPartial("np.poly of a matrix has no rule: call it with the eigenvalues")
DIVISION = NoPartial("np.polydiv has no rule: NumPy cuts small coefficients of the remainder")
SEVERAL = NoPartial("np.polyval has a rule for coefficients with one axis")
ROWS = NoPartial("polynomials have a rule for coefficients with one axis")


@adjoint(np.vander, samples=lambda f, v: [f(v), f(v, 3), f(v, 3, True), f(v, 1)])
def vander(y_bar, y, x, N=None, increasing=False):
    """The derivative of a power is the next lower one, times the exponent."""
    n = np.size(x) if N is None else N
    if increasing:
        powers = np.vander(x, fewer(n), increasing=True) * np.arange(1, n, dtype=y_bar.dtype)
        return np.sum(y_bar[:, 1:] * conj(powers), axis=1)
    powers = np.vander(x, fewer(n)) * np.arange(n - 1, 0, -1, dtype=y_bar.dtype)
    return np.sum(y_bar[:, :-1] * conj(powers), axis=1)


@static
def fewer(n):
    """One column less, if there is one."""
    return max(n - 1, 0)


@adjoint(
    np.polyval, entries="evaluated",
    samples=lambda f, v, w, m: [f(w, v), f(w, m), f(v, 0.7), f(w[:1], v)],
)  # fmt: skip
def polyval(y_bar, y, p, x):
    """The coefficients' cotangents are sums with the powers of `x`."""
    if np.ndim(p) != 1:
        return SEVERAL, SEVERAL
    n = np.size(p)
    slope = np.polyval(p[:-1] * np.arange(n - 1, 0, -1, dtype=y.dtype), x)
    powers = np.astype(np.vander(np.ravel(x), n), y.dtype)
    return conj(powers.T) @ np.ravel(y_bar), y_bar * conj(slope)


# ------------------------------------------------------------------------ arithmetic
@linear(np.polyadd, samples=lambda f, v, w: [f(v, w), f(w, v), f(v, 0.5)])
def polyadd(y_bar, a1, a2):
    """The last coefficients belong together."""
    if np.ndim(y_bar) != 1:
        return ROWS, ROWS
    return last(y_bar, a1), last(y_bar, a2)


@linear(np.polysub, samples=lambda f, v, w: [f(v, w), f(w, v), f(v, 0.5)])
def polysub(y_bar, a1, a2):
    if np.ndim(y_bar) != 1:
        return ROWS, ROWS
    return last(y_bar, a1), -last(y_bar, a2)


def last(y_bar, a):
    """As many of the last entries as `a` has, which may be none.

    They are counted from the end, as a number and no entries have a sum of one entry.
    """
    return np.reshape(y_bar[::-1][: np.size(a)][::-1], np.shape(a))


@adjoint(
    np.polymul,
    result=Result(any_lengths=True),
    samples=lambda f, v, w: [f(v, w), f(w, v), f(v, 0.5)],
)
def polymul(y_bar, y, a1, a2):
    """A convolution, without the coefficients that are 0 at the beginning.

    It is not declared bilinear, as NumPy would cut the zeros of a tangent, too.
    """
    dropped = np.size(a1) + np.size(a2) - 1 - np.size(y_bar)
    bar = np.concatenate((np.zeros_like(y_bar, shape=(dropped,)), y_bar))
    a1_bar = np.correlate(bar, vector(a2), "valid")
    a2_bar = np.correlate(bar, vector(a1), "valid")
    return np.reshape(a1_bar, np.shape(a1)), np.reshape(a2_bar, np.shape(a2))


# ------------------------------------------------------------------------ calculus
@linear(
    np.polyder, memory={"m": (0,)}, samples=lambda f, v: [f(v), f(v, 2), f(v, 5), f(v, 0)]
)  # fmt: skip
def polyder(y_bar, p, m=1):
    bar = y_bar
    for _ in range(m):
        powers = np.arange(np.size(bar), 0, -1, dtype=y_bar.dtype)
        bar = np.concatenate((bar * powers, np.zeros_like(p[:1])))
    return bar[: np.size(p)]


@linear(
    np.polyint, memory={"m": (0,)}, active=("p", "k"),
    samples=lambda f, v, array: [
        f(v), f(v, 2), f(v, 1, 0.5), f(v, 2, array(2)), f(v, m=0)],
)  # fmt: skip
def polyint(y_bar, p, m=1, k=None):
    """Each constant of integration is the last coefficient of one step."""
    bar = y_bar
    constants = []
    for _ in range(m):
        constants.append(bar[-1])
        bar = bar[:-1] / np.arange(np.size(bar) - 1, 0, -1, dtype=y_bar.dtype)
    if k is None:
        return bar, None
    together = np.stack(constants)[::-1]
    return bar, np.sum(together) if np.size(k) == 1 else together


# ------------------------------------------------------------------------ least squares
@adjoint(
    np.polyfit, real_only=True, active=("x", "y", "w"),
    refuses=dict.fromkeys(("full", "cov"), "it is known for the coefficients alone; leave it out"),
    samples=lambda f, array, near: [
        f(array(6), array(6), 2), f(array(6), array(6, 2), 1),
        f(array(6), array(6), 2, w=near(0.5, 2.0, 6)), f(array(6), array(6), 1, rcond=1e-9)],
)  # fmt: skip
def polyfit(p_bar, p, x, y, deg, rcond=None, full=False, w=None, cov=False):
    """Least squares of full rank: ``p = a^+ b`` with ``a = w * vander(x)`` and ``b = w * y``.

    ``b_bar = u = a^+.T p_bar`` and ``a_bar = r (a^+ u).T - u p.T`` with ``r = b - a p``.
    Of deficient rank the derivative is nan: NumPy's solution of least norm depends on the norms of
    the columns.

    Source: Golub and Pereyra (1973), *The differentiation of pseudo-inverses*.
    """
    powers = np.vander(x, deg + 1)
    a = powers if w is None else powers * w[:, None]
    size = np.sqrt(np.sum(a * a, axis=0))
    limit = np.size(x) * np.finfo(p.dtype).eps if rcond is None else rcond
    inverse = full_rank_inverse(a / size, limit) / size[:, None]
    u = inverse.T @ p_bar
    weights = 1.0 if w is None else w if np.ndim(y) == 1 else w[:, None]
    rest = y * weights - a @ p
    if np.ndim(y) == 1:
        a_bar = np.outer(rest, inverse @ u) - np.outer(u, p)
    else:
        a_bar = rest @ (inverse @ u).T - u @ p.T
    if w is None:
        return vander(a_bar, powers, x, deg + 1), u, None
    through_y = u * y if np.ndim(y) == 1 else np.sum(u * y, axis=1)
    w_bar = np.sum(a_bar * powers, axis=1) + through_y
    return vander(a_bar * w[:, None], powers, x, deg + 1), u * weights, w_bar


def full_rank_inverse(a, rcond):
    """The pseudo-inverse; nan if a singular value is at most `rcond` times the largest."""
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    is_full = (s > rcond * s[0]) & (np.shape(a)[0] >= np.shape(a)[1])
    return (vt.T / np.where(is_full, s, np.nan)) @ u.T


@adjoint(full_rank_inverse, samples=())
def inverse_of_full_rank(y_bar, y, a, rcond):
    """That of `np.linalg.pinv`: singular values may be equal, unlike in the decomposition's."""
    return pinv_cotangent(y_bar, y, a), None


# ------------------------------------------------------------------------ roots
@adjoint(
    np.roots, result=Result(dtype="real or complex", any_lengths=True),
    samples=lambda f, near, array: [f(near(1.0, 2.0, 4)), f(array(3)), f(array(2))],
)  # fmt: skip
def roots(y_bar, y, p):
    """``p(y) = 0``, so ``y_dot = -p_dot(y) / p'(y)``: infinite or nan at a repeated root.

    Roots of a real polynomial may be complex; what they contribute to its cotangent is real.
    """
    if np.ndim(p) != 1:
        return ROWS
    n = np.size(p)
    slope = np.polyval(p[:-1] * np.arange(n - 1, 0, -1, dtype=y.dtype), y)
    powers = np.astype(np.vander(y, n), y.dtype)
    bar = -conj((powers / slope[:, None]).T) @ y_bar
    return bar if may_be_complex(p) else np.real(bar)


@adjoint(np.polydiv, samples=())
def polydiv(y_bar, y, u, v):
    return DIVISION, DIVISION


@adjoint(np.poly, real_only=True, samples=lambda f, v: [f(v), f(v[:1])])
def poly(y_bar, y, seq_of_zeros):
    """Minus the quotient by each linear factor, which has one coefficient less.

    The quotients are found by Horner's scheme, for all zeros at once.
    """
    if np.ndim(seq_of_zeros) > 1:
        return MATRIX
    quotient = np.ones_like(seq_of_zeros)
    bar = np.zeros_like(seq_of_zeros)
    for k in range(1, np.size(y)):
        bar = bar - y_bar[k] * quotient
        quotient = y[k] + seq_of_zeros * quotient
    return bar
