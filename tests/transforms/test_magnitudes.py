"""Even functions of a magnitude have all derivatives of that function of the number itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

import srcad
from srcad.ir.text import text
from tests.transforms.checking import derived

X = np.array([0.0, 0.3, -0.4, -0.0])


def of_shared_magnitude(x):
    size = np.abs(x)
    return np.sum(size**2 + size**4)


def of_local_exponent(x):
    exponent = 2
    return np.sum(np.abs(x) ** exponent)


def of_overwritten(x):
    y = x.copy()
    total = 0.0
    for k in range(4):
        size = np.abs(y)
        y[k] = 2 * x[k]
        total = total + np.sum(size**2)
    return total


# The second derivative of each is known.
EVEN = {
    "operator": (lambda x: np.sum(np.abs(x) ** 2), 2 + 0 * X),
    "float exponent": (lambda x: np.sum(np.abs(x) ** 2.0), 2 + 0 * X),
    "fourth power": (lambda x: np.sum(np.abs(x) ** 4), 12 * X**2),
    "abs and power": (lambda x: np.sum(np.power(abs(x), 2)), 2 + 0 * X),
    "square": (lambda x: np.sum(np.square(np.abs(x))), 2 + 0 * X),
    "fabs": (lambda x: np.sum(np.fabs(x) ** 2), 2 + 0 * X),
    "itself": (lambda x: np.sum(np.abs(x) * np.abs(x)), 2 + 0 * X),
    "dot": (lambda x: np.abs(x) @ np.abs(x), 2 + 0 * X),
    "cos": (lambda x: np.sum(np.cos(np.abs(x))), -np.cos(X)),
    "cosh": (lambda x: np.sum(np.cosh(np.absolute(x))), np.cosh(X)),
    "hypot": (lambda x: np.sum(np.hypot(np.abs(x), 1.0)), (1 + X**2) ** -1.5),
    "twice": (lambda x: np.sum(np.abs(np.abs(x)) ** 2), 2 + 0 * X),
    "shared": (of_shared_magnitude, 2 + 12 * X**2),
    "local exponent": (of_local_exponent, 2 + 0 * X),
    "in a loop": (lambda x: sum(math.fabs(v) ** 2 for v in x), 2 + 0 * X),
}

SECOND = {
    "hessian": lambda f: srcad.hessian(f)(X),
    "forward": lambda f: srcad.jacobian(srcad.grad(f), mode="fwd")(X),
    "reverse": lambda f: srcad.jacobian(srcad.grad(f), mode="rev")(X),
    "jvp": lambda f: np.diag(srcad.jvp(srcad.grad(f), (X,), (np.ones(4),))[1]),
    "hvp": lambda f: np.diag(srcad.hvp(f)(X, np.ones(4))),
}


@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("name", EVEN)
def test_second_derivative_of_even_function_of_magnitude_is_that_of_number(name, mode):
    function, expected = EVEN[name]

    found = SECOND[mode](function)

    np.testing.assert_allclose(found, np.diag(expected), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", EVEN)
def test_value_of_even_function_of_magnitude_is_that_of_the_plain_call(name):
    function, _ = EVEN[name]
    x = np.random.default_rng(3).standard_normal(4) * 10

    value, _ = srcad.value_and_grad(function)(x)

    assert value == function(x)


def test_fourth_derivative_of_fourth_power_of_magnitude_is_24():
    third = srcad.grad(srcad.grad(srcad.grad(lambda x: abs(x) ** 4)))

    assert srcad.grad(third)(0.0) == 24


def test_tangent_of_tangent_of_squared_magnitude_is_that_of_the_square():
    def slope(x):
        return srcad.jvp(lambda v: np.abs(v) ** 2, (x,), (1.0,))[1]

    assert srcad.jvp(slope, (0.0,), (1.0,))[1] == 2


def test_overwritten_array_under_magnitude_has_right_second_derivative():
    # Entry k is read k + 1 times as it was and 3 - k times doubled.
    expected = [2 * (k + 1) + 8 * (3 - k) for k in range(4)]

    found = srcad.hessian(of_overwritten)(X)

    np.testing.assert_allclose(found, np.diag(expected), rtol=1e-14)


def test_odd_power_of_magnitude_keeps_the_chain_rule():
    found = srcad.hessian(lambda x: np.sum(np.abs(x) ** 3))(X)

    np.testing.assert_allclose(np.diag(found), 6 * np.abs(X), rtol=1e-14)


def test_complex_magnitude_keeps_its_derivative():
    z = np.array([0.3 + 1j, 0.2 - 2j])

    found = srcad.grad(lambda z: np.sum(np.abs(z) ** 2))(z)

    np.testing.assert_allclose(found, 2 * z, rtol=1e-15)


def test_gradient_of_squared_magnitude_takes_no_sign():
    assert "sign" not in text(derived(lambda x: np.sum(np.abs(x) ** 2), X))
