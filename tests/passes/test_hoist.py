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


def test_a_chain_of_literals_moves():
    def f(x, n):
        for _ in range(n):
            x = x * (np.sin(1) + np.exp(np.cos(0.5)))
        return x

    text = source(f, 0.3, 4)

    assert "np.exp(np.cos(0.5))" in before_loop(text)
    assert "append" not in text


def test_out_of_two_loops():
    def f(x, n):
        for _ in range(n):
            for _ in range(n):
                x = x * np.cos(1) + 0.1
        return x

    assert "np.cos(1)" in before_loop(source(f, 0.3, 2))


def test_what_never_warns_moves():
    def f(x, a, n):
        for _ in range(n):
            x = x * np.tanh(a) + 0.1
        return x

    assert "np.tanh(a)" in before_loop(source(f, 0.3, 0.5, 3))


@pytest.mark.parametrize("a", [-1.0, np.inf])
def test_what_may_warn_stays_where_there_may_be_no_trip(a):
    def f(x, a, n):
        for _ in range(n):
            x = x * np.sqrt(a) * np.sin(a)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert srcad.grad(f)(2.0, a, 0) == 1.0


@pytest.mark.parametrize("exponent", [-1.0, 400.0])
def test_literals_that_fail_stay(exponent):
    def f(x, n):
        for _ in range(n):
            x = x * np.float_power(0.0, exponent) * (10.0**exponent / 0.0)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert srcad.grad(f)(2.0, 0) == 1.0


def test_with_a_certain_trip_anything_moves():
    def f(x, a):
        for _ in range(3):
            x = x * np.sum(np.exp(a))
        return x

    assert "np.sum(np.exp(a))" in before_loop(source(f, 0.3, np.array([0.1, -0.2])))


def test_nothing_moves_in_front_of_what_may_fail():
    def f(x, a, items):
        for k in range(2):
            x = x * items[k]
            x = x * np.sum(np.log(a))
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError):
            srcad.grad(lambda x, a: f(x / 0.0 if a[0] == 0 else x, a, (1.0, 2.0)))(1.0, np.zeros(2))


def test_what_a_derivative_flows_through_stays():
    def f(x, n):
        y = 1.0
        for _ in range(n):
            y = y * np.tanh(x)
        return y

    assert "np.tanh(x)" not in before_loop(source(f, 0.3, 3))


def test_arrays_of_their_own_are_not_shared():
    def f(x, a):
        rows = []
        for k in range(3):
            row = np.tanh(a)
            row[0] = k * x
            rows.append(row)
        return np.sum(rows[0]) + np.sum(rows[1] * rows[2])

    a = np.array([0.1, 0.2])
    assert_close(srcad.grad(f)(0.4, a), difference(f, (0.4, a)))


def test_arrays_that_are_returned_are_not_shared():
    def f(x, a):
        rows = []
        for _ in range(3):
            rows.append(np.tanh(a))
        return x * x, rows

    _, rows = srcad.grad(f, has_aux=True)(2.0, np.array([0.1, 0.2]))

    assert len({id(row) for row in rows}) == 3


def test_what_is_written_in_the_loop_stays():
    def f(x, a):
        b = np.array(a)
        for _ in range(3):
            x = x * np.sum(np.tanh(b))
            b[0] = b[0] + 1.0
        return x

    a = np.array([0.1, 0.2])
    assert_close(srcad.grad(f)(0.4, a), difference(f, (0.4, a)))


def test_what_is_read_anew_from_a_container_stays():
    def f(x, table):
        for _ in range(2):
            x = x * np.tanh(table["a"])
            table["a"] = table["a"] + 1.0
        return x

    assert srcad.grad(f)(1.0, {"a": 0.5}) == pytest.approx(np.tanh(0.5) * np.tanh(1.5))
