"""Random draws with a location and a scale that are differentiated."""

import numpy as np
import pytest

import srcad
from srcad.errors import MissingRuleError
from srcad.testing import check_grads

X = np.array([0.3, 1.2, 0.7])


def generator():
    return np.random.default_rng(1)


def older_generator():
    return np.random.RandomState(1)


def module():
    np.random.seed(1)  # noqa: NPY002 - the functions of the module are tested
    return np.random


def numbers(x, source):
    rng = source()
    return rng.normal(x[0], x[1]) * rng.uniform(x[0], x[1]) * rng.exponential(x[2])


def arrays_of_a_size(x, source):
    rng = source()
    return np.sum(rng.normal(x[0], x[1], 4) ** 2) + np.sum(rng.uniform(size=(2, 3), low=x, high=2))


def arrays_of_parameters(x, source):
    rng = source()
    return np.sum(rng.normal(x, 2.0) * rng.normal(loc=1, scale=x) * rng.normal(x[:, None], x).T)


def families(x, source):
    rng = source()
    first = rng.laplace(x, x) * rng.logistic(x, x) * rng.gumbel(x, x)
    return np.sum(first * rng.rayleigh(x) * rng.gamma(2.0, x) * rng.exponential(scale=x, size=3))


def many_variables(x, source):
    rng = source()
    return np.sum(rng.multivariate_normal(x, np.diag([1.0, 2.0, 3.0]), 4) ** 2)


@pytest.mark.parametrize("source", [generator, older_generator, module])
@pytest.mark.parametrize(
    "f", [numbers, arrays_of_a_size, arrays_of_parameters, families, many_variables]
)
def test_draw_with_active_parameters(f, source):
    value, _ = srcad.value_and_grad(f)(X, source)

    assert value == f(X, source)
    check_grads(lambda x: f(x, source), (X,), modes=["fwd", "rev"])


def test_gradient_draws_once():
    def f(x, rng):
        return np.sum(rng.normal(x[0], x[1], 4) ** 2)

    first, second = generator(), generator()
    srcad.grad(f)(X, first)
    f(X, second)
    assert first.random() == second.random()


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x, rng: rng.normal(x[0], -x[1]), ValueError),
        (lambda x, rng: np.sum(rng.normal(x, [1.0, -1.0, 1.0])), ValueError),
        (lambda x, rng: rng.uniform(x[1], x[0]), ValueError),
        (lambda x, rng: rng.uniform(x[1], np.inf), OverflowError),
        (lambda x, rng: np.sum(rng.normal(x, 1.0, 2)), ValueError),
        (lambda x, rng: rng.exponential(-x[0]), ValueError),
    ],
)
def test_draw_raises_as_numpy_does(f, error):
    with pytest.raises(error):
        f(X, generator())
    with pytest.raises(error):
        srcad.grad(f)(X, generator())


def test_uniform_of_the_module_takes_bounds_in_any_order():
    def f(x):
        return np.random.RandomState(2).uniform(x[1], x[0])

    assert srcad.value_and_grad(f)(X)[0] == f(X)


@pytest.mark.parametrize(
    ("f", "remedy"),
    [
        (lambda x: np.sum(np.random.default_rng(1).lognormal(x)), "np.exp"),
        (lambda x: np.sum(np.random.default_rng(1).gamma(x)), "stop_gradient"),
        (lambda x: np.sum(np.random.default_rng(1).multivariate_normal(X, np.diag(x))), "cholesky"),
        (lambda x: np.random.default_rng(1).beta(x[0], x[1]), "stop_gradient"),
    ],
)
def test_draw_without_derivative_refused_with_remedy(f, remedy):
    with pytest.raises(MissingRuleError, match=remedy):
        srcad.grad(f)(X)
