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


def by_numbers(product):
    """Return the sum of a product of each entry's magnitude with itself."""
    return lambda x: sum(np.sum(product(abs(v), abs(v))) for v in x)


EVEN |= {
    "np.multiply": (lambda x: np.sum(np.multiply(np.abs(x), np.abs(x))), 2 + 0 * X),
    "np.matmul": (lambda x: np.matmul(np.abs(x), np.abs(x)), 2 + 0 * X),
    "np.linalg.matmul": (lambda x: np.linalg.matmul(np.abs(x), np.abs(x)), 2 + 0 * X),
    "np.dot": (lambda x: np.dot(np.abs(x), np.abs(x)), 2 + 0 * X),
    "method dot": (lambda x: np.abs(x).dot(np.abs(x)), 2 + 0 * X),
    "np.vdot": (lambda x: np.vdot(np.abs(x), np.abs(x)), 2 + 0 * X),
    "np.inner": (lambda x: np.inner(np.abs(x), np.abs(x)), 2 + 0 * X),
    "np.vecdot": (lambda x: np.vecdot(np.abs(x), np.abs(x)), 2 + 0 * X),
    "np.linalg.vecdot": (lambda x: np.linalg.vecdot(np.abs(x), np.abs(x), axis=0), 2 + 0 * X),
    "np.tensordot": (lambda x: np.tensordot(np.abs(x), np.abs(x), 1), 2 + 0 * X),
    "axes as lists": (
        lambda x: np.tensordot(np.abs(x), np.abs(x), axes=([0], [0])), 2 + 0 * X,
    ),
    "np.einsum": (lambda x: np.einsum("i,i->", np.abs(x), np.abs(x)), 2 + 0 * X),
    "einsum with weights": (
        lambda x: np.einsum("i,i,i->", np.abs(x), np.arange(4.0), np.abs(x)), 2 * np.arange(4.0),
    ),
    "np.correlate": (lambda x: np.correlate(np.abs(x), np.abs(x))[0], 2 + 0 * X),
    "np.outer of numbers": (by_numbers(np.outer), 2 + 0 * X),
    "np.kron of numbers": (by_numbers(np.kron), 2 + 0 * X),
    "np.inner of numbers": (by_numbers(np.inner), 2 + 0 * X),
}  # fmt: skip
M = np.array([[0.7, -2.0], [3.0, -0.4]])
W = np.array([[1.0, 10.0], [100.0, 1000.0]])
# Entries are multiplied with others too, so that signs count.
MIXED = {
    "operator": lambda x: np.sum(W * (np.abs(x) @ np.abs(x))),
    "np.matmul": lambda x: np.sum(W * np.matmul(np.abs(x), np.abs(x))),
    "np.linalg.matmul": lambda x: np.sum(W * np.linalg.matmul(np.abs(x), np.abs(x))),
    "np.dot": lambda x: np.sum(W * np.dot(np.abs(x), np.abs(x))),
    "np.inner": lambda x: np.sum(W * np.inner(np.abs(x), np.abs(x))),
    "np.outer": lambda x: np.sum(W * np.outer(np.abs(x[0]), np.abs(x[0]))),
    "np.kron": lambda x: np.sum(np.kron(W, W) * np.kron(np.abs(x), np.abs(x))),
    "np.einsum": lambda x: np.einsum("ij,jk,ik->", np.abs(x), np.abs(x), W),
    "np.tensordot": lambda x: np.tensordot(np.abs(x), np.abs(x), axes=((0, 1), (1, 0))) * 1.0,
    "np.vecdot": lambda x: np.sum(W[0] * np.vecdot(np.abs(x), np.abs(x))),
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


@pytest.mark.parametrize("name", MIXED)
def test_first_derivative_of_product_of_magnitudes_has_their_signs(name):
    function, step = MIXED[name], 1e-6
    shifts = [step * np.eye(4)[k].reshape(2, 2) for k in range(4)]
    differences = [(function(M + d) - function(M - d)) / (2 * step) for d in shifts]

    gradient = srcad.grad(function)(M)
    tangents = [srcad.jvp(function, (M,), (d / step,))[1] for d in shifts]

    np.testing.assert_allclose(gradient.ravel(), differences, rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(tangents, differences, rtol=1e-6, atol=1e-4)


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
