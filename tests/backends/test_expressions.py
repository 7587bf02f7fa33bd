"""How calls, constants and subscripts are written."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from srcad.ir.core import Const, Display, Function, Value
from srcad.ir.inference.builder import Builder
from srcad.ir.primitives import (
    add_at,
    append,
    build_dict,
    build_list,
    build_tuple,
    field,
    item,
    shape,
    updated,
)
from srcad.types.numeric import FLOAT, INT, array_type
from srcad.types.sizes import fresh_extent
from srcad.types.structures import OPAQUE, ListOf, TupleOf
from tests.backends.check import assert_means_the_same, written

MATRIX = array_type(float, (fresh_extent(), fresh_extent()))
NONE = Const(None)


def expression(*args: object, param: Value | None = None, **kwargs: object) -> str:
    """The expression that one call becomes, of a parameter `x`."""
    b = Builder()
    x = param or Value(MATRIX, "x")
    values = tuple(x if a == "x" else a for a in args)
    pairs = tuple(kwargs.items())
    result = b.call(values[0], *values[1:], kwargs=pairs, type=OPAQUE)  # type: ignore[arg-type]
    text = written(Function("f", (x,), b.finish(result)))
    return text.split("return ", 1)[1].strip()


@pytest.mark.parametrize(
    ("call", "want"),
    [
        ((operator.add, "x", Const(1.0)), "x + 1.0"),
        ((operator.matmul, "x", "x"), "x @ x"),
        ((operator.neg, "x"), "-x"),
        ((operator.lt, "x", Const(0)), "x < 0"),
        ((operator.not_, "x"), "not x"),
        ((abs, "x"), "abs(x)"),
        ((np.abs, "x"), "np.abs(x)"),
        ((np.linalg.solve, "x", "x"), "np.linalg.solve(x, x)"),
        ((np.add.at, "x", Const(0), Const(1)), "np.add.at(x, 0, 1)"),
        ((math.sin, "x"), "math.sin(x)"),
        ((np.transpose, "x"), "x.T"),
        ((np.transpose, "x", Const((1, 0))), "np.transpose(x, (1, 0))"),
        ((np.size, "x"), "x.size"),
        ((np.ndim, "x"), "x.ndim"),
        ((np.copy, "x"), "np.copy(x)"),
        ((np.reshape, "x", Const(-1)), "x.reshape(-1)"),
        ((np.astype, "x", Const(np.float32)), "x.astype(np.float32)"),
        ((shape, "x"), "x.shape"),
        ((append, "x", Const(1)), "[*x, 1]"),
        ((build_tuple, "x"), "x,"),
        ((build_list, "x", Const(2)), "[x, 2]"),
        ((build_dict, Const(("a", "b")), "x", Const("it's")), """{"a": x, "b": "it's"}"""),
        ((field, "x", Const("scale")), "x.scale"),
        ((item, "x", Const("W")), 'x["W"]'),
    ],
)
def test_calls_are_written_as_python(call: tuple[object, ...], want: str) -> None:
    assert expression(*call) == want


@pytest.mark.parametrize(
    ("index", "want"),
    [
        (Const(-1), "x[-1]"),
        (Display("slice", (Const(1), Const(-1), NONE)), "x[1:-1]"),
        (Display("slice", (NONE, NONE, Const(-1))), "x[::-1]"),
        (Display("tuple", (Const(...), NONE)), "x[..., None]"),
        (
            Display("tuple", (Display("slice", (Const(1), NONE, NONE)), Const(0))),
            "x[1:, 0]",
        ),
        (Const((slice(None, 2), None)), "x[:2, None]"),
    ],
)
def test_subscripts(index: object, want: str) -> None:
    assert expression(operator.getitem, "x", index) == want


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (-2.0, "-2.0"),
        (-3, "-3"),
        (1e-12, "1e-12"),
        (math.nan, "np.nan"),
        (-math.inf, "-np.inf"),
        (1 + 2j, "1.0 + 2.0j"),
        ("a'b", '''"a'b"'''),
        ('a"b', """'a"b'"""),
        ((1, -2), "1, -2"),
        (None, "None"),
    ],
)
def test_constants(value: object, want: str) -> None:
    x = Value(FLOAT, "x")

    text = written(Function("f", (x,), Builder().finish(Const(value))))

    assert text == f"def f(x):\n    return {want}\n"


def test_a_negative_base_keeps_its_sign() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    y = b.call(operator.pow, Const(-2.0), x)

    assert_means_the_same(Function("f", (x,), b.finish(y)), 2.0)


def test_operator_precedence_preserved() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    total = b.call(operator.sub, x, b.call(operator.sub, x, Const(1.0)))
    y = b.call(operator.truediv, total, b.call(operator.mul, x, Const(3.0)))
    z = b.call(operator.pow, b.call(operator.neg, y), Const(2))

    function = Function("f", (x,), b.finish(z))

    assert "(-((x - (x - 1.0)) / (x * 3.0))) ** 2" in written(function)
    assert_means_the_same(function, 0.7)


def test_arrays_and_functions_are_names() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    table = np.arange(3.0)
    y = b.call(np.dot, Const(table, "TABLE"), Const(table, "TABLE"))

    function = Function("f", (x,), b.finish(b.call(operator.add, x, y)))

    assert written(function) == "def f(x):\n    return x + np.dot(TABLE, TABLE)\n"
    assert_means_the_same(function, 1.0)


def test_constants_emitted_with_user_spelling() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    y = b.call(operator.mul, x, Const(np.pi, "np.pi"))
    z = b.call(operator.mul, y, Const(2.0, "config.scale"))

    assert "return x * np.pi * 2.0" in written(Function("f", (x,), b.finish(z)))


def test_the_users_variables_keep_their_statement() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    h = b.call(operator.mul, x, Const(2.0), hint="h")
    y = b.call(np.tanh, h)

    assert written(Function("f", (x,), b.finish(y))) == (
        "def f(x):\n    h = x * 2.0\n    return np.tanh(h)\n"
    )


def test_use_not_moved_past_write() -> None:
    b, n = Builder(), fresh_extent()
    v = Value(array_type(float, (n,)), "v")
    u = b.call(np.copy, v, hint="u")
    before = b.call(np.sum, u)
    b.call(print, Const(""), kwargs=(("end", Const("")),), effect=True)
    later = b.call(operator.mul, before, Const(2.0))

    text = written(Function("f", (v,), b.finish(later)))

    assert text.index("np.sum") < text.index("print")


def test_tuples_are_unpacked_where_they_are_made() -> None:
    b, a = Builder(), Value(MATRIX, "a")
    pair = b.call(np.linalg.slogdet, a, type=TupleOf((FLOAT, FLOAT)))
    sign = b.call(item, pair, Const(0), hint="sign")
    logdet = b.call(item, pair, Const(1), hint="logdet")
    y = b.call(operator.mul, sign, logdet)

    function = Function("f", (a,), b.finish(y))

    assert "sign, logdet = np.linalg.slogdet(a)" in written(function)
    assert_means_the_same(function, np.diag([2.0, -3.0]))


def test_container_parts_unpacked_in_one_line() -> None:
    b = Builder()
    params = Value(TupleOf((FLOAT, FLOAT), ("W", "b"), dict), "params")
    w = b.call(item, params, Const("W"), hint="W")
    c = b.call(item, params, Const("b"), hint="b")
    y = b.call(operator.add, b.call(operator.mul, w, w), b.call(operator.mul, c, c))

    function = Function("f", (params,), b.finish(y))

    assert 'W, b = params["W"], params["b"]' in written(function)
    assert_means_the_same(function, {"W": 2.0, "b": 3.0})


def test_a_sum_of_two_thousand_terms_compiles() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    total = x
    for k in range(2000):
        total = b.call(operator.add, total, Const(float(k)))

    function = Function("f", (x,), b.finish(total))

    assert max(map(len, written(function).splitlines())) <= 88
    assert_means_the_same(function, 1.0)


def test_non_in_place_store_copies_array() -> None:
    b = Builder()
    v = Value(array_type(float, (fresh_extent(),)), "v")
    u = b.call(updated, v, Const(0), Const(1.0), hint="u")
    w = b.call(add_at, u, Const(1), b.call(operator.getitem, v, Const(0)), hint="u")

    function = Function("f", (v,), b.finish(w, u))

    assert_means_the_same(function, np.array([5.0, 6.0]))


def test_list_of_numbers_copied_before_append() -> None:
    b, n = Builder(), Value(INT, "n")
    xs = Value(ListOf(FLOAT), "xs")
    longer = b.call(append, xs, Const(1.0), hint="xs")

    assert_means_the_same(Function("f", (xs, n), b.finish(longer, xs)), [2.0], 1)
