"""What is the same in every trip is computed once, if nobody can tell."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import srcad
from tests.numeric import assert_close, difference


def source(f, *args):
    g = srcad.grad(f)
    np.testing.assert_allclose(g(*args), difference(f, args), rtol=1e-7)
    value, _ = srcad.value_and_grad(f)(*args)
    assert value == f(*args)
    return g.source


def before_loop(text):
    return text.partition("for ")[0]


def test_constant_chain_hoisted():
    def f(x, n):
        for _ in range(n):
            x = x * (np.sin(1) + np.exp(np.cos(0.5)))
        return x

    text = source(f, 0.3, 4)

    assert "np.exp(np.cos(0.5))" in before_loop(text)
    assert "append" not in text


def test_hoisted_out_of_two_loops():
    def f(x, n):
        for _ in range(n):
            for _ in range(n):
                x = x * np.cos(1) + 0.1
        return x

    assert "np.cos(1)" in before_loop(source(f, 0.3, 2))


def test_operation_that_never_warns_hoisted():
    def f(x, a, n):
        for _ in range(n):
            x = x * np.tanh(a) + 0.1
        return x

    assert "np.tanh(a)" in before_loop(source(f, 0.3, 0.5, 3))


@pytest.mark.parametrize("a", [-1.0, np.inf])
def test_warning_operation_not_hoisted_from_possibly_empty_loop(a):
    def f(x, a, n):
        for _ in range(n):
            x = x * np.sqrt(a) * np.sin(a)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert srcad.grad(f)(2.0, a, 0) == 1.0


@pytest.mark.parametrize("exponent", [-1.0, 400.0])
def test_failing_constant_expression_not_hoisted(exponent):
    def f(x, n):
        for _ in range(n):
            x = x * np.float_power(0.0, exponent) * (10.0**exponent / 0.0)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert srcad.grad(f)(2.0, 0) == 1.0


def test_any_operation_hoisted_from_nonempty_loop():
    def f(x, a):
        for _ in range(3):
            x = x * np.sum(np.exp(a))
        return x

    assert "np.sum(np.exp(a))" in before_loop(source(f, 0.3, np.array([0.1, -0.2])))


def test_not_hoisted_before_operation_that_may_raise():
    def f(x, a, items):
        for k in range(2):
            x = x * items[k]
            x = x * np.sum(np.log(a))
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError):
            srcad.grad(lambda x, a: f(x / 0.0 if a[0] == 0 else x, a, (1.0, 2.0)))(1.0, np.zeros(2))


def test_active_operation_not_hoisted():
    def f(x, n):
        y = 1.0
        for _ in range(n):
            y = y * np.tanh(x)
        return y

    assert "np.tanh(x)" not in before_loop(source(f, 0.3, 3))


def test_hoisting_keeps_mutable_arrays_distinct():
    def f(x, a):
        rows = []
        for k in range(3):
            row = np.tanh(a)
            row[0] = k * x
            rows.append(row)
        return np.sum(rows[0]) + np.sum(rows[1] * rows[2])

    a = np.array([0.1, 0.2])
    assert_close(srcad.grad(f)(0.4, a), difference(f, (0.4, a)))


def test_hoisting_keeps_returned_arrays_distinct():
    def f(x, a):
        rows = []
        for _ in range(3):
            rows.append(np.tanh(a))
        return x * x, rows

    _, rows = srcad.grad(f, has_aux=True)(2.0, np.array([0.1, 0.2]))

    assert len({id(row) for row in rows}) == 3


def test_use_of_array_written_in_loop_not_hoisted():
    def f(x, a):
        b = np.array(a)
        for _ in range(3):
            x = x * np.sum(np.tanh(b))
            b[0] = b[0] + 1.0
        return x

    a = np.array([0.1, 0.2])
    assert_close(srcad.grad(f)(0.4, a), difference(f, (0.4, a)))


def test_use_of_container_written_in_loop_not_hoisted():
    def f(x, table):
        for _ in range(2):
            x = x * np.tanh(table["a"])
            table["a"] = table["a"] + 1.0
        return x

    assert srcad.grad(f)(1.0, {"a": 0.5}) == pytest.approx(np.tanh(0.5) * np.tanh(1.5))
