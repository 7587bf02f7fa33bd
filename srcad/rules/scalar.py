"""The functions of `math`, on Python numbers: formulas stay in `math`, results stay floats.

Most share the row of their NumPy twins, in `elementwise`.  Those that stand here are others, or
need another text: of a float ``y * y`` may be inf where ``y**2`` raises.
"""

import ast
import builtins
import math

import numpy as np

from srcad.rules.conjugates import conj
from srcad.rules.declare import adjoint, derivative, linear
from srcad.rules.row import NO_PARTIAL, Sign
from srcad.runtime import sign


@derivative(math.cbrt, symmetry="odd", exponent=1 / 3, safe=1.0, samples=(0.2, 3))
def cbrt(x, *, y):
    """At 0: inf."""
    return 1 / (3 * y * y)


@derivative(
    math.log,
    law="logarithm",
    fails="argument",
    active=("x", "base"),
    safe=2.0,
    samples=lambda f: [f(0.7), f(0.7, 2.5)],
)
def log(x, base=None, *, y):
    if base is None:
        return 1 / x, None
    return 1 / (x * math.log(base)), -y / (base * math.log(base))


@derivative(math.tan, symmetry="odd", safe=1.0, samples=(-1, 1))
def tan(x, *, y):
    return 1 + y * y


@derivative(math.atan2, safe=1.0, samples=(0.3, 2))
def atan2(a, b):
    """At the origin: nan and nan."""
    length = math.hypot(a, b)
    return b / length / length, -(a / length / length)


@derivative(math.asinh, symmetry="odd", samples=(-2, 2))
def asinh(x):
    return 1 / math.hypot(1.0, x)


@derivative(math.tanh, range="at most one", symmetry="odd", samples=(-2, 2))
def tanh(x, *, y):
    return 1 - y * y


@derivative(math.erf, symmetry="odd", samples=(-2, 2))
def erf(x):
    return 2 / math.sqrt(math.pi) * math.exp(-x * x)


@derivative(math.erfc, samples=(-2, 2))
def erfc(x):
    return -2 / math.sqrt(math.pi) * math.exp(-x * x)


# ------------------------------------------------------------------------ two arguments
@derivative(
    math.pow,
    sign=Sign("**", ast.Pow),
    safe=1.0,
    samples=(0.4, 2),
    kinks={(0, 0): (0, 0)},
)
def power(a, b, *, y):
    """As `operator.pow`: ``x**0`` has the slope 0, and ``0**b`` the slope 0 for b >= 0."""
    log_a = float(np.log(a + ((a == 0) & (b >= 0))))
    return b * a ** (b - (b != 0)), y * log_a


@derivative(math.fmod, fails="divisor", samples=lambda f: [f(7.3, 2.2)])
def fmod(a, b, *, y):
    """``a = n b + y`` tells the n of `y`; ``a / b`` is rounded, near a multiple past it."""
    return 1, (y - a) / b


@derivative(math.remainder, fails="divisor", samples=lambda f: [f(7.3, 2.2)])
def remainder(a, b, *, y):
    return 1, (y - a) / b


@derivative(math.copysign, samples=lambda f: [f(0.3, -2.0)])
def copysign(a, b, *, y):
    """At a = 0: 0."""
    return sign(a) * sign(y), None


@derivative(math.ldexp, samples=lambda f: [f(0.3, 4)])
def ldexp(a, n):
    return math.ldexp(1.0, n), NO_PARTIAL


# ------------------------------------------------------------------------ several arguments
@derivative(
    math.hypot,
    symmetry="even",
    safe=1.0,
    samples=lambda f: [f(0.3, 0.4, 1.2)],
    kinks={(0, 0): (0, 0)},
)
def hypot(*coordinates, y):
    """At the origin: 0."""
    length = y + (y == 0)
    return [x / length for x in coordinates]


@adjoint(math.dist, samples=lambda f: [f([0.1, 0.5], [0.7, -0.4])])
def dist(y_bar, y, p, q):
    """At distance 0: 0."""
    length = y + (y == 0)
    p_bar = [y_bar * (a - b) / length for a, b in zip(p, q, strict=True)]
    q_bar = [y_bar * (b - a) / length for a, b in zip(p, q, strict=True)]
    return p_bar, q_bar


@linear(
    builtins.sum, memory="shared", iterates="all", active=("iterable", "start"),
    samples=lambda f, v, m, array: [
        f([0.1, 0.2, 0.3], 0.4), f([v, array(4)]), f([0.1, 0.2]), f(m)],
)  # fmt: skip
def total(y_bar, iterable, start=0):
    """For numbers."""
    return [y_bar for _ in iterable], y_bar


@linear(math.fsum, iterates="at once", samples=lambda f: [f([0.1, 0.2, 0.3])])
def fsum(y_bar, seq):
    return [y_bar for _ in seq]


@adjoint(
    math.prod,
    iterates="at once",
    active=("iterable", "start"),
    samples=lambda f: [f([0.5, 0.0, 2.0], start=1.5), f((0.5, 2.0))],
)
def prod(y_bar, y, iterable, *, start=1):
    """Each factor's partial is the product of the others, without division."""
    before = [start]
    for x in iterable:
        before.append(before[-1] * x)
    after = 1
    bars = []
    for k in reversed(range(len(iterable))):
        bars.append(y_bar * conj(before[k] * after))
        after = after * iterable[k]
    return bars[::-1], y_bar * conj(after)
