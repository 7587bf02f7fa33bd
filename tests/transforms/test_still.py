"""Roots of products with a factor that is 0 and does not move."""

import numpy as np
import pytest

import srcad

MASK = np.array([0.0, 1.0, 0.0])


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def is_right_or_nan(found, wanted):
    return bool(np.all(np.isnan(found) | np.isclose(found, wanted, rtol=1e-9)))


def test_hessian_of_power_of_masked_product():
    mask = np.array([0.0, 1.0])

    found = srcad.hessian(lambda p: np.sum((mask * p[0]) ** 1.5) + p[1] ** 2)(np.array([0.5, 2.0]))

    np.testing.assert_allclose(found, np.diag([0.75 / np.sqrt(0.5), 2.0]), rtol=1e-14)


def test_hessian_of_root_behind_maximum():
    def closed(p):
        s = max(0.0, p[0] - 5.0)
        return np.sqrt(s * p[1]) * p[0] + p[1] ** 2

    def open_(p):
        return np.sqrt((p[0] - 5.0) * p[1]) * p[0] + p[1] ** 2

    np.testing.assert_array_equal(srcad.hessian(closed)(np.array([1.0, 0.5])), [[0, 0], [0, 2]])
    np.testing.assert_array_equal(srcad.grad(closed)(np.array([1.0, 0.5])), [0, 1])
    at = np.array([6.0, 0.5])
    np.testing.assert_allclose(srcad.hessian(closed)(at), srcad.hessian(open_)(at), rtol=1e-14)


ROOTS = {
    "sqrt": (np.sqrt, lambda x: 0.5 * x**-0.5),
    "cbrt": (np.cbrt, lambda x: x ** (-2 / 3) / 3),
    "power": (lambda x: x**0.25, lambda x: 0.25 * x**-0.75),
}


@pytest.mark.parametrize("name", ROOTS)
def test_derivatives_of_root_of_masked_product(name):
    root, slope = ROOTS[name]
    p = np.array([0.5, 2.0, 0.0])
    wanted = [0, slope(2.0), 0]

    def f(p):
        return np.sum(root(MASK * p))

    np.testing.assert_allclose(srcad.grad(f)(p), wanted, rtol=1e-14)
    np.testing.assert_allclose(srcad.jacobian(f, mode="fwd")(p), wanted, rtol=1e-14)
    assert srcad.jvp(f, (p,), (np.ones(3),))[1] == pytest.approx(slope(2.0), rel=1e-14)


def test_quotient_and_sign_between_product_and_root():
    def f(p):
        return np.sum(np.sqrt(-(MASK * p) / -3.0))

    found = srcad.jvp(f, (np.array([0.5, 3.0, 2.0]),), (np.ones(3),))[1]

    assert found == pytest.approx(0.5 / 3.0, rel=1e-14)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_derivative_by_factor_is_right_or_nan(mode):
    p = np.array([0.5, 2.0, 1.0])
    # The gradient is ``0.5 * sqrt(m / p)``.
    wanted = np.diag([np.inf, 0.25 * 2**-0.5, np.inf])

    def by_gradient(m):
        return srcad.grad(lambda p: np.sum(np.sqrt(m * p)))(p)

    def by_tangent(m):
        return srcad.jvp(lambda p: np.sqrt(m * p), (p,), (np.ones(3),))[1]

    assert is_right_or_nan(srcad.jacobian(by_gradient, mode=mode)(MASK), wanted)
    found = srcad.jacobian(by_tangent, mode=mode)(MASK)
    assert is_right_or_nan(found, wanted)


def test_zero_by_value_is_right_or_nan():
    assert is_right_or_nan(srcad.grad(lambda x: np.sqrt(x * x))(0.0), np.inf)
    assert is_right_or_nan(srcad.jvp(lambda x: np.sqrt(x * x), (0.0,), (1.0,))[1], np.inf)
    assert is_right_or_nan(srcad.jvp(lambda x: np.cbrt(x**3), (0.0,), (1.0,))[1], 1.0)


def test_product_without_root_has_no_test():
    gradient = srcad.grad(lambda p: np.sum(np.sin(MASK * p)))

    gradient(np.ones(3))

    assert "zero_if_still" not in gradient.source


AT_NAN = {
    "factor": lambda p, m: np.sqrt(m * p),
    "factor behind": lambda p, m: np.sqrt(m * 2.0 * p),
    "further factor": lambda p, m: np.sqrt(m * 2.0 * (1.0 / p) * p),
    "divisor": lambda p, m: np.sqrt(m * p / (p - p)),
    "power": lambda p, m: (m * p) ** 0.25,
    "chosen factor": lambda p, m: np.sqrt(max(0.0, m * 2.0 - 1.0) * p),
    "second order": lambda p, m: srcad.grad(lambda p: (m * p) ** 1.5)(p),
}


@pytest.mark.parametrize("point", [np.inf, np.nan])
@pytest.mark.parametrize("name", AT_NAN)
def test_no_derivative_where_the_value_is_nan(name, point):
    f = AT_NAN[name]

    value, gradient = srcad.value_and_grad(f)(point, 0.0)

    assert np.isnan(value)
    assert np.isnan(gradient)
    assert np.isnan(srcad.jvp(f, (point, 0.0), (1.0, None))[1])
