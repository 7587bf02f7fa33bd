"""Reverse Jacobians of gradients of loops that keep a list of numbers or arrays for later.

The cotangent of such a list may be missing on one path, or be the sum of two; it has the axis of
the directions in its items, not in front.
"""

import numpy as np
import pytest

import srcad

X = np.array([0.7, -0.4, 1.3])
ROWS = np.array([[0.7, -0.4], [1.3, 0.2], [0.5, 0.9]])


def expression_beside_array(x):
    t, y = np.zeros(2), 0.0
    for a, b in zip(x, (v + t[0] for v in x), strict=True):
        t[0] += a
        y = y + b * b
    return y


def expression_of_products(x):
    t, y = np.ones(2), 0.0
    for a, b in zip(x, (v * t[1] for v in x), strict=True):
        t[1] += a * a
        y = y + np.sin(b) * a
    return y


def map_beside_array(x):
    t, y = np.ones(2), 0.0
    for a, b in zip(x, map(lambda v: v * t[0], x), strict=True):
        t[0] += a
        y = y + b**3
    return y


def rows_beside_rows(x):
    t, y = np.ones(2), 0.0
    for a, b in zip(x, (v * t for v in x), strict=True):
        t += a
        y = y + np.sum(b * b)
    return y


CASES = [
    (expression_beside_array, X),
    (expression_beside_array, np.array([0.7, -0.4, 1.3, 0.2, 0.6])),
    (expression_of_products, X),
    (map_beside_array, X),
    (rows_beside_rows, ROWS),
]


def curvature(f, x, h=1e-4):
    """The Hessian by differences of gradients, which are checked by differences of values."""
    gradient = srcad.grad(f)
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    slopes = np.array([(f(x + d) - f(x - d)) / (2 * h) for d in steps])
    np.testing.assert_allclose(gradient(x).ravel(), slopes, rtol=1e-5, atol=1e-6)
    rows = [(gradient(x + d) - gradient(x - d)) / (2 * h) for d in steps]
    return np.array(rows).reshape(x.shape * 2)


@pytest.mark.parametrize(("f", "x"), CASES)
def test_reverse_jacobian_of_gradient_with_saved_list_matches_differences(f, x):
    wanted = curvature(f, x)

    found = srcad.jacrev(srcad.grad(f))(x)

    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
