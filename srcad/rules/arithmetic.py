"""Arithmetic of two operands: Python's operators and the ufuncs that they stand for."""

import ast
import math
import operator

import numpy as np

from srcad.rules.conjugates import ORDER, may_be_complex
from srcad.rules.declare import adjoint, derivative
from srcad.rules.registry import is_known, static
from srcad.rules.row import NO_PARTIAL, Result, Sign
from srcad.runtime import logistic, sign, unbroadcast, zero_at_pole, zero_if_still


@derivative(
    operator.add,
    np.add,
    entries="each",
    law="sum",
    nan="stays",
    sign=Sign("+", ast.Add, operator.iadd),
    reduce=np.sum,
    accumulate=np.cumsum,
    rounds="exactly",
    special=("__add__", "__radd__"),
    samples=(-2, 2),
)
def add(a, b):
    return 1, 1


@derivative(
    operator.sub,
    np.subtract,
    entries="each",
    law="difference",
    nan="stays",
    sign=Sign("-", ast.Sub, operator.isub),
    rounds="exactly",
    special=("__sub__", "__rsub__"),
    samples=(-2, 2),
)
def subtract(a, b):
    return 1, -1


@derivative(
    operator.mul,
    np.multiply,
    entries="each",
    law="product",
    nan="stays",
    sign=Sign("*", ast.Mult, operator.imul),
    reduce=np.prod,
    accumulate=np.cumprod,
    rounds="exactly",
    special=("__mul__", "__rmul__"),
    safe=1.0,
    samples=(-2, 2),
)
def multiply(a, b):
    return b, a


@derivative(
    operator.truediv,
    np.divide,
    entries="each",
    fails="divisor",
    law="quotient",
    nan="stays",
    sign=Sign("/", ast.Div, operator.itruediv),
    rounds="exactly",
    special=("__truediv__", "__rtruediv__"),
    safe=1.0,
    samples=(0.5, 2),
    kinks={(1, 0): (math.inf, -math.inf), (0, 0): (math.inf, math.nan)},
)
def divide(a, b, *, y):
    """At b = 0 as NumPy divides: ``1 / x`` has the slope -inf at 0."""
    return 1 / b, -y / b


@derivative(
    operator.neg,
    entries="each",
    symmetry="odd",
    law="negative",
    nan="stays",
    sign=Sign("-", ast.USub),
    special=("__neg__",),
    samples=(-2, 2),
)
def negative(a):
    return -1


@derivative(
    operator.pos,
    entries="each",
    symmetry="odd",
    law="positive",
    nan="stays",
    sign=Sign("+", ast.UAdd),
    special=("__pos__",),
    samples=(-2, 2),
)
def positive(a):
    return 1


@derivative(
    operator.abs,
    math.fabs,
    entries="each",
    range="not negative",
    symmetry="even",
    exponent=1.0,
    nan="stays",
    special=("__abs__",),
    samples=(-2, -0.2),
    kinks={0: 0, math.nan: math.nan},
)
def absolute(x, *, y):
    """For complex numbers ``d|x| = Re(conj(x) / |x| * dx)``."""
    if may_be_complex(x):
        return np.conjugate(x) / (y + (y == 0))
    if isinstance(x, (int, float)) and not isinstance(x, np.generic):
        return sign(x)
    return np.sign(x)


@static
def is_small(a):
    """True if an integer is known to be one of NumPy's: of larger ones it takes no logarithm."""
    return is_known(a) and -(2**63) <= a < 2**63


@derivative(
    operator.pow, np.power, np.float_power, entries="each", law="power", rounds="by processor",
    sign=Sign("**", ast.Pow, operator.ipow), special=("__pow__", "__rpow__"), safe=1.0,
    samples=lambda f, m, near, array: [
        f(near(0.4, 2, 4), near(0.4, 2, 3, 4)), f(near(0.4, 2, 3, 1), 1.7), f(m + 3, 3),
        f(m, 2), f(m + 3, -1), f(1.7, 2.3)],
    kinks={
        (0, 0): (0, 0), (0, 1): (1, 0), (0, 2): (0, 0), (0, 0.5): (math.inf, 0),
        (0, -1): (-math.inf, -math.inf), (-2, 3): (12, math.nan), (2, 0): (0, math.log(2))},
)  # fmt: skip
def power(a, b, *, y):
    """``x**0`` has the slope 0 everywhere, and ``0**b`` the slope 0 for b >= 0.

    ``0.0**x`` at 0: 0 (the limit from the left is -inf).  For a negative base the derivative with
    respect to the exponent is nan.
    """
    if may_be_complex(a) or may_be_complex(b):
        return complex_power(a, b, y)
    base = float(a) if isinstance(a, int) and not is_small(a) else a
    log_a = np.log(base + ((a == 0) & (b >= 0)))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        log_a = float(log_a)
    return b * a ** (b - (b != 0)), y * log_a


def complex_power(a, b, y):
    """The partials of ``exp(b * log(a))``; ``0**b`` has the slope 0 for positive real parts."""
    log_a = np.log(a + 0j + ((a == 0) & (np.real(b) >= 0)))
    return b * a ** (b - (b != 0)), y * log_a


@derivative(
    operator.mod,
    entries="each",
    fails="divisor",
    law="remainder",
    sign=Sign("%", ast.Mod, operator.imod),
    special=("__mod__", "__rmod__"),
    samples=(0.6, 0.9),
    kinks={(5, -3): (1, 2)},
)
def modulo(a, b):
    """At a multiple of the divisor: the slope from above, 1."""
    return 1, -(a // b)


@derivative(
    np.mod,
    entries="each",
    fails="divisor",
    law="remainder",
    sign=Sign("%", ast.Mod),
    samples=(0.6, 0.9),
    kinks={(1, 1): (1, -1), (5, -3): (1, 2)},
)
def remainder(a, b):
    """At a multiple of the divisor: the slope from above, 1."""
    return 1, -np.floor_divide(a, b)


@derivative(np.fmod, fails="divisor", samples=(0.6, 0.9))
def fmod(a, b, *, y):
    """``a = n b + y`` tells the n of `y`; ``a / b`` is rounded, near a multiple past it."""
    return 1, -np.rint((a - y) / b)


@adjoint(
    divmod, np.divmod, result=Result(2), special=("__divmod__", "__rdivmod__"),
    samples=lambda f, near: [
        f(near(2.1, 2.9, 4), near(0.8, 0.95, 3, 1)), f(near(2.1, 2.9, 4), 0.8), f(7.3, -2.0)],
)  # fmt: skip
def division(y_bar, y, a, b):
    """The quotient is constant between jumps; the remainder is ``a - quotient * b``."""
    remainder_bar = y_bar[1]
    if remainder_bar is None:
        return None, None
    return unbroadcast(remainder_bar, a), unbroadcast(-y[0] * remainder_bar, b)


@adjoint(np.modf, math.modf, result=Result(2), samples=lambda f: [f(3.4)])
def modf(y_bar, y, x):
    return y_bar[0]


@adjoint(
    np.frexp, math.frexp, result=Result(2), samples=lambda f: [f(3.4), f(-0.3)]
)  # fmt: skip
def frexp(y_bar, y, x):
    """``y[0] = x / 2**y[1]``; ``~n`` is ``-n - 1``, and constant."""
    return np.ldexp(2 * y_bar[0], ~y[1])


# ------------------------------------------------------------------------ the larger, the smaller
@derivative(
    np.maximum,
    reduce=np.max,
    rounds="exactly",
    samples=(-2, 2),
    kinks={(1, 1): (0, 1), (math.nan, 1): (1, 0), (1, math.nan): (0, 1)},
)
def maximum(a, b, *, y):
    """The second operand owns a tie, so the slope of ``maximum(x, 0)`` at 0 is 0; a nan owns.

    ``b == b`` is False for a nan, and nothing where ``b`` is a literal.
    """
    if may_be_complex(a) or may_be_complex(b):
        return ORDER, ORDER
    return (y != b) & (b == b), np.logical_not(a > b) & (a == a)


@derivative(
    np.minimum,
    reduce=np.min,
    rounds="exactly",
    samples=(-2, 2),
    kinks={(1, 1): (1, 0), (math.nan, 1): (1, 0), (1, math.nan): (0, 1)},
)
def minimum(a, b):
    """The first operand owns a tie: the partials of maximum and minimum add up to 1; a nan owns."""
    if may_be_complex(a) or may_be_complex(b):
        return ORDER, ORDER
    return np.logical_not(a > b) & (b == b), np.logical_not(a <= b) & (a == a)


@derivative(
    np.fmax,
    reduce=np.nanmax,
    rounds="exactly",
    nan="left out",
    samples=(-2, 2),
    kinks={(1, 1): (0, 1), (math.nan, 1): (0, 1), (1, math.nan): (1, 0)},
)
def fmax(a, b):
    """The second operand owns a tie; a nan never does."""
    if may_be_complex(a) or may_be_complex(b):
        return ORDER, ORDER
    first = (a > b) | (b != b)
    return first, np.logical_not(first)


@derivative(
    np.fmin,
    reduce=np.nanmin,
    rounds="exactly",
    nan="left out",
    samples=(-2, 2),
    kinks={(1, 1): (1, 0), (math.nan, 1): (0, 1), (1, math.nan): (1, 0)},
)
def fmin(a, b):
    """The first operand owns a tie; a nan never does."""
    if may_be_complex(a) or may_be_complex(b):
        return ORDER, ORDER
    first = (a <= b) | (b != b)
    return first, np.logical_not(first)


# ------------------------------------------------------------------------ two coordinates
@derivative(np.hypot, symmetry="even", safe=1.0, samples=(0.3, 2), kinks={(0, 0): (0, 0)})
def hypot(a, b, *, y):
    length = y + (y == 0)
    return a / length, b / length


@derivative(
    np.arctan2,
    rounds="by processor",
    safe=1.0,
    samples=(0.3, 2),
    kinks={(0, 0): (math.nan, math.nan)},
)
def arctan2(a, b):
    """The square of the length would overflow above 1e154, and vanish below 1e-154."""
    length = np.hypot(a, b)
    return b / length / length, -(a / length / length)


@derivative(np.copysign, rounds="exactly", samples=(-2, -0.1), kinks={(0, -1): (0, 0)})
def copysign(a, b, *, y):
    return np.sign(a) * np.sign(y), None


@derivative(np.heaviside, samples=lambda f, m: [f(m, 0.3)])
def heaviside(a, b):
    return None, a == 0


@derivative(np.ldexp, samples=lambda f, m: [f(m, 3)])
def ldexp(a, n):
    return np.ldexp(np.ones_like(a), n), NO_PARTIAL


# The difference decides: the result loses its digits where it is large.
@derivative(
    np.logaddexp,
    samples=(-2, 2),
    kinks={(-math.inf, -math.inf): (0.5, 0.5), (-math.inf, 1): (0, 1), (1e16, 1e16): (0.5, 0.5)},
)
def logaddexp(a, b):
    both = (a == b) & np.isinf(a)
    d = np.where(both, 0.0, a - b)
    return logistic(d), logistic(-d)


@derivative(logistic, entries="each", samples=(-3, 3))
def logistic_rule(x, *, y):
    return y * logistic(-x)


@derivative(zero_at_pole, entries="each", samples=lambda f, m: [f(m, True)])
def zero_at_pole_rule(bar, elsewhere):
    """The derivative of `bar`, at a pole too, where the true one is unknown."""
    return 1, None


@derivative(zero_if_still, entries="each", samples=lambda f, m: [f(m, True)])
def zero_if_still_rule(bar, moves):
    """Linear in `bar`; the transforms treat factors that stay constant."""
    return 1, None


@derivative(np.logaddexp2, samples=(-2, 2), kinks={(-math.inf, -math.inf): (0.5, 0.5)})
def logaddexp2(a, b):
    both = (a == b) & np.isinf(a)
    d = np.where(both, 0.0, a - b)
    return np.exp2(-np.logaddexp2(0.0, -d)), np.exp2(-np.logaddexp2(0.0, d))
