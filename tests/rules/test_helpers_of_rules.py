"""Functions, methods and closures that rules of the user's call: second order, forward mode."""

import numpy as np
import pytest

import srcad
from srcad.errors import MissingRuleError
from srcad.rules import stubs

MATRIX = np.arange(6.0).reshape(2, 3) / 4


def by_matrix(v):
    return MATRIX.T @ v


def twice_removed(v):
    return by_matrix(v) + 0.0 * by_matrix(v)


class Operator:
    def __init__(self, matrix):
        self.matrix = matrix

    def adjoint(self, v):
        return self.matrix.T @ v

    @staticmethod
    def cubes(u):
        total = 0.0
        for _ in range(3):
            total = total + u * u
        return total


OPERATOR = Operator(MATRIX)


def closed_over(matrix):
    def backward(v):
        return matrix.T @ v

    return backward


CLOSURE = closed_over(MATRIX)


def linear_by_function(u):
    return MATRIX @ u


def linear_by_helper_of_helper(u):
    return MATRIX @ u


def linear_by_method(u):
    return MATRIX @ u


def linear_by_closure(u):
    return MATRIX @ u


def cube(u):
    return u**3


def pair(u, v):
    return u * u * v


def of_pair(u, v):
    return 2 * u * v, u * u


@srcad.rules.linear(linear_by_function)
def _(y_bar, u):
    return by_matrix(y_bar)


@srcad.rules.adjoint(linear_by_helper_of_helper)
def _(y_bar, y, u):
    return twice_removed(y_bar)


@srcad.rules.adjoint(linear_by_method)
def _(y_bar, y, u):
    return OPERATOR.adjoint(y_bar)


@srcad.rules.adjoint(linear_by_closure)
def _(y_bar, y, u):
    return CLOSURE(y_bar)


@srcad.rules.derivative(cube)
def _(u):
    return Operator.cubes(u)


@srcad.rules.adjoint(pair)
def _(y_bar, y, u, v):
    slopes = of_pair(u, v)
    return y_bar * slopes[0], y_bar * slopes[1]


X = np.array([0.3, 0.7, 1.1])
V = np.array([1.0, -0.5, 0.25])

LOSSES = [
    lambda x: np.sum(np.sin(linear_by_function(x * x))),
    lambda x: np.sum(np.sin(linear_by_helper_of_helper(x * x))),
    lambda x: np.sum(np.sin(linear_by_method(x * x))),
    lambda x: np.sum(np.sin(linear_by_closure(x * x))),
    lambda x: np.sum(np.sin(cube(x))),
    lambda x: np.sum(np.sin(pair(x, x[::-1]))),
]


@pytest.mark.parametrize("loss", LOSSES)
def test_helper_of_rule_has_forward_mode(loss):
    step = 1e-5
    slope = (loss(X + step * V) - loss(X - step * V)) / (2 * step)

    assert srcad.jvp(loss, (X,), (V,))[1] == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_helper_of_rule_has_second_derivative(loss):
    step, gradient = 1e-5, srcad.grad(loss)
    change = (gradient(X + step * V) - gradient(X - step * V)) / (2 * step)

    np.testing.assert_allclose(srcad.hvp(loss)(X, V), change, rtol=1e-6, atol=1e-8)


def test_helper_of_rule_runs_as_it_stands_in_first_derivative():
    gradient = srcad.grad(lambda x: np.sum(linear_by_function(x)))
    gradient(X)

    assert "by_matrix(" in gradient.source


def trimmed(u):
    return u * 1.0


class Trimming:
    def adjoint(self, v):
        return np.emath.sqrt(v)


TRIMMING = Trimming()


@srcad.rules.adjoint(trimmed)
def _(y_bar, y, u):
    return TRIMMING.adjoint(y_bar)


def test_helper_that_has_no_second_derivative_is_refused_where_it_fails():
    with pytest.raises(MissingRuleError, match="no derivative rule for numpy.lib.scimath.sqrt"):
        srcad.hvp(lambda x: np.sum(trimmed(x) ** 2))(X, V)


def test_stub_for_method_names_its_class():
    class Local:
        def adjoint(self, v):
            return v

    said = stubs.stub(Local.adjoint, 2, (), (1,))

    assert "@srcad.rules.adjoint(Local.adjoint)" in said
