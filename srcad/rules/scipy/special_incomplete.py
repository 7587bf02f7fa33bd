"""Incomplete gamma and beta functions of SciPy, and the distributions that stand on them.

The formulas are those of the Digital Library of Mathematical Functions (https://dlmf.nist.gov),
chapter 8.  Densities are computed as by Loader (2000), *Fast and accurate computation of binomial
probabilities*: large logarithms do not cancel.

The derivatives by a parameter are integrals of the density times a logarithm, which changes its
sign once; its integral over the whole range is 0.  So it is taken over the side of `x` on which it
keeps its sign, and nothing cancels.  Quadrature: the double exponential one of Takahasi and Mori
(1974) for integrands that decay exponentially.  For small `x` the power series is differentiated
(as in Moore (1982), *Algorithm AS 187*).
"""

import math

import numpy as np
from scipy import special

from srcad.rules.declare import derivative
from srcad.rules.row import NoPartial
from srcad.rules.scipy.special_series import digamma_difference, polynomial

_PARAMETER = NoPartial("the second derivative by this parameter has no closed form")

_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)

# DLMF 5.11.1 and 5.11.2: B[2 k] / (2 k (2 k - 1)) and B[2 k] / (2 k), from k = 1 on.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
             -3617 / 122400)  # fmt: skip
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
_ATANH = tuple(1 / (2 * k + 3) for k in range(14))
_EXPONENTIAL = tuple((-1) ** k / math.factorial(k + 2) for k in range(14))

# Nodes between two bounds in the variable of the quadrature, ``w = exp(v - exp(-v))``.
_LOWEST, _COUNT_OF_NODES = -3.7, 280


# ------------------------------------------------------------------------ parts
def stirling_error(a):
    """``log(gamma(a))`` minus Stirling's formula (DLMF 5.11.1)."""
    large = np.maximum(a, 8.0)
    small = np.minimum(a, 8.0)
    series = polynomial(1 / (large * large), _STIRLING) / large
    direct = special.gammaln(small) - (small - 0.5) * np.log(small) + small - _HALF_LOG_TWO_PI
    return np.where(a < 8.0, direct, series)


def log_minus_digamma(a):
    """``log(a) - digamma(a)`` (DLMF 5.11.2)."""
    large = np.maximum(a, 8.0)
    square = 1 / (large * large)
    series = 0.5 / large + square * polynomial(square, _DIGAMMA)
    return np.where(a < 8.0, np.log(a) - special.digamma(a), series)


def log_ratio(d, ratio):
    """``log(ratio)`` for ``ratio = 1 + d``."""
    near = np.abs(d) < 0.5
    return np.where(near, np.log1p(np.where(near, d, 0.0)), np.log(ratio))


def log_minus_linear(d, ratio):
    """``log(1 + d) - d`` for ``ratio = 1 + d``: for small `d` by the series of ``atanh``."""
    near = np.abs(d) < 0.3
    e = np.where(near, d, 0.0)
    r = e / (2 + e)
    series = 2 * r * r * r * polynomial(r * r, _ATANH) - r * e
    return np.where(near, series, np.log(ratio) - d)


def exponential_remainder(w):
    """``exp(-w) - 1 + w``."""
    near = w < 0.5
    e = np.where(near, w, 0.0)
    return np.where(near, e * e * polynomial(e, _EXPONENTIAL), np.expm1(-w) + w)


def quadrature(integrand, scale, largest):
    """Integrals from 0 to infinity of functions that decay exponentially.

    They vary on lengths between `scale` and `largest`; the nodes are the last axis.
    """
    top = np.log(45.0 * largest / scale)
    step = (top - _LOWEST) / (_COUNT_OF_NODES - 1)
    v = _LOWEST + step[..., None] * np.arange(_COUNT_OF_NODES)
    w = scale[..., None] * np.exp(v - np.exp(-v))
    return step * np.sum(integrand(w) * w * (1 + np.exp(-v)), axis=-1)


def in_double(function, *operands):
    """Evaluate in float64; the result has the dtype of the operands."""
    dtype = np.result_type(*operands)
    arrays = np.broadcast_arrays(*(np.asarray(x, float) for x in operands))
    shape = arrays[0].shape
    with np.errstate(all="ignore"):
        found = function(*(np.ravel(x) for x in arrays)).reshape(shape)
    return found.astype(dtype if dtype.kind == "f" else float)[()]


def by_regions(regions, *operands):
    """Evaluate a function on each set of points; nan elsewhere."""
    found = np.full(operands[0].shape, np.nan)
    for chosen, function in regions:
        if np.any(chosen):
            found[chosen] = function(*(x[chosen] for x in operands))
    return found


# ------------------------------------------------------------------------ incomplete gamma
def _gamma_density(a, x):
    power = a * log_minus_linear((x - a) / a, x / a) - stirling_error(a)
    at_zero = np.where(a < 1, np.inf, np.where(a == 1, 1.0, 0.0))
    found = np.where(x == 0, at_zero, np.sqrt(a) / (x * _ROOT_TWO_PI) * np.exp(power))
    return np.where((a == np.inf) != (x == np.inf), 0.0, found)


def gamma_density(a, x):
    """``x**(a - 1) exp(-x) / gamma(a)``."""
    return in_double(_gamma_density, a, x)


@derivative(gamma_density, samples=lambda f, near: [f(near(0.4, 3.0, 4), near(0.4, 3.0, 4))])
def gamma_density_rule(a, x, *, y):
    return y * (np.log(x) - special.digamma(a)), y * ((a - 1 - x) / x)


def _gamma_by_series(a, x):
    slope = np.log(x) - special.digamma(a + 1)
    term, value, sums = 1.0, 1.0, 0.0
    for k in range(1, 24):
        term = -term * x / k
        value = value + term * a / (a + k)
        sums = sums + term * k / (a + k) ** 2
    return np.exp(a * np.log(x) - special.gammaln(a + 1)) * (slope * value + sums)


def _gamma_below(a, x):
    slope = log_ratio((x - a) / a, x / a) + log_minus_digamma(a)

    def integrand(w):
        power = -(a - x)[:, None] * w - x[:, None] * exponential_remainder(w)
        return (slope[:, None] - w) * np.exp(power)

    scale = 1 / (np.maximum(a - x, 0) + np.sqrt(a))
    return x * _gamma_density(a, x) * quadrature(integrand, scale, scale)


def _gamma_above(a, x):
    slope = log_ratio((x - a) / a, x / a) + log_minus_digamma(a)

    def integrand(s):
        v = s / x[:, None]
        power = (a - 1 - x)[:, None] * v + (a - 1)[:, None] * log_minus_linear(v, 1 + v)
        return (slope[:, None] + np.log1p(v)) * np.exp(power)

    scale = 1 / (np.maximum(1 - (a - 1) / x, 0) + 1 / np.sqrt(x))
    return -_gamma_density(a, x) * quadrature(integrand, scale, np.maximum(scale, 1.0))


def _gammainc_by_a(a, x):
    valid = (a > 0) & (a < np.inf) & (x > 0) & (x < np.inf)
    at_end = (x == 0) | ((x == np.inf) != (a == np.inf))
    small = valid & (x <= 1)
    below = valid & (x > 1) & (np.log(x) < special.digamma(a))
    above = valid & (x > 1) & np.logical_not(below)
    regions = [(small, _gamma_by_series), (below, _gamma_below), (above, _gamma_above),
               ((a > 0) & (x >= 0) & at_end, lambda a, x: 0.0)]  # fmt: skip
    return by_regions(regions, a, x)


def gammainc_by_a(a, x):
    """The derivative of ``gammainc(a, x)`` by `a`."""
    return in_double(_gammainc_by_a, a, x)


@derivative(gammainc_by_a, samples=lambda f, near: [f(2, near(0.5, 4.0, 4))])
def gammainc_by_a_rule(a, x):
    return _PARAMETER, gamma_density(a, x) * (np.log(x) - special.digamma(a + 0 * x))


@derivative(special.gammainc, samples=(0.4, 3), kinks={(1, 0): (0, 1), (2, 0): (0, 0)})
def gammainc(a, x):
    """``x**(a - 1) exp(-x) / gamma(a)`` (DLMF 8.8.13); by `a` an integral, once."""
    return gammainc_by_a(a, x), gamma_density(a, x)


@derivative(special.gammaincc, samples=(0.4, 3), kinks={(1, 0): (0, -1)})
def gammaincc(a, x):
    """``-x**(a - 1) exp(-x) / gamma(a)`` (DLMF 8.8.14); by `a` an integral, once."""
    return -gammainc_by_a(a, x), -gamma_density(a, x)


@derivative(special.gammaincinv, samples=(0.3, 0.9))
def gammaincinv(a, p, *, y):
    density = gamma_density(a, y)
    return -gammainc_by_a(a, y) / density, 1 / density


@derivative(special.gammainccinv, samples=(0.3, 0.9))
def gammainccinv(a, p, *, y):
    density = gamma_density(a, y)
    return -gammainc_by_a(a, y) / density, -1 / density


# ------------------------------------------------------------------------ incomplete beta
def _distance(a, b, x, y):
    """``(a + b) x - a`` for ``y = 1 - x``."""
    return np.where(x <= y, (a + b) * x - a, b - (a + b) * y)


def _log_of(x, y):
    """``log(x)`` for ``y = 1 - x``."""
    return np.where(x < 0.5, np.log(x), np.log1p(-y))


def _beta_density(a, b, x, y):
    n, d = a + b, _distance(a, b, x, y)
    power = a * log_minus_linear(d / a, n * x / a) + b * log_minus_linear(-d / b, n * y / b)
    power = power + stirling_error(n) - stirling_error(a) - stirling_error(b)
    inside = np.sqrt(a / n * b) / _ROOT_TWO_PI * np.exp(power) / (x * y)
    at_0 = np.where(a < 1, np.inf, np.where(a == 1, b, 0.0))
    at_1 = np.where(b < 1, np.inf, np.where(b == 1, a, 0.0))
    inside = np.where((a == np.inf) != (b == np.inf), 0.0, inside)
    return np.where(x == 0, at_0, np.where(y == 0, at_1, inside))


def beta_density(a, b, x):
    """``x**(a - 1) (1 - x)**(b - 1) / beta(a, b)``."""
    return in_double(lambda a, b, x: _beta_density(a, b, x, 1 - x), a, b, x)


@derivative(
    beta_density,
    samples=lambda f, near: [f(near(0.4, 3.0, 4), near(0.4, 3.0, 4), near(0.2, 0.8, 4))],
)  # fmt: skip
def beta_density_rule(a, b, x, *, y):
    by_a = y * (np.log(x) + digamma_difference(a, b))
    by_b = y * (np.log1p(-x) + digamma_difference(b, a))
    return by_a, by_b, y * ((a - 1) / x - (b - 1) / (1 - x))


def _logarithm(a, b, x, y):
    """``log(x) + digamma(a + b) - digamma(a)``."""
    n = a + b
    d = _distance(a, b, x, y) / a
    near = np.abs(d) < 0.5
    ratio = np.where(near, np.log1p(np.where(near, d, 0.0)), _log_of(x, y) + np.log(n / a))
    large = ratio + log_minus_digamma(a) - log_minus_digamma(n)
    return np.where(near & (a > 8) & (a * y > 1), large, _log_of(x, y) + digamma_difference(a, b))


def _beta_by_series(a, b, x, y):
    slope = np.log(x) + digamma_difference(a + 1, b) - 1 / (a + b)
    term, value, sums = 1.0, 1.0, 0.0
    for k in range(1, 40):
        term = term * (k - b) / k * x
        value = value + term * a / (a + k)
        sums = sums + term * k / (a + k) ** 2
    return x * y * _beta_density(a, b, x, y) / a * y ** (-b) * (slope * value + sums)


def _beta_side(a, b, x, y, sign):
    """The integral over the side of `x` where the logarithm keeps its sign: -1 below, 1 above."""
    slope = _logarithm(a, b, x, y)
    if sign < 0:
        p, q, r = a, b, x / y
    else:
        p, q, r = b, a, y / x

    def integrand(w):
        inner = -r[:, None] * np.expm1(-w)
        power = -p[:, None] * w + (q - 1)[:, None] * np.log1p(inner)
        rest = -w if sign < 0 else np.log1p(inner)
        return (slope[:, None] + rest) * np.exp(power)

    # For q > 1 the power is ``(bend - p) w - bend (1 + r) w**2 / 2`` near 0, and ``-p w`` far away.
    bend = np.maximum(q - 1, 0) * r
    scale = 1 / (np.maximum(p - bend, 0) + np.sqrt(bend * (1 + r)) + np.where(q < 1, r, 0))
    largest = np.maximum(scale, 1 / p)
    scale = np.minimum(scale, 1.0)
    outer = x if sign < 0 else y
    return -sign * outer * _beta_density(a, b, x, y) * quadrature(integrand, scale, largest)


def _betainc_by_a(a, b, x, y):
    valid = (a > 0) & (a < np.inf) & (b > 0) & (b < np.inf) & (x > 0) & (y > 0)
    at_end = (x == 0) | (y == 0) | ((a == np.inf) != (b == np.inf))
    at_end &= (a > 0) & (b > 0) & (x >= 0) & (y >= 0)
    small = valid & (x <= 0.3) & (b * x <= 1)
    below = valid & np.logical_not(small) & (_logarithm(a, b, x, y) < 0)
    above = valid & np.logical_not(small | below)
    regions = [(small, _beta_by_series),
               (below, lambda a, b, x, y: _beta_side(a, b, x, y, -1)),
               (above, lambda a, b, x, y: _beta_side(a, b, x, y, 1)),
               (at_end, lambda a, b, x, y: 0.0)]  # fmt: skip
    return by_regions(regions, a, b, x, y)


def betainc_by_a(a, b, x):
    """The derivative of ``betainc(a, b, x)`` by `a`."""
    return in_double(lambda a, b, x: _betainc_by_a(a, b, x, 1 - x), a, b, x)


def betainc_by_b(a, b, x):
    """The derivative of ``betainc(a, b, x) = 1 - betainc(b, a, 1 - x)`` by `b`."""
    return in_double(lambda a, b, x: -_betainc_by_a(b, a, 1 - x, x), a, b, x)


@derivative(betainc_by_a, samples=lambda f, near: [f(2, 3, near(0.2, 0.8, 4))])
def betainc_by_a_rule(a, b, x):
    slope = np.log(x) + digamma_difference(a + 0 * x, b)
    return _PARAMETER, _PARAMETER, beta_density(a, b, x) * slope


@derivative(betainc_by_b, samples=lambda f, near: [f(2, 3, near(0.2, 0.8, 4))])
def betainc_by_b_rule(a, b, x):
    slope = np.log1p(-x) + digamma_difference(b + 0 * x, a)
    return _PARAMETER, _PARAMETER, beta_density(a, b, x) * slope


def of_three(f, near):
    """Samples: two parameters and a number between 0 and 1."""
    return [f(near(0.4, 3.0, 4), near(0.4, 3.0, 3, 4), near(0.2, 0.8, 4)), f(2, 3, 0.4),
            f(near(0.4, 3.0, 4), 2.5, 0.3)]  # fmt: skip


@derivative(special.betainc, samples=of_three, kinks={(1, 2, 0): (0, 0, 2)})
def betainc(a, b, x):
    """``x**(a - 1) (1 - x)**(b - 1) / beta(a, b)`` (DLMF 8.17.1); by `a`, `b` integrals, once."""
    return betainc_by_a(a, b, x), betainc_by_b(a, b, x), beta_density(a, b, x)


@derivative(special.betaincc, samples=of_three)
def betaincc(a, b, x):
    """As `betainc`, with the other sign (DLMF 8.17.4)."""
    return -betainc_by_a(a, b, x), -betainc_by_b(a, b, x), -beta_density(a, b, x)


@derivative(special.betaincinv, samples=of_three)
def betaincinv(a, b, p, *, y):
    density = beta_density(a, b, y)
    return -betainc_by_a(a, b, y) / density, -betainc_by_b(a, b, y) / density, 1 / density


@derivative(special.betainccinv, samples=of_three)
def betainccinv(a, b, p, *, y):
    density = beta_density(a, b, y)
    return -betainc_by_a(a, b, y) / density, -betainc_by_b(a, b, y) / density, -1 / density
