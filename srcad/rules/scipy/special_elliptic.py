"""Elliptic integrals and functions of SciPy.

By Carlson's symmetric integrals, of which no terms cancel (https://dlmf.nist.gov, chapter 19):
``R_F``, ``R_D``, ``R_J`` and ``R_G`` are `elliprf`, `elliprd`, `elliprj` and `elliprg`.
"""

import math

import numpy as np
from scipy import special

from srcad.rules.declare import adjoint, derivative
from srcad.rules.row import NoPartial
from srcad.runtime import unbroadcast

_THIRD = NoPartial("its second derivative is not in the table")


def of_positive(count):
    """Samples: as many positive arguments."""
    return lambda f, near: [f(*(near(0.4, 3.0, 4) for _ in range(count)))]


# ------------------------------------------------------------------------ symmetric integrals
@derivative(special.elliprf, samples=of_positive(3))
def elliprf(x, y_, z):
    """DLMF 19.18.1."""
    by_x, by_y = special.elliprd(y_, z, x), special.elliprd(x, z, y_)
    return -by_x / 6, -by_y / 6, -special.elliprd(x, y_, z) / 6


@derivative(special.elliprc, samples=of_positive(2))
def elliprc(x, y_):
    """``R_C(x, y) = R_F(x, y, y)`` (DLMF 19.16.6)."""
    return -special.elliprd(y_, y_, x) / 6, -special.elliprd(x, y_, y_) / 3


def by_complex_step(function, place, *operands):
    """The derivative by one operand: the imaginary part at a tiny imaginary step.

    Squire and Trapp (1998), *Using complex variables to estimate derivatives of real functions*.
    """
    dtype = np.result_type(*operands)
    wide = [np.asarray(x, float) for x in operands]
    step = 1e-100 * np.abs(wide[place])
    wide[place] = wide[place] + 1j * step
    with np.errstate(all="ignore"):
        found = np.imag(function(*(x + 0j for x in wide))) / step
    return found.astype(dtype if dtype.kind == "f" else float)[()]


def elliprd_slope(place, x, y_, z):
    """The derivative of ``elliprd`` by one operand."""
    return by_complex_step(special.elliprd, place, x, y_, z)


@derivative(
    elliprd_slope, active=('x', 'y_', 'z'),
    samples=(),
)  # fmt: skip
def elliprd_slope_rule(place, x, y_, z):
    return _THIRD, _THIRD, _THIRD


@derivative(special.elliprd, real_only=True, samples=of_positive(3))
def elliprd(x, y_, z):
    """By a complex step, once."""
    return elliprd_slope(0, x, y_, z), elliprd_slope(1, x, y_, z), elliprd_slope(2, x, y_, z)


@derivative(special.elliprg, samples=of_positive(3))
def elliprg(x, y_, z):
    """By `x`: ``(R_F(x, y, z) - x R_D(y, z, x) / 3) / 4``, and so by the others."""
    f = special.elliprf(x, y_, z)
    by_x = 0.25 * (f - x * special.elliprd(y_, z, x) / 3)
    by_y = 0.25 * (f - y_ * special.elliprd(x, z, y_) / 3)
    return by_x, by_y, 0.25 * (f - z * special.elliprd(x, y_, z) / 3)


def elliprj_slope(place, x, y_, z, p):
    """The derivative of ``elliprj`` by one operand."""
    return by_complex_step(special.elliprj, place, x, y_, z, p)


@derivative(
    elliprj_slope, active=('x', 'y_', 'z', 'p'),
    samples=(),
)  # fmt: skip
def elliprj_slope_rule(place, x, y_, z, p):
    return _THIRD, _THIRD, _THIRD, _THIRD


@derivative(special.elliprj, real_only=True, samples=of_positive(4))
def elliprj(x, y_, z, p):
    """By a complex step, once."""
    return (
        elliprj_slope(0, x, y_, z, p),
        elliprj_slope(1, x, y_, z, p),
        elliprj_slope(2, x, y_, z, p),
        elliprj_slope(3, x, y_, z, p),
    )


# ------------------------------------------------------------------------ complete integrals
@derivative(special.ellipk, samples=(-2, 0.9), kinks={0: math.pi / 8})
def ellipk(m):
    """DLMF 19.25.1, 19.18.1."""
    return special.elliprd(0.0, 1.0, 1 - m) / 6


@derivative(special.ellipkm1, samples=(0.1, 2))
def ellipkm1(p):
    """DLMF 19.25.1, 19.18.1."""
    return -special.elliprd(0.0, 1.0, p) / 6


@derivative(special.ellipe, samples=(-2, 0.9), kinks={0: -math.pi / 8})
def ellipe(m):
    """DLMF 19.25.1."""
    return -special.elliprd(0.0, 1 - m, 1.0) / 6


@derivative(special.agm, samples=(0.4, 3), kinks={(1, 1): (0.5, 0.5)})
def agm(a, b, *, y):
    """``y = pi / (2 R_F(0, a**2, b**2))`` (DLMF 19.8.6, 19.22.8)."""
    a2, b2, scale = a * a, b * b, y * y * (2 / (3 * math.pi))
    by_a = scale * np.abs(a) * special.elliprd(0.0, b2, a2)
    return by_a, scale * np.abs(b) * special.elliprd(0.0, a2, b2)


# ------------------------------------------------------------------------ incomplete integrals
def first_by_m(phi, m):
    """The derivative of ``ellipkinc`` by `m`, between multiples of pi by periodicity."""
    turns = np.round(phi / math.pi)
    s, c = np.sin(phi - turns * math.pi), np.cos(phi - turns * math.pi)
    inner = s * s * s / 6 * special.elliprd(c * c, 1.0, 1 - m * s * s)
    return inner + turns / 3 * special.elliprd(0.0, 1.0, 1 - m)


def second_by_m(phi, m):
    """The derivative of ``ellipeinc`` by `m`, between multiples of pi by periodicity."""
    turns = np.round(phi / math.pi)
    s, c = np.sin(phi - turns * math.pi), np.cos(phi - turns * math.pi)
    inner = s * s * s / 6 * special.elliprd(c * c, 1 - m * s * s, 1.0)
    return -inner - turns / 3 * special.elliprd(0.0, 1 - m, 1.0)


@derivative(special.ellipkinc, samples=(0.2, 0.9), kinks={(0, 0.5): (1, 0)})
def ellipkinc(phi, m):
    """DLMF 19.2.4; by `m` 19.25.5, 19.18.1."""
    s = np.sin(phi)
    return 1 / np.sqrt(1 - m * s * s), first_by_m(phi, m)


@derivative(special.ellipeinc, samples=(0.2, 0.9), kinks={(0, 0.5): (1, 0)})
def ellipeinc(phi, m):
    """DLMF 19.2.5; by `m` 19.25.9."""
    s = np.sin(phi)
    return np.sqrt(1 - m * s * s), second_by_m(phi, m)


@adjoint(special.ellipj, active=("u", "m"), samples=lambda f, near: [
    f(near(0.3, 1.2, 4), near(0.2, 0.8, 4)), f(0.7, 0.3), f(near(0.3, 1.2, 4), 0.4),
    f(0.7, near(0.2, 0.8, 4))])  # fmt: skip
def ellipj(y_bar, y, u, m):
    """DLMF 22.13.1, 22.13.2, 22.13.3; by `m` from ``u = ellipkinc(ph, m)``."""
    sn, cn, dn, ph = y
    ph_bar = 0.0 if y_bar[3] is None else y_bar[3]
    dn_bar = 0.0 if y_bar[2] is None else y_bar[2]
    if y_bar[0] is not None:
        ph_bar = ph_bar + y_bar[0] * cn
    if y_bar[1] is not None:
        ph_bar = ph_bar - y_bar[1] * sn
    u_bar = (ph_bar - dn_bar * m * sn * cn / dn) * dn
    by_m = -u_bar * first_by_m(ph, m) - dn_bar * sn * sn / (2 * dn)
    return unbroadcast(u_bar, u), unbroadcast(by_m, m)
