"""Slopes of integrals by their parameters, compared with `mpmath`, for small and large ones."""

import itertools

import numpy as np
import pytest
from scipy import special

import srcad
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


SHARES = {"log_softmax": special.log_softmax, "softmax": special.softmax}


def exact_softmax_jacobian(name, z):
    """The Jacobian with 50 digits."""
    powers = [mp.exp(mp.mpf(float(one))) for one in z]
    p = [one / sum(powers) for one in powers]
    scale = p if name == "softmax" else [1] * len(p)
    rows = [
        [scale[i] * (int(i == j) - p[j]) if i != j else scale[i] * sum(p[:i] + p[i + 1 :])
         for j in range(len(p))]
        for i in range(len(p))]  # fmt: skip
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize(
    "z", [[37.42994775023705, 0.0], [0.3, 45.0, 1.2], [0.7, 0.1], [2.0, 2.0], [-3.0, 700.0, 0.0]]
)
def test_jacobian_of_shares_does_not_cancel(name, z):
    z = np.array(z)

    for mode in ("fwd", "rev"):
        found = srcad.jacobian(SHARES[name], mode=mode)(z)
        np.testing.assert_allclose(found, exact_softmax_jacobian(name, z), rtol=1e-12)


@pytest.mark.parametrize("name", SHARES)
def test_dominant_entry_in_rows_of_matrix(name):
    z = np.array([[40.0, 0.0, 1.0], [0.2, 0.1, 0.3]])
    seed = np.array([[1.0, 0.0, 0.5], [0.3, -2.0, 0.0]])

    found = srcad.grad(lambda z: np.sum(SHARES[name](z, axis=1) * seed))(z)

    for row, weights, bar in zip(z, seed, found, strict=True):
        np.testing.assert_allclose(bar, weights @ exact_softmax_jacobian(name, row), rtol=1e-12)


@pytest.mark.parametrize("name", SHARES)
def test_second_derivative_by_dominant_entry(name):
    z = np.array([40.0, 0.0])
    small = float(mp.exp(-40))

    found = srcad.hessian(lambda z: SHARES[name](z)[0])(z)

    np.testing.assert_allclose(found, -small * np.array([[1, -1], [-1, 1]]), rtol=1e-12)
