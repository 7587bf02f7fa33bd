"""Reverse Jacobians of programs with an inner Hessian that takes one direction after the other.

In a loop around ``solve`` the shape of the argument is unknown; the rows of the inner sweep are of
an unknown type, and have an axis of the outer directions in front.
"""

import numpy as np
import pytest

import srcad
from srcad import hessian

X = np.array([[0.5, -1.0, 0.3], [1.2, 0.4, -0.8], [-0.6, 0.9, 1.1], [0.2, 0.1, -1.3]])


def squares(w, v, s):
    return s * np.sum(w * w) + np.sum(v * v)


def cubes(w, v, s):
    return s * np.sum(w**3) + np.sum(w * v**2) * s


def sines(w, v, s):
    return np.sum(np.sin(X @ w)) * s + np.sum(w * v)


def steps_with(loss):
    def steps(s):
        w, v = np.ones(3), np.full(3, 0.1)
        for _ in range(2):
            (rows, _), _ = hessian(loss, wrt=(0, 1))(w, v, s)
            w = w - 0.1 * np.linalg.solve(rows + 3.0 * np.eye(3), w)
        return w

    return steps


@pytest.mark.parametrize("loss", [squares, cubes, sines])
def test_reverse_jacobian_of_inner_hessian_by_two_arrays(loss):
    function, h = steps_with(loss), 1e-5
    wanted = (function(0.3 + h) - function(0.3 - h)) / (2 * h)

    found = srcad.jacrev(function)(0.3)

    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)
