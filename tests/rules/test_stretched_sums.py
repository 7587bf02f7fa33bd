"""Axes of length 1 that meet longer ones in a sum of products."""

import numpy as np
import pytest

from srcad import gradient
from tests.numeric import assert_gradient

ONE, THREE = np.array([2.0]), np.array([1.0, 2.0, 3.0])
COLUMN = np.array([[0.5], [1.5]])

PROGRAMS = {
    "dot": (lambda x, w: np.einsum("i,i->", x, w), ONE, THREE),
    "turned": (lambda x, w: np.einsum("i,i->", x, w), THREE, ONE),
    "entries": (lambda x, w: np.sum(np.einsum("i,i->i", x, w) ** 2), ONE, THREE),
    "matrix": (lambda x, w: np.sum(np.einsum("ij,j->i", x, w) ** 2), COLUMN, THREE),
    "three": (lambda x, w: np.einsum("i,i,i->", x, w, w * x), ONE, THREE),
    "two axes": (lambda x, w: np.einsum("ij,ij->", x, w), COLUMN, np.ones((2, 3)) + 0.1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_broadcast_axis_cotangent_summed(name):
    f, *args = PROGRAMS[name]

    assert_gradient(gradient, f, *args)
    assert [g.shape for g in gradient(f, *args)] == [a.shape for a in args]
