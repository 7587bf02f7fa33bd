"""Jacobians without a direction, of functions that take one direction after the other.

That there is no direction is not known at compile time: the length of the result is not.
"""

import numpy as np
import pytest
import scipy.linalg

import srcad


def lu_solve(b):
    return scipy.linalg.lu_solve(scipy.linalg.lu_factor(np.eye(2)), b)


def solve_triangular(b):
    return scipy.linalg.solve_triangular(np.eye(2) + 1.0, b)


def solve(b):
    return scipy.linalg.solve(np.eye(2) + 1.0, b)


def pinv(b):
    return scipy.linalg.pinv(b)


def cosm_of_square(b):
    return scipy.linalg.cosm(b.T @ b)


def in_helper(b):
    def helper(c):
        return scipy.linalg.solve_triangular(np.eye(2), c * c) * 2.0

    return helper(b) * helper(b)


@pytest.mark.parametrize(
    "function", [lu_solve, solve_triangular, solve, pinv, cosm_of_square, in_helper]
)
def test_reverse_jacobian_of_empty_result_is_empty(function):
    b = np.zeros((2, 0))
    found = srcad.jacrev(function)(b)
    assert found.shape == np.shape(function(b)) + b.shape
    assert found.dtype == np.float64


def pair(b, c):
    return scipy.linalg.solve_triangular(np.eye(2), b), c * 2.0


def test_reverse_jacobian_of_tuple_of_empty_results():
    b, c = np.zeros((2, 0)), np.zeros(0)
    by_argument = srcad.jacrev(pair, wrt=(0, 1))(b, c)
    shapes = [[np.shape(block) for block in blocks] for blocks in by_argument]
    assert shapes == [[(2, 0, 2, 0), (0, 2, 0)], [(2, 0, 0), (0, 0)]]


@pytest.mark.parametrize("mode", [srcad.jacrev, srcad.jacfwd, srcad.hessian])
def test_jacobian_in_chunks_without_directions_is_empty(mode):
    def function(b):
        y = scipy.linalg.solve_triangular(np.eye(2), b)
        return np.sum(y * y) if mode is srcad.hessian else y

    b = np.zeros((2, 0))
    assert mode(function, chunk_size=2)(b).shape == (2, 0, 2, 0)


def test_reverse_jacobian_of_result_of_unknown_length_is_right():
    b = np.array([[0.5, 0.2], [1.5, 0.7]])
    a = np.eye(2) + 1.0
    wanted = np.einsum("ij,kl->ikjl", np.linalg.inv(np.triu(a)), np.eye(2))
    for options in ({}, {"chunk_size": 3}):
        found = srcad.jacrev(solve_triangular, **options)(b)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert srcad.jacrev(solve_triangular, **options)(np.zeros((2, 0))).shape == (2, 0, 2, 0)


def columns_kept(x, n):
    return scipy.linalg.solve_triangular(np.eye(2), np.outer(x, x)[:, :n] * x[0])


def test_reverse_jacobian_of_result_that_is_empty_in_a_later_call():
    x = np.array([0.6, 1.1])
    jacobian = srcad.jacrev(columns_kept)
    assert jacobian(x, 2).shape == (2, 2, 2)
    assert jacobian(x, 0).shape == (2, 0, 2)
    outer = np.array([[3 * 0.36, 0.0], [2 * 0.66, 0.36]])
    np.testing.assert_allclose(jacobian(x, 1)[:, 0], outer, rtol=1e-12)


@pytest.mark.parametrize("times", [4, 5])
def test_reverse_jacobian_of_derivative_of_polynomial_of_low_degree_is_empty(times):
    found = srcad.jacrev(lambda p: np.polyder(p * p, times))(np.array([1.0, 2.0, 0.5]))
    assert found.shape == (0, 3)


def test_reverse_jacobian_that_counts_entries_of_empty_rows_is_empty():
    def f(m):
        rows = m[:0] * np.size(m * m)
        return rows * np.size(rows)

    assert srcad.jacrev(f)(np.ones((2, 3))).shape == (0, 3, 2, 3)
