"""Derivatives at infinite points, where distribution functions and their limits are constant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import srcad
from srcad.rules.registry import rows
from tests.marks import some_by_name

SHAPES = {
    "truncnorm": (-1.5, 2.0), "betabinom": (5, 1.3, 2.1), "nbinom": (3, 0.4), "binom": (5, 0.4),
    "bernoulli": (0.4,), "geom": (0.4,), "vonmises": (1.2,), "wrapcauchy": (0.4,),
    "triang": (0.6,), "genpareto": (0.2,), "genextreme": (0.2,),
}  # fmt: skip
METHODS = ("cdf", "sf", "logcdf", "logsf")


def methods() -> dict[str, Any]:
    """The distribution functions with rules, by the name of the distribution and their own."""
    targets = [row.target for row in rows()]
    of_distributions = [t for t in targets if getattr(t, "__name__", "") in METHODS]
    return {f"{t.__self__.name}.{t.__name__}": t for t in of_distributions}


FUNCTIONS = methods()


def arguments(distribution: Any) -> tuple[float, ...]:
    """Shapes, location and scale."""
    shapes = SHAPES.get(distribution.name, (1.3, 2.1, 1.7)[: distribution.numargs])
    rest = (0.3, 1.7) if isinstance(distribution, stats.rv_continuous) else (0,)
    return (*shapes, *rest)


@pytest.mark.parametrize("name", some_by_name(FUNCTIONS, 24, 4))
@pytest.mark.parametrize("x", [math.inf, -math.inf])
def test_distribution_function_at_infinity_has_derivative_zero(name, x):
    f = FUNCTIONS[name]
    args = (x, *arguments(f.__self__))
    if not np.isfinite(f(*args)):
        return
    try:
        bars = srcad.pullback(f, *args)[1](np.float64(1.0))
    except srcad.errors.NotDifferentiableError:  # a shape without a formula
        bars = srcad.pullback(lambda x: f(x, *args[1:]), x)[1](np.float64(1.0))

    assert not np.any([bar for bar in bars if bar is not None])


@pytest.mark.parametrize(
    ("f", "args", "wrt"),
    [
        (special.gammainc, (math.inf, 0.8), 1), (special.gammaincc, (2.0, math.inf), 0),
        (special.betainc, (math.inf, 2.8, 0.5), 2), (special.betaincc, (1.2, math.inf, 0.5), 0),
        (special.pdtr, (math.inf, 1.9), 1), (special.chdtr, (math.inf, 2.0), 1),
        (special.chdtrc, (2.0, math.inf), 0), (special.gdtr, (1.1, 1.5, math.inf), 0),
        (special.gdtrc, (math.inf, 2.5, 2.0), 2), (special.stdtr, (2.8, -math.inf), 0),
    ],
)  # fmt: skip
def test_limit_of_a_special_function_has_derivative_zero(f, args, wrt):
    assert srcad.grad(f, wrt=wrt)(*args) == 0
    dots = tuple(1.0 if k == wrt else None for k in range(len(args)))
    assert srcad.jvp(f, args, dots)[1] == 0


def test_infinite_points_leave_the_gradient_of_the_others_as_it_is():
    x = np.array([np.inf, 0.4, -np.inf, 1.7])

    def total(x, loc, scale):
        p = stats.logistic.logcdf(x, loc, scale)
        return np.sum(p[np.isfinite(p)])

    found = srcad.grad(total, wrt=(1, 2))(x, 0.3, 1.7)
    expected = srcad.grad(total, wrt=(1, 2))(x[1::2], 0.3, 1.7)
    np.testing.assert_allclose(found, expected)
