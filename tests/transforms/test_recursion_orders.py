"""Derivatives of high order of functions that call themselves, and their infinite slopes."""

import numpy as np
import pytest

from srcad import grad, jvp


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def total(x, n):
    if n == 0:
        return np.sum(np.exp(x))
    return total(x * x, n - 1) + np.sum(x[0] * x)


def total_by_a_loop(x, n):
    result = 0.0
    for _ in range(n):
        result += np.sum(x[0] * x)
        x = x * x
    return result + np.sum(np.exp(x))


def logarithm(x, n):
    if n == 0:
        return np.log(x)
    return x + logarithm(x, n - 1)


def test_missing_branch_residual_is_zero_in_fourth_derivative():
    """It failed: what a recursion saves is a tuple, and was added to as a list is."""
    fourth = grad(grad(grad(grad(power))))

    assert fourth(0.7, 4) == pytest.approx(24.0)


def test_missing_nested_primal_residual_is_zero_in_third_derivative():
    """It failed: None was added to None where the inner primal had returned it."""

    def along(function):
        return lambda t: function(t * np.array([1.0, 0.5]), 2)

    by_recursion, by_a_loop = along(total), along(total_by_a_loop)

    third = grad(grad(grad(by_recursion)))(0.7)

    assert third == pytest.approx(grad(grad(grad(by_a_loop)))(0.7), rel=1e-12)


def test_infinite_slope_returned_without_error():
    """It raised ZeroDivisionError: the seed of a NumPy result is a number of Python's."""
    with np.errstate(divide="ignore"):
        assert grad(logarithm)(0.0, 2) == np.inf
        assert jvp(logarithm, (0.0, 2), (1.0, None))[1] == np.inf
