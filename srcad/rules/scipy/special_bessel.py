"""Bessel functions of SciPy and their relatives: Airy, Kelvin, Struve and spherical ones.

The formulas are those of the Digital Library of Mathematical Functions (https://dlmf.nist.gov),
chapters 9 (Airy functions), 10 (Bessel functions) and 11 (Struve functions).  The derivatives by
the order have no closed form and are declared missing.
"""

import math

import numpy as np
from scipy import special

from srcad.rules.conjugates import may_be_complex
from srcad.rules.declare import adjoint, derivative
from srcad.rules.row import COMPLEX, NoPartial
from srcad.rules.scipy.special_errors import sum_of
from srcad.rules.scipy.special_series import polynomial

_ORDER = NoPartial("the derivative of a Bessel function by its order has no closed form")
_STRUVE = NoPartial("the derivative of a Struve function by its order has no closed form")
_SCALED = NoPartial("a function scaled by the real part has no complex derivative")

_ROOT_PI = math.sqrt(math.pi)


def of_orders(f, near):
    """Samples: whole orders, the last argument from an interval."""
    return [f(2, near(0.4, 4.0, 4)), f(0, near(0.4, 4.0, 3, 4)), f(1, 0.7),
            f(np.array([0, 1, 3]), near(0.4, 4.0, 1))]  # fmt: skip


def of_whole_orders(f, near):
    """Samples: whole orders, the last argument from an interval."""
    return [f(2, near(0.4, 4.0, 4)), f(0, near(0.4, 4.0, 3, 4)), f(1, near(0.4, 4.0, 1))]


# ------------------------------------------------------------------------ any order
@derivative(special.jv, samples=of_orders)
def jv(v, z):
    """DLMF 10.6.1."""
    return _ORDER, 0.5 * (special.jv(v - 1, z) - special.jv(v + 1, z))


@derivative(special.yv, samples=of_orders)
def yv(v, z):
    """DLMF 10.6.1."""
    return _ORDER, 0.5 * (special.yv(v - 1, z) - special.yv(v + 1, z))


@derivative(special.hankel1, result=COMPLEX, samples=of_orders)
def hankel1(v, z):
    """DLMF 10.6.1."""
    return _ORDER, 0.5 * (special.hankel1(v - 1, z) - special.hankel1(v + 1, z))


@derivative(special.hankel2, result=COMPLEX, samples=of_orders)
def hankel2(v, z):
    """DLMF 10.6.1."""
    return _ORDER, 0.5 * (special.hankel2(v - 1, z) - special.hankel2(v + 1, z))


@derivative(special.iv, samples=of_orders)
def iv(v, z):
    """DLMF 10.29.1."""
    return _ORDER, 0.5 * (special.iv(v - 1, z) + special.iv(v + 1, z))


@derivative(special.kv, samples=of_orders)
def kv(v, z):
    """DLMF 10.29.1."""
    return _ORDER, -0.5 * (special.kv(v - 1, z) + special.kv(v + 1, z))


@derivative(special.yn, samples=of_whole_orders)
def yn(n, x):
    """DLMF 10.6.1."""
    return _ORDER, 0.5 * (special.yn(n - 1, x) - special.yn(n + 1, x))


@derivative(special.kn, samples=of_whole_orders)
def kn(n, x):
    """DLMF 10.29.1."""
    return _ORDER, -0.5 * (special.kn(n - 1, x) + special.kn(n + 1, x))


@derivative(
    special.jvp, samples=lambda f, near: [f(2, near(0.4, 4.0, 4)), f(1, near(0.4, 4.0, 1), 2)]
)
def jvp(v, z, n=1):
    return _ORDER, special.jvp(v, z, n + 1)


@derivative(
    special.yvp, samples=lambda f, near: [f(2, near(0.4, 4.0, 4)), f(1, near(0.4, 4.0, 1), 2)]
)
def yvp(v, z, n=1):
    return _ORDER, special.yvp(v, z, n + 1)


@derivative(
    special.ivp, samples=lambda f, near: [f(2, near(0.4, 4.0, 4)), f(1, near(0.4, 4.0, 1), 2)]
)
def ivp(v, z, n=1):
    return _ORDER, special.ivp(v, z, n + 1)


@derivative(
    special.kvp, samples=lambda f, near: [f(2, near(0.4, 4.0, 4)), f(1, near(0.4, 4.0, 1), 2)]
)
def kvp(v, z, n=1):
    return _ORDER, special.kvp(v, z, n + 1)


@derivative(
    special.h1vp,
    result=COMPLEX,
    samples=lambda f, near: [f(2, near(0.4, 4.0, 4)), f(1, near(0.4, 4.0, 1), 2)],
)
def h1vp(v, z, n=1):
    return _ORDER, special.h1vp(v, z, n + 1)


@derivative(
    special.h2vp,
    result=COMPLEX,
    samples=lambda f, near: [f(2, near(0.4, 4.0, 4)), f(1, near(0.4, 4.0, 1), 2)],
)
def h2vp(v, z, n=1):
    return _ORDER, special.h2vp(v, z, n + 1)


# ------------------------------------------------------------------------ scaled, any order
@derivative(special.jve, samples=of_orders)
def jve(v, z):
    """DLMF 10.6.1; the scale is 1 for real numbers."""
    if may_be_complex(z):
        return _ORDER, _SCALED
    return _ORDER, 0.5 * (special.jve(v - 1, z) - special.jve(v + 1, z))


@derivative(special.yve, samples=of_orders)
def yve(v, z):
    """DLMF 10.6.1; the scale is 1 for real numbers."""
    if may_be_complex(z):
        return _ORDER, _SCALED
    return _ORDER, 0.5 * (special.yve(v - 1, z) - special.yve(v + 1, z))


@derivative(special.hankel1e, result=COMPLEX, samples=of_orders)
def hankel1e(v, z, *, y):
    """DLMF 10.6.1, of the function scaled by ``exp(-i z)``."""
    return _ORDER, 0.5 * (special.hankel1e(v - 1, z) - special.hankel1e(v + 1, z)) - 1j * y


@derivative(special.hankel2e, result=COMPLEX, samples=of_orders)
def hankel2e(v, z, *, y):
    """DLMF 10.6.1, of the function scaled by ``exp(i z)``."""
    return _ORDER, 0.5 * (special.hankel2e(v - 1, z) - special.hankel2e(v + 1, z)) + 1j * y


@derivative(special.ive, samples=of_orders)
def ive(v, z, *, y):
    """DLMF 10.29.1, of the function scaled by ``exp(-abs(z))``."""
    if may_be_complex(z):
        return _ORDER, _SCALED
    return _ORDER, 0.5 * (special.ive(v - 1, z) + special.ive(v + 1, z)) - np.sign(z) * y


@derivative(special.kve, samples=of_orders)
def kve(v, z, *, y):
    """DLMF 10.29.1, of the function scaled by ``exp(z)``."""
    return _ORDER, y - 0.5 * (special.kve(v - 1, z) + special.kve(v + 1, z))


# ------------------------------------------------------------------------ orders 0 and 1
@derivative(special.j0, samples=(0.4, 4), kinks={0: 0})
def j0(x):
    """DLMF 10.6.3."""
    return -special.j1(x)


@derivative(special.j1, samples=(0.4, 4), kinks={0: 0.5})
def j1(x):
    """DLMF 10.6.1."""
    return 0.5 * (special.j0(x) - special.jv(2, x))


@derivative(special.y0, samples=(0.4, 4))
def y0(x):
    """DLMF 10.6.3."""
    return -special.y1(x)


@derivative(special.y1, samples=(0.4, 4))
def y1(x):
    """DLMF 10.6.1."""
    return 0.5 * (special.y0(x) - special.yv(2, x))


@derivative(special.i0, np.i0, entries="each", samples=(-3, 3), kinks={0: 0})
def i0(x):
    """DLMF 10.29.3."""
    return special.i1(x)


@derivative(special.i1, samples=(-3, 3), kinks={0: 0.5})
def i1(x):
    """DLMF 10.29.1."""
    return 0.5 * (special.i0(x) + special.iv(2, x))


@derivative(special.k0, samples=(0.4, 4), kinks={0: -math.inf})
def k0(x):
    """DLMF 10.29.3."""
    return -special.k1(x)


@derivative(special.k1, samples=(0.4, 4), kinks={0: -math.inf})
def k1(x):
    """DLMF 10.29.1."""
    return -0.5 * (special.k0(x) + special.kv(2, x))


def _expansion(order):
    """The coefficients of Hankel's expansion in ``1 / x`` (DLMF 10.17.1)."""
    terms = [1.0]
    for k in range(1, 28):
        terms.append(terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return terms


def _slopes(order, sign):
    """The coefficients in the derivative of ``x**-0.5 * sum(sign**k a[k] x**-k)``."""
    return tuple(-(k + 0.5) * sign**k * a for k, a in enumerate(_expansion(order)))


_I0, _I1, _K0, _K1 = _slopes(0, -1), _slopes(1, -1), _slopes(0, 1), _slopes(1, 1)


@derivative(special.i0e, samples=(0.3, 3), kinks={0: 0})
def i0e(x, *, y):
    """``i1e(x) - sign(x) y``; where that cancels, the expansion of DLMF 10.40.1."""
    far = np.abs(x) > 20.0
    size = np.maximum(np.abs(x), 20.0)
    tail = polynomial(1 / size, _I0) / (size * np.sqrt(2 * math.pi * size))
    return np.where(far, np.sign(x) * tail, special.i1e(x) - np.sign(x) * y)


@derivative(special.i1e, samples=(0.3, 3), kinks={0: 0.5})
def i1e(x, *, y):
    """``(i0e(x) + ive(2, x)) / 2 - abs(y)``; where that cancels, the expansion of DLMF 10.40.1."""
    far = np.abs(x) > 20.0
    size = np.maximum(np.abs(x), 20.0)
    tail = polynomial(1 / size, _I1) / (size * np.sqrt(2 * math.pi * size))
    return np.where(far, tail, 0.5 * (special.i0e(x) + special.ive(2, x)) - np.sign(x) * y)


@derivative(special.k0e, samples=(0.4, 4))
def k0e(x, *, y):
    """``y - k1e(x)``; where that cancels, the expansion of DLMF 10.40.2."""
    size = np.maximum(x, 20.0)
    tail = polynomial(1 / size, _K0) * np.sqrt(0.5 * math.pi / size) / size
    return np.where(x > 20.0, tail, y - special.k1e(x))


@derivative(special.k1e, samples=(0.4, 4))
def k1e(x, *, y):
    """``y - (k0e(x) + kve(2, x)) / 2``; where that cancels, the expansion of DLMF 10.40.2."""
    size = np.maximum(x, 20.0)
    tail = polynomial(1 / size, _K1) * np.sqrt(0.5 * math.pi / size) / size
    return np.where(x > 20.0, tail, y - 0.5 * (special.k0e(x) + special.kve(2, x)))


@adjoint(special.itj0y0, samples=lambda f, near: [f(near(0.4, 4.0, 4)), f(0.7)])
def itj0y0(y_bar, y, x):
    """``j0(x)`` and ``y0(x)``."""
    return sum_of(y_bar[0], special.j0(x), y_bar[1], special.y0(x))


@adjoint(special.iti0k0, samples=lambda f, near: [f(near(0.4, 4.0, 4)), f(0.7)])
def iti0k0(y_bar, y, x):
    """``i0(x)`` and ``k0(x)``."""
    return sum_of(y_bar[0], special.i0(x), y_bar[1], special.k0(x))


@adjoint(special.it2i0k0, samples=lambda f, near: [f(near(0.4, 4.0, 4)), f(0.7)])
def it2i0k0(y_bar, y, x):
    """``(i0(x) - 1) / x`` and ``-k0(x) / x``."""
    return sum_of(y_bar[0], (special.i0(x) - 1) / x, y_bar[1], -special.k0(x) / x)


@adjoint(special.it2j0y0, samples=lambda f, near: [f(near(0.4, 4.0, 4)), f(0.7)])
def it2j0y0(y_bar, y, x):
    """``(1 - j0(x)) / x`` and ``-y0(x) / x``."""
    return sum_of(y_bar[0], (1 - special.j0(x)) / x, y_bar[1], -special.y0(x) / x)


# ------------------------------------------------------------------------ spherical
@derivative(
    special.spherical_jn,
    samples=lambda f, near: [
        f(2, near(0.4, 4.0, 4)), f(0, near(0.4, 4.0, 4)), f(2, near(0.4, 4.0, 4), True),
        f(0, near(0.4, 4.0, 4), derivative=True)],
)  # fmt: skip
def spherical_jn(n, z, derivative=False):
    """``spherical_jn(n, z, True)``, and the derivative of DLMF 10.51.2."""
    if not derivative:
        return _ORDER, special.spherical_jn(n, z, True)
    below = n * special.spherical_jn(np.maximum(n - 1, 0), z, True)
    above = (n + 1) * special.spherical_jn(n + 1, z, True)
    return _ORDER, (below - above) / (2 * n + 1)


@derivative(
    special.spherical_yn,
    samples=lambda f, near: [
        f(2, near(0.4, 4.0, 4)), f(0, near(0.4, 4.0, 4)), f(2, near(0.4, 4.0, 4), True),
        f(0, near(0.4, 4.0, 4), derivative=True)],
)  # fmt: skip
def spherical_yn(n, z, derivative=False):
    """``spherical_yn(n, z, True)``, and the derivative of DLMF 10.51.2."""
    if not derivative:
        return _ORDER, special.spherical_yn(n, z, True)
    below = n * special.spherical_yn(np.maximum(n - 1, 0), z, True)
    above = (n + 1) * special.spherical_yn(n + 1, z, True)
    return _ORDER, (below - above) / (2 * n + 1)


@derivative(
    special.spherical_in,
    samples=lambda f, near: [
        f(2, near(0.4, 4.0, 4)), f(0, near(0.4, 4.0, 4)), f(2, near(0.4, 4.0, 4), True),
        f(0, near(0.4, 4.0, 4), derivative=True)],
)  # fmt: skip
def spherical_in(n, z, derivative=False):
    """``spherical_in(n, z, True)``, and the derivative of DLMF 10.51.5."""
    if not derivative:
        return _ORDER, special.spherical_in(n, z, True)
    below = n * special.spherical_in(np.maximum(n - 1, 0), z, True)
    above = (n + 1) * special.spherical_in(n + 1, z, True)
    return _ORDER, (below + above) / (2 * n + 1)


@derivative(
    special.spherical_kn,
    samples=lambda f, near: [
        f(2, near(0.4, 4.0, 4)), f(0, near(0.4, 4.0, 4)), f(2, near(0.4, 4.0, 4), True),
        f(0, near(0.4, 4.0, 4), derivative=True)],
)  # fmt: skip
def spherical_kn(n, z, derivative=False):
    """``spherical_kn(n, z, True)``, and the derivative of DLMF 10.51.5."""
    if not derivative:
        return _ORDER, special.spherical_kn(n, z, True)
    below = n * special.spherical_kn(np.maximum(n - 1, 0), z, True)
    above = (n + 1) * special.spherical_kn(n + 1, z, True)
    return _ORDER, -(below + above) / (2 * n + 1)


# ------------------------------------------------------------------------ Airy
@adjoint(special.airy, samples=lambda f, near: [f(near(-3.0, 3.0, 4)), f(0.7)])
def airy(y_bar, y, z):
    """``Ai'' = z Ai`` and ``Bi'' = z Bi`` (DLMF 9.2.1)."""
    ai, ai_slope, bi, bi_slope = y
    first = sum_of(or_nothing(y_bar[0]), ai_slope, or_nothing(y_bar[1]), z * ai)
    second = sum_of(or_nothing(y_bar[2]), bi_slope, or_nothing(y_bar[3]), z * bi)
    return first + second


@adjoint(special.airye, samples=lambda f, near: [f(near(0.3, 3.0, 4)), f(0.7)])
def airye(y_bar, y, z):
    """``Ai`` is scaled by ``exp(2 z**1.5 / 3)``, ``Bi`` by its inverse (DLMF 9.2.1)."""
    if may_be_complex(z):
        return _SCALED
    ai, ai_slope, bi, bi_slope = y
    up, down = np.sqrt(z), np.sqrt(np.maximum(z, 0))
    first = sum_of(
        or_nothing(y_bar[0]), ai_slope + up * ai, or_nothing(y_bar[1]), z * ai + up * ai_slope
    )
    second = sum_of(
        or_nothing(y_bar[2]), bi_slope - down * bi, or_nothing(y_bar[3]), z * bi - down * bi_slope
    )
    return first + second


def or_nothing(bar):
    """A cotangent, as a number also where nothing contributes to it."""
    return 0.0 if bar is None else bar


# ------------------------------------------------------------------------ Kelvin
@derivative(special.ber, samples=(0.3, 4))
def ber(x):
    return special.berp(x)


@derivative(special.bei, samples=(0.3, 4))
def bei(x):
    return special.beip(x)


@derivative(special.ker, samples=(0.3, 4))
def ker(x):
    return special.kerp(x)


@derivative(special.kei, samples=(0.3, 4))
def kei(x):
    return special.keip(x)


@derivative(special.berp, samples=(0.3, 4))
def berp(x, *, y):
    """``x**2 w'' + x w' = i x**2 w`` for ``w = ber + i bei`` (DLMF 10.61.3)."""
    return -special.bei(x) - y / x


@derivative(special.beip, samples=(0.3, 4))
def beip(x, *, y):
    """DLMF 10.61.3."""
    return special.ber(x) - y / x


@derivative(special.kerp, samples=(0.3, 4))
def kerp(x, *, y):
    """DLMF 10.61.3."""
    return -special.kei(x) - y / x


@derivative(special.keip, samples=(0.3, 4))
def keip(x, *, y):
    """DLMF 10.61.3."""
    return special.ker(x) - y / x


# ------------------------------------------------------------------------ Struve
@derivative(special.struve, samples=of_orders)
def struve(v, x):
    """DLMF 11.4.23, 11.4.24."""
    lowest = np.power(0.5 * x, v) * special.rgamma(v + 1.5 + 0 * x) / _ROOT_PI
    return _STRUVE, 0.5 * (special.struve(v - 1, x) - special.struve(v + 1, x) + lowest)


@derivative(special.modstruve, samples=of_orders)
def modstruve(v, x):
    """DLMF 11.4.25, 11.4.26."""
    lowest = np.power(0.5 * x, v) * special.rgamma(v + 1.5 + 0 * x) / _ROOT_PI
    return _STRUVE, 0.5 * (special.modstruve(v - 1, x) + special.modstruve(v + 1, x) + lowest)
