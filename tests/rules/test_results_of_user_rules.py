"""What a Python function with a rule of the user's returns, used as the array or number it is."""

import math

import numpy as np
import pytest

import srcad
from srcad import rules
from srcad.errors import UnsupportedTypeError

COUNT = [0]
A = np.array([[1.1, 2.2, 3.3], [0.4, 0.5, 0.6]])


def square(x):
    COUNT[0] += 1
    return x * x


def pair(x):
    return x * x, 3.0 * x


@pytest.fixture(autouse=True)
def _rules():
    rules.adjoint(square)(lambda y_bar, y, x: y_bar * 2 * x)
    rules.adjoint(pair)(lambda y_bar, y, x: y_bar[0] * 2 * x + y_bar[1] * 3.0)


def unpacked(x):
    a, b = square(x)
    return np.sum(a * b)


def unpacked_in_a_loop(x):
    total = 0.0
    for _ in range(2):
        (a, b), c = square(x), 2.0
        total = total + np.sum(a * b) * c
    return total


def looped(x):
    total = 0.0
    for row in np.asarray(square(x)):
        total = total + np.sum(row * row)
    return total


def augmented(x):
    y = square(x)
    y *= 2.0
    return y.sum()


OF_ARRAYS = [
    lambda x: square(x).sum(),
    lambda x: np.sum(square(x).T @ np.ones((2, 1))),
    lambda x: np.sum(square(x)) * square(x).shape[0],
    lambda x: np.sum(x) * len(square(x)) * square(x).ndim * square(x).size,
    lambda x: np.sum(x.astype(square(x).dtype)),
    lambda x: np.sum(x * (square(x) > 4.0)),
    lambda x: np.sum(np.where(square(x) == 4.0, 2.0 * x, x)),
    lambda x: np.sum(x) * 3.0 if square(x).sum() > 3.0 else np.sum(x),
    lambda x: np.sum(x) * 3.0 if (square(x) > 3.0).any() else np.sum(x),
    lambda x: square(x)[0, 1] * square(x)[1].sum() + square(x)[:, 1:].sum(),
    lambda x: sum(square(x).flat) + square(x).item(2) + float(square(x)[0, 0]),
    lambda x: np.sum(x[~np.isnan(square(x))]) if isinstance(square(x), np.ndarray) else 0.0,
    lambda x: square(square(x)).mean(axis=0).max(),
    unpacked,
    unpacked_in_a_loop,
    looped,
    augmented,
]


@pytest.mark.parametrize("f", OF_ARRAYS)
def test_array_of_a_user_rule(f):
    assert_slopes(f, A)


OF_NUMBERS = [
    lambda x: square(x) * 2.0 if square(x) > 1.0 else x,
    lambda x: x * 2.0 if 0.0 < square(x) < 10.0 else x,
    lambda x: x * 3.0 if square(x) else x,
    lambda x: (square(x) and x) * 1.0,
    lambda x: x if not square(x) else 2.0 * x,
    lambda x: x if square(x) is None else 2.0 * x,
    lambda x: abs(square(x)) * max(square(x), x),
    lambda x: x * int(square(x)) * round(square(x)),
    lambda x: math.sqrt(square(x)),
    lambda x: 2.0 ** square(x),
]


@pytest.mark.parametrize("f", OF_NUMBERS)
def test_number_of_a_user_rule(f):
    assert_slopes(f, 1.7)


def assert_slopes(f, x):
    """Value, gradient by differences, and as many runs of the function as in the plain call."""
    COUNT[0] = 0
    value, runs = f(x), COUNT[0]
    derivative = srcad.value_and_grad(f)
    for _ in range(2):
        COUNT[0] = 0
        y, found = derivative(x)
        assert COUNT[0] == runs
        assert y == pytest.approx(value, rel=1e-14)
    found, point = np.asarray(found), np.asarray(x, float)
    for place in np.ndindex(point.shape):
        step = np.zeros(point.shape)
        step[place] = 1e-6
        ahead, behind = (f(x + sign * (step if step.ndim else float(step))) for sign in (1, -1))
        assert found[place] == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-6)


def test_unpacking_wrong_number_of_items_raises_value_error():
    def f(x):
        a, b, c = square(x)
        return a + b + c

    with pytest.raises(ValueError, match="unpack"):
        srcad.grad(f)(np.ones(2))


def test_loop_over_user_rule_result_error_suggests_array():
    with pytest.raises(UnsupportedTypeError, match=r"np\.array\(\.\.\.\)"):
        srcad.grad(lambda x: sum([np.sum(row) for row in square(x)]))(A)


def test_tuple_of_a_user_rule_is_unpacked():
    def f(x):
        a, b = pair(x)
        return a * b

    assert srcad.value_and_grad(f)(2.0) == (24.0, 36.0)
