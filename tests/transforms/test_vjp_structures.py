"""Structures, lists, kinds of gradients, strong zeros, recursion."""

from __future__ import annotations

import numpy as np
import pytest

from srcad.errors import MissingRuleError
from tests.transforms.checking import agrees, derived, gradient, shown


def layers(params, x):
    h = x
    for w, b in params:
        h = np.tanh(h @ w + b)
    return np.sum(h * h)


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def tree(x, a, n):
    if n <= 1:
        return np.sin(x) * a, a
    left, p = tree(x * 0.9, a, n - 1)
    right, q = tree(x + a, a * 0.7, n - 2)
    return left * right + p, q * np.cos(left)


def forest(x, a):
    s = 0.0
    for k in range(4):
        u, v = tree(x, a, k)
        s += u * v
    return s


def list_with_appends_and_breaks(a, x):
    items = []
    for v in x:
        items.append(v * a)
        if v > 1.0:
            break
    return np.sum(np.array(items) ** 2) + items[-1]


def dot_of_rows(m):
    s = 0.0
    for row in m:
        s += row @ row
    return s


M = np.array([[0.3, -0.7], [1.1, 0.2]])


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (power, (1.5, 4)),
        (power, (1.5, 0)),
        (forest, (0.7, 1.3)),
        (list_with_appends_and_breaks, (0.7, np.array([0.3, 1.2, 0.4]))),
        (list_with_appends_and_breaks, (0.7, np.array([0.3, 0.2, 0.4]))),
        (dot_of_rows, (M,)),
    ],
)
def test_orders_one_and_two_agree_with_differences(f, args):
    agrees(f, *args)


def test_a_list_of_layers_gets_a_list_of_pairs():
    params = [(M, M[0]), (M.T, M[1]), (M, M[0])]

    (found,) = gradient(layers, params, M[0], wrt=(0,))

    assert [tuple(np.shape(part) for part in layer) for layer in found] == [((2, 2), (2,))] * 3


def test_gradients_have_the_kinds_of_the_arguments():
    def f(a, b, c, d):
        return a * b + c * np.sum(d)

    found = gradient(f, 2.0, np.float32(3.0), np.float64(1.0), np.ones(2, np.float32))

    assert [type(g) for g in found] == [float, np.float32, np.float64, np.ndarray]
    assert found[3].dtype == np.float32


def test_integer_gradient_only_through_arithmetic():
    def f(a, n, x):
        s = 0.0
        for i in range(n):
            s += a * x[i]
        return s

    a, n, x = gradient(f, 3, 2, np.array([2, 5, 7], np.int8))

    assert (a, n) == (7.0, None)
    assert x.dtype == np.float64
    assert x.tolist() == [3.0, 3.0, 0.0]


def test_small_integers_do_not_overflow_in_reverse_half():
    (found,) = gradient(lambda x: np.sum(x**2.0), np.array([100, 7], np.int8))

    assert found.tolist() == [200.0, 14.0]


def test_unused_float_leaves_zero_and_bool_leaves_none():
    def f(p):
        return p["a"] * 2.0

    (found,) = gradient(f, {"a": 1.0, "b": np.ones(3), "c": True, "d": [1.0, 2.0], "e": 3})

    assert found["a"] == 2.0
    assert found["b"].tolist() == [0.0, 0.0, 0.0]
    assert (found["c"], found["d"], found["e"]) == (None, [0.0, 0.0], None)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), np.array([0.0, -1.0, 2.0])),
        (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), np.array([0.0, 4.0])),
        (lambda x: np.sum(np.where(x != 0, np.sin(x) / x, 1.0)), np.array([0.0, 2.0])),
        (lambda x: np.sum(np.where(x > 0, x * np.log(x), 0.0)), np.array([0.0, 2.0])),
    ],
)
def test_masked_entries_have_exact_zero_gradient(f, x):
    with np.errstate(all="ignore"):
        (found,) = gradient(f, x)

    assert np.all(np.isfinite(found))
    assert np.all(found[x <= 0] == 0)


def test_no_masks_without_singular_partials():
    assert "where" not in shown(lambda a, b: np.sum(np.maximum(a * b, 0.0)), np.ones(3), np.ones(3))


def test_a_missing_rule_names_the_callee_and_the_value():
    def f(x):
        return np.sum(np.emath.sqrt(x))

    with pytest.raises(MissingRuleError, match=r"numpy\.emath\.sqrt"):
        derived(f, np.ones(3))


def test_infinite_slope_returned_without_error():
    import math

    def f(x):
        return math.sqrt(x)

    with np.errstate(all="ignore"):
        assert gradient(f, 0.0) == (np.inf,)


def test_float_list_gradient_has_float_entries():
    def f(values):
        return np.sum(np.array(values) ** 2) + np.sum(np.array(values)) + values[0]

    (found,) = gradient(f, [1.0, 2.0])

    assert found == [4.0, 5.0]
    assert [type(g) for g in found] == [float, float]
