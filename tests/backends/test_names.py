"""Names of generated code: the user's own, never in each other's way."""

from __future__ import annotations

import operator

import numpy as np
import pytest

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
