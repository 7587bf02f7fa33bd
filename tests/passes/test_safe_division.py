"""No division of the reverse half raises what the primal did not raise."""

from __future__ import annotations

import math

import numpy as np
import pytest

import srcad
from srcad.calling import cache
from tests.transforms.checking import gradient, shown


def test_primal_division_not_guarded():
    def f(x):
        return 2.0 / x

    assert "float64" not in shown(f, 3.0)


def test_primal_division_in_loop_not_guarded():
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


def test_guarded_division_of_array_of_unknown_shape(monkeypatch):
    # The dividend in the reverse half was said to be a scalar, so that the derivative of the
    # quotient was not summed: code for lengths of any kind, taken from the ninth pattern on.
    def f(a, x):
        for _ in range(2):
            a = np.log1p(np.sin(np.sum(np.negative(x) / (1.5 + a * a))) ** 2)
        return a

    def slope(a, x, v):
        return srcad.jvp(f, (a, x), v)[1]

    x, v, h = np.array([0.3, -0.7, 0.4]), (1.1, np.array([0.2, 0.5, -0.9])), 1e-5
    monkeypatch.setattr(cache, "MOST_PATTERNS", 0)

    found = srcad.grad(slope)(0.7, x, v)

    assert found == pytest.approx((slope(0.7 + h, x, v) - slope(0.7 - h, x, v)) / (2 * h))
