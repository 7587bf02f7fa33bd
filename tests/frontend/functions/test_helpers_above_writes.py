"""Helpers above one that writes into an array of its caller keep functions of their own."""

import copy

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.array([0.3, 0.2, 0.9])


def scaled_in_place(y, s):
    y[0] = np.sin(y[1]) * s
    y[1:] *= s
    return np.cos(y) * y


def fresh(x, s):
    y = x * 1.5
    return scaled_in_place(y, s) + np.exp(-y * y) * np.tanh(x) + np.log1p(x * x)


def fresh_twice(x, s):
    a = fresh(x, s)
    b = fresh(a * x, s + 1.0)
    return np.tanh(a) * b + np.sin(b) * np.exp(-a * a) + np.sqrt(1.0 + b * b)


def straight(x, s):
    return np.sum(fresh_twice(x, s) * fresh(x, s))


def in_a_loop(x, s):
    total = x
    for k in range(3):
        total = 0.5 * total + 0.1 * fresh_twice(0.5 * total, 0.3 * s + 0.1 * k)
    return np.sum(total)


def in_a_branch(x, s):
    y = fresh(x, s)
    if y[0] > 0.1:
        return np.sum(fresh_twice(y, s))
    return np.sum(fresh(y * x, s))


def filled(x, s):
    table = np.zeros((2, 3))
    fill(table, x, s)
    return table[0] * np.sin(table[1]) + np.exp(-table[0]) * np.cos(table[1]) + x * s


def fill(table, x, s):
    table[0] = np.sin(x) * s
    table[1] = scaled_in_place(table[0] * 1.0, s)


def of_a_filled_table(x, s):
    return np.sum(filled(x, s) * filled(x[::-1], s * s) + filled(x * x, s))


def with_a_rejected_branch(x, s):
    y = x * s
    try:
        z = fresh(y, s)
    except ValueError:
        z = y
    return np.sum(z * fresh_twice(z, s))


PROGRAMS = [straight, in_a_loop, in_a_branch, of_a_filled_table, with_a_rejected_branch]


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives_of_both_orders_agree_with_differences(f):
    check_grads(f, (X, 0.8), order=2)


@pytest.mark.parametrize("f", PROGRAMS)
def test_result_and_gradient_are_those_of_inlined_helpers(f, monkeypatch):
    found = srcad.value_and_grad(f, wrt=(0, 1))(X, 0.8)
    monkeypatch.setenv("SRCAD_HELPERS", "inline")
    value, gradients = srcad.value_and_grad(f, wrt=(0, 1))(X, 0.8)

    assert found[0] == value == f(X, 0.8)
    for one, other in zip(found[1], gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("f", [straight, in_a_loop, in_a_branch])
def test_helpers_above_are_pairs(f):
    derivative = srcad.grad(f)
    derivative(copy.copy(X), 0.8)
    kept = {str(h): h.variants for h in derivative.inspect(X, 0.8).helpers}

    assert kept["scaled_in_place"] == 0
    assert kept["fresh"] > 0
    assert kept["fresh_twice"] > 0
