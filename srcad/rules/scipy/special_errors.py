"""Error functions, integrals of Gaussians and exponential integrals of SciPy.

The formulas are those of the Digital Library of Mathematical Functions (https://dlmf.nist.gov),
chapters 6 (exponential integrals) and 7 (error functions).  Where the usual formula cancels, a
series in ``1 / x`` or a continued fraction stands beside it.
"""

import math

import numpy as np
from scipy import special

from srcad.rules.conjugates import conj, may_be_complex
from srcad.rules.declare import adjoint, derivative
from srcad.rules.row import COMPLEX, NoPartial
from srcad.rules.scipy.special_series import polynomial

_DEGREE = NoPartial("the degree of an integral is a whole number")

_ROOT_PI = math.sqrt(math.pi)
_HALF_ROOT_PI = math.sqrt(math.pi) / 2
_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
_AT_ZERO = 2j / math.sqrt(math.pi)
_ROOT_TWO = math.sqrt(2.0)
_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_ROOT_TWO_BY_PI = math.sqrt(2 / math.pi)


# ------------------------------------------------------------------------ error functions
@derivative(special.erf, samples=(-2, 2), kinks={0: _TWO_BY_ROOT_PI})
def erf(x):
    """DLMF 7.2.1."""
    return _TWO_BY_ROOT_PI * np.exp(-x * x)


@derivative(special.erfc, samples=(-2, 2), kinks={0: -_TWO_BY_ROOT_PI})
def erfc(x):
    """DLMF 7.2.2."""
    return -_TWO_BY_ROOT_PI * np.exp(-x * x)


@derivative(special.erfi, samples=(-2, 2), kinks={0: _TWO_BY_ROOT_PI})
def erfi(x):
    return _TWO_BY_ROOT_PI * np.exp(x * x)


@derivative(special.erfinv, samples=(-0.8, 0.8), kinks={0: _HALF_ROOT_PI, 1: math.inf})
def erfinv(x, *, y):
    return _HALF_ROOT_PI * np.exp(y * y)


@derivative(special.erfcinv, samples=(0.2, 1.8), kinks={1: -_HALF_ROOT_PI, 0: -math.inf})
def erfcinv(x, *, y):
    return -_HALF_ROOT_PI * np.exp(y * y)


def scaled_integral(n, x):
    """``exp(x**2)`` times the n-th repeated integral of ``erfc`` from `x` to infinity.

    By the recurrence of DLMF 7.18.7, upwards to x = 2; from there on by the continued fraction
    that follows from it (the integral is the minimal solution, so upwards it cancels).
    """
    near = np.minimum(x, 2.0)
    before, low = _TWO_BY_ROOT_PI + 0 * near, special.erfcx(near)
    for k in range(1, n + 1):
        before, low = low, (0.5 * before - near * low) / k
    far = np.maximum(x, 2.0)
    ratio, high = 0 * far, special.erfcx(far)
    for k in range(n + 60, 0, -1):
        ratio = 0.5 / (far + (k + 1) * ratio)
        high = high * ratio if k <= n else high
    return np.where(x < 2.0, low, high)[()]


@derivative(
    scaled_integral,
    samples=lambda f, near: [f(1, near(-1.0, 4.0, 5)), f(0, near(-1.0, 4.0, 5))],
)  # fmt: skip
def scaled_integral_rule(n, x):
    """DLMF 7.18.2."""
    return _DEGREE, -2 * (n + 1) * scaled_integral(n + 1, x)


@derivative(special.erfcx, samples=(-1, 3), kinks={0: -_TWO_BY_ROOT_PI})
def erfcx(x, *, y):
    """``2 (x y - 1 / sqrt(pi))``, which cancels for large `x`, by the integral of ``erfc``."""
    if may_be_complex(x):
        return 2 * x * y - _TWO_BY_ROOT_PI
    return -2 * scaled_integral(1, x)


# The coefficients of ``x D(x)`` in ``1 / (2 x**2)`` (DLMF 7.12.1, 7.5.1), from the first power on.
_DAWSON = tuple(math.prod(range(1, 2 * k, 2)) * 1.0 for k in range(1, 24))


@derivative(special.dawsn, samples=(-2, 2), kinks={0: 1})
def dawsn(x, *, y):
    """``1 - 2 x y``; from abs(x) = 7 on, where that cancels, its series in 1 / x."""
    if may_be_complex(x):
        return 1 - 2 * x * y
    far = np.abs(x) > 7.0
    t = 0.5 / np.maximum(np.abs(x), 7.0) ** 2
    return np.where(far, -t * polynomial(t, _DAWSON), 1 - 2 * x * y)


def faddeeva_slope(z, w):
    """``2 i / sqrt(pi) - 2 z w`` (DLMF 7.10.2); for large `z` its series in 1 / z."""
    far = (np.abs(z) > 7.0) & (np.imag(z) >= 0)
    t = 0.5 / np.where(far, z * z, 49.0)
    return np.where(far, -_AT_ZERO * t * polynomial(t, _DAWSON), _AT_ZERO - 2 * z * w)


@derivative(
    special.wofz,
    result=COMPLEX,
    samples=lambda f, m, v: [f(m), f(m + 1j), f(v[:1] - 0.5j), f(m + 9j)],
)
def wofz(z, *, y):
    """``2 i / sqrt(pi) - 2 z y`` (DLMF 7.10.2); for large `z` its series in 1 / z."""
    return faddeeva_slope(z, y)


@derivative(
    special.voigt_profile,
    samples=lambda f, near: [f(near(-2.0, 2.0, 4), near(0.5, 1.5, 4), near(0.5, 1.5, 4))],
)
def voigt_profile(x, sigma, gamma, *, y):
    """``y = Re w(z) / (sigma sqrt(2 pi))`` with ``z = (x + i gamma) / (sigma sqrt(2))``."""
    z = (x + 1j * gamma) / (_ROOT_TWO * sigma)
    slope = faddeeva_slope(z, special.wofz(z)) / (2 * _ROOT_PI * sigma * sigma)
    return np.real(slope), -(y + _ROOT_TWO * sigma * np.real(z * slope)) / sigma, -np.imag(slope)


@derivative(special.owens_t, samples=(0.3, 2))
def owens_t(h, a):
    """Owen (1956), *Tables for computing bivariate normal probabilities*."""
    square = 1 + a * a
    by_h = -special.erf(_ROOT_HALF * a * h) * np.exp(-0.5 * h * h) / (2 * _ROOT_TWO_PI)
    return by_h, np.exp(-0.5 * h * h * square) / (2 * math.pi * square)


# ------------------------------------------------------------------------ normal distribution
@derivative(special.ndtr, samples=(-2, 2), kinks={0: 1 / _ROOT_TWO_PI})
def ndtr(x):
    return np.exp(-0.5 * x * x) / _ROOT_TWO_PI


@derivative(special.ndtri, samples=(0.1, 0.9), kinks={0.5: _ROOT_TWO_PI, 0: math.inf})
def ndtri(y_, *, y):
    return _ROOT_TWO_PI * np.exp(0.5 * y * y)


def mills(x):
    """The ratio of density and distribution function of the normal distribution."""
    return _ROOT_TWO_BY_PI / special.erfcx(-_ROOT_HALF * x)


@derivative(mills, samples=(-4, 4))
def mills_rule(x, *, y):
    """``-y (x + y)``; for small `x`, where that cancels, by the integral of ``erfc``."""
    t = -_ROOT_HALF * np.minimum(x, 1.0)
    distance = _ROOT_TWO * scaled_integral(1, t) / special.erfcx(t)
    return -y * np.where(x < 1.0, distance, x + y)


@derivative(
    special.log_ndtr, real_only=True, samples=(-3, 3), kinks={0: _ROOT_TWO_BY_PI, -1e30: 1e30}
)
def log_ndtr(x):
    """The density divided by ``ndtr(x)``, without their underflow (DLMF 7.2.3)."""
    return mills(x)


@derivative(special.ndtri_exp, samples=(-3, -0.2))
def ndtri_exp(y_, *, y):
    return 1 / mills(y)


# ------------------------------------------------------------------------ exponential integrals
@derivative(special.exp1, samples=(0.3, 3), kinks={0: -math.inf})
def exp1(x):
    """DLMF 6.2.1."""
    return -np.exp(-x) / x


@derivative(special.expi, samples=(0.3, 3))
def expi(x):
    """DLMF 6.2.5."""
    return np.exp(x) / x


@derivative(special.expn, samples=lambda f, near: [
    f(3, near(0.3, 3.0, 4)), f(1, near(0.3, 3.0, 4)), f(0, near(0.3, 3.0, 4))])  # fmt: skip
def expn(n, x):
    """DLMF 8.19.13."""
    first = np.exp(-x) * (1 + 1 / x) / x
    return _DEGREE, -np.where(n == 0, first, special.expn(np.maximum(n - 1, 0), x))


@adjoint(special.sici, samples=lambda f, near: [f(near(0.3, 3.0, 4)), f(0.7)])
def sici(y_bar, y, x):
    """``sin(x) / x`` and ``cos(x) / x`` (DLMF 6.2.9, 6.2.11)."""
    return sum_of(y_bar[0], np.sinc(x / math.pi), y_bar[1], np.cos(x) / x)


@adjoint(special.shichi, samples=lambda f, near: [f(near(0.3, 3.0, 4)), f(0.7)])
def shichi(y_bar, y, x):
    """``sinh(x) / x`` and ``cosh(x) / x`` (DLMF 6.2.15, 6.2.16)."""
    return sum_of(y_bar[0], np.sinh(x) / x, y_bar[1], np.cosh(x) / x)


@adjoint(special.fresnel, samples=lambda f, near: [f(near(0.3, 3.0, 4)), f(0.7)])
def fresnel(y_bar, y, z):
    """``sin(pi z**2 / 2)`` and ``cos(pi z**2 / 2)`` (DLMF 7.2.7, 7.2.8)."""
    angle = 0.5 * math.pi * z * z
    return sum_of(y_bar[0], np.sin(angle), y_bar[1], np.cos(angle))


def sum_of(a_bar, a, b_bar, b):
    """The cotangent of the operand of two functions, of which one may be unused."""
    if a_bar is None:
        return b_bar * conj(b)
    if b_bar is None:
        return a_bar * conj(a)
    return a_bar * conj(a) + b_bar * conj(b)
