"""Stores of the adjoint: what is added to zeros is assigned, and a minus is subtracted."""

from __future__ import annotations

import numpy as np

import srcad
from srcad.testing import check_grads

X = np.array([0.4, -0.3, 0.9, 1.2])


def scaled_in_place(x):
    y = x * 1.0
    for k in range(1, 4):
        y[k] /= y[k - 1] + 2.0
        y[k] -= np.dot(y[:k], y[:k])
    return np.sum(y * y)


def test_the_gradient_of_stores_is_right():
    check_grads(scaled_in_place, (X,))


def test_add_to_zeroed_entry_emitted_as_assignment():
    source = srcad.grad(scaled_in_place).inspect(X).adjoint_source

    assert "= 0.0" not in source


def test_negated_addition_emitted_as_subtraction():
    source = srcad.grad(scaled_in_place).inspect(X).adjoint_source

    assert "y_bar[:k] -= 2.0 * " in source
    assert "+= -" not in source
