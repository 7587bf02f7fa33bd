"""NumPy's elementwise functions of one argument, and the selecting ones.

The formulas are those of DiffRules.jl for the interior.  What holds at special points stands
beside the row.  ``x * x`` rather than ``x**2`` where ``x`` may be a Python float: the square of
1e200 is then inf, not an exception.
"""

import math

import numpy as np

from srcad.rules.declare import derivative


# ------------------------------------------------------------------------ powers
@derivative(np.square, safe=1.0)
def square(x):
    return 2 * x


@derivative(np.sqrt, twin=math.sqrt, safe=1.0)
def sqrt(x, *, y):
    """At 0: inf."""
    return 0.5 / y


@derivative(np.cbrt, safe=1.0)
def cbrt(x, *, y):
    """At 0: inf."""
    return 1 / (3 * y**2)


@derivative(np.reciprocal, safe=1.0)
def reciprocal(x, *, y):
    return -(y**2)


# ------------------------------------------------------------------------ exponentials, logarithms
@derivative(np.exp, twin=math.exp, safe=1.0)
def exp(x, *, y):
    return y


@derivative(np.exp2, twin=math.exp2, safe=1.0)
def exp2(x, *, y):
    return y * math.log(2.0)


@derivative(np.expm1, twin=math.expm1, safe=1.0)
def expm1(x, *, y):
    return y + 1


@derivative(np.log, safe=1.0)
def log(x):
    """At 0: inf."""
    return 1 / x


@derivative(np.log2, twin=math.log2, safe=1.0)
def log2(x):
    return 1 / (x * math.log(2.0))


@derivative(np.log10, twin=math.log10, safe=1.0)
def log10(x):
    return 1 / (x * math.log(10.0))


@derivative(np.log1p, twin=math.log1p, safe=1.0)
def log1p(x):
    """At -1: inf."""
    return 1 / (1 + x)


# ------------------------------------------------------------------------ trigonometry
@derivative(np.sin, twin=math.sin)
def sin(x):
    return np.cos(x)


@derivative(np.cos, twin=math.cos)
def cos(x):
    return -np.sin(x)


@derivative(np.tan, safe=1.0)
def tan(x, *, y):
    return 1 + y**2


@derivative(np.arcsin, twin=math.asin, safe=0.0)
def arcsin(x):
    """At 1 and -1: inf."""
    return 1 / np.sqrt(1 - x * x)


@derivative(np.arccos, twin=math.acos, safe=0.0)
def arccos(x):
    """At 1 and -1: -inf."""
    return -1 / np.sqrt(1 - x * x)


@derivative(np.arctan, twin=math.atan)
def arctan(x):
    return 1 / (1 + x * x)


@derivative(np.deg2rad, np.radians, twin=math.radians)
def deg2rad(x):
    return math.pi / 180


@derivative(np.rad2deg, np.degrees, twin=math.degrees)
def rad2deg(x):
    return 180 / math.pi


@derivative(np.sinc, safe=1.0)
def sinc(x, *, y):
    """``sinc'(x) = (cos(pi x) - sinc(x)) / x``; near 0, where that cancels, its Taylor series.

    At 0: 0.  The series keeps the derivatives of higher order right as well.
    """
    t = (math.pi * x) * (math.pi * x)
    series = 1 / 3 - t * (1 / 30 - t * (1 / 840 - t * (1 / 45360 - t / 3991680)))
    near = t < 0.01
    return np.where(near, -(math.pi**2) * x * series, (np.cos(math.pi * x) - y) / (x + near))


# ------------------------------------------------------------------------ hyperbolic functions
@derivative(np.sinh, twin=math.sinh, safe=1.0)
def sinh(x):
    return np.cosh(x)


@derivative(np.cosh, twin=math.cosh, safe=1.0)
def cosh(x):
    return np.sinh(x)


@derivative(np.tanh)
def tanh(x, *, y):
    return 1 - y**2


@derivative(np.arcsinh, twin=math.asinh)
def arcsinh(x):
    return 1 / np.sqrt(x * x + 1)


@derivative(np.arccosh, twin=math.acosh, safe=2.0)
def arccosh(x):
    """At 1: inf."""
    return 1 / np.sqrt(x * x - 1)


@derivative(np.arctanh, twin=math.atanh, safe=0.0)
def arctanh(x):
    """At 1 and -1: inf."""
    return 1 / (1 - x * x)


# ------------------------------------------------------------------------ magnitude and parts
@derivative(np.absolute, np.fabs)
def absolute(x):
    """At 0: 0."""
    return np.sign(x)


@derivative(np.positive)
def positive(x):
    return 1


@derivative(np.negative)
def negative(x):
    return -1


@derivative(np.conjugate)
def conjugate(x):
    """Of real numbers, the identity."""
    return 1


@derivative(np.real)
def real(val):
    """Of real numbers, the identity."""
    return 1


@derivative(np.nan_to_num, active=("x", "nan", "posinf", "neginf"))
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """At nan and at infinity: 0."""
    return np.isfinite(x), np.isnan(x), x == math.inf, x == -math.inf


# ------------------------------------------------------------------------ selection
@derivative(np.where)
def where(condition, a, b):
    return None, condition != 0, condition == 0


@derivative(np.clip, active=("a", "a_min", "a_max", "min", "max"))
def clip(a, a_min=None, a_max=None, *, min=None, max=None):
    """On the closed interval: 1; at nan: 1.  A bound owns the result only outside the interval.

    Where the bounds cross, the upper one wins, as in NumPy.
    """
    lower = min if a_min is None else a_min
    upper = max if a_max is None else a_max
    if lower is None and upper is None:
        return 1, None, None, None, None
    if lower is None:
        above = a > upper
        return np.logical_not(above), None, above, None, above
    if upper is None:
        below = a < lower
        return np.logical_not(below), below, None, below, None
    above = (a > upper) | (lower > upper)
    below = (a < lower) & (lower <= upper)
    return np.logical_not(above | below), below, above, below, above
