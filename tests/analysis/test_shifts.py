"""An extreme that is subtracted and cancels has no derivative to write; one that does not, has."""

import numpy as np
import pytest

from srcad import grad, hvp, jvp

X = np.random.default_rng(5).normal(size=(3, 4))
W = np.random.default_rng(6).normal(size=(3, 4))
V = np.random.default_rng(7).normal(size=(3, 4))


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum(e / np.sum(e, axis=-1, keepdims=True) * W)


def log_sum_exp(x):
    m = x.max(axis=1)
    return np.sum(np.log(np.sum(np.exp(x - m[:, None]), axis=1)) + m)


def at_a_temperature(x, t=0.7):
    m = np.min(x, axis=0)
    return np.sum(t * np.log(np.sum(np.exp((m - x) / t), axis=0)) - m)


def in_a_loop(x):
    total = 0.0
    for row in x:
        e = np.exp(row - np.max(row))
        total += np.sum(np.sqrt(e / np.sum(e)))
    return total


def of_means(x):
    m = np.max(x, axis=1)
    return np.sum(np.log(np.mean(np.exp(x - m[:, None]), axis=1)) + m)


def of_a_cast_extreme(x):
    m = np.float64(np.max(x))
    return np.log(np.sum(np.exp(x - m))) + m


def of_a_narrow_extreme(x):
    m = np.float32(np.max(x))
    return np.log(np.sum(np.exp(x - m))) + m


def of_means_of_shifted(x):
    m = np.max(x, axis=1, keepdims=True)
    return np.sum(np.mean(x - m, axis=1) * np.exp(m[:, 0]))


def of_columns(x):
    y = x[:, :3]  # square, so that the row of maxima fits the columns, too
    e = np.exp(y - y.max(axis=1))
    return np.sum(e / np.sum(e, axis=0) * W[:, :3])


def summed_over_all(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(e / np.sum(e) * W)


def summed_along_the_other_axis(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(e / np.sum(e, axis=0) * W)


def of_rows_of_a_square(x):
    y = x[:, :3]
    e = np.exp(y - y.max(axis=1))
    return np.sum(e / np.sum(e, axis=1) * W[:, :3])


def used_besides(x):
    m = np.max(x, axis=1, keepdims=True)
    e = np.exp(x - m)
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * m * W)


def subtracted_twice(x):
    m = np.max(x)
    return np.log(np.sum(np.exp(x - 2 * m))) + m


def in_another_unit(x, t=0.7):
    m = np.max(x)
    return np.log(np.sum(np.exp((x - m) / t))) + m


def squared(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(e * e / np.sum(e, axis=1, keepdims=True) * W)


def overwritten(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    e[:, 0] = 1.0
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * W)


CANCEL = [softmax, log_sum_exp, at_a_temperature, in_a_loop, of_columns, of_means,
          of_a_cast_extreme, of_a_narrow_extreme]  # fmt: skip
DEPEND = [summed_over_all, summed_along_the_other_axis, of_rows_of_a_square, used_besides,
          subtracted_twice, in_another_unit, squared, overwritten,
          of_means_of_shifted]  # fmt: skip


def differences(f, x, v):
    return (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6


@pytest.mark.parametrize("f", [*CANCEL, *DEPEND])
def test_subtracted_extreme_derivatives_correct(f):
    assert np.sum(grad(f)(X) * V) == pytest.approx(differences(f, X, V), rel=1e-7)
    assert jvp(f, (X,), (V,))[1] == pytest.approx(np.sum(grad(f)(X) * V), rel=1e-12)
    np.testing.assert_allclose(hvp(f)(X, v=V), differences(grad(f), X, V), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", CANCEL)
def test_cancelling_extreme_gradient_has_no_mask(f):
    gradient = grad(f)
    gradient(X)

    assert "==" not in gradient.source


@pytest.mark.parametrize("f", [f for f in CANCEL if f is not in_a_loop])
def test_cancelling_extreme_hvp_has_no_mask(f):
    product = hvp(f)
    product(X, v=V)

    assert "==" not in product.source


@pytest.mark.parametrize("f", DEPEND)
def test_non_cancelling_extreme_keeps_derivative(f):
    gradient = grad(f)
    gradient(X)

    assert "==" in gradient.source
