"""Slopes of `scipy.special`, from small numbers to large ones, compared with `mpmath`."""

import itertools
import math

import numpy as np
import pytest
from scipy import special

from srcad.rules.formulas import spelling
from srcad.rules.scipy.special_incomplete import betainc_by_a, betainc_by_b, gammainc_by_a
from tests.marks import some
from tests.rules.harness import cotangents

mp = pytest.importorskip("mpmath")

EPS = float(np.finfo(float).eps)
SIZES = [1e-20, 1e-8, 1e-3, 0.1, 0.3, 0.7, 1.0, 1.3, 1.9, 2.1, 3.0, 5.0, 6.9, 7.1, 10.0, 19.0, 21.0,
         40.0, 100.0, 1e3, 1e4]  # fmt: skip
BOTH = [*SIZES, *(-x for x in SIZES)]
UNIT = [1e-20, 1e-8, 1e-3, 0.1, 0.3, 0.499, 0.5, 0.7, 0.9, 0.999]


def log_ndtr(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


# The function, points, and the error in units of the last place; ten more for each unit of the
# sensitivity of the slope to its argument.
UNARY = {
    special.erf: (mp.erf, BOTH, 4), special.erfc: (mp.erfc, BOTH, 4),
    special.erfi: (mp.erfi, [x for x in BOTH if abs(x) < 20], 4),
    special.erfcx: (lambda x: mp.exp(x * x) * mp.erfc(x), [x for x in BOTH if x > -20], 60),
    special.dawsn: (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), BOTH, 400),
    special.ndtr: (mp.ncdf, [x for x in BOTH if -37 < x < 15], 4),
    special.log_ndtr: (log_ndtr, [x for x in BOTH if x < 15], 6),
    special.exp1: (mp.e1, [x for x in SIZES if x < 500], 4),
    special.expi: (mp.ei, [x for x in SIZES if x < 500], 4),
    special.gammaln: (mp.loggamma, SIZES, 20), special.loggamma: (mp.loggamma, SIZES, 20),
    special.digamma: (mp.digamma, SIZES, 20),
    special.rgamma: (mp.rgamma, [x for x in BOTH if -20 < x < 100], 60),
    special.zetac: (lambda x: mp.zeta(x) - 1, [1.001, 1.1, 1.5, 2, 3, 7, 20, 40], 20),
    special.ellipk: (mp.ellipk, [*(-x for x in SIZES), *UNIT], 10),
    special.ellipe: (mp.ellipe, [*(-x for x in SIZES), *UNIT], 10),
    special.j0: (mp.j0, [x for x in BOTH if abs(x) < 500], 20),
    special.j1: (mp.j1, [x for x in BOTH if abs(x) < 500], 100),
    special.i0: (lambda x: mp.besseli(0, x), [x for x in BOTH if abs(x) < 500], 10),
    special.i1: (lambda x: mp.besseli(1, x), [x for x in BOTH if abs(x) < 500], 10),
    special.k0: (lambda x: mp.besselk(0, x), [x for x in SIZES if x < 500], 10),
    special.k1: (lambda x: mp.besselk(1, x), [x for x in SIZES if x < 500], 10),
    special.i0e: (lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), SIZES, 120),
    special.i1e: (lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), SIZES, 200),
    special.k0e: (lambda x: mp.exp(x) * mp.besselk(0, x), SIZES, 120),
    special.k1e: (lambda x: mp.exp(x) * mp.besselk(1, x), SIZES, 120),
    special.spence: (lambda x: mp.polylog(2, 1 - x), [0.3, 0.7, 0.91, 0.999, 1.001, 1.1, 1.9], 10),
    special.exprel: (lambda x: mp.expm1(x) / x, [x for x in BOTH if abs(x) < 500], 10),
    special.lambertw: (mp.lambertw, SIZES, 20),
    special.expit: (lambda x: 1 / (1 + mp.exp(-x)), [x for x in BOTH if abs(x) < 500], 6),
    special.logit: (lambda x: mp.log(x / (1 - x)), UNIT, 6),
}  # fmt: skip


def slope_of(function, x, order=1):
    """A difference quotient of many digits, of the first or the second order."""
    x = mp.mpf(x)
    h = abs(x) * mp.mpf(10) ** -40
    if order == 2:
        return (function(x + h) - 2 * function(x) + function(x - h)) / (h * h)
    return (function(x + h) - function(x - h)) / (2 * h)


def errors_of(target, function, points):
    """The point and the error in units of the last place, without that by rounding its argument."""
    for x in points:
        with np.errstate(all="ignore"):
            (found,) = cotangents(target, (np.float64(x),), {}, 1.0)
        exact = mp.re(slope_of(function, x))
        if not 1e-290 < abs(exact) < 1e290:
            continue
        bend = abs(mp.re(slope_of(function, x, 2)) * x / exact)
        yield x, float(abs(mp.mpf(float(np.real(found))) - exact) / abs(exact) / EPS), float(bend)


@pytest.mark.parametrize(
    "target",
    some(UNARY, lambda _, f: f in (special.log_ndtr, special.erfcx, special.i0e)),
    ids=spelling,
)
def test_a_slope_of_one_argument_is_exact_to_some_digits_of_the_last_place(target):
    function, points, units = UNARY[target]
    with mp.workdps(140):
        found = list(errors_of(target, function, points))

    assert found
    assert [(x, error) for x, error, bend in found if not error < units + 10 * bend] == []


# ------------------------------------------------------------------------ parameters
def lower_gamma(a, x):
    """The regularised integral by its series of positive terms (DLMF 8.7.1)."""
    term = total = 1 / a
    k = 0
    while term > total * mp.eps:
        k += 1
        term = term * x / (a + k)
        total += term
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a)) * total


def lower_beta(a, b, x):
    """The regularised integral by its series of positive terms (DLMF 8.17.8)."""
    if x > 0.5:
        return 1 - lower_beta(b, a, 1 - x)
    term = total = mp.mpf(1)
    k = 0
    while term > total * mp.eps:
        term = term * (a + b + k) / (a + 1 + k) * x
        total += term
        k += 1
    lead = a * mp.log(x) + b * mp.log1p(-x) - mp.log(a)
    return mp.exp(lead + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)) * total


SHAPES = [1e-6, 1e-3, 0.1, 1.0, 2.5, 9.0, 100.0, 1e4]


@pytest.mark.parametrize("a", some(SHAPES, lambda _, a: a in (0.1, 100.0)))
def test_gammainc_by_its_parameter(a):
    points = [1e-6, 0.1, 0.99, 1.01, 3.0, 20.0, 0.5 * a, 0.98 * a, a, 1.02 * a, 1.5 * a]
    wrong = []
    for x in points:
        with mp.workdps(340):
            exact = slope_of(lambda s, x=x: lower_gamma(s, mp.mpf(x)), a)
        found = gammainc_by_a(a, x)
        if abs(exact) > 1e-280 and not abs(found - exact) < 2e-13 * abs(exact):
            wrong.append((x, found, float(exact)))

    assert wrong == []


@pytest.mark.parametrize(
    "shapes", some(list(itertools.combinations_with_replacement(SHAPES[:7], 2)),
                   lambda _, ab: ab in ((0.1, 2.5), (2.5, 100.0))),
)  # fmt: skip
def test_betainc_by_its_parameters(shapes):
    wrong = []
    for a, b in {shapes, shapes[::-1]}:
        mean = a / (a + b)
        for x in {1e-6, 0.1, 0.29, 0.31, 0.8, 1 - 2.0**-20, 0.9 * mean, mean} - {1.0}:
            with mp.workdps(340):
                by_a = slope_of(lambda s, b=b, x=x: lower_beta(s, mp.mpf(b), mp.mpf(x)), a)
                by_b = slope_of(lambda s, a=a, x=x: lower_beta(mp.mpf(a), s, mp.mpf(x)), b)
            for exact, found in ((by_a, betainc_by_a(a, b, x)), (by_b, betainc_by_b(a, b, x))):
                if abs(exact) > 1e-270 and not abs(found - exact) < 1e-12 * abs(exact):
                    wrong.append((a, b, x, found, float(exact)))

    assert wrong == []


@pytest.mark.parametrize("b", [1e-12, 1e-6, 0.1, 1.0, 7.0, 1e4])
@pytest.mark.parametrize("a", [1e-6, 0.1, 3.0, 1e4])
def test_the_slope_of_betaln_does_not_cancel(a, b):
    (found, _) = cotangents(special.betaln, (a, b), {}, 1.0)

    with mp.workdps(60):
        exact = mp.digamma(mp.mpf(a)) - mp.digamma(mp.mpf(a) + mp.mpf(b))
    assert abs(found - exact) < 4e-15 * abs(exact)


@pytest.mark.parametrize("target", [special.jv, special.iv, special.kv, special.yv], ids=spelling)
@pytest.mark.parametrize("order", [0.0, 0.3, 2.5, 7.0])
def test_bessel_functions_of_any_order(target, order):
    names = {special.jv: mp.besselj, special.iv: mp.besseli, special.kv: mp.besselk,
             special.yv: mp.bessely}  # fmt: skip
    for x in (0.2, 1.0, 4.0, 12.0):
        found = cotangents(target, (order, x), {}, 1.0)[1]
        with mp.workdps(60):
            exact = slope_of(lambda z: names[target](mp.mpf(order), z), x)
        assert math.isclose(found, float(exact), rel_tol=1e-12)
