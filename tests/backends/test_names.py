"""Names of generated code: the user's own, never in each other's way."""

from __future__ import annotations

import operator
import re

import numpy as np
import pytest

import srcad
from srcad.backends.python.backend import load
from srcad.backends.python.emitter import emit
from srcad.backends.python.naming.names import fresh, identifier, parameter_name
from srcad.ir.core import Const, Function, Value
from srcad.ir.inference.builder import Builder
from srcad.types.numeric import FLOAT
from tests.backends.check import assert_means_the_same, written


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ("x", "x"),
        ("lambda", "lambda_"),
        ("__import__", "import_"),
        ("a b; import os", "a_b_import_os"),
        ("3d", "x_3d"),
        ("", "value"),
        ("ﬁ", "fi"),
        ("match", "match_"),
        (3, "int"),
    ],
)
def test_every_name_is_an_identifier(wanted: object, got: str) -> None:
    assert identifier(wanted) == got
    assert identifier(wanted).isidentifier()


def test_a_str_subclass_is_no_name() -> None:
    class Evil(str):
        __slots__ = ()

    assert identifier(Evil("x")) == "Evil"
    assert parameter_name(Evil("x")) == "Evil"


def test_used_names_get_numeric_suffix() -> None:
    assert fresh("x", {"x", "x_1"}) == "x_2"


@pytest.mark.parametrize("name", ["np", "math", "len", "print", "f", "x_bar", "match"])
def test_parameter_named_like_internal_name(name: str) -> None:
    b, x = Builder(), Value(FLOAT, name)
    y = b.call(np.sin, b.call(operator.mul, x, Const(2.0)))
    function = Function("f", (x,), b.finish(b.call(abs, y)))

    assert f"({name})" in written(function).splitlines()[0]
    assert_means_the_same(function, 0.3)


def test_versions_of_a_variable_share_its_name() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    first = b.call(operator.mul, x, Const(2.0), hint="x")
    second = b.call(operator.add, first, Const(1.0), hint="x")

    text = written(Function("f", (x,), b.finish(second)))

    assert text == "def f(x):\n    x = x * 2.0\n    x = x + 1.0\n    return x\n"


def test_simultaneously_live_versions_have_distinct_names() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    first = b.call(operator.mul, x, Const(2.0), hint="h")
    second = b.call(operator.add, first, Const(1.0), hint="h")
    y = b.call(operator.mul, first, second)

    text = written(Function("f", (x,), b.finish(y)))

    assert text == "def f(x):\n    h = x * 2.0\n    h_1 = h + 1.0\n    return h * h_1\n"


def test_namespace_contains_only_used_names() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    emitted = emit(Function("f", (x,), b.finish(b.call(np.sin, x))))

    assert set(emitted.namespace) == {"np"}
    assert load(emitted)(0.5) == np.sin(0.5)


def product_of_two(x, y):
    z = np.exp(x * y)
    return np.sum(z * np.sin(y))


def residual_of_two(x, y):
    r = np.tanh(x) - y
    return np.sum(r * r) * 0.5


def rotated(x, y):
    a, b, c = x[0], x[1], x[0] * x[1]
    for _ in range(4):
        a, b, c = b, c, a
    return a + 2 * b * c * y[0]


def item_of_a_path(x, y):
    d = {"a": x[0], "b": x[1]}
    for k in ("a", "b"):
        if d[k] > 0.5:
            d[k] = d["a"] * y[2]
        else:
            d["b"] = d["a"] * y[1]
    return d["a"] * d["b"]


@pytest.mark.parametrize("f", [product_of_two, residual_of_two, rotated, item_of_a_path])
def test_primal_value_has_no_name_of_a_cotangent(f):
    x, y = np.array([0.3, 0.7, 0.2]), np.array([0.5, 0.9, 1.1])
    g = srcad.grad(f, wrt=(0, 1))

    found = g(x, y)

    primal = re.split(r"\n +# ", g.source)[0]
    assert not re.search(r"_bar(_\d+)? =", primal)
    for k, gradient in enumerate(found):
        for j in range(3):
            step = 1e-6 * (np.arange(3) == j)
            up, down = ([x, y] for _ in range(2))
            up[k], down[k] = up[k] + step, down[k] - step
            assert gradient[j] == pytest.approx((f(*up) - f(*down)) / 2e-6, rel=1e-7, abs=1e-9)


def test_name_of_the_user_that_looks_like_a_cotangent_is_kept():
    def f(x_bar, y):
        x_bar = np.exp(x_bar * y)
        return np.sum(x_bar * x_bar)

    g = srcad.grad(f)
    g(np.ones(2), np.ones(2))

    assert "    x_bar = np.exp(x_bar * y)\n" in g.source


def stacked_rows(x):
    return np.sum(np.r_[x, 2.0 * x] ** 2) + np.sum(np.c_[x, x] ** 3)


def on_a_grid(x):
    return np.sum(np.mgrid[0:3] * x) + np.sum(np.ogrid[0 : len(x)] * x**2)


@pytest.mark.parametrize(
    ("f", "expected"), [(stacked_rows, ()), (on_a_grid, ("np.mgrid[", "np.ogrid["))]
)
def test_indexed_objects_of_numpy_have_their_own_names(f, expected) -> None:
    gradient = srcad.grad(f)
    gradient(np.array([1.0, 2.0, 3.0]))

    assert not re.search(r"\w+Class\[|nd_grid", gradient.source)
    for text in expected:
        assert text in gradient.source
