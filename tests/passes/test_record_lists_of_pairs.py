"""Helpers with loops save one list of tuples, as a loop of the differentiated function does."""

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.array([0.4, 0.9, 0.2, 0.7])


def recurrence(x, a):
    """Several values of an iteration are saved, one of them a row that is overwritten later."""
    y = np.zeros(5)
    y[0] = a
    state = a
    for k in range(4):
        inner = np.tanh(y[:3]) * x[k] + state
        state = np.sin(inner[0]) * np.exp(-state * state) + x[k] ** 2
        y[:3] = y[:3] * state + inner
        y[k + 1] = state * np.cos(state)
    return y


def nested(x, a):
    total = a * x
    for k in range(3):
        for _ in range(2):
            total = np.sin(total) * x + np.exp(-total * total) * (k + a)
        total = np.tanh(total) * np.sqrt(1.0 + total * total)
    return total


def in_a_branch(x, a):
    if a > 0.5:
        y = x
        for _ in range(3):
            y = np.sin(y) * x + np.tanh(y * a) * y
        return y
    return x * a


def counted(x, a):
    k, y = 0, x * a
    while k < 4 and y[0] < 50.0:
        y = np.exp(0.1 * y) * x + np.sin(y) * y
        k = k + 1
    return y


def calls(helper):
    def f(x, a):
        return np.sum(helper(x, a) ** 2) + np.sum(helper(x * a, a * a + 0.3))

    f.__name__ = f"calls_{helper.__name__}"
    return f


HELPERS = [recurrence, nested, in_a_branch, counted]
PROGRAMS = [calls(helper) for helper in HELPERS]


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives_of_both_orders_agree_with_differences(f):
    check_grads(f, (X, 0.8), order=2)


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradient_is_that_of_inlined_helpers(f, monkeypatch):
    found = srcad.grad(f, wrt=(0, 1))(X, 0.8)
    monkeypatch.setenv("SRCAD_HELPERS", "inline")
    for one, other in zip(found, srcad.grad(f, wrt=(0, 1))(X, 0.8), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("f", [calls(recurrence), calls(counted)])
def test_values_of_an_iteration_are_saved_together(f):
    derivative = srcad.grad(f)
    derivative(X, 0.8)

    text = str(derivative.source)
    assert text.count("saved_in_loop.append((") == 1
    assert "_saved.append" not in text
    assert "reversed(saved_in_loop)" in text


def test_saved_values_have_the_names_of_the_primal():
    derivative = srcad.grad(calls(recurrence))
    derivative(X, 0.8)

    head = str(derivative.source).partition("_adjoint(saved")[2].partition("reversed(saved")[0]
    assert "inner" in head
    assert "value" not in head


def test_hessian_reads_what_the_primal_saves():
    f = calls(recurrence)
    step = 1e-5
    columns = [
        (srcad.grad(f)(X + step * e, 0.8) - srcad.grad(f)(X - step * e, 0.8)) / (2 * step)
        for e in np.eye(4)
    ]

    np.testing.assert_allclose(srcad.hessian(f)(X, 0.8), np.stack(columns, 1), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        srcad.jacrev(srcad.grad(f))(X, 0.8), np.stack(columns, 1), rtol=1e-6, atol=1e-7
    )
