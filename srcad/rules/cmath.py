"""The functions of `cmath`, on Python numbers: complex results, of real arguments too.

On a branch cut the derivative is that of the side on which the value lies.
"""

import cmath

from srcad.rules.declare import adjoint, derivative, nondifferentiable


# ------------------------------------------------------------------------ powers and logarithms
@derivative(cmath.sqrt, safe=1.0, samples=())
def sqrt(x, *, y):
    return 0.5 / y


@derivative(cmath.exp, samples=())
def exp(x, *, y):
    return y


@derivative(cmath.log, active=("x", "base"), safe=2.0, samples=())
def log(x, base=None, *, y):
    if base is None:
        return 1 / x, None
    return 1 / (x * cmath.log(base)), -y / (base * cmath.log(base))


@derivative(cmath.log10, safe=1.0, samples=())
def log10(x):
    return 1 / (x * cmath.log(10.0))


# ------------------------------------------------------------------------ circles and hyperbolas
@derivative(cmath.sin, samples=())
def sin(x):
    return cmath.cos(x)


@derivative(cmath.cos, samples=())
def cos(x):
    return -cmath.sin(x)


@derivative(cmath.tan, samples=())
def tan(x, *, y):
    return 1 + y * y


@derivative(cmath.asin, samples=())
def asin(x):
    return 1 / (cmath.sqrt(1 - x) * cmath.sqrt(1 + x))


@derivative(cmath.acos, samples=())
def acos(x):
    return -1 / (cmath.sqrt(1 - x) * cmath.sqrt(1 + x))


@derivative(cmath.atan, samples=())
def atan(x):
    return 1 / (1 + x * x)


@derivative(cmath.sinh, samples=())
def sinh(x):
    return cmath.cosh(x)


@derivative(cmath.cosh, samples=())
def cosh(x):
    return cmath.sinh(x)


@derivative(cmath.tanh, samples=())
def tanh(x, *, y):
    return 1 - y * y


@derivative(cmath.asinh, samples=())
def asinh(x):
    return 1 / cmath.sqrt(1 + x * x)


@derivative(cmath.acosh, samples=())
def acosh(x):
    return 1 / (cmath.sqrt(x - 1) * cmath.sqrt(x + 1))


@derivative(cmath.atanh, samples=())
def atanh(x):
    return 1 / (1 - x * x)


# ------------------------------------------------------------------------ polar coordinates
@derivative(cmath.phase, safe=1.0, samples=())
def phase(x):
    """``Im(dx / x) = Re(-1j / x * dx)``; real, and so of real numbers constant between jumps."""
    return -1j / x


@derivative(cmath.rect, samples=())
def rect(r, phi, *, y):
    return cmath.rect(1.0, phi), 1j * y


@adjoint(cmath.polar, samples=())
def polar(y_bar, y, x):
    """Magnitude and phase; of 0 the magnitude has the slope 0."""
    size = y[0] + (y[0] == 0)
    if y_bar[1] is None:
        return y_bar[0] * (x / size)
    turn = y_bar[1] * (1j * x / (size * size))
    return turn if y_bar[0] is None else y_bar[0] * (x / size) + turn


nondifferentiable(cmath.isnan, cmath.isinf, cmath.isfinite, answers="nan")
nondifferentiable(cmath.isclose)
