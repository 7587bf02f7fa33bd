"""Branches and loops with every way out of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import srcad
from srcad import errors, grad, gradient
from tests.corpus.exits import return_from_inner_while, while_true
from tests.corpus.loops import down_loop, range_loop
from tests.language import assert_program
from tests.numeric import assert_gradient

V = np.array([0.3, -0.7, 1.1, 0.5])
M = np.array([[0.2, -0.5, 0.9, 0.1], [1.2, 0.4, -0.3, -0.8], [0.6, -1.1, 0.7, 0.35]])


def strong_zero_of_a_branch(a):
    y = math.sqrt(a) if a > 0 else 0.0
    return y


def test_unexecuted_branch_contributes_exact_zero() -> None:
    assert grad(strong_zero_of_a_branch)(0.0) == 0.0


def test_loop_iteration_count_varies_between_calls() -> None:
    def f(a, n):
        s = a
        for _ in range(n):
            s = s * a
        return s

    g = grad(f)

    assert [g(2.0, n) for n in (0, 1, 2, 5)] == [1.0, 4.0, 12.0, 192.0]


def test_loop_with_100000_iterations() -> None:
    def f(a):
        s = 0.0
        for _ in range(100_000):
            s = s * a + 1.0
        return s

    want = sum(k * 0.5 ** (k - 1) for k in range(1, 200))
    assert grad(f)(0.5) == pytest.approx(want, rel=1e-12)


def test_unbound_variable_raises_unbound_local_error() -> None:
    def f(a):
        if a > 0:
            y = a
        return y * a

    assert grad(f)(2.0) == 4.0
    with pytest.raises(UnboundLocalError):
        grad(f)(-2.0)


def test_second_order_through_loops() -> None:
    for f in (range_loop, down_loop, while_true, return_from_inner_while):
        assert_gradient(gradient, lambda a, f=f: grad(f)(a), 0.8)


@pytest.mark.parametrize("flags", [[True, True], [False, False], [True, False]])
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_flag_of_a_list_is_chosen_by_a_branch(flags, c):
    def f(x, flags, c):
        k = flags[0] if c > 0 else flags[1]
        return np.sum(x) * k

    want = flags[0] if c > 0 else flags[1]

    np.testing.assert_array_equal(grad(f)(np.ones(3), flags, c), np.full(3, float(want)))


def test_function_of_a_list_is_chosen_by_a_branch():
    def f(x, functions, c):
        g = functions[0] if c > 0 else functions[1]
        return np.sum(g(x))

    found = grad(f)(np.ones(3), [np.sin, np.sin], -1.0)

    np.testing.assert_allclose(found, np.cos(np.ones(3)))


# ------------------------------------------------------------- a test that binds, with an else
def else_behind_a_test_that_binds(a, x):
    k, b = 0, 0.0
    while k < 2 and (w := x[k]) * 0.23 > -9.0:
        k += 1
        b = b + w * a
    else:
        b = b * np.sin(a)
    return b + w


def break_past_an_else_behind_a_test_that_binds(a, x):
    t = 0.0
    for i in range(3):
        k = 0
        while (w := x[k] * a) < 1.0 and k < 2:
            k += 1
            if w > 0.9:
                break
        else:
            t = t + w * i
            if t > 5.0:
                return t * 2.0
        t = t + w
    return t


def else_behind_a_test_that_binds_leaves_the_outer_loop(a, x):
    t = 0.0
    for i in range(3):
        while (w := x[i] * a) < t:
            t = t - 1.0
        else:
            break
        t = t + w
    return t + a


@pytest.mark.parametrize(
    "f", [else_behind_a_test_that_binds, break_past_an_else_behind_a_test_that_binds]
)
@pytest.mark.parametrize("x", [(0.3, 0.95, 2.0), (-3.3, 4.6, 9.7)])
def test_while_with_else_whose_test_binds_a_name(f, x):
    assert_program(f, 1.1, np.array(x))


def neighbours(u):
    return np.roll(u, 1) + np.roll(u, -1) - 2.0 * u


def state_that_begins_constant(p, u):
    for _ in range(3):
        u = u + p[0] * u * u + 0.1 * neighbours(u)
    return np.sum(u)


def states_that_begin_constant(p, u, v):
    k = 0
    while k < 3:
        u, v, k = u + p[0] * v, v + 0.1 * neighbours(u) * u, k + 1
    return np.sum(u * v)


@pytest.mark.parametrize("f", [state_that_begins_constant, states_that_begin_constant])
def test_state_that_begins_constant_keeps_its_rank(f):
    p, u = np.array([0.3, 0.5]), np.array([0.2, 0.7, -0.4])
    args = (u,) if f is state_that_begins_constant else (u, np.cos(u))
    derive = srcad.grad(f)

    derive(p, *args)

    assert "unbroadcast" not in derive.source
    assert "check_real_scalar" not in derive.source
    assert_gradient(srcad.gradient, lambda p: f(p, *args), p)


def test_else_that_leaves_the_loop_around_is_refused():
    with pytest.raises(errors.UnsupportedSyntaxError, match="'else' leaves a loop"):
        srcad.grad(else_behind_a_test_that_binds_leaves_the_outer_loop)(1.1, np.ones(3))
