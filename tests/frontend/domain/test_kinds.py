"""What the front end knows of a result before the call: kinds, dtypes, lengths, assumptions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad.arguments.signature import describe
from srcad.frontend.lower import Signature
from srcad.ir.evaluate import evaluate
from srcad.ir.inference.builder import atom_type
from srcad.ir.verify import verify
from srcad.pipeline import interpreted
from srcad.types.sizes import ShapeEnvironment

X = np.arange(1.0, 5.0)
A = np.arange(12.0).reshape(3, 4)
F = A.astype(np.float32)


def kind(f: Callable[..., Any], *args: Any) -> tuple[str, ShapeEnvironment]:
    environment = ShapeEnvironment()
    bound = inspect.signature(f).bind(*args)
    types = {n: describe(v, (("param", n),), environment) for n, v in bound.arguments.items()}
    lowered = interpreted(f, (), Signature(types, environment, arguments=bound.arguments))
    verify(lowered.function)
    np.testing.assert_equal(evaluate(lowered.function, *args), f(*args))
    return str(atom_type(lowered.function.block.results[0])), environment


def float_stays(x):
    return x * 2 + 1


def int_division(n):
    return n / 2


def int_power(n):
    return n**2


def row_sums(a):
    return np.sum(a, axis=1)


def kept_axis(a):
    return a.mean(axis=0, keepdims=True)


def element(x):
    return x[0]


def inner_slice(x):
    return x[1:-1]


def product(a, x):
    return a @ x


def outer_sum(x, y):
    return x[:, None] + y[None, :]


def transposed(a):
    return a.T


def weak_constant(a):
    return 2.0 * a


def widened(a, x):
    return a * x


def joined(x):
    return np.concatenate([x, x[:1]])


def masked(x):
    return x[x > 2]


def total(x):
    s = 0.0
    for v in x:
        s = s + v
    return s


def python_total(n):
    s = 0.0
    for i in range(n):
        s = s + 0.5 * i
    return s


def branch(x, n):
    return x if n > 2 else 2 * x


def mixed_branch(x, n):
    return x if n > 2 else 0.0


def grown(x):
    ys = []
    for v in x:
        ys.append(v * v)
    return ys


def stacked(a):
    rows = []
    for row in a:
        rows.append(row * 2)
    return np.stack(rows)


def scalar_math(x):
    return math.sin(x)


def numpy_on_float(x):
    return np.sin(x)


def pair(x):
    return x, (x.sum(), len(x))


def record(x):
    return {"a": x, "b": x[0]}


def zero_d(x):
    return np.asarray(x)


def counted(x):
    return x.shape[0] - 1


def element_or_float(x, n):
    return x[0] if n > 2 else 0.5


def sine_of_either(x, n):
    return np.sin(x[0] if n > 2 else 0.5)


def product_with_either(x, n):
    return (x[0] if n > 2 else 0.5) * x[1]


def power_of_either(x, n):
    return (x[0] if n > 2 else 0.5) ** 2


def broadcast_of_either(x, n):
    return (x - (x[0] if n > 2 else 0.5))[1:]


def mean_of_any_rank(x, n):
    return np.mean(x if n > 2 else 0.5)


def flat_of_any_rank(a, n):
    return np.ravel(a if n > 2 else a[0])


def rows_of_any_rank(a, n):
    return np.sum(a if n > 2 else a[0], axis=0)


def from_an_integer(x):
    s = 0
    for v in x:
        s = s + v
    return s * x


def counted_table(x):
    return np.arange(6.0).reshape(2, 3) * x


def counted_by_a_float(x):
    return np.arange(0.0, 2 * x)


def read_at_places(x):
    return (np.arange(2.0) * x)[np.array([0, 0, 1])]


def read_at_a_place(x, n):
    return (np.arange(2.0) * x)[n % 2]


CASES = [
    (float_stays, (1.5,), "float"),
    (int_division, (3,), "float"),
    (int_power, (3,), "int"),
    (row_sums, (A,), "float64[r]"),
    (kept_axis, (A,), "float64[1, c]"),
    (element, (X,), "float64"),
    (inner_slice, (X,), "float64[r-2]"),
    (product, (A, X), "float64[r]"),
    (outer_sum, (X, X[:3]), "float64[r, s]"),
    (transposed, (A,), "float64[c, r]"),
    (weak_constant, (F,), "float32[r, c]"),
    (widened, (F, X), "float64[r, c]"),
    (joined, (X,), "float64[r+1]"),
    (masked, (X,), "float64[m]"),
    (total, (X,), "float64[]"),
    (python_total, (4,), "float"),
    (branch, (X, 3), "float64[r]"),
    (mixed_branch, (X, 3), "float64[...]"),
    (grown, (X,), "list[float64]"),
    (stacked, (A,), "float64[k, c]"),
    (scalar_math, (0.5,), "float"),
    (numpy_on_float, (0.5,), "float64"),
    (pair, (X,), "(float64[r], (float64, int))"),
    (record, (X,), "dict(a: float64[r], b: float64)"),
    (zero_d, (1.5,), "float64[]"),
    (counted, (X,), "int"),
    (counted_table, (1.5,), "float64[2, 3]"),
    (read_at_places, (1.5,), "float64[3]"),
    (read_at_a_place, (1.5, 3), "float64"),
    (counted_by_a_float, (1.5,), "float64[k]"),
    (element_or_float, (X, 3), "float64[]"),
    (sine_of_either, (X, 3), "float64"),
    (product_with_either, (X, 3), "float64"),
    (power_of_either, (X, 3), "float64[]"),
    (broadcast_of_either, (X, 3), "float64[r-1]"),
    (mean_of_any_rank, (X, 3), "float64"),
    (flat_of_any_rank, (A, 3), "float64[m]"),
    (rows_of_any_rank, (A, 3), "float64[...]"),
    (from_an_integer, (X,), "?[r]"),
]


@pytest.mark.parametrize(("f", "args", "expected"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_inferred_kind_of_result(f, args, expected):
    found, _ = kind(f, *args)

    assert shape_of_text(found) == shape_of_text(expected)


def shape_of_text(text: str) -> str:
    """The text with lengths renamed in the order of their appearance."""
    names: dict[str, str] = {}
    result, word = "", ""
    inside = 0
    for char in text + "\0":
        if inside and (char.isalpha() or char == "_" or (word and char.isdigit())):
            word += char
            continue
        if word:
            result += names.setdefault(word, f"<{len(names)}>")
            word = ""
        inside += (char == "[") - (char == "]")
        result += char
    return result.rstrip("\0")


def test_slice_adds_minimum_length_assumption():
    _, environment = kind(inner_slice, X)

    assert [(a.relation, a.right.constant) for a in environment.assumptions] == [(">=", 2)]


def test_equal_length_assumption_only_when_needed():
    _, alone = kind(float_stays, X)
    _, together = kind(widened, A, X)

    assert not alone.assumptions
    assert "==" in [a.relation for a in together.assumptions]


def test_interpretation_runs_no_user_code():
    seen = []

    def noisy(x):
        seen.append(x)
        return x

    def f(x):
        return x * noisy(2.0)

    environment = ShapeEnvironment()
    types = {"x": describe(1.5, (("param", "x"),), environment)}
    interpreted(f, (), Signature(types, environment, active=("x",)))

    assert seen == []


def rotation(t):
    return np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])


@pytest.mark.parametrize(
    ("f", "args", "expected"),
    [
        (lambda x: x @ np.array([[1.0, 2.0], [3.0, 4.0]]), (np.ones(2),), "float64[2]"),
        (rotation, (0.3,), "float64[2, 2]"),
        (lambda x: np.array([(1, 2, 3)]) * x, (2.0,), "float64[1, 3]"),
        (lambda x: np.array([[[x], [1]]]), (2,), "int64[1, 2, 1]"),
        (lambda x: np.stack([[x, x], [1.0, x]]), (0.5,), "float64[2, 2]"),
        (lambda x: np.block([[x, x], [x, x]]), (A,), "float64[2*x_0, 2*x_1]"),
        (lambda x: np.asarray([[1.0, x]], dtype=np.float32), (2.0,), "float32[1, 2]"),
        (lambda x: np.ones(x.size) * x, (X,), "float64[x_0]"),
        (lambda x: np.ones(x[:, :3].size), (np.ones((2, 3)),), "float64[3*x_0]"),
        (lambda x: np.diag(x) + np.diag(x[1:], -1), (X,), "float64[x_0, x_0]"),
        (
            lambda x: np.array([[x * i for i in range(int(x))] for _ in range(2)]),
            (3.0,),
            "float64[2, n]",
        ),
        (lambda x: np.array([[*x], [x.sum(), 1.0]]), ((np.ones(2)),), "float64[2, 2]"),
    ],
)
def test_nested_list_literal_lengths_inferred(f, args, expected) -> None:
    assert kind(f, *args)[0] == expected
