"""Arithmetic of two operands: Python's operators and the ufuncs that they stand for."""

import math
import operator

import numpy as np

from srcad.rules.declare import adjoint, derivative
from srcad.rules.registry import is_known, static
from srcad.rules.row import NO_PARTIAL
from srcad.runtime import sign, unbroadcast


@derivative(operator.add, np.add)
def add(a, b):
    return 1, 1


@derivative(operator.sub, np.subtract)
def subtract(a, b):
    return 1, -1


@derivative(operator.mul, np.multiply, safe=1.0)
def multiply(a, b):
    return b, a


@derivative(operator.truediv, np.divide, safe=1.0)
def divide(a, b, *, y):
    """At b = 0 as NumPy divides: ``1 / x`` has the slope -inf at 0."""
    return 1 / b, -y / b


@derivative(operator.neg)
def negative(a):
    return -1


@derivative(operator.pos)
def positive(a):
    return 1


@derivative(operator.abs, math.fabs)
def absolute(x):
    """At 0: 0; at nan: nan."""
    if isinstance(x, (int, float)) and not isinstance(x, np.generic):
        return sign(x)
    return np.sign(x)


@static
def is_small(a):
    """Whether an integer is known to be one of NumPy's: of larger ones it takes no logarithm."""
    return is_known(a) and -(2**63) <= a < 2**63


@derivative(operator.pow, np.power, np.float_power, safe=1.0)
def power(a, b, *, y):
    """``x**0`` has the slope 0 everywhere, and ``0**b`` the slope 0 for b >= 0.

    ``0.0**x`` at 0: 0 (the limit from the left is -inf).  For a negative base the derivative with
    respect to the exponent is nan.
    """
    base = float(a) if isinstance(a, int) and not is_small(a) else a
    log_a = np.log(base + ((a == 0) & (b >= 0)))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        log_a = float(log_a)
    return b * a ** (b - (b != 0)), y * log_a


@derivative(operator.mod)
def modulo(a, b):
    """At a multiple of the divisor: the slope from above, 1."""
    return 1, -(a // b)


@derivative(np.mod)
def remainder(a, b):
    """At a multiple of the divisor: the slope from above, 1."""
    return 1, -np.floor_divide(a, b)


@derivative(np.fmod)
def fmod(a, b, *, y):
    """``a = n b + y`` tells the n of `y`; ``a / b`` is rounded, near a multiple past it."""
    return 1, -np.rint((a - y) / b)


@adjoint(divmod, np.divmod)
def division(y_bar, y, a, b):
    """The quotient is constant between jumps; the remainder is ``a - quotient * b``."""
    remainder_bar = y_bar[1]
    if remainder_bar is None:
        return None, None
    return unbroadcast(remainder_bar, a), unbroadcast(-y[0] * remainder_bar, b)


@adjoint(np.modf, math.modf)
def modf(y_bar, y, x):
    return y_bar[0]


# ------------------------------------------------------------------------ the larger, the smaller
@derivative(np.maximum)
def maximum(a, b, *, y):
    """The second operand owns a tie, so the slope of ``maximum(x, 0)`` at 0 is 0; a nan owns.

    ``b == b`` is False for a nan, and nothing where ``b`` is a literal.
    """
    return (y != b) & (b == b), np.logical_not(a > b) & (a == a)


@derivative(np.minimum)
def minimum(a, b):
    """The first operand owns a tie: the partials of maximum and minimum add up to 1; a nan owns."""
    return np.logical_not(a > b) & (b == b), np.logical_not(a <= b) & (a == a)


@derivative(np.fmax)
def fmax(a, b):
    """The second operand owns a tie; a nan never does."""
    first = (a > b) | (b != b)
    return first, np.logical_not(first)


@derivative(np.fmin)
def fmin(a, b):
    """The first operand owns a tie; a nan never does."""
    first = (a <= b) | (b != b)
    return first, np.logical_not(first)


# ------------------------------------------------------------------------ two coordinates
@derivative(np.hypot, safe=1.0)
def hypot(a, b, *, y):
    """At the origin: 0 and 0."""
    length = y + (y == 0)
    return a / length, b / length


@derivative(np.arctan2, safe=1.0)
def arctan2(a, b):
    """At the origin: nan and nan."""
    square = a * a + b * b
    return b / square, -(a / square)


@derivative(np.copysign)
def copysign(a, b, *, y):
    """At a = 0: 0."""
    return np.sign(a) * np.sign(y), None


@derivative(np.heaviside)
def heaviside(a, b):
    return None, a == 0


@derivative(np.ldexp)
def ldexp(a, n):
    return np.ldexp(np.ones_like(a), n), NO_PARTIAL


@derivative(np.logaddexp)
def logaddexp(a, b, *, y):
    """At (-inf, -inf): one half and one half."""
    both = (a == b) & np.isinf(a)
    half = -math.log(2.0)
    return np.exp(np.where(both, half, a - y)), np.exp(np.where(both, half, b - y))


@derivative(np.logaddexp2)
def logaddexp2(a, b, *, y):
    """At (-inf, -inf): one half and one half."""
    both = (a == b) & np.isinf(a)
    return np.exp2(np.where(both, -1.0, a - y)), np.exp2(np.where(both, -1.0, b - y))
