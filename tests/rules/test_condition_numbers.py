"""Condition numbers of matrices all of whose singular values are equal."""

import numpy as np
import pytest

import srcad

ROTATION = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
HADAMARD = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])


@pytest.mark.parametrize("p", [None, 2, -2])
@pytest.mark.parametrize(
    "x",
    [np.eye(3), 3.0 * ROTATION, HADAMARD, np.eye(3)[:, :2], np.float32(2) * np.eye(2, dtype="f")],
)
def test_gradient_where_all_singular_values_are_equal_is_zero(x, p):
    """It is the least value that a condition number may have, and equally steep on all sides."""

    def function(x):
        return np.linalg.cond(x, p)

    np.testing.assert_array_equal(srcad.grad(function)(x), np.zeros_like(x))
    assert srcad.jvp(function, (x,), (np.ones_like(x),))[1] == 0.0


def test_gradient_of_stack_is_zero_for_its_orthogonal_matrices_only():
    x = np.stack([ROTATION, np.diag([1.0, 2.0]), np.diag([3.0, 1.0])])

    found = srcad.grad(lambda x: np.sum(np.linalg.cond(x)))(x)

    wanted = [np.zeros((2, 2)), np.diag([-2.0, 1.0]), np.diag([1.0, -3.0])]
    np.testing.assert_allclose(found, wanted, atol=1e-14)


def test_gradient_where_the_greatest_values_are_equal_is_not_zero():
    found = srcad.grad(np.linalg.cond)(np.diag([2.0, 2.0, 1.0]))
    np.testing.assert_allclose(found[2, 2], -2.0, rtol=1e-12)
    np.testing.assert_allclose(np.trace(found[:2, :2]), 1.0, rtol=1e-12)


BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))


@pytest.mark.parametrize("signs", [(1, 1, 1), (1, -1, 1), (-1, -1, -1)])
def test_gradient_where_singular_values_are_equal_up_to_rounding_of_float32_is_zero(signs):
    x = np.diag([np.float32(1), BELOW_ONE, BELOW_ONE] * np.float32(signs))

    found = srcad.grad(np.linalg.cond)(x)

    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.zeros((3, 3)))
