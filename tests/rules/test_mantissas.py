"""Mantissas and exponents."""

import math

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.array([[0.7, -1.1], [5.4, 1e-9]])


def mantissas(x):
    mantissa, exponent = np.frexp(x)
    return np.sum(np.sin(mantissa) * exponent)


def of_one_result(x):
    return np.sum(np.frexp(np.exp(x))[0] ** 2)


@pytest.mark.parametrize("f", [mantissas, of_one_result])
def test_mantissa_has_the_derivative_between_powers_of_two(f):
    check_grads(f, (X[:, 0],), order=2)


def test_mantissa_of_float32_has_a_slope_of_float32():
    given = np.array([0.0, 3.0, -0.3], np.float32)

    gradient = srcad.grad(lambda x: np.sum(np.frexp(x)[0]))(given)

    assert gradient.dtype == np.float32
    assert gradient.tolist() == [1, 0.25, 2]


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobian_of_mantissas_has_no_loop(mode):
    made = srcad.jacobian(lambda x: np.frexp(x)[0], mode=mode)

    assert made(X[:, 0]).tolist() == [[1, 0], [0, 0.125]]
    assert "for " not in made.source


def of_a_number(x):
    mantissa, exponent = math.frexp(7 * x)
    return mantissa**2 * exponent


@pytest.mark.parametrize("x", [0.3, -5.1])
def test_mantissa_of_a_number_is_a_number(x):
    check_grads(of_a_number, (x,), order=2)
    assert type(srcad.grad(of_a_number)(x)) is float
