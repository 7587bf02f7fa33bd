"""Special functions of SciPy.

The formulas are those of the Digital Library of Mathematical Functions (https://dlmf.nist.gov),
chapters 5 (gamma and its relatives) and 25 (zeta); a partial that has no closed form is declared
missing.  The files `special_*.py` have the rules of other topics.
"""

import math

import numpy as np
from scipy import special

from srcad.rules.conjugates import may_be_complex
from srcad.rules.declare import derivative, nondifferentiable
from srcad.rules.row import NoPartial
from srcad.rules.scipy import (  # noqa: F401 - each registers its rules
    special_bessel,
    special_distributions,
    special_elementary,
    special_elliptic,
    special_errors,
    special_incomplete,
    special_polynomials,
    special_reductions,
)
from srcad.rules.scipy.special_series import BERNOULLI, digamma_difference

_WHOLE = NoPartial("the order of polygamma is a whole number")
_REAL = NoPartial("SciPy has no function for its derivative at complex numbers")
_EXPONENT = NoPartial("the second derivative of zeta by its exponent has no closed form")


# ------------------------------------------------------------------------ gamma and its relatives
@derivative(special.gamma, math.gamma, samples=(0.4, 3))
def gamma(x, *, y):
    return y * special.digamma(x)


@derivative(special.gammaln, math.lgamma, samples=(0.4, 3))
def gammaln(x):
    return special.digamma(x)


@derivative(special.digamma, samples=(0.4, 3))
def digamma(x):
    if may_be_complex(x):
        return _REAL
    return special.zeta(2.0, x)


@derivative(special.loggamma, samples=(0.4, 3))
def loggamma(z):
    return special.digamma(z)


@derivative(special.rgamma, samples=(-2.5, 3), kinks={0: 1, -1: -1, -2: 2})
def rgamma(z, *, y):
    """``-y digamma(z)``; left of 1/2, where there are zeros, by the reflection of DLMF 5.5.3."""
    if may_be_complex(z):
        return -y * special.digamma(z)
    w = np.minimum(z, 0.5)
    turn = w - 2 * np.round(0.5 * w)
    sine = turn * np.sinc(turn)
    left = special.gamma(1 - w) * (np.cos(math.pi * turn) - special.digamma(1 - w) * sine)
    right = np.maximum(z, 0.5)
    return np.where(z < 0.5, left, -y * special.digamma(right))


@derivative(special.polygamma, samples=lambda f, near: [f(1, near(0.4, 3.0, 4))])
def polygamma(n, x):
    return _WHOLE, special.polygamma(n + 1, x)


def zeta_by_exponent(x, q):
    """The derivative of ``zeta(x, q)`` by `x` for x > 1, by the sum of DLMF 25.11.6."""
    dtype = np.result_type(x, q)
    x, q = np.asarray(x, float), np.asarray(q, float)
    with np.errstate(all="ignore"):
        found = 0 * x
        for k in range(12):
            found = found - np.log(q + k) * (q + k) ** -x
        end, log_end = q + 12, np.log(q + 12)
        power = end**-x
        found = found - power * end / (x - 1) * (log_end + 1 / (x - 1)) - 0.5 * power * log_end
        factor, slope = x * power / end, 1 / x - log_end
        for k, bernoulli in enumerate(BERNOULLI, 1):
            found = found + bernoulli / math.factorial(2 * k) * factor * slope
            first, second = x + 2 * k - 1, x + 2 * k
            factor, slope = factor * first * second / (end * end), slope + 1 / first + 1 / second
        found = np.where((x > 1) & (q > 0), found, np.nan)
    return found.astype(dtype if dtype.kind == "f" else float)[()]


@derivative(zeta_by_exponent, samples=lambda f, near: [f(3, near(0.4, 3.0, 4))])
def zeta_by_exponent_rule(x, q):
    """DLMF 25.11.17, differentiated by the exponent."""
    return _EXPONENT, -special.zeta(x + 1, q) - x * zeta_by_exponent(x + 1, q)


@derivative(
    special.zeta, real_only=True, active=("x", "q"),
    samples=lambda f, near: [f(3, near(0.4, 3.0, 4)), f(near(1.5, 4.0, 4)), f(2.5, 1.5)],
)  # fmt: skip
def zeta(x, q=None):
    """By the second argument of Hurwitz's function: DLMF 25.11.17; by the first a series, once."""
    if q is None:
        return zeta_by_exponent(x, 1.0), None
    return zeta_by_exponent(x, q), -x * special.zeta(x + 1, q)


@derivative(special.zetac, samples=(1.5, 4))
def zetac(x):
    return zeta_by_exponent(x, 1.0)


@derivative(special.beta, samples=(0.4, 3))
def beta(a, b, *, y):
    """DLMF 5.12.1; the differences of digamma functions do not cancel."""
    return -y * digamma_difference(a, b), -y * digamma_difference(b, a)


@derivative(special.betaln, samples=(0.4, 3))
def betaln(a, b):
    """DLMF 5.12.1; the differences of digamma functions do not cancel."""
    return -digamma_difference(a, b), -digamma_difference(b, a)


@derivative(special.poch, samples=(0.4, 3))
def poch(z, m, *, y):
    """DLMF 5.2.5."""
    return y * digamma_difference(z, m), y * special.digamma(z + m)


@derivative(special.binom, samples=lambda f, near: [f(near(3.0, 5.0, 4), near(0.4, 2.5, 3, 4))])
def binom(n, k, *, y):
    """DLMF 1.2.6; the differences of digamma functions do not cancel."""
    return y * digamma_difference(n - k + 1, k), y * digamma_difference(k + 1, n - 2 * k)


@derivative(special.comb, samples=lambda f, near: [
    f(near(3.0, 5.0, 4), near(0.4, 2.5, 3, 4)), f(near(3.0, 5.0, 4), 2, repetition=True),
    f(4.5, 2)])  # fmt: skip
def comb(N, k, *, exact=False, repetition=False):
    """``binom(N, k)`` for 0 <= k <= N, otherwise 0; exact numbers are integers."""
    if exact:
        return None, None
    if repetition:
        n = N + k - 1
        inside = (k <= n) & (k >= 0) & (n >= 0)
        y = special.binom(n, k) * inside
        by_n = y * digamma_difference(np.where(inside, N, 1.0), k)
        return by_n, by_n + y * digamma_difference(k + 1, n - 2 * k)
    inside = (k <= N) & (k >= 0) & (N >= 0)
    y = special.binom(N, k) * inside
    by_k = digamma_difference(k + 1, np.where(inside, N - 2 * k, 1.0))
    return y * digamma_difference(np.where(inside, N - k + 1, 1.0), k), y * by_k


@derivative(special.perm, samples=lambda f, near: [
    f(near(3.0, 5.0, 4), near(0.4, 2.5, 3, 4)), f(4.5, 2)])  # fmt: skip
def perm(N, k, exact=False, *, y):
    """``poch(N - k + 1, k)`` for 0 <= k <= N, otherwise 0; exact numbers are integers."""
    if exact:
        return None, None
    low = np.where((k <= N) & (k >= 0) & (N >= 0), N - k + 1, 1.0)
    return y * digamma_difference(low, k), y * special.digamma(low)


@derivative(special.factorial, samples=lambda f, v, near: [f(near(0.4, 3.0, 4)), f(1.5)])
def factorial(n, exact=False, *, y):
    """``gamma(n + 1)``; 0 for negative numbers.  Exact numbers are integers."""
    if exact:
        return None
    return y * special.digamma(np.maximum(n, -0.5) + 1)


@derivative(special.multigammaln, samples=lambda f, near: [
    f(near(2.4, 4.0, 4), 3), f(2.5, 1)])  # fmt: skip
def multigammaln(a, d):
    """DLMF 35.3.4."""
    shifted = np.expand_dims(a, -1) - 0.5 * np.arange(d)
    return np.sum(special.digamma(shifted), axis=-1), None


nondifferentiable(special.gammasgn)


# ------------------------------------------------------------------------ logistic
@derivative(special.expit, samples=(-3, 3))
def expit(x, *, y):
    return y * special.expit(-x)


@derivative(special.logit, samples=(0.2, 0.8))
def logit(x):
    return 1 / (x * (1 - x))


@derivative(special.log_expit, samples=(-3, 3))
def log_expit(x):
    return special.expit(-x)


# ------------------------------------------------------------------------ entropies
@derivative(special.entr, samples=(0.2, 3))
def entr(x):
    return -np.log(x) - 1


@derivative(special.xlogy, samples=(0.4, 3))
def xlogy(x, y):
    log_y = float(np.log(y)) if isinstance(y, (int, float)) else np.log(1.0 * y)
    return log_y, x / y


@derivative(special.xlog1py, samples=(0.4, 3))
def xlog1py(x, y):
    log_y = float(np.log1p(y)) if isinstance(y, (int, float)) else np.log1p(1.0 * y)
    return log_y, x / (1 + y)


@derivative(special.rel_entr, samples=(0.4, 3))
def rel_entr(x, y):
    return np.log(x / y) + 1, -x / y


@derivative(special.kl_div, samples=(0.4, 3), kinks={(2, 2): (0, 0)})
def kl_div(x, y):
    return np.log(x / y), (y - x) / y
