"""NumPy's elementwise functions of one argument, and the selecting ones.

The formulas are those of DiffRules.jl for the interior.  What holds at special points stands
beside the row.  ``x * x`` rather than ``x**2`` where ``x`` may be a Python float: the square of
1e200 is then inf, not an exception.  A formula is as accurate as its function: where the usual one
cancels (``1 - x * x`` near 1) or overflows (``x * x`` above 1e154), another one stands.
"""

import ast
import math

import numpy as np

from srcad.rules.conjugates import ORDER, PARTS, conj, may_be_complex
from srcad.rules.declare import adjoint, derivative, linear
from srcad.rules.row import Sign


# ------------------------------------------------------------------------ powers
@derivative(
    np.square,
    range="not negative",
    symmetry="even",
    exponent=2.0,
    rounds="exactly",
    nan="stays",
    safe=1.0,
    samples=(-2, 2),
)
def square(x):
    return 2 * x


@derivative(
    np.sqrt,
    range="not negative",
    exponent=0.5,
    rounds="exactly",
    nan="stays",
    twin=math.sqrt,
    safe=1.0,
    samples=(0.2, 3),
    kinks={0: math.inf},
)
def sqrt(x, *, y):
    return 0.5 / y


@derivative(
    np.cbrt,
    fails="never",
    symmetry="odd",
    exponent=1 / 3,
    safe=1.0,
    samples=(0.2, 3),
    kinks={0: math.inf},
)
def cbrt(x, *, y):
    return 1 / (3 * y**2)


@derivative(
    np.reciprocal,
    fails="divisor",
    symmetry="odd",
    exponent=-1.0,
    rounds="exactly",
    safe=1.0,
    samples=(0.3, 2),
)
def reciprocal(x, *, y):
    return -(y**2)


# ------------------------------------------------------------------------ exponentials, logarithms
@derivative(
    np.exp,
    law="exponential",
    range="positive",
    fails="overflow",
    nan="stays",
    twin=math.exp,
    safe=1.0,
    samples=(-2, 2),
)
def exp(x, *, y):
    return y


@derivative(np.exp2, range="positive", fails="overflow", twin=math.exp2, safe=1.0, samples=(-2, 2))
def exp2(x, *, y):
    return y * math.log(2.0)


@derivative(np.expm1, fails="overflow", nan="stays", twin=math.expm1, safe=1.0, samples=(-2, 2))
def expm1(x):
    return np.exp(x)


@derivative(
    np.log,
    law="logarithm",
    fails="argument",
    nan="stays",
    safe=1.0,
    samples=(0.2, 3),
    kinks={0: math.inf},
)
def log(x):
    return 1 / x


@derivative(np.log2, fails="argument", twin=math.log2, safe=1.0, samples=(0.2, 3))
def log2(x):
    return 1 / (x * math.log(2.0))


@derivative(np.log10, fails="argument", twin=math.log10, safe=1.0, samples=(0.2, 3))
def log10(x):
    return 1 / x / math.log(10.0)


@derivative(
    np.log1p, nan="stays", twin=math.log1p, safe=1.0, samples=(-0.6, 3), kinks={-1: math.inf}
)
def log1p(x):
    return 1 / (1 + x)


# ------------------------------------------------------------------------ trigonometry
@derivative(
    np.sin, range="at most one", symmetry="odd", nan="stays", twin=math.sin, samples=(-3, 3)
)
def sin(x):
    return np.cos(x)


@derivative(
    np.cos, range="at most one", symmetry="even", nan="stays", twin=math.cos, samples=(-3, 3)
)
def cos(x):
    return -np.sin(x)


@derivative(np.tan, symmetry="odd", safe=1.0, samples=(-1, 1))
def tan(x, *, y):
    return 1 + y**2


@derivative(
    np.arcsin,
    symmetry="odd",
    twin=math.asin,
    safe=0.0,
    samples=(-0.8, 0.8),
    kinks={1: math.inf, -1: math.inf},
)
def arcsin(x, *, y):
    """For complex numbers ``1 / cos(y)``, which is right on both sides of a branch cut."""
    if may_be_complex(x):
        return 1 / np.cos(y)
    return 1 / np.sqrt((1 - x) * (1 + x))


@derivative(
    np.arccos, twin=math.acos, safe=0.0, samples=(-0.8, 0.8), kinks={1: -math.inf, -1: -math.inf}
)
def arccos(x, *, y):
    if may_be_complex(x):
        return -1 / np.sin(y)
    return -1 / np.sqrt((1 - x) * (1 + x))


@derivative(
    np.arctan, fails="never", range="bounded", symmetry="odd", twin=math.atan, samples=(-3, 3)
)
def arctan(x):
    return 1 / (1 + x * x)


@derivative(np.deg2rad, np.radians, symmetry="odd", twin=math.radians, samples=(-90, 90))
def deg2rad(x):
    return math.pi / 180


@derivative(np.rad2deg, np.degrees, symmetry="odd", twin=math.degrees, samples=(-3, 3))
def rad2deg(x):
    return 180 / math.pi


@derivative(
    np.sinc,
    range="bounded",
    symmetry="even",
    entries="each",
    safe=1.0,
    samples=(-2.1, 2),
    kinks={0: 0},
)
def sinc(x, *, y):
    """``sinc'(x) = (cos(pi x) - sinc(x)) / x``; near 0, where that cancels, its Taylor series.

    At 0: 0.  The series keeps the derivatives of higher order right as well.
    """
    t = (math.pi * x) * (math.pi * x)
    series = 1 / 45360 - t * (1 / 3991680 - t * (1 / 518918400 - t / 93405312000))
    series = 1 / 3 - t * (1 / 30 - t * (1 / 840 - t * series))
    near = (np.abs(t) if may_be_complex(t) else t) < 0.5
    return np.where(near, -(math.pi**2) * x * series, (np.cos(math.pi * x) - y) / (x + near))


# ------------------------------------------------------------------------ hyperbolic functions
@derivative(np.sinh, fails="overflow", symmetry="odd", twin=math.sinh, safe=1.0, samples=(-2, 2))
def sinh(x):
    return np.cosh(x)


@derivative(
    np.cosh,
    range="positive",
    fails="overflow",
    symmetry="even",
    twin=math.cosh,
    safe=1.0,
    samples=(-2, 2),
)
def cosh(x):
    return np.sinh(x)


@derivative(
    np.tanh,
    fails="never",
    range="at most one",
    symmetry="odd",
    nan="stays",
    samples=(-2, 2),
    kinks={1000: 0},
)
def tanh(x, *, y):
    return 1 - y**2


@derivative(np.arcsinh, fails="never", symmetry="odd", samples=(-2, 2))
def arcsinh(x, *, y):
    if may_be_complex(x):
        return 1 / np.cosh(y)
    return 1 / np.hypot(1.0, x)


@derivative(np.arccosh, twin=math.acosh, safe=2.0, samples=(1.2, 3), kinks={1: math.inf})
def arccosh(x, *, y):
    if may_be_complex(x):
        return 1 / np.sinh(y)
    return 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))


@derivative(
    np.arctanh,
    symmetry="odd",
    twin=math.atanh,
    safe=0.0,
    samples=(-0.8, 0.8),
    kinks={1: math.inf, -1: math.inf},
)
def arctanh(x):
    return 1 / ((1 - x) * (1 + x))


# ------------------------------------------------------------------------ magnitude and parts
@derivative(
    np.absolute,
    np.fabs,
    range="not negative",
    symmetry="even",
    exponent=1.0,
    rounds="exactly",
    nan="stays",
    samples=(-2, -0.1),
    kinks={0: 0},
)
def absolute(x, *, y):
    """For complex numbers ``d|x| = Re(conj(x) / |x| * dx)``."""
    if may_be_complex(x):
        return np.conjugate(x) / (y + (y == 0))
    return np.sign(x)


@derivative(
    np.positive,
    symmetry="odd",
    rounds="exactly",
    law="positive",
    sign=Sign("+", ast.UAdd),
    samples=(-2, 2),
)
def positive(x):
    return 1


@derivative(
    np.negative,
    symmetry="odd",
    rounds="exactly",
    law="negative",
    nan="stays",
    sign=Sign("-", ast.USub),
    samples=(-2, 2),
)
def negative(x):
    return -1


@linear(np.conjugate, samples=(-2, 2))
def conjugate(y_bar, x):
    """For real numbers, the identity."""
    return conj(y_bar)


@derivative(np.real, order="part", entries="each", memory="view", samples=(-2, 2))
def real(val):
    """For real numbers, the identity."""
    return 1


@derivative(np.imag, order="part", entries="each", of_real="zero", memory="shared", samples=(-2, 2))
def imag(val):
    """``Im(dx) = Re(-1j * dx)``; of real numbers always 0."""
    return -1j if may_be_complex(val) else None


@derivative(np.angle, entries="each", of_real="zero", samples=lambda f, m: [f(m), f(m, True)])
def angle(z, deg=False):
    """``Im(dz / z) = Re(-1j / z * dz)``; of real numbers constant between jumps."""
    if not may_be_complex(z):
        return None
    return -1j / z * (180 / math.pi) if deg else -1j / z


@adjoint(np.sign, range="at most one", symmetry="odd", rounds="exactly", steps=True, samples=())
def sign(y_bar, y, x):
    """``x / |x|``: only what turns `x` changes it.  Of real numbers constant between jumps."""
    size = np.abs(x)
    return (y_bar - y * np.real(np.conjugate(y) * y_bar)) / (size + (size == 0))


@derivative(
    np.nan_to_num,
    entries="each",
    nan="left out",
    memory={"copy": (False,)},
    active=("x", "nan", "posinf", "neginf"),
    samples=lambda f, m: [f(m), f(0.5), f(m, nan=0.5, posinf=1.0, neginf=-1.0)],
    kinks={math.nan: 0, math.inf: 0},
)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """At nan and at infinity: 0."""
    if may_be_complex(x):
        return PARTS, None, None, None
    return np.isfinite(x), np.isnan(x), x == math.inf, x == -math.inf


# ------------------------------------------------------------------------ selection
@derivative(
    np.where,
    entries="each",
    selects="condition",
    samples=lambda f, v, m, mask, array: [
        f(mask, v, m), f(mask[:3, None], 0.5, m), f(np.array([0, 1, 2, 3]), v, array(4)),
        f(True, v, 1.0)],
    kinks={(False, 0, 0): (None, 0, 1)},
)  # fmt: skip
def where(condition, a, b):
    return None, condition != 0, condition == 0


@derivative(
    np.clip, rounds="exactly", entries="each", active=("a", "a_min", "a_max", "min", "max"),
    samples=lambda f, v, m, array: [
        f(m, -0.53, 0.61), f(m, None, 0.61), f(m, v, array(4)), f(m, min=-0.5, max=v),
        f(m, 0.1, None), f(m)],
    kinks={
        (0, 0, 1): (1, 0, 0), (1, 0, 1): (1, 0, 0), (0.5, 0, 1): (1, 0, 0), (2, 0, 1): (0, 0, 1),
        (math.nan, 0, 1): (1, 0, 0), (0.5, 1, 0): (0, 0, 1)},
)  # fmt: skip
def clip(a, a_min=None, a_max=None, *, min=None, max=None):
    """On the closed interval: 1; at nan: 1.  A bound owns the result only outside the interval.

    Where the bounds cross, the upper one wins, as in NumPy.
    """
    lower = min if a_min is None else a_min
    upper = max if a_max is None else a_max
    if may_be_complex(a) or may_be_complex(lower) or may_be_complex(upper):
        return ORDER, ORDER, ORDER, ORDER, ORDER
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
