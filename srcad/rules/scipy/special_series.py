"""Series in the rules of special functions."""

import math

import numpy as np
from scipy import special

from srcad.rules.declare import derivative


def polynomial(x, coefficients, order=0):
    """A derivative of a polynomial with the given coefficients, lowest power first (Horner)."""
    y = 0 * x
    for k in range(len(coefficients) - 1, order - 1, -1):
        y = y * x + coefficients[k] * math.perm(k, order)
    return y


@derivative(polynomial, active=("x",), samples=())
def polynomial_rule(x, coefficients, order=0):
    return polynomial(x, coefficients, order + 1)


# Bernoulli numbers of index 2, 4, .., 16.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def digamma_difference(a, b):
    """``digamma(a + b) - digamma(a)``, which does not cancel for small `b`.

    By recurrence (DLMF 5.5.2) and the asymptotic series 5.11.2, term by term.
    """
    dtype = np.result_type(a, b)
    dtype = dtype if dtype.kind == "f" else np.dtype(float)
    a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    total = a + b
    direct = special.digamma(total) - special.digamma(a)
    shifted = np.where((a > 0) & (total > 0), a, 1.0 + abs(b)).astype(direct.dtype)
    found = 0 * shifted
    for k in range(10):
        found = found + b / ((shifted + k) * (shifted + k + b))
    low, high = shifted + 10, shifted + 10 + b
    u, v = 1 / (low * low), 1 / (high * high)
    slope, power, tail = 0 * u + 1.0, 1.0, 0 * u
    for k, bernoulli in enumerate(BERNOULLI, 1):
        tail = tail + bernoulli / (2 * k) * slope
        power = power * v
        slope = u * slope + power
    gap = b * (low + high) * u * v
    found = found + np.log1p(b / low) + b / (2 * low * high) + gap * tail
    return np.where((a > 0) & (total > 0), found, direct)[()]


@derivative(digamma_difference, samples=lambda f, near: [f(near(0.4, 3.0, 4), near(0.4, 3.0, 4))])
def digamma_difference_rule(a, b):
    """DLMF 5.15.1."""
    at_sum = special.zeta(2.0, a + b)
    return at_sum - special.zeta(2.0, a), at_sum
