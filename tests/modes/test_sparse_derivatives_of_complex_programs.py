"""Sparse derivatives of real functions with complex intermediate values."""

import numpy as np
import pytest

import srcad

X = np.array([0.3, 1.1, -0.4, 0.9])


def antennas(x):
    steering = np.exp(1j * np.outer(np.linspace(-0.5, 0.5, 5), np.arange(4.0)))
    return np.sum(np.abs(steering @ np.exp(1j * x)) ** 2)


def imaginary_parts(x):
    z = np.exp(1j * x * x)
    return np.sum(z.imag * np.arange(1.0, 5.0))


def neighbours(x):
    z = np.exp(1j * x[1:] * x[:-1])
    return np.sum(np.imag(z * z) + np.real(z))


@pytest.mark.parametrize("function", [antennas, imaginary_parts, neighbours])
def test_sparse_hessian_of_complex_program_is_that_of_differences(function):
    steps = 1e-4 * np.eye(4)
    wanted = [
        [
            (function(X + a + b) - function(X + a - b) - function(X - a + b) + function(X - a - b))
            / 4e-8
            for a in steps
        ]
        for b in steps
    ]

    found = srcad.hessian(function, sparse=True)(X)

    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-5, atol=1e-5)


def test_sparse_hessian_of_imaginary_parts_is_diagonal():
    found = srcad.hessian(imaginary_parts, sparse=True)(X)

    assert found.nnz == 4


def test_sparse_jacobian_of_imaginary_parts_has_their_pattern():
    def parts(x):
        z = np.exp(1j * x[1:] * x[:-1])
        return np.imag(z)

    found = srcad.jacobian(parts, sparse=True)(X)

    wanted = np.cos(X[1:] * X[:-1])[:, None] * (np.eye(4)[1:] * X[:-1, None])
    wanted += np.cos(X[1:] * X[:-1])[:, None] * (np.eye(4)[:-1] * X[1:, None])
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-12)
    assert found.nnz == 6
