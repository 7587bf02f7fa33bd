"""Quantiles by their level, and at ties."""

import numpy as np
import pytest

from srcad import grad

METHODS = (
    "linear", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
)  # fmt: skip


@pytest.mark.parametrize("function", [np.quantile, np.nanquantile])
def test_derivative_by_level_at_knot_is_zero(function):
    """At a knot one entry is the quantile."""

    def f(q):
        return function(np.array([4.0, 1.0, 2.5, 3.0, 7.0]), q)

    assert grad(f)(0.5) == 0
    assert grad(f)(0.0) == 0
    assert np.isclose(grad(f)(0.6), 4.0)


@pytest.mark.parametrize("method", METHODS)
def test_derivative_by_level_between_knots(method):
    def f(q):
        return np.sum(np.quantile(np.array([4.0, 1.0, 2.5, 3.0, 7.0]), q, method=method))

    for q in (0.01, 0.37, 0.63, 0.99):
        slope = (f(q + 1e-6) - f(q - 1e-6)) / 2e-6
        assert np.isclose(grad(f)(q), slope, atol=1e-6)


@pytest.mark.parametrize("function", [np.percentile, np.nanpercentile])
def test_cotangents_of_ties_add_up(function):
    def f(a):
        return function(a, 30.0)

    a_bar = grad(f)(np.array([2.0, 1.0, 1.0, 1.0, 3.0, 1.0]))

    assert np.isclose(np.sum(a_bar), 1)
    assert a_bar[0] == a_bar[4] == 0
