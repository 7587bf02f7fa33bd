"""What is no function is not called, and what has no items is not unpacked: in Python's words."""

from __future__ import annotations

import datetime
import decimal
import importlib
import math
import sys
import types

import numpy as np
import pytest

from srcad import grad
from srcad.errors import (
    MissingRuleError,
    NonScalarOutputError,
    UnsupportedSyntaxError,
    UnsupportedTypeError,
)
from srcad.rules import registry

scipy = types.ModuleType("scipy")  # imported by tests only: rules load with it

NUMBER, NOTHING, TEXT = 3.0, None, "text"
OBJECT = types.SimpleNamespace(k=2.0)


class Plain:
    pass


def unpacks(x):
    a, b = x
    return a * b


def unpacks_a_number(x):
    a, b = NUMBER
    return a * b * x


def unpacks_nothing(x):
    a, b = NOTHING
    return a * b * x


def unpacks_with_a_star(x):
    a, *b = x
    return a * len(b)


PROGRAMS = {
    "calls the argument": (lambda x: x(3.0), 1.0),
    "calls an array": (lambda x: x(3.0), np.ones(2)),
    "calls a number of NumPy": (lambda x: x(3.0), np.float64(1.0)),
    "calls a number": (lambda x: NUMBER(x), 1.0),
    "calls nothing": (lambda x: NOTHING(x), 1.0),
    "calls a text": (lambda x: TEXT(x), 1.0),
    "calls a tuple": (lambda x: (lambda pair: pair(2.0))((x, x)), 1.0),
    "calls a list": (lambda x: (lambda items: items(2.0))([x]), 1.0),
    "calls a dict": (lambda x: dict(a=x)(2.0), 1.0),  # noqa: C408
    "calls a module": (lambda x: np(x), 1.0),
    "calls an object": (lambda x: OBJECT(x), 1.0),
    "calls an object made here": (lambda x: Plain()(x), 1.0),
    "unpacks the argument": (unpacks, 1.0),
    "unpacks a number of NumPy": (unpacks, np.float64(1.0)),
    "unpacks an array of no axis": (unpacks, np.array(1.0)),
    "unpacks a number": (unpacks_a_number, 1.0),
    "unpacks nothing": (unpacks_nothing, 1.0),
    "unpacks with a star": (unpacks_with_a_star, 1.0),
    "loops over the argument": (lambda x: sum([i for i in x]), 1.0),  # noqa: C416
    "loops over a number": (lambda x: sum([i * x for i in NUMBER]), 1.0),
    "spreads the argument": (lambda x: max(*x), 1.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_type_error_matches_original_function(name):
    function, x = PROGRAMS[name]
    with pytest.raises(TypeError) as plain:
        function(x)

    with pytest.raises(TypeError) as caught:
        grad(function)(x)

    if name == "spreads the argument" or sys.version_info < (3, 12):
        word = "iteration" if name == "unpacks an array of no axis" else "object"
        assert word in str(caught.value)
    else:
        assert str(caught.value) == str(plain.value)


KNOTS = np.arange(5.0)
CLASSES = {
    "spline": lambda x: scipy.interpolate.CubicSpline(KNOTS, KNOTS * x)(2.5),
    "sparse": lambda x: np.sum(scipy.sparse.csr_matrix(np.eye(2) * x).toarray()),
    "timedelta": lambda x: datetime.timedelta(seconds=x).total_seconds(),
    "decimal": lambda x: float(decimal.Decimal(x)),
    "compiled function": lambda x: math.ulp(x),
}


@pytest.fixture
def with_scipy():
    for name in ("interpolate", "sparse", "special"):
        importlib.import_module(f"scipy.{name}")
    globals()["scipy"] = importlib.import_module("scipy")
    registry.lookup(scipy.special.gamma)  # its rows stay when the table is put back


@pytest.mark.usefixtures("with_scipy")
@pytest.mark.parametrize("name", CLASSES)
def test_suggested_rule_stub_is_executable(name, monkeypatch):
    monkeypatch.setattr(registry, "_table", dict(registry._table))
    with pytest.raises(MissingRuleError) as caught:
        grad(CLASSES[name])(1.0)

    stub = caught.value.help[0].partition("\n")[2]
    space: dict[str, object] = {}
    exec(stub, space)  # it registers the rule
    made = [one for one in space.values() if isinstance(one, types.FunctionType)]
    assert made
    if name == "timedelta":
        assert "seconds" in stub


def test_frompyfunc_rejected_like_vectorize():
    squared = np.frompyfunc(lambda a: a * a, 1, 1)

    with pytest.raises(UnsupportedSyntaxError, match="called for each entry"):
        grad(lambda x: squared(x) * 1.0)(2.0)


@pytest.mark.parametrize("x", [np.array([1.0, 2.0], dtype=object), np.array(["a"])])
def test_object_array_argument_error_names_dtype(x):
    with pytest.raises(
        UnsupportedTypeError,
        match="an array (of objects, of text or of records|that holds objects)",
    ):
        grad(lambda x: np.sum(x * x) if x.dtype == object else 1.0)(x)


@pytest.mark.parametrize("result", ["text", True])
def test_non_numeric_result_error_does_not_suggest_jacobian(result):
    with pytest.raises(NonScalarOutputError) as caught:
        grad(lambda x: result)(1.0)

    assert "jacobian" not in str(caught.value)


def test_tuple_result_error_suggests_jacobian_and_pullback():
    with pytest.raises(NonScalarOutputError) as caught:
        grad(lambda x: (x, x))(1.0)

    assert "srcad.jacobian" in str(caught.value)
    assert "srcad.pullback" in str(caught.value)
    assert "elementwise_grad" not in str(caught.value)
