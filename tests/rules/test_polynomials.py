"""Fits of deficient rank, polynomials at a number, and sums with no coefficients."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev, legendre, polynomial

from srcad import grad, hvp, jvp
from tests.marks import some


@pytest.mark.filterwarnings("ignore:Polyfit may be poorly conditioned")
@pytest.mark.parametrize(("x", "degree"), [([1.0, 1, 1], 1), ([0.0, 1, 2], 3), ([2.0, 2, 5, 5], 2)])
def test_derivative_of_fit_of_deficient_rank_is_nan(x, degree):
    def f(x, y):
        return np.sum(np.polyfit(x, y, degree))

    x_bar, y_bar = grad(f, wrt=(0, 1))(np.array(x), np.arange(1.0, 1 + len(x)))

    assert np.isnan(x_bar).all()
    assert np.isnan(y_bar).all()


def test_rcond_tells_deficient_rank_of_fit():
    def f(y):
        return np.sum(np.polyfit(np.array([0.0, 1.0, 3.0]), y, 1, rcond=0.9))

    with pytest.warns(match="poorly conditioned"):
        assert np.isnan(grad(f)(np.array([1.0, 2.0, 4.0]))).all()


def test_second_derivative_of_fit_with_equal_singular_values():
    """The columns ``x`` and 1 are orthogonal, and scaled to length 1."""

    def f(x):
        return np.sum(np.polyfit(x, np.array([1.0, 2.0, 4.0]), 1))

    x, v, step = np.array([-1.0, 0.0, 1.0]), np.array([0.3, -0.2, 0.5]), 1e-5
    slope = (grad(f)(x + step * v) - grad(f)(x - step * v)) / (2 * step)

    assert np.allclose(hvp(f)(x, v=v), slope, atol=1e-8)


@pytest.mark.parametrize("x", [0.3, np.float64(0.3), np.float32(0.3), np.array(0.3)])
def test_polynomial_at_number(x):
    def highest_first(c, x):
        return np.polyval(c, x)

    def lowest_first(c, x):
        return polynomial.polyval(x, c)

    def of_chebyshev(c, x):
        return chebyshev.chebval(x, c)

    def of_legendre(c, x):
        return legendre.legval(x, c)

    c = np.array([1.0, 2.0, 3.0])
    t = float(x)
    wanted = [
        (highest_first, [t**2, t, 1], 2 * t + 2),
        (lowest_first, [1, t, t**2], 2 + 6 * t),
        (of_chebyshev, [1, t, 2 * t**2 - 1], 2 + 12 * t),
        (of_legendre, [1, t, 1.5 * t**2 - 0.5], 2 + 9 * t),
    ]
    for f, coefficients, slope in wanted:
        c_bar, x_bar = grad(f, wrt=(0, 1))(c, x)
        assert np.allclose(c_bar, coefficients)
        assert np.isclose(x_bar, slope)


def test_sum_of_no_coefficients_and_number():
    def f(c, x):
        return np.sum(np.polyadd(c, x) ** 2 + np.polysub(c, x))

    c_bar, x_bar = grad(f, wrt=(0, 1))(np.array([]), 0.5)

    assert c_bar.shape == (0,)
    assert x_bar == 0


def largest_real_root(p):
    z = np.roots(p)
    return max(z[np.isreal(z)].real)


CUBIC = np.array([1.0, -6.0, 11.0, -6.1])
WITH_PAIRS = np.array([1.0, 0.3, 2.0, -0.7, 1.5])


OF_ROOTS = [
    (largest_real_root, CUBIC),
    (lambda p: np.sort(np.roots(p).real)[0], CUBIC),
    (lambda p: np.max(np.abs(np.roots(p))), WITH_PAIRS),
    (lambda p: np.sum(np.roots(p).imag ** 2 + np.roots(p).real ** 3), WITH_PAIRS),
    (lambda p: np.sum(np.roots(p) ** 2).real, np.array([1.0, -3.0, 2.0, 0.0])),
    (lambda p: np.sum(np.abs(polynomial.polyroots(p)) ** 3), WITH_PAIRS),
    (lambda p: np.sum(np.abs(legendre.legroots(p)) ** 3), WITH_PAIRS),
    (lambda p: np.sum(np.abs(np.polynomial.Chebyshev(p, [0, 3]).roots()) ** 3), WITH_PAIRS),
    (lambda p: np.sum(np.abs(np.poly1d(p).roots) ** 3), WITH_PAIRS),
]


@pytest.mark.parametrize("case", some(OF_ROOTS, lambda k, _: k in (0, 3, 7)))
def test_roots_of_real_coefficients(case):
    f, p = case
    step = 1e-5
    sides = [(f(p + step * e) - f(p - step * e)) / (2 * step) for e in np.eye(p.size)]

    gradient = grad(f)(p)

    np.testing.assert_allclose(gradient, sides, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("case", some(OF_ROOTS, 0))
def test_tangent_and_second_derivative_of_roots(case):
    f, p = case
    step, d = 1e-5, np.arange(1.0, 1 + p.size)
    change = (grad(f)(p + step * d) - grad(f)(p - step * d)) / (2 * step)

    np.testing.assert_allclose(jvp(f, (p,), (d,))[1], grad(f)(p) @ d, rtol=1e-9)
    np.testing.assert_allclose(hvp(f)(p, v=d), change, rtol=1e-4, atol=1e-6)


def test_roots_of_powers_of_a_variable_move_as_the_roots_do():
    """The roots of ``(x - a) (x - 2) (x + 3)`` have the sum of squares ``a**2 + 13``."""

    def f(a):
        return np.sum(np.roots(np.poly(np.stack((a, 2.0, -3.0)))) ** 2)

    assert np.isclose(grad(f)(0.7), 1.4)
