"""Elementary functions of scipy.special: powers, logarithms, degrees, transforms, losses.

`exprel` and the Box-Cox transforms are 0/0 at a point; there, a power series stands.
"""

import math

import numpy as np
from scipy import special

from srcad.rules.declare import derivative
from srcad.rules.row import COMPLEX
from srcad.rules.scipy.special_series import polynomial

_DEGREE = math.pi / 180
_LOG_2, _LOG_10 = math.log(2.0), math.log(10.0)
# The coefficients of the derivative of ``(exp(x) - 1) / x``, and of ``log(1 + d) / d``.
_EXPREL = tuple((k + 1) / math.factorial(k + 2) for k in range(18))
_LOG = tuple((-1) ** k / (k + 1) for k in range(20))


# ------------------------------------------------------------------------ powers and logarithms
@derivative(special.cbrt, samples=(0.2, 3), kinks={0: math.inf})
def cbrt(x, *, y):
    return 1 / (3 * y * y)


@derivative(special.exp2, samples=(-2, 2))
def exp2(x, *, y):
    return y * _LOG_2


@derivative(special.exp10, samples=(-2, 2))
def exp10(x, *, y):
    return y * _LOG_10


@derivative(special.expm1, samples=(-2, 2))
def expm1(x):
    return np.exp(x)


@derivative(special.log1p, samples=(-0.6, 3), kinks={-1: math.inf})
def log1p(x):
    return 1 / (1 + x)


@derivative(special.powm1, samples=(0.4, 3))
def powm1(x, y_):
    """Of ``x**y - 1``."""
    return y_ * np.power(x, y_ - 1), special.xlogy(np.power(x, y_), x)


def exprel_slope(x):
    """``((x - 1) exp(x) + 1) / x**2``; near 0, where that cancels, its power series."""
    near = np.abs(x) < 1.0
    far = np.where(near, 1.0, x)
    direct = ((far - 1) * np.exp(far) + 1) / (far * far)
    return np.where(near, polynomial(np.where(near, x, 0.0), _EXPREL), direct)


@derivative(special.exprel, samples=(-3, 3), kinks={0: 0.5})
def exprel(x):
    """``((x - 1) exp(x) + 1) / x**2``; near 0, where that cancels, its power series."""
    return exprel_slope(x)


# ------------------------------------------------------------------------ trigonometry
@derivative(special.cosm1, samples=(-2, 2), kinks={0: 0})
def cosm1(x):
    return -np.sin(x)


@derivative(special.sindg, samples=(-80, 80))
def sindg(x):
    return special.cosdg(x) * _DEGREE


@derivative(special.cosdg, samples=(-80, 80))
def cosdg(x):
    return -special.sindg(x) * _DEGREE


@derivative(special.tandg, samples=(-60, 60))
def tandg(x, *, y):
    return (1 + y * y) * _DEGREE


@derivative(special.cotdg, samples=(20, 80))
def cotdg(x, *, y):
    return -(1 + y * y) * _DEGREE


# ------------------------------------------------------------------------ transforms
@derivative(
    special.boxcox, samples=(0.4, 3), kinks={(1, 0): (1, 0), (math.e, 0): (1 / math.e, 0.5)}
)
def boxcox(x, lmbda):
    """``boxcox(x, lmbda) = log(x) exprel(lmbda log(x))``."""
    log = np.log(1.0 * x)
    return np.power(x, lmbda - 1), log * log * exprel_slope(lmbda * log)


@derivative(special.boxcox1p, samples=(0.4, 3), kinks={(0, 0): (1, 0)})
def boxcox1p(x, lmbda):
    """As `boxcox`, of 1 + x."""
    log = np.log1p(1.0 * x)
    return np.exp((lmbda - 1) * log), log * log * exprel_slope(lmbda * log)


@derivative(special.inv_boxcox, samples=(0.4, 2))
def inv_boxcox(x, lmbda, *, y):
    """The logarithm of `y`, which for small `x` is 1 up to rounding, is that of `inv_boxcox1p`."""
    log = np.log1p(special.inv_boxcox1p(x, lmbda))
    by_x = np.power(y, 1 - lmbda)
    return by_x, -by_x * log * log * exprel_slope(lmbda * log)


@derivative(special.inv_boxcox1p, samples=(0.4, 2))
def inv_boxcox1p(x, lmbda, *, y):
    log = np.log1p(y)
    by_x = np.exp((1 - lmbda) * log)
    return by_x, -by_x * log * log * exprel_slope(lmbda * log)


@derivative(
    special.lambertw,
    result=COMPLEX,
    samples=lambda f, near: [
        f(near(0.4, 3.0, 4)),
        f(near(-0.3, -0.1, 4), -1),
        f(near(0.4, 3.0, 4), tol=1e-12),
    ],
)
def lambertw(z, k=0, tol=1e-8, *, y):
    """``y exp(y) = z``, so ``1 / (z + exp(y))`` (DLMF 4.13.4)."""
    return 1 / (z + np.exp(y))


@derivative(special.wrightomega, samples=(-2, 3))
def wrightomega(z, *, y):
    """``y + log(y) = z``."""
    return y / (1 + y)


@derivative(special.spence, samples=(0.2, 3), kinks={1: -1})
def spence(z):
    """``log(z) / (1 - z)`` (DLMF 25.12.2); near 1, where that is 0/0, its power series."""
    near = np.abs(z - 1) < 0.1
    d = np.where(near, z - 1, 0.0)
    far = np.where(near, 2.0, z)
    return np.where(near, -polynomial(d, _LOG), np.log(far) / (1 - far))


# ------------------------------------------------------------------------ losses
@derivative(special.huber, samples=(0.4, 3), kinks={(1, 1): (0, 1), (1, 2): (1, 1), (1, 0): (0, 0)})
def huber(delta, r):
    return np.maximum(abs(r) - delta, 0), np.clip(r + 0 * delta, -delta, delta)


@derivative(special.pseudo_huber, samples=(0.4, 3), kinks={(1, 0): (0, 0)})
def pseudo_huber(delta, r):
    q = r / delta
    root = np.sqrt(1 + q * q)
    excess = q * q / (1 + root)
    return delta * excess * excess / root, r / root
