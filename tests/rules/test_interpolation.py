"""Values beside the points of `np.interp`: the ends own them unless they are given."""

import numpy as np
import pytest

import srcad
from tests.numeric import assert_gradient

POINTS = np.array([0.0, 1.0, 2.5, 4.0])
BESIDE = np.array([-1.0, 0.3, 2.0, 5.0])
ENDS = {
    "left": lambda v: np.interp(BESIDE, POINTS, v, left=0.3),
    "right": lambda v: np.interp(BESIDE, POINTS, v, right=0.3),
    "both": lambda v: np.interp(BESIDE, POINTS, v, 0.2, 0.5),
}


@pytest.mark.parametrize("name", ENDS)
def test_value_beside_points_belongs_to_end_unless_given(name):
    v = np.array([0.7, -1.1, 0.4, 1.9])

    assert_gradient(srcad.gradient, lambda v: np.sum(ENDS[name](v) ** 2), v)
