"""Values beside the points of `np.interp`, and a last point that is nan."""

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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["x", "xp", "fp"])
def test_last_point_that_is_nan_leaves_derivative_of_intervals_before_it(place):
    def f(x, xp, fp):
        return np.sum(np.interp(x, xp, fp) ** 2)

    args = {"x": np.array([0.3, 2.0, 0.9]), "xp": np.append(POINTS[:3], np.nan), "fp": POINTS[::-1]}

    def with_argument(value):
        return f(**{**args, place: value})

    assert_gradient(srcad.gradient, with_argument, args[place])
