"""The adjoint's own infinities and zeros are values where NumPy raises and warnings are errors."""

import contextlib
import math
import warnings

import numpy as np
import pytest

import srcad

X = np.array([0.0, 4.0])


@contextlib.contextmanager
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextlib.contextmanager
def told_to_raise():
    before = np.seterr(all="raise")
    try:
        yield
    finally:
        np.seterr(**before)


SURROUNDINGS = {
    "errstate": lambda: np.errstate(all="raise"),
    "seterr": told_to_raise,
    "warnings": warnings_are_errors,
    "divide and invalid": lambda: np.errstate(divide="raise", invalid="raise"),
}


def loop(x):
    y = x
    for _ in range(3):
        y = np.sqrt(y)
    return np.sum(y)


def recursive(x, n=2):
    return np.sum(x) if n == 0 else recursive(np.sqrt(x), n - 1)


def written(x):
    x *= 2.0
    x[0] = np.sqrt(x[0])
    return np.sum(np.sqrt(x))


def under_its_own_errstate(x):
    with np.errstate(all="raise"):
        y = np.sqrt(x)
    return np.sum(y)


def with_a_handler(x):
    try:
        y = np.sqrt(x)
    except FloatingPointError:
        y = x
    return np.sum(y)


def with_a_default(x, p=0.5, *, scale=2.0):
    return scale * np.sum(x**p)


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def loss(self, x):
        return self.scale * np.sum(np.sqrt(x))


def scaled_by(scale):
    def loss(x):
        return scale * np.sum(np.sqrt(x))

    return loss


SILENT = {
    "sqrt": (lambda x: np.sum(np.sqrt(x)), X),
    "cbrt": (lambda x: np.sum(np.cbrt(x)), X),
    "arctan2": (lambda x: np.sum(np.arctan2(x, x)), X),
    "power": (lambda x: np.sum(x**0.5), X),
    "power of itself": (lambda x: np.sum(np.power(x, x)), X),
    "arcsin": (lambda x: np.sum(np.arcsin(x)), np.array([1.0, 0.5])),
    "sigmoid": (lambda x: np.sum(1.0 / (1.0 + np.exp(-x))), np.array([-700.0, 0.0, 700.0])),
    "length": (lambda x: np.sqrt(np.sum(x * x)), np.zeros(2)),
    "norm": (lambda x: np.linalg.norm(x), np.zeros(2)),
    "tanh": (lambda x: np.sum(np.tanh(x) ** 3), np.array([1e-90, 1.0])),
    "a NumPy number": (lambda x: np.sqrt(x), np.float64(0.0)),
    "a Python number": (lambda x: x**0.5 + math.sqrt(x), 0.0),
    "a loop": (loop, X),
    "a recursion": (lambda x: recursive(x), X),
    "written into": (written, X),
    "its own errstate": (under_its_own_errstate, X),
    "no text": (np.sqrt, np.float64(0.0)),
    "a default and a keyword": (with_a_default, X),
    "a method": (Scaled(2.0).loss, X),
    "a closure": (scaled_by(2.0), X),
    "a handler": (with_a_handler, X),
    "a derivative": (lambda x: np.sum(srcad.grad(lambda z: np.sum(np.sqrt(z)))(x)), X + 0.25),
}
ASKED = {
    "grad": lambda f, x: srcad.grad(f)(x),
    "value_and_grad": lambda f, x: srcad.value_and_grad(f)(x)[1],
    "gradient": lambda f, x: srcad.gradient(f, x)[0],
    "pullback": lambda f, x: srcad.pullback(f, x)[1](1.0)[0],
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
@pytest.mark.parametrize("name", SILENT)
def test_silent_function_has_silent_derivative(name, surroundings):
    f, x = SILENT[name]
    with np.errstate(all="ignore"):
        expected = srcad.grad(f)(x)

    with SURROUNDINGS[surroundings]():
        f(x.copy() if isinstance(x, np.ndarray) else x)
        for asked in ASKED.values():
            np.testing.assert_array_equal(asked(f, x), expected)


LOUD = [
    (lambda x: np.sum(1.0 / x), X),
    (lambda x: np.sum(np.log(x) * x), X),
    (lambda x: np.sum(np.log(x)), X),
    (lambda x: np.sum(np.exp(x)), np.array([1000.0])),
]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("surroundings", ["errstate", "seterr", "warnings"])
@pytest.mark.parametrize(("f", "x"), LOUD)
def test_floating_point_error_of_function_propagates(f, x, surroundings, asked):
    with SURROUNDINGS[surroundings]():
        with pytest.raises((FloatingPointError, RuntimeWarning)) as plain:
            f(x)
        with pytest.raises(type(plain.value)) as caught:
            ASKED[asked](f, x)

    assert str(caught.value) == str(plain.value)
    assert caught.value.__context__ is None


def test_side_effect_runs_once_under_errstate_raise():
    generator = np.random.default_rng(0)

    def drawn(x):
        return np.sum(np.sqrt(x)) * generator.uniform()

    with np.errstate(all="raise"):
        gradient = srcad.grad(drawn)
        first, second = gradient(X), gradient(X)

    again = np.random.default_rng(0)
    assert [first[1], second[1]] == [0.25 * again.uniform(), 0.25 * again.uniform()]


def test_specialised_function_silent_under_errstate_raise():
    gradient = srcad.grad(lambda x: np.sum(np.sqrt(x)))

    with np.errstate(all="raise"):
        assert gradient.specialize(X)(X).tolist() == [np.inf, 0.25]


def test_source_shows_code_without_errstate_guards():
    gradient = srcad.grad(lambda x: np.sum(np.sqrt(x)))
    with np.errstate(all="raise"):
        gradient(X)

    assert "errstate" not in gradient.source


def test_errstate_checked_on_each_call():
    gradient = srcad.grad(lambda x: np.sum(np.sqrt(x)))
    gradient(X + 1.0)

    for _ in range(2):
        with np.errstate(all="raise"):
            assert gradient(X)[0] == np.inf
        with np.errstate(all="ignore"):
            assert gradient(X)[0] == np.inf
