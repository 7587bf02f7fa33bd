"""Bugs that were found by random programs, each as the small program that tells its story."""

from __future__ import annotations

import numpy as np

import srcad
from srcad import testing


def nothing_saved_on_one_path(a, m):
    for _ in range(3):
        if a < 0.82:
            m = np.tanh(m)
        a = m[1, 1]
    return a + np.sum(m)


def test_a_trip_that_has_nothing_to_save_saves_nothing() -> None:
    m = np.array([[0.969, 0.681, 0.75], [0.713, 0.538, 0.411]])

    testing.check_grads(nothing_saved_on_one_path, (0.992, m), wrt=1, order=1)
    assert srcad.grad(nothing_saved_on_one_path, wrt=1)(0.992, m).shape == m.shape


def mean_of_a_list(values):
    return np.mean(values)


def test_the_gradient_of_a_list_of_floats_holds_floats() -> None:
    found = srcad.grad(mean_of_a_list)([0.458, 0.506, 1.23])

    assert [type(g) for g in found] == [float] * 3
    np.testing.assert_allclose(found, 1 / 3)
