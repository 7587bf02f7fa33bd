"""Slopes of integrals by their parameters, compared with `mpmath`, for small and large ones."""

import itertools

import pytest
from scipy import special

from srcad.rules.scipy.special_incomplete import betainc_by_a, betainc_by_b, gammainc_by_a
from tests.marks import some
from tests.rules.counterparts import lower_beta, lower_gamma, mp
from tests.rules.harness import cotangents


def slope_of(function, x):
    """A difference quotient of many digits."""
    x = mp.mpf(x)
    h = abs(x) * mp.mpf(10) ** -40
    return (function(x + h) - function(x - h)) / (2 * h)


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
