"""Functions of `mpmath` for NumPy's, `math`'s and SciPy's elementwise ones, and where to ask them.

A row of `COUNTERPARTS` has the function of `mpmath` and one entry for each argument: an `Argument`
is moved, a tuple has the fixed values of a parameter without a derivative.
"""

import math
import operator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import special

mp = pytest.importorskip("mpmath").mp

HUGE = math.inf
_EXPONENTS = (0, 1, 2, 3, 5, 8, 12, 20, 50, 100, 155, 200, 299)
_POWERS = [s * 10.0**k for e in _EXPONENTS for k in {e, -e} for s in (1, 1.37, 3.3)]
_NEAR_1 = [1 + s * 10.0**-k for k in range(1, 16) for s in (1, -1)]
_TURNS = [
    x
    for k in (1, 2, 3, 4, 5, 8, 101)
    for t in [k * math.pi / 2]
    for x in (t, math.nextafter(t, 0), math.nextafter(t, HUGE), t * (1 + 1e-9), t * 0.9999)
]
_PLAIN = [*np.linspace(0.05, 1.95, 20), *np.linspace(2.1, 45, 26)]
_PLAIN += [*range(2, 11), 20, 50, 170.5, 700]
SIZES = sorted({1e-300, 1e300, *_POWERS, *_NEAR_1, *_TURNS, *map(float, _PLAIN)})
POINTS = [*(-x for x in reversed(SIZES)), *SIZES]


@dataclass(frozen=True)
class Argument:
    """Points of an argument that is moved, and its values while another one is moved."""

    points: tuple
    fixed: tuple = ()


def on(low, high, *fixed, every=1):
    """Points between two bounds: one of so many, and those at the ends."""
    inside = [x for x in POINTS if low < x < high]
    return Argument(tuple(sorted({*inside[::every], inside[0], inside[-1]})), fixed)


@dataclass(frozen=True)
class Row:
    """One function, its arguments, and the part of the result for a function of several results."""

    function: object
    arguments: tuple
    part: int | None = None


def row(function, *arguments, part=None):
    return Row(function, arguments or (on(-HUGE, HUGE),), part)


REAL, POSITIVE, UNIT = on(-HUGE, HUGE), on(0, HUGE), on(0, 1)
WITHIN = on(-1, 1)


# ------------------------------------------------------------------------ elementary functions
def cbrt(x):
    return mp.sign(x) * mp.cbrt(abs(x))


def log_2(x):
    return mp.log(x) / mp.log(2)


def exp_2(x):
    return mp.power(2, x)


def towards_zero(a, b):
    return a - b * mp.sign(a / b) * mp.floor(abs(a / b))


def log_of_sum(a, b):
    return max(a, b) + mp.log1p(mp.exp(-abs(a - b)))


def log_2_of_sum(a, b):
    return max(a, b) + mp.log1p(mp.power(2, -abs(a - b))) / mp.log(2)


def copied_sign(a, b):
    return abs(a) * mp.sign(b)


def clipped(x, low, high):
    return min(max(x, low), high)


def identity(x):
    return x


_TWO = (on(-HUGE, HUGE, -1.3e-160, 0.7, 2.6, -3e155, every=5),) * 2
_LENGTHS = (on(-HUGE, HUGE, 1e-300, 0.7, -2.6, 3e155, every=5),) * 2
_NEAR = (on(-1e5, 1e5, -0.3, 0.7, 2.6, every=3),) * 2
_POWER = (on(0, HUGE, 0.3, 1.0001, 2.6, every=2), on(-1e5, 1e5, -1.7, 0.4, 3.0, every=4))
_DIVIDED = tuple(x for x in POINTS if 1e-3 < abs(x) < 1e5)
_REMAINDER = (Argument(_DIVIDED[::2], (7.3, -0.9)), Argument(_DIVIDED[::2], (0.7, -2.6)))

ONE = {
    "square": row(lambda x: x * x), "sqrt": row(mp.sqrt, POSITIVE), "cbrt": row(cbrt),
    "reciprocal": row(lambda x: 1 / x), "exp": row(mp.exp, on(-800, 800)),
    "exp2": row(exp_2, on(-1100, 1100)), "expm1": row(mp.expm1, on(-800, 800)),
    "log2": row(log_2, POSITIVE), "log10": row(mp.log10, POSITIVE),
    "log1p": row(mp.log1p, on(-1, HUGE)), "sin": row(mp.sin), "cos": row(mp.cos),
    "tan": row(mp.tan), "arcsin": row(mp.asin, WITHIN), "arccos": row(mp.acos, WITHIN),
    "arctan": row(mp.atan), "sinh": row(mp.sinh, on(-800, 800)),
    "cosh": row(mp.cosh, on(-800, 800)), "tanh": row(mp.tanh, on(-800, 800)),
    "arcsinh": row(mp.asinh), "arccosh": row(mp.acosh, on(1, HUGE)),
    "arctanh": row(mp.atanh, WITHIN), "radians": row(mp.radians), "degrees": row(mp.degrees),
    "fabs": row(abs),
    "hypot": row(mp.hypot, *_LENGTHS), "fmod": row(towards_zero, *_REMAINDER),
    "copysign": row(copied_sign, *_LENGTHS), "arctan2": row(mp.atan2, *_LENGTHS),
    "ldexp": row(mp.ldexp, on(-1e250, 1e250, every=2), (-3, 5)),
    "log": row(mp.log, POSITIVE),
}  # fmt: skip
_MATH = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh",
         "arccosh": "acosh", "arctanh": "atanh", "arctan2": "atan2"}  # fmt: skip
ELEMENTARY = {getattr(np, name): found for name, found in ONE.items()}
ELEMENTARY |= {
    getattr(math, _MATH.get(name, name)): found
    for name, found in ONE.items() if hasattr(math, _MATH.get(name, name))
}  # fmt: skip
ELEMENTARY |= {
    math.log: row(mp.log, POSITIVE, on(1e-5, 1e5, 2.0, 10.0, 0.3, every=9)),
    math.pow: row(mp.power, *_POWER), operator.pow: row(mp.power, *_POWER),
    np.power: row(mp.power, *_POWER), np.float_power: row(mp.power, *_POWER),
    math.erf: row(mp.erf), math.erfc: row(mp.erfc, on(-HUGE, 30)),
    math.remainder: row(lambda a, b: a - b * mp.nint(a / b), *_REMAINDER),
    np.deg2rad: ONE["radians"], np.rad2deg: ONE["degrees"], np.sinc: row(mp.sincpi),
    np.absolute: ONE["fabs"], operator.abs: ONE["fabs"],
    np.positive: row(identity), operator.pos: row(identity), np.real: row(identity),
    np.negative: row(operator.neg), operator.neg: row(operator.neg),
    np.nan_to_num: row(identity),
    np.clip: row(clipped, on(-HUGE, HUGE, 0.3, every=3), (-0.9,), (2.6,)),
    np.add: row(operator.add, *_TWO), operator.add: row(operator.add, *_TWO),
    np.subtract: row(operator.sub, *_TWO), operator.sub: row(operator.sub, *_TWO),
    np.multiply: row(operator.mul, *_TWO), operator.mul: row(operator.mul, *_TWO),
    np.divide: row(operator.truediv, *_TWO), operator.truediv: row(operator.truediv, *_TWO),
    np.mod: row(lambda a, b: a - b * mp.floor(a / b), *_REMAINDER),
    operator.mod: row(lambda a, b: a - b * mp.floor(a / b), *_REMAINDER),
    np.maximum: row(max, *_TWO), np.fmax: row(max, *_TWO),
    np.minimum: row(min, *_TWO), np.fmin: row(min, *_TWO),
    np.logaddexp: row(log_of_sum, *_NEAR), np.logaddexp2: row(log_2_of_sum, *_NEAR),
}  # fmt: skip


# ------------------------------------------------------------------------ SciPy's elementary ones
def exprel(x):
    return mp.expm1(x) / x


def boxcox(x, power):
    return (mp.power(x, power) - 1) / power


def inv_boxcox(x, power):
    return mp.power(1 + power * x, 1 / power)


def huber(delta, r):
    return r * r / 2 if abs(r) < delta else delta * (abs(r) - delta / 2)


def pseudo_huber(delta, r):
    return delta * delta * (mp.sqrt(1 + (r / delta) ** 2) - 1)


def degrees(function):
    return lambda x: function(mp.radians(x))


_MODERATE = (on(0, 1e3, 0.3, 2.6, every=2),) * 2
SCIPY_ELEMENTARY = {
    special.cbrt: ONE["cbrt"], special.exp2: ONE["exp2"], special.expm1: ONE["expm1"],
    special.log1p: ONE["log1p"], special.exp10: row(lambda x: mp.power(10, x), on(-330, 330)),
    special.powm1: row(lambda x, y: mp.power(x, y) - 1, *_POWER),
    special.exprel: row(exprel, on(-HUGE, 800)),
    special.cosm1: row(lambda x: -2 * mp.sin(x / 2) ** 2),
    special.sindg: row(degrees(mp.sin), on(-1e5, 1e5)),
    special.cosdg: row(degrees(mp.cos), on(-1e5, 1e5)),
    special.tandg: row(degrees(mp.tan), on(-1e5, 1e5)),
    special.cotdg: row(degrees(mp.cot), on(-1e5, 1e5)),
    special.boxcox: row(boxcox, on(0, HUGE, 0.3, 2.6, every=2),
                        on(-90, 90, -0.7, 1e-9, 2.6, every=3)),
    special.boxcox1p: row(lambda x, power: boxcox(1 + x, power),
                          on(-1, HUGE, -0.3, 2.6, every=2), on(-90, 90, -0.7, 1e-9, 2.6, every=3)),
    special.inv_boxcox: row(inv_boxcox, on(-0.3, HUGE, 0.3, 2.6, every=2),
                            on(0, 3, 1e-9, 0.7, 2.6, every=2)),
    special.inv_boxcox1p: row(lambda x, power: inv_boxcox(x, power) - 1,
                              on(-0.3, HUGE, 0.3, 2.6, every=2), on(0, 3, 1e-9, 0.7, 2.6, every=2)),
    special.lambertw: row(mp.lambertw, on(-0.36, HUGE, every=2), (0,)),
    special.wrightomega: row(lambda x: mp.lambertw(mp.exp(x)), on(-600, 600, every=2)),
    special.spence: row(lambda x: mp.re(mp.polylog(2, 1 - x)), on(0, 2, every=2)),
    special.huber: row(huber, *_MODERATE), special.pseudo_huber: row(pseudo_huber, *_MODERATE),
    special.expit: row(lambda x: 1 / (1 + mp.exp(-x)), on(-800, HUGE)),
    special.logit: row(lambda x: mp.log(x) - mp.log1p(-x), UNIT),
    special.log_expit: row(lambda x: -mp.log1p(mp.exp(-x)), on(-HUGE, 800)),
    special.entr: row(lambda x: -x * mp.log(x), POSITIVE),
    special.xlogy: row(lambda x, y: x * mp.log(y), *_LENGTHS[:1],
                       on(0, HUGE, 0.7, 2.6, 1e155, every=3)),
    special.xlog1py: row(lambda x, y: x * mp.log1p(y), *_LENGTHS[:1],
                         on(-1, HUGE, 1e-12, 2.6, 1e155, every=3)),
    special.rel_entr: row(lambda x, y: x * mp.log(x / y), *_MODERATE),
    special.kl_div: row(lambda x, y: x * mp.log(x / y) - x + y, *_MODERATE),
}  # fmt: skip


# ------------------------------------------------------------------------ errors and integrals
def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def dawsn(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def wofz(z):
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def voigt(x, sigma, gamma):
    """The real part of ``wofz``, here with digits enough for its power series (DLMF 7.6.2)."""
    z = (x + 1j * gamma) / (sigma * mp.sqrt(2))
    with mp.extradps(int(abs(z) ** 2) + 10):
        w = mp.exp(-z * z) + 2j * z / mp.sqrt(mp.pi) * mp.hyp1f1(1, mp.mpf(3) / 2, -z * z)
    return mp.re(w) / (sigma * mp.sqrt(2 * mp.pi))


def owens_t(h, a):
    """The series of Owen (1956) for a < 1."""
    total, power, k = mp.mpf(0), a, 0
    part = term = mp.exp(-h * h / 2)
    while abs(power) > mp.eps * a:
        total += power * (1 - part) / (2 * k + 1)
        k += 1
        power = -power * a * a
        term = term * h * h / (2 * k)
        part += term
    return (mp.atan(a) - total) / (2 * mp.pi)


def exponential_integral(n, x):
    """By recurrence (DLMF 8.19.12), with digits enough."""
    with mp.extradps(30):
        found = mp.exp(-x) / x if n == 0 else mp.e1(x)
        for k in range(1, int(n)):
            found = (mp.exp(-x) - x * found) / k
        return found


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_ndtr(x):
    return mp.log(ndtr(x)) if x < 0 else mp.log1p(-ndtr(-x))


def inverse(function, start, of=-1):
    """The solution by the secant method of ``function(*parameters, y) = p``; `start` is SciPy's.

    `of` is the place of p among the arguments.
    """

    def solved(*arguments):
        parameters = list(arguments)
        wanted = parameters.pop(of)
        first = mp.mpf(float(start(*map(float, arguments))))
        return mp.findroot(
            lambda y: function(*parameters, y) / wanted - 1,
            (first, first * (1 + mp.mpf(10) ** -12)), solver="secant", tol=mp.eps**1.8,
            maxsteps=60,
        )  # fmt: skip

    return solved


_ERRORS = on(-40, 40, every=2)
ERRORS = {
    special.erf: row(mp.erf), special.erfc: row(mp.erfc, on(-HUGE, 30)),
    special.erfi: row(mp.erfi, on(-30, 30)), special.erfcx: row(erfcx, on(-30, 1e20)),
    special.erfinv: row(mp.erfinv, on(-1, 1)),
    special.erfcinv: row(lambda x: mp.erfinv(1 - x), on(0, 2, every=6)),
    special.dawsn: row(dawsn, on(-1e8, 1e8)), special.wofz: row(wofz, on(-1e8, 1e8, every=2)),
    special.voigt_profile: row(
        voigt, on(-9, 9, -0.7, 2.6, every=16), on(0.3, 9, 0.3, 2.6, every=8),
        on(0.1, 5, 0.3, 2.6, every=8)),
    special.owens_t: row(owens_t, on(1e-8, 9, 0.3, 2.6, every=4), on(1e-8, 0.9, 0.3, 0.8, every=3)),
    special.ndtr: row(ndtr, on(-40, HUGE)), special.log_ndtr: row(log_ndtr,
                                                                   on(-1e5, 38)),
    special.ndtri: row(lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), on(0, 1, every=6)),
    special.ndtri_exp: row(lambda x: mp.sqrt(2) * mp.erfinv(2 * mp.exp(x) - 1),
                           on(-60, 0, every=8)),
    special.exp1: row(mp.e1, on(0, 800, every=2)), special.expi: row(mp.ei, on(-800, 800, every=2)),
    special.expn: row(exponential_integral, (0, 1, 2, 5), on(0, 800, every=3)),
    special.sici: row(mp.si, on(-1e20, 1e20, every=3), part=0),
    special.shichi: row(mp.shi, on(-700, 700, every=3), part=0),
    special.fresnel: row(mp.fresnels, on(-1e5, 1e5, every=3), part=0),
}  # fmt: skip


# ------------------------------------------------------------------------ Bessel functions
def scaled(function, sign):
    return lambda v, x: function(v, x) * mp.exp(sign * x)


def halves(function, minus):
    """Half the difference (or the sum) of the functions of the neighbouring orders."""
    return lambda v, x: (function(v - 1, x) + (-1 if minus else 1) * function(v + 1, x)) / 2


def spherical(function, factor=lambda: mp.pi / 2):
    return lambda n, x: mp.sqrt(factor() / x) * function(n + mp.mpf(1) / 2, x)


def order(function, v):
    return lambda x: function(v, x)


def scaled_i(v, x):
    return mp.besseli(v, x) * mp.exp(-abs(x))


def second_kind(n, z, sign):
    """``K`` (sign 1) or ``Y`` (sign -1) of a whole order by DLMF 10.31.1, 10.8.1."""
    n, half, square = abs(n), z / 2, z * z / 4
    first = sum(mp.factorial(n - k - 1) / mp.factorial(k) * (-sign * square) ** k for k in range(n))
    slopes = mp.digamma(1) + mp.digamma(n + 1)
    term, total, k = 1 / mp.factorial(n), mp.mpf(0), 0
    whole = mp.mpf(0)
    while abs(term) > mp.eps * abs(whole) or k < abs(z):
        whole, total = whole + term, total + term * slopes
        k += 1
        term = term * sign * square / (k * (n + k))
        slopes += mp.mpf(1) / k + mp.mpf(1) / (n + k)
    first, total, whole = first / half**n, total * half**n, whole * half**n
    if sign < 0:
        return (2 * mp.log(half) * whole - first - total) / mp.pi
    return first / 2 + (-1) ** n * (total / 2 - mp.log(half) * whole)


def bessely(v, x):
    if v != int(v) or abs(x) > 50:
        return mp.bessely(v, x)
    with mp.extradps(50):
        return (-1 if v < 0 and v % 2 else 1) * second_kind(int(v), x, -1)


def besselk(v, x):
    if v != int(v) or abs(x) > 50:
        return mp.besselk(v, x)
    with mp.extradps(50):
        return second_kind(int(v), x, 1)


def hankel1(v, x):
    return mp.besselj(v, x) + 1j * bessely(v, x)


def hankel2(v, x):
    return mp.besselj(v, x) - 1j * bessely(v, x)


def turned(function):
    """The function at ``x exp(i pi / 4)``, of which Kelvin's are the parts (DLMF 10.61.1)."""
    return lambda x: function(x * mp.expjpi(mp.mpf(1) / 4))


def kelvin_i(z):
    return mp.besseli(0, z)


def kelvin_k(z):
    return besselk(0, z)


def kelvin_i_slope(z):
    return mp.expjpi(mp.mpf(1) / 4) * mp.besseli(1, z)


def kelvin_k_slope(z):
    return -mp.expjpi(mp.mpf(1) / 4) * besselk(1, z)


def real_part(function):
    return lambda x: mp.re(turned(function)(x))


def imaginary_part(function):
    return lambda x: mp.im(turned(function)(x))


_BESSEL = on(0, 1e8, every=4)
_ORDERS = (0.0, 0.5, 1.0, 2.7)
_WHOLE = (0, 1, 3)
_SMALL = on(0, 700, every=4)
_BOTH = on(-700, 700, every=2)
_KELVIN = on(0, 100, every=2)
BESSEL = {
    special.jv: row(mp.besselj, _ORDERS, _BESSEL), special.yv: row(bessely, _ORDERS, _BESSEL),
    special.hankel1: row(hankel1, _ORDERS, _BESSEL),
    special.hankel2: row(hankel2, _ORDERS, _BESSEL),
    special.iv: row(mp.besseli, _ORDERS, _SMALL), special.kv: row(besselk, _ORDERS, _SMALL),
    special.yn: row(bessely, _WHOLE, _BESSEL), special.kn: row(besselk, _WHOLE, _SMALL),
    special.jvp: row(halves(mp.besselj, True), _ORDERS, _BESSEL),
    special.yvp: row(halves(bessely, True), _ORDERS, _BESSEL),
    special.ivp: row(halves(mp.besseli, False), _ORDERS, _SMALL),
    special.kvp: row(lambda v, x: -halves(besselk, False)(v, x), _ORDERS, _SMALL),
    special.h1vp: row(halves(hankel1, True), _ORDERS, _BESSEL),
    special.h2vp: row(halves(hankel2, True), _ORDERS, _BESSEL),
    special.jve: row(mp.besselj, _ORDERS, _BESSEL), special.yve: row(bessely, _ORDERS, _BESSEL),
    special.hankel1e: row(scaled(hankel1, -1j), _ORDERS, _BESSEL),
    special.hankel2e: row(scaled(hankel2, 1j), _ORDERS, _BESSEL),
    special.ive: row(scaled_i, _ORDERS, on(0, 1e4, every=4)),
    special.kve: row(scaled(besselk, 1), _ORDERS, on(0, 1e4, every=4)),
    special.j0: row(order(mp.besselj, 0), on(-1e8, 1e8, every=2)),
    special.j1: row(order(mp.besselj, 1), on(-1e8, 1e8, every=2)),
    special.y0: row(order(bessely, 0), on(0, 1e8, every=2)),
    special.y1: row(order(bessely, 1), on(0, 1e8, every=2)),
    np.i0: row(order(mp.besseli, 0), _BOTH),
    special.i0: row(order(mp.besseli, 0), _BOTH), special.i1: row(order(mp.besseli, 1), _BOTH),
    special.k0: row(order(besselk, 0), on(0, 700, every=2)),
    special.k1: row(order(besselk, 1), on(0, 700, every=2)),
    special.i0e: row(order(scaled_i, 0), on(-1e5, 1e5, every=2)),
    special.i1e: row(order(scaled_i, 1), on(-1e5, 1e5, every=2)),
    special.k0e: row(order(scaled(besselk, 1), 0), on(0, 1e5, every=2)),
    special.k1e: row(order(scaled(besselk, 1), 1), on(0, 1e5, every=2)),
    special.spherical_jn: row(spherical(mp.besselj), _WHOLE, _BESSEL),
    special.spherical_yn: row(spherical(bessely), _WHOLE, _BESSEL),
    special.spherical_in: row(spherical(mp.besseli), _WHOLE, _SMALL),
    special.spherical_kn: row(spherical(besselk), _WHOLE, _SMALL),
    special.ber: row(real_part(kelvin_i), _KELVIN),
    special.bei: row(imaginary_part(kelvin_i), _KELVIN),
    special.ker: row(real_part(kelvin_k), _KELVIN),
    special.kei: row(imaginary_part(kelvin_k), _KELVIN),
    special.berp: row(real_part(kelvin_i_slope), _KELVIN),
    special.beip: row(imaginary_part(kelvin_i_slope), _KELVIN),
    special.kerp: row(real_part(kelvin_k_slope), _KELVIN),
    special.keip: row(imaginary_part(kelvin_k_slope), _KELVIN),
    special.struve: row(mp.struveh, (0.0, 1.0, 2.5), on(0, 1e3, every=5)),
    special.modstruve: row(mp.struvel, (0.0, 1.0, 2.5), on(0, 300, every=5)),
    special.airy: row(mp.airyai, on(-1e3, 100, every=3), part=0),
}  # fmt: skip


# ------------------------------------------------------------------------ gamma and its relatives
def log_gamma(x):
    return mp.re(mp.loggamma(x))


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def multi_log_gamma(a, d):
    last = int(d)
    parts = mp.fsum(mp.loggamma(a - mp.mpf(k) / 2) for k in range(last))
    return parts + last * (last - 1) * mp.log(mp.pi) / 4


_SHAPE = on(1e-13, 1e4, 0.3, 2.6, every=2)
_TO_BINOM = on(0, 60, 0.3, 2.6, every=3)
GAMMA = {
    math.gamma: row(mp.gamma, on(0, 170)), math.lgamma: row(log_gamma, on(0, 1e20)),
    special.gamma: row(mp.gamma, on(-180, 180)), special.gammaln: row(log_gamma, on(-1e3, 1e20)),
    special.loggamma: row(mp.loggamma, on(0, 1e20)),
    special.digamma: row(mp.digamma, on(-1e3, 1e20)),
    special.rgamma: row(mp.rgamma, on(-180, 180)),
    special.polygamma: row(mp.polygamma, (0, 1, 3), on(0, 1e8, every=2)),
    special.zeta: row(mp.zeta, on(1.00001, 60, 1.3, 2.6, 7.0, every=2),
                      on(1e-5, 1e3, 0.3, 1.0, 2.6, every=3)),
    special.zetac: row(lambda x: mp.zeta(x) - 1, on(1, 60)),
    special.beta: row(mp.beta, _SHAPE, _SHAPE), special.betaln: row(log_beta, _SHAPE, _SHAPE),
    special.poch: row(mp.rf, _TO_BINOM, _TO_BINOM),
    special.binom: row(mp.binomial, on(2.1, 200, 4.3, 20.6), on(0, 2, 0.3, 1.7, every=2)),
    special.comb: row(mp.binomial, on(2.1, 200, 4.3, 20.6), on(0, 2, 0.3, 1.7, every=2)),
    special.perm: row(mp.ff, on(2.1, 200, 4.3, 20.6), on(0, 2, 0.3, 1.7, every=2)),
    special.factorial: row(lambda x: mp.gamma(x + 1), on(0, 171)),
    special.multigammaln: row(multi_log_gamma, on(1, 1e20), (1,)),
}  # fmt: skip


def lower_gamma(a, x):
    """The regularised integral by its series of positive terms (DLMF 8.7.1)."""
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * mp.hyp1f1(1, a + 1, x)


def upper_gamma(a, x):
    with mp.extradps(int(x / 2) + 20):
        return 1 - lower_gamma(a, x)


def lower_beta(a, b, x):
    """The regularised integral by its series of positive terms (DLMF 8.17.8)."""
    if x > 0.5:
        with mp.extradps(40):
            return 1 - lower_beta(b, a, 1 - x)
    total = mp.hyp2f1(a + b, 1, a + 1, x)
    lead = a * mp.log(x) + b * mp.log1p(-x) - mp.log(a)
    return mp.exp(lead - log_beta(a, b)) * total


def upper_beta(a, b, x):
    return lower_beta(b, a, 1 - x)


def f_lower(m, n, x):
    return lower_beta(m / 2, n / 2, m * x / (n + m * x))


def student(df, t):
    tail = lower_beta(df / 2, mp.mpf(1) / 2, df / (df + t * t)) / 2
    return tail if t < 0 else 1 - tail


def kolmogorov(x):
    """The series with a theta function's terms, in either form, of which one converges at once."""
    if x > 1:
        return 2 * mp.nsum(lambda k: (-1) ** int(k - 1) * mp.exp(-2 * k * k * x * x), [1, 30])
    terms = mp.fsum(mp.exp(-(((2 * k - 1) * mp.pi / x) ** 2) / 8) for k in range(1, 30))
    return 1 - mp.sqrt(2 * mp.pi) / x * terms


_GAMMA_X = on(1e-13, 60, 0.3, 2.6, every=5)
_GAMMA_A = on(1e-3, 60, 0.3, 2.6, 20.6, every=8)
_P = on(1e-9, 0.9999, 0.3, 0.8, every=8)
_FEW_P = on(1e-9, 0.99, 0.3, 0.8, every=24)
_FEW = on(0.3, 9, 0.7, 2.6, every=40)
_DF = on(0.3, 50, 0.7, 2.6, 10.3, every=10)
_F_X = on(1e-8, 50, 0.3, 2.6, every=8)
GAMMA_INTEGRALS = {
    special.gammainc: row(lower_gamma, _GAMMA_A, _GAMMA_X),
    special.gammaincc: row(upper_gamma, _GAMMA_A, _GAMMA_X),
    special.gammaincinv: row(inverse(lower_gamma, special.gammaincinv), _FEW, _FEW_P),
    special.gammainccinv: row(inverse(upper_gamma, special.gammainccinv), _FEW, _FEW_P),
    special.chdtr: row(lambda v, x: lower_gamma(v / 2, x / 2), _GAMMA_A, _GAMMA_X),
    special.chdtrc: row(lambda v, x: upper_gamma(v / 2, x / 2), _GAMMA_A, _GAMMA_X),
    special.chdtri: row(inverse(lambda v, x: upper_gamma(v / 2, x / 2), special.chdtri),
                        _FEW, _FEW_P),
    special.gdtr: row(lambda a, b, x: lower_gamma(b, a * x), _DF, _DF, _F_X),
    special.gdtrc: row(lambda a, b, x: upper_gamma(b, a * x), _DF, _DF, _F_X),
    special.pdtr: row(lambda k, m: upper_gamma(k + 1, m), (0.0, 2.0, 9.0), on(1e-8, 60, every=3)),
    special.pdtrc: row(lambda k, m: lower_gamma(k + 1, m), (0.0, 2.0, 9.0), on(1e-8, 60, every=3)),
}  # fmt: skip
_COUNTS = ((0, 2), (5, 9), on(1e-8, 1, every=4))
BETA_INTEGRALS = {
    special.betainc: row(lower_beta, _DF, _DF, _P),
    special.betaincc: row(upper_beta, _DF, _DF, _P),
    special.betaincinv: row(inverse(lower_beta, special.betaincinv), _FEW, _FEW, _FEW_P),
    special.betainccinv: row(inverse(upper_beta, special.betainccinv), _FEW, _FEW, _FEW_P),
    special.bdtr: row(lambda k, n, p: upper_beta(k + 1, n - k, p), *_COUNTS),
    special.bdtrc: row(lambda k, n, p: lower_beta(k + 1, n - k, p), *_COUNTS),
    special.nbdtr: row(lambda k, n, p: lower_beta(n, k + 1, p), *_COUNTS),
    special.nbdtrc: row(lambda k, n, p: upper_beta(n, k + 1, p), *_COUNTS),
    special.fdtr: row(f_lower, _DF, _DF, _F_X),
    special.fdtrc: row(lambda m, n, x: lower_beta(n / 2, m / 2, n / (n + m * x)), _DF, _DF, _F_X),
    special.fdtri: row(inverse(f_lower, special.fdtri), *(on(0.7, 9, 1.3, 4.6, every=40),) * 2,
                       on(1e-3, 0.99, 0.3, 0.8, every=40)),
    special.stdtr: row(student, on(0.3, 50, 0.7, 2.6, 10.3, every=4),
                       on(-30, 30, -0.3, 2.6, every=4)),
    special.stdtrit: row(inverse(student, special.stdtrit), on(0.7, 50, 0.7, 2.6, every=10),
                         on(1e-3, 0.49, 0.1, 0.3, every=10)),
    special.kolmogorov: row(kolmogorov, on(0.2, 18)),
    special.kolmogi: row(inverse(kolmogorov, special.kolmogi), on(1e-8, 1, every=2)),
}  # fmt: skip


# ------------------------------------------------------------------------ elliptic integrals
def sizes(*fixed, every=18):
    return on(1e-8, 1e8, *fixed, every=every)


_HALF_TURN = on(1e-20, 1.5, 0.3, 1.2, every=9)
_MODULUS = on(-30, 1, -2.6, 0.3, 0.9, every=14)
ELLIPTIC = {
    special.elliprf: row(mp.elliprf, sizes(0.3), sizes(2.6), sizes(0.9)),
    special.elliprc: row(mp.elliprc, sizes(0.3, 2.6, every=3), sizes(2.6, 0.9, every=3)),
    special.elliprd: row(mp.elliprd, sizes(0.3), sizes(2.6), sizes(0.9)),
    special.elliprg: row(mp.elliprg, sizes(0.3), sizes(2.6), sizes(0.9)),
    special.elliprj: row(mp.elliprj, sizes(0.3), sizes(2.6), sizes(0.9), sizes(1.7)),
    special.ellipk: row(mp.ellipk, on(-1e20, 1)), special.ellipe: row(mp.ellipe, on(-1e20, 1)),
    special.ellipkm1: row(lambda p: mp.ellipk(1 - p), on(0, 1e8)),
    special.agm: row(mp.agm, sizes(0.3, 2.6, every=3), sizes(0.9, 1.7, every=3)),
    special.ellipkinc: row(mp.ellipf, _HALF_TURN, _MODULUS),
    special.ellipeinc: row(mp.ellipe, _HALF_TURN, _MODULUS),
}  # fmt: skip


# ------------------------------------------------------------------------ polynomials
def shifted(function):
    return lambda n, x: function(n, 2 * x - 1)


def chebyt(n, x):
    """By the recurrence, which is exact for whole degrees."""
    return recurrence(n, x, x)


def chebyu(n, x):
    return recurrence(n, x, 2 * x)


def recurrence(n, x, first):
    before, now = mp.mpf(1), first
    for _ in range(int(n)):
        before, now = now, 2 * x * now - before
    return before


def associated_legendre(m, v, x):
    """For whole degree and order, by Gegenbauer's polynomial (DLMF 18.11.1)."""
    half = m + mp.mpf(1) / 2
    below = mp.gegenbauer(v - m, half, x)
    return mp.rf(mp.mpf(1) / 2, m) * (-2 * mp.sqrt(1 - x * x)) ** int(m) * below


def hermitenorm(n, x):
    return mp.power(2, -mp.mpf(int(n)) / 2) * mp.hermite(int(n), x / mp.sqrt(2))


def wright_bessel(a, b, x):
    total, term, k = mp.mpf(0), mp.mpf(1), 0
    while True:
        part = term * mp.rgamma(a * k + b)
        total += part
        if abs(part) < mp.eps * abs(total):
            return total
        k += 1
        term = term * x / k


_DEGREES = (0, 1, 2, 5, 8)
_SEGMENT = on(-20, 20, every=4)
_PARAMETER = (0.5, 2.0)
POLYNOMIALS = {
    special.eval_legendre: row(mp.legendre, _DEGREES, _SEGMENT),
    special.eval_sh_legendre: row(shifted(mp.legendre), _DEGREES, _SEGMENT),
    special.eval_chebyt: row(chebyt, _DEGREES, _SEGMENT),
    special.eval_sh_chebyt: row(shifted(chebyt), _DEGREES, _SEGMENT),
    special.eval_chebyc: row(lambda n, x: 2 * chebyt(n, x / 2), _DEGREES, _SEGMENT),
    special.eval_chebyu: row(chebyu, _DEGREES, _SEGMENT),
    special.eval_sh_chebyu: row(shifted(chebyu), _DEGREES, _SEGMENT),
    special.eval_chebys: row(lambda n, x: chebyu(n, x / 2), _DEGREES, _SEGMENT),
    special.eval_hermite: row(mp.hermite, _DEGREES, _SEGMENT),
    special.eval_hermitenorm: row(hermitenorm, _DEGREES, _SEGMENT),
    special.eval_laguerre: row(lambda n, x: mp.laguerre(n, 0, x), _DEGREES, _SEGMENT),
    special.eval_genlaguerre: row(mp.laguerre, _DEGREES, _PARAMETER, on(-20, 20, every=8)),
    special.eval_gegenbauer: row(mp.gegenbauer, _DEGREES, _PARAMETER, on(-20, 20, every=8)),
    special.eval_jacobi: row(mp.jacobi, _DEGREES, (0.5,), _PARAMETER, on(-20, 20, every=8)),
    special.lpmv: row(associated_legendre, (0, 1, 2), (2, 5),
                      on(-1, 1, every=4)),
    special.hyp0f1: row(mp.hyp0f1, (0.5, 2.0), on(-100, 100, every=3)),
    special.hyp1f1: row(mp.hyp1f1, (0.5, 2.0), (1.5, 3.0), on(-30, 30, every=5)),
    special.hyp2f1: row(mp.hyp2f1, (0.5, 2.0), (1.5,), (2.5, 4.0), on(-10, 1, every=12)),
    special.hyperu: row(mp.hyperu, (0.5, 2.0), (1.5, 3.0), on(1e-8, 50, every=6)),
    special.wright_bessel: row(wright_bessel, (0.5, 2.0), (1.5, 3.0), on(0, 20, every=6)),
}  # fmt: skip
if hasattr(special, "log_wright_bessel"):  # SciPy 1.14
    POLYNOMIALS[special.log_wright_bessel] = row(
        lambda a, b, x: mp.log(wright_bessel(a, b, x)), (0.5, 2.0), (1.5, 3.0), on(0, 20, every=6)
    )
if hasattr(special, "sph_harm_y"):  # SciPy 1.15
    POLYNOMIALS[special.sph_harm_y] = row(
        mp.spherharm, (1, 2, 5), (0, 1), on(0.01, 3.1, 0.3, 1.7, every=8),
        on(-3.1, 3.1, 0.3, 1.7, every=16),
    )  # fmt: skip

COUNTERPARTS = {
    **ELEMENTARY, **SCIPY_ELEMENTARY, **ERRORS, **BESSEL, **GAMMA, **GAMMA_INTEGRALS,
    **BETA_INTEGRALS, **ELLIPTIC, **POLYNOMIALS,
}  # fmt: skip
