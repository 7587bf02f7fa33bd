"""Reverse Jacobians of loops and branches over complex numbers and narrow floats."""

import numpy as np
import pytest

import srcad

X = np.array([0.6, 1.1])


def power(x):
    c = 1j * x[1]
    z = 1 + 0j
    for _ in range(2):
        z = z * c
    return np.array([z.real, x[0]])


def product(x):
    c = 1j * x[1]
    z = 1 + 0j
    for _ in range(2):
        z = z * c
    return z.real * x[0]


def in_a_branch(x):
    c = 1j * x[1]
    z = 1 + 0j
    for k in range(3):
        if k > x[0]:
            z = z * c
    return np.array([z.real, z.imag])


def while_small(x):
    c = x[0] + 1j * x[1]
    z, k = 1 + 0j, 0
    while k < 3:
        z = z * c
        k = k + 1
    return np.array([z.real, z.imag, x[0]])


def differences(f, x, step=1e-6):
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("f", [power, in_a_branch, while_small])
def test_reverse_jacobian_of_loop_over_complex_numbers(f):
    np.testing.assert_allclose(srcad.jacrev(f)(X), differences(f, X), atol=1e-8)


def test_reverse_jacobian_of_gradient_of_loop_over_complex_numbers():
    second = srcad.jacobian(srcad.grad(product), mode="rev")(X)

    np.testing.assert_allclose(second, [[0.0, -2.2], [-2.2, -1.2]], rtol=1e-14)


def test_reverse_jacobian_of_loop_over_narrow_floats_keeps_dtype():
    def f(x):
        z = np.float32(1.0)
        for _ in range(2):
            z = z * x[1]
        return np.array([z, x[0]])

    found = srcad.jacrev(f)(X.astype(np.float32))

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0.0, 2.2], [1.0, 0.0]], rtol=1e-6)
