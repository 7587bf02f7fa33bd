"""The sum of the weights of `np.average` is computed once."""

import numpy as np
import pytest

import srcad
from srcad import testing
from tests.numeric import difference


def test_sum_of_weights_is_kept_for_the_reverse_pass():
    def f(x, w):
        mu = np.average(x, weights=w, axis=1)
        return np.sum(mu**2)

    x, w = np.array([[1.0, 2.0, 4.0], [3.0, 0.5, -1.0]]), np.array([0.2, 0.5, 0.4])
    g = srcad.value_and_grad(f, wrt=(0, 1))

    value, (x_bar, w_bar) = g(x, w)

    mu = x @ w / w.sum()
    assert value == pytest.approx(np.sum(mu**2))
    np.testing.assert_allclose(x_bar, np.outer(2 * mu, w) / w.sum(), rtol=1e-13)
    np.testing.assert_allclose(w_bar, 2 * mu @ (x - mu[:, None]) / w.sum(), rtol=1e-12)
    assert "mu, value = np.average(x, weights=w, axis=1, returned=True)" in g.source
    assert "np.sum(w)" not in g.source


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
def test_weights_that_are_no_array(weights):
    def f(x):
        return np.average(x, weights=weights) ** 2

    testing.check_grads(f, [np.array([1.0, 2.0, 4.0])], order=2)


def test_weights_that_are_none_in_one_call(rng):
    def f(x, w=None):
        return np.average(x, 0, w) ** 2

    x = rng.normal(size=4)
    testing.check_grads(f, [x], order=2)
    testing.check_grads(f, [x, rng.uniform(0.5, 1.0, 4)], order=2)


CUBE = np.arange(27.0).reshape(3, 3, 3) ** 1.5


@pytest.mark.parametrize(
    "f",
    [
        lambda w: np.average(CUBE, axis=(-1, 0), weights=w),
        lambda w: np.average(CUBE, axis=(2, 0), weights=w),
        lambda w: np.average(CUBE, (-1, -2), w),
    ],
    ids=["last and first", "descending", "both from the end"],
)
def test_weights_on_axes_in_descending_order(f):
    w = np.arange(1.0, 10.0).reshape(3, 3) ** 0.5

    def g(w):
        return np.sum(f(w) ** 2)

    np.testing.assert_allclose(srcad.grad(g)(w), difference(g, (w,)), rtol=1e-7)
