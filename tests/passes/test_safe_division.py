"""No division of the reverse half raises what the primal did not raise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.transforms.checking import gradient, shown


def test_a_division_that_the_primal_did_itself_is_left_alone():
    def f(x):
        return 2.0 / x

    assert "float64" not in shown(f, 3.0)


def test_a_division_of_the_primal_in_a_loop_is_left_alone():
    def f(a, n):
        x = a
        for _ in range(n):
            x = 0.5 * (x + a / x)
        return x

    assert "float64" not in shown(f, 3.0, 4, wrt=(0,))


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x**0.5, 0.0, np.inf),
        (lambda x: math.sqrt(x), 0.0, np.inf),
        (lambda x: math.asin(x), 1.0, np.inf),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_an_infinite_slope_is_inf(f, x, expected):
    (found,) = gradient(f, x)

    assert found == expected
    assert type(found) is float
