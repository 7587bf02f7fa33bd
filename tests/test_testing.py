"""The public checker of gradients notices what is wrong and passes what is right."""

import dataclasses
import re

import numpy as np
import pytest

from srcad import rules
from srcad.errors import OptionError
from srcad.testing import check_grads


@dataclasses.dataclass
class Layer:
    W: np.ndarray
    b: float


def right(x):
    return np.exp(-x) * x


def wrong(x):
    return x * x


@pytest.fixture
def table(monkeypatch):
    rules.registry.topics()  # what is read meanwhile would be forgotten with the rest
    monkeypatch.setattr(rules.registry, "_table", dict(rules.registry._table))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_gradients_pass(order):
    check_grads(right, [0.5], order=order)
    check_grads(right, [np.array([0.5, 1.0])], order=order)


def test_structures_pass():
    def f(p, layer, x):
        return np.tanh(x @ p["W"] + layer.b) * layer.W, p["k"][1] * x[0]

    p = {"W": np.full((2, 3), 0.3), "k": (1.0, 2.0)}

    check_grads(f, [p, Layer(np.arange(3.0), 0.5), np.array([0.1, 0.2])])


def test_float32_is_compared_with_its_own_accuracy():
    check_grads(lambda x: np.sum(np.sin(x)), [np.array([0.3, 0.4], np.float32)], order=1)


def test_a_wrong_rule_is_noticed(table):
    rules.derivative(wrong)(lambda x, *, y: 3 * x)

    with pytest.raises(AssertionError) as caught:
        check_grads(lambda p: np.sum(wrong(p["a"])), [{"a": np.array([[1.0, 2.0]])}])

    message = str(caught.value)
    assert "order 1: argument 'p'['a'] at index (0, 0)" in message
    assert re.search(r"the gradient is 3\.0, differences give (2\.0|1\.99)", message)


def test_a_wrong_second_order_is_noticed(table):
    rules.derivative(wrong)(lambda x, *, y: halved(x))
    rules.derivative(halved)(lambda x, *, y: 3.0)

    with pytest.raises(AssertionError, match="order 2"):
        check_grads(wrong, [1.0])


def halved(x):
    return 2 * x


def test_only_named_arguments_are_checked(table):
    rules.adjoint(half_wrong)(lambda y_bar, y, a, b: (y_bar * b, y_bar * 7.0))

    check_grads(lambda a, b: half_wrong(a, b), [2.0, 3.0], wrt="a", order=1)
    with pytest.raises(AssertionError, match="'b'"):
        check_grads(lambda a, b: half_wrong(a, b), [2.0, 3.0], wrt=("a", 1), order=1)


def half_wrong(a, b):
    return a * b


def test_large_arrays_are_sampled():
    calls = []

    def f(x):
        calls.append(1)
        return np.sum(x * x)

    check_grads(f, [np.ones((300, 300))], order=1)

    assert len(calls) < 300  # differences of every entry would take 180,000


def test_only_reverse_mode_exists():
    with pytest.raises(OptionError):
        check_grads(right, [0.5], modes=("fwd",))


def test_a_function_that_writes_into_its_arguments_is_checked_on_copies() -> None:
    def f(x, y):
        x *= 0.5
        y[1] += x[0]
        return np.sum(np.sin(x)) * y[1]

    x, y = np.array([0.3, -0.7]), np.array([1.1, 0.4])

    check_grads(f, (x, y))

    assert np.array_equal(x, [0.3, -0.7])
    assert np.array_equal(y, [1.1, 0.4])
