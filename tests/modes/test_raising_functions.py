"""Derivatives, inside a function that is interpreted, of functions that always raise."""

import numpy as np
import pytest

import srcad
from srcad import grad, gradient, hessian, hvp, jacobian, jvp, pullback, value_and_grad


def failing(x):
    raise ValueError("no value")


def failing_by_value(x):
    if x > 0.0:
        raise ValueError("positive")
    raise KeyError("not positive")


def parsing(x):
    return int("q") * x


INSIDE = [
    lambda x: grad(failing)(x) * 2.0,
    lambda x: value_and_grad(failing)(x)[1] * 2.0,
    lambda x: gradient(failing, x)[0] * 2.0,
    lambda x: pullback(failing, x)[1](1.0)[0],
    lambda x: (pullback(failing, x), x)[1],
    lambda x: jvp(failing, (x,), (1.0,))[1],
    lambda x: hvp(failing)(x, 1.0),
    lambda x: jacobian(failing)(x),
    lambda x: hessian(failing)(x),
    lambda x: grad(failing, has_aux=True)(x)[0],
    lambda x: grad(grad(failing))(x),
    lambda x: grad(failing_by_value)(x),
    lambda x: grad(parsing)(x),
]


@pytest.mark.parametrize("f", INSIDE)
def test_inner_derivative_of_failing_function_raises(f):
    """The derivative of the composition was None, or called None."""
    for derivative in (
        grad(f),
        value_and_grad(f),
        jacobian(f),
        lambda x: pullback(f, x),
        lambda x: jvp(f, (x,), (1.0,)),
        lambda x: hvp(f)(x, 1.0),
    ):
        with pytest.raises(ValueError, match=r"no value|positive|invalid literal"):
            derivative(1.0)


@pytest.mark.parametrize("text", ["q", "1.5.2"])
@pytest.mark.parametrize("kind", [int, float, complex])
def test_unused_string_conversion_raises(kind, text):
    with pytest.raises(ValueError, match=r"invalid literal|convert string|malformed"):
        grad(lambda x, s: (kind(s), x * x)[1])(2.0, text)
    assert grad(lambda x, s: (kind(s), x * x)[1])(2.0, "3") == 4.0


def test_exception_of_inner_derivative_is_caught_in_outer_function():
    def f(x):
        try:
            y = grad(failing)(x)
        except ValueError:
            y = 3.0
        return y * x

    assert value_and_grad(f)(2.0) == (6.0, 3.0)


def test_inner_derivative_fails_on_one_path_only():
    f = lambda x: grad(failing)(x) * x if x > 5.0 else x * x  # noqa: E731

    assert value_and_grad(f)(2.0) == (4.0, 4.0)
    with pytest.raises(ValueError, match="no value"):
        grad(f)(6.0)


def test_writes_of_failing_function_do_not_reach_arguments():
    """A derivative leaves its arguments as they were, also where it fails."""

    def write_and_fail(a):
        a[0] = 5.0
        raise ValueError

    def f(x):
        a = np.ones(3) * x
        try:
            srcad.grad(write_and_fail)(a)
        except ValueError:
            pass
        return np.sum(a) * x

    assert f(2.0) == 12.0
    assert value_and_grad(f)(2.0) == (12.0, 12.0)
