"""Masks that cut nan and inf from reductions by an axis of their own, and what jvp makes of it."""

import numpy as np
import pytest
from scipy import integrate, stats

import srcad

X = np.array([[1.4, 0.8, 1.9], [0.6, 1.1, 0.9], [1.7, 0.7, 1.2], [0.9, 1.6, 1.3]])

CALLS = {
    "entropy by axis of its own": lambda x: stats.entropy(x),
    "skew by axis of its own": lambda x: stats.skew(x),
    "romb": lambda x: integrate.romb(np.concatenate((x.T, x.T[:, :1]), axis=1)),
}


def behind_where(call, entry):
    def function(x):
        places = np.arange(x.size).reshape(x.shape)
        values = call(np.where(places == 0, entry, x))
        return np.sum(np.sin(np.where(np.isfinite(values), values, 0.0)))

    return function


def behind_index(call, entry):
    def function(x):
        places = np.arange(x.size).reshape(x.shape)
        values = call(np.where(places == 0, entry, x))
        return np.sum(values[np.isfinite(values)] ** 2)

    return function


def slopes(function, x, h=1e-5):
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    return np.reshape([(function(x + d) - function(x - d)) / (2 * h) for d in steps], x.shape)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("behind", [behind_where, behind_index])
@pytest.mark.parametrize("entry", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore")
def test_derivative_by_entries_that_a_mask_keeps_matches_differences(name, behind, entry):
    function = behind(CALLS[name], entry)
    with np.errstate(all="ignore"):
        wanted = slopes(function, X)
        found = srcad.grad(function)(X)
        _, dot = srcad.jvp(function, (X,), (np.cos(X),))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(dot, np.sum(wanted * np.cos(X)), rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", [np.inf, -np.inf])
def test_finite_result_that_depends_on_infinity_has_no_other_number_in_its_derivative(entry):
    """The quotient by an infinite sum is 0, and its slope by the others is nan or 0."""

    def function(x):
        places = np.arange(x.size).reshape(x.shape)
        r = stats.gmean(1.0 / np.where(places == 0, np.abs(entry), x), axis=0)
        return np.sum(r[np.isfinite(r)])

    with np.errstate(all="ignore"):
        found = srcad.grad(function)(X)[:, 0]
    assert all(np.isnan(number) or number == 0.0 for number in found)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.exp(-x * x),
        lambda x: np.tanh(x**2),
        lambda x: stats.vonmises.cdf(x, 2.0),
    ],
)
def test_tangent_of_entry_that_a_mask_replaced_by_infinity_is_zero(call):
    def function(x):
        return call(np.where(np.arange(4) == 0, np.inf, x))

    with np.errstate(all="ignore"):
        _, dot = srcad.jvp(function, (X[:, 0],), (np.ones(4),))
        wanted = (function(X[:, 0] + 1e-5) - function(X[:, 0] - 1e-5)) / 2e-5
    np.testing.assert_allclose(dot, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: stats.matrix_normal.pdf(x[:2], 0.5 * x[2:], np.eye(2), np.eye(3)),
        lambda x: stats.matrix_normal.logpdf(x[:2], 0.5 * x[2:], np.eye(2), np.eye(3)),
    ],
)
def test_number_that_is_read_by_a_flag_has_its_cotangent(call):
    def function(x):
        number = call(x)
        return np.sum(number[np.isfinite(number)])

    np.testing.assert_allclose(srcad.grad(function)(X), slopes(function, X), rtol=1e-6, atol=1e-9)
