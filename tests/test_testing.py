"""The public checker of gradients notices what is wrong and passes what is right."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import srcad
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
    rules.rows()  # what is read meanwhile would be forgotten with the rest
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


def test_wrong_rule_detected(table):
    rules.derivative(wrong)(lambda x, *, y: 3 * x)

    with pytest.raises(AssertionError) as caught:
        check_grads(lambda p: np.sum(wrong(p["a"])), [{"a": np.array([[1.0, 2.0]])}])

    message = str(caught.value)
    assert "order 1: argument 'p'['a'] at index (0, 0)" in message
    assert re.search(r"the gradient is 3\.0, differences give (2\.0|1\.99)", message)


def test_wrong_second_order_detected(table):
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

    assert len(calls) < 1000  # differences of every entry would take 180,000


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_derivatives_pass_in_every_mode(modes, order):
    check_grads(lambda x, y: np.sum(x * np.sin(y)), [np.array([0.5, 2.0]), 0.3],
                order=order, modes=modes)  # fmt: skip


@pytest.mark.parametrize("modes", [(), ("forward",), ("rev", "both")])
def test_other_modes_are_refused(modes):
    with pytest.raises(OptionError):
        check_grads(right, [0.5], modes=modes)


def test_wrong_tangent_detected(table):
    rules.adjoint(half_wrong)(lambda y_bar, y, a, b: (y_bar * b, y_bar * a))
    rules.tangent(half_wrong)(lambda a_dot, b_dot, y, a, b: a_dot * b + 7.0 * b_dot)

    check_grads(lambda a, b: half_wrong(a, b), [2.0, 3.0], order=1, modes=("rev",))
    with pytest.raises(AssertionError) as caught:
        check_grads(lambda p: half_wrong(p["a"], p["b"][0]), [{"a": 2.0, "b": [3.0]}], order=1)

    message = str(caught.value)
    assert "order 1: argument 'p'['b'][0]: in forward mode the slope is 7.0" in message
    assert re.search(r"differences give (2\.0|1\.99)", message)


def test_check_grads_of_argument_part(table):
    rules.adjoint(half_wrong)(lambda y_bar, y, a, b: (y_bar * b, y_bar * 7.0))
    point = [{"a": [1.0, 2.0], "layer": Layer(np.array([3.0]), 4.0)}]

    def f(p):
        return half_wrong(p["a"][1], p["layer"].b) * p["layer"].W[0]

    check_grads(f, point, wrt=("p.a[-1]", "p['layer'].W"), order=1)
    with pytest.raises(AssertionError, match=r"'p'\['layer'\]\.b"):
        check_grads(f, point, wrt="p.layer.b", order=1)


def test_plugin_fixtures_available_on_request(tmp_path):
    test = tmp_path / "test_it.py"
    test.write_text(
        "import numpy as np\n"
        "def test_right(check_grads):\n"
        "    check_grads(lambda x: np.sum(np.sin(x)), [np.ones(2)], order=1)\n"
        "def test_rule(check_rule):\n"
        "    check_rule(np.tanh, [0.5])\n"
    )
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["srcad.testing_plugin"]\n')

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        where = {**os.environ, "PYTHONPATH": str(Path(srcad.__file__).parent.parent)}
        return subprocess.run([*command, str(test)], cwd=tmp_path, env=where, capture_output=True,
                              text=True, check=False)  # fmt: skip

    assert "2 passed" in run().stdout
    assert "2 errors" in run("--noconftest").stdout


def test_a_function_that_writes_into_its_arguments_is_checked_on_copies() -> None:
    def f(x, y):
        x *= 0.5
        y[1] += x[0]
        return np.sum(np.sin(x)) * y[1]

    x, y = np.array([0.3, -0.7]), np.array([1.1, 0.4])

    check_grads(f, (x, y))

    assert np.array_equal(x, [0.3, -0.7])
    assert np.array_equal(y, [1.1, 0.4])
