"""Derivatives where a NumPy scalar is divided by the Python number 0.0: they do not raise."""

import numpy as np
import pytest

import srcad


def recursion(x, y):
    def divided(a, n):
        return a if n == 0 else divided(a / y, n - 1)

    return divided(x, 3)


def recursion_with_factor(x, y):
    def divided(a, n):
        return a if n == 0 else divided(a / y, n - 1) * x

    return divided(x, 2)


def loop(x, y):
    a = x
    for _ in range(2):
        a = a / y
    return a * x


def quotient(x, y):
    return x / y * x


def powers(x, y):
    return np.sin(x) / y + x * x / y**2


FUNCTIONS = [recursion, recursion_with_factor, loop, quotient, powers]
MODES = {
    "grad": srcad.grad,
    "jacfwd": srcad.jacfwd,
    "jacrev": srcad.jacrev,
    "hessian": srcad.hessian,
    "hessian by both": lambda f: srcad.hessian(f, wrt=(0, 1)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivative_of_division_by_zero_is_not_finite(function, mode):
    with np.errstate(all="ignore"):
        found = MODES[mode](function)(np.float64(0.3), 0.0)

    assert not np.isfinite(np.ravel(found)).all()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_second_derivative_of_division_is_that_of_differences(function):
    x, y, h = np.float64(0.3), 0.7, 1e-4
    wanted = (function(x + h, y) - 2 * function(x, y) + function(x - h, y)) / h**2

    found = srcad.hessian(function)(x, y)

    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert type(found) is np.float64
