"""`wrt` names a variable that the function reads from outside its arguments."""

from __future__ import annotations

import functools
import inspect
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import srcad
from srcad import differentiate, grad, hessian, hvp, jacobian, pullback, trace_table
from srcad.errors import MutationError, UnsupportedSyntaxError, WrtError

w = np.array([1.0, 2.0])
b = 2.0
params = {"W": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": np.zeros(2)}
X = np.array([0.5, -1.5])
here = sys.modules[__name__]


class Reader:
    """Reads the global in every way that an object may."""

    scale = property(lambda self: w[0])

    def __init__(self):
        self.k = 3.0

    def method(self, x):
        return self.k * np.sum(w * x)

    def __call__(self, x):
        return w[0] * x

    def __add__(self, other):
        return w[1] + other

    def __enter__(self):
        return w[0]

    def __exit__(self, *error):
        pass

    def __iter__(self):
        return iter(w)

    def __getitem__(self, k):
        return w[k]


reader = Reader()


def penalty():
    return np.sum(w**2)


def predict(x):
    return w @ x


def direct(x):
    return np.sum(w * w * x)


def by_helpers(x):
    return predict(x) ** 2 + penalty()


def only_by_helpers(x):
    return predict(x) * penalty() + sum(fn() for fn in [penalty])


def by_module(x):
    return np.sum(here.w**2 * x)


def in_a_loop(x):
    for k in range(3):
        if np.sum(x) < k:
            x = x * w
    return np.sum(x)


def by_recursion(x, n=3):
    return np.sum(x * w) if n == 0 else by_recursion(x * w[1], n - 1)


def generated():
    yield from w


def by_generator(x):
    return sum(c * np.sum(x) for c in generated())


def by_object(x):
    with reader as first:
        total = first * np.sum(x) * reader.scale + reader[1] * reader(2.0)
    return total * (reader + 1.0) + sum(c * c for c in reader)


def by_local_function(x):
    def inner(y):
        return np.sum(w * y)

    return sum(map(inner, [x, 2 * x]))


FUNCTIONS = [direct, by_helpers, only_by_helpers, by_module, in_a_loop, by_recursion,
             by_generator, by_object, by_local_function]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
def test_captured_variable_gradient_matches_differences(f, monkeypatch):
    found = grad(f, wrt="w")(X)

    expected = []
    for step in 1e-6 * np.eye(2):
        ends = []
        for moved in (w + step, w - step):
            monkeypatch.setitem(globals(), "w", moved)
            ends.append(f(X))
            monkeypatch.undo()
        expected.append((ends[0] - ends[1]) / 2e-6)
    assert_allclose(found, expected, rtol=1e-7)


def test_captured_variable_current_value_used(monkeypatch):
    g = grad(direct, wrt="w")

    assert_allclose(g(X), 2 * w * X)
    monkeypatch.setitem(globals(), "w", np.array([5.0, 6.0, 7.0]))
    assert_allclose(g(2.0), [20.0, 24.0, 28.0])


def test_wrt_combines_variables_parameters_and_paths():
    def f(x, y=2.0):
        return np.sum(params["W"] @ x + params["b"]) * y * b

    found = grad(f, wrt=("params.W", "y", 0, "b"))(X)

    assert_allclose(found[0], np.tile(4.0 * X, (2, 1)))
    assert_allclose(found[1], 2.0 * np.sum(params["W"] @ X))
    assert_allclose(found[2], 4.0 * params["W"].sum(axis=0))
    assert_allclose(found[3], 2.0 * np.sum(params["W"] @ X))
    assert set(grad(f, wrt="params")(X)) == {"W", "b"}


def test_wrt_closure_variable_per_closure():
    def make(a):
        c = np.ones(2)

        def f(x):
            def deep():
                return a * c

            return np.sum(deep() * x) * a

        return f

    first, second = grad(make(3.0), wrt=("a", "c")), grad(make(4.0), wrt=("a", "c"))

    assert first(X)[0] == -6.0
    assert second(X)[0] == -8.0
    assert_allclose(first(X)[1], 9.0 * X)


def test_wrt_captured_object():
    class Net:
        def __init__(self):
            self.W, self.name = np.ones(2), "net"

        def __call__(self, x):
            return self.W @ x

    net = Net()

    found = grad(lambda x: net(x) ** 2, wrt="net")(X)

    assert type(found) is Net
    assert found.name is None
    assert_allclose(found.W, 2 * np.sum(X) * X)
    assert_allclose(grad(lambda x: net(x) ** 2, wrt="net.W")(X), found.W)


def test_wrt_captured_variable_of_method_and_partial():
    assert_allclose(grad(reader.method, wrt="w")(X), 3.0 * X)
    assert_allclose(grad(functools.partial(predict), wrt="w")(X), X)


def test_wrt_captured_variable_in_all_modes():
    assert_allclose(pullback(direct, X, wrt="w")[1](1.0)[0], 2 * w * X)
    assert_allclose(jacobian(lambda x: w * x, wrt="w")(X), np.diag(X))
    assert_allclose(hessian(direct, wrt="w")(X), np.diag(2 * X))
    assert_allclose(hvp(direct, wrt="w")(X, v=np.ones(2)), 2 * X)
    assert_allclose(trace_table(direct, X, wrt="w")["w"].gradient, 2 * w * X)
    assert_allclose(differentiate(wrt="w")(direct).grad(X), 2 * w * X)
    with pytest.raises(srcad.errors.NonFiniteError, match="argument 'x'"):
        grad(direct, wrt="w", check_finite=True)(np.array([np.nan, 1.0]))


def test_captured_variable_gradient_object_interface(tmp_path):
    g = grad(direct, wrt="w")

    assert repr(g) == "<srcad.grad of 'direct' by w>"
    assert list(inspect.signature(g).parameters) == ["x", "w"]
    assert_allclose(pickle.loads(pickle.dumps(g))(X), g(X))
    assert_allclose(g.specialize(X)(X), g(X))
    g.export(tmp_path / "slope.py", X)
    space = {"__name__": "slope"}
    exec((tmp_path / "slope.py").read_text(), space)
    assert_allclose(space["grad_direct"](X), g(X))


@functools.cache
def cached():
    return float(np.sum(w))


class Number:
    def __float__(self):
        return float(w[0])


number = Number()


@pytest.mark.parametrize(
    ("f", "reader"),
    [
        (lambda x: cached() * x, "cached"),
        (lambda x: float(number) * x, "__float__"),
    ],
)
def test_captured_variable_used_by_opaque_call_rejected(f, reader):
    with pytest.raises(UnsupportedSyntaxError, match=f"'w', which '{reader}' may read"):
        grad(f, wrt="w")(2.0)


def test_captured_variable_read_below_a_callback_is_followed():
    found = grad(lambda x: np.vectorize(lambda t: t * penalty())(X).sum() * x, wrt="w")(2.0)

    assert_allclose(found, 2.0 * X.sum() * 2 * w)


def test_written_captured_variable_rejected():
    def fills(x):
        y = w
        y[0] = x
        return np.sum(w)

    def binds(x):
        global b
        y = b * x
        b = b + 1.0
        return y

    for f, name in ((fills, "w"), (binds, "b")):
        with pytest.raises(MutationError, match=f"'{name}', which is written here"):
            grad(f, wrt=name)(2.0)
    assert (w[0], b) == (1.0, 2.0)


def test_unknown_captured_name_rejected():
    for f, name in (
        (direct, "params"),
        (direct, "nothing"),
        (direct, "np"),
        (by_helpers, "predict"),
    ):
        with pytest.raises(WrtError, match=f"'{name}'"):
            grad(f, wrt=name)
    with pytest.raises(WrtError, match="'w'"):
        grad(lambda x: grad(direct, wrt="w")(x)[0])(X)


def test_parameter_shadows_captured_variable():
    def f(x, w=w):
        return np.sum(x * w) * penalty()

    assert_allclose(grad(f, wrt="w")(X), 5.0 * X)
