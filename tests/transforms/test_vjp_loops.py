"""Loops and conditionals in reverse, at orders one and two."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from srcad.ir.core import For, walk
from tests.transforms.checking import agrees, derived, gradient, shown


def recurrence(a, x):
    s = 0.0
    for i in range(len(x)):
        s = a * s + x[i] * x[i]
    return s


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def swaps_and_exits(a, b, n):
    for i in range(n):
        a, b = b, a * b + i
        if b > 50:
            break
        if a > 30:
            return a * b * b
    return a * a


def return_from_nested_loops(a, b, m):
    u = b
    for row in m:
        row = row * 0.32
        for _ in range(2):
            if np.any(row > 0.5):
                return np.sum(m) * a
            a = np.tanh(a + 0.5)
        else:
            u = np.sum(row)
        if b * b < 0.1:
            break
        a = 0.6 * a
    return u + 1.1 * a + 0.55 * b


def last_value_of_a_name(x):
    for v in x:
        t = np.sin(v)
    return t * t


def only_the_first_trips(x, limit):
    total = 0.0
    for k, v in enumerate(x):
        if total > limit:
            break
        total = total + v * v * (k + 1)
    return total


def branch_inside_a_loop(a, x):
    s = a
    for v in x:
        if v > 0:
            s = s * np.cos(v)
        else:
            s = s + v * v * a
    return s


def carried_array(w, n):
    h = w[0] * 0.5
    for _ in range(n):
        h = np.tanh(w @ h)
    return np.sum(h * h)


def list_of_hidden_states(w, h, xs):
    hs = []
    for x in xs:
        h = np.tanh(w @ h + x)
        hs.append(h)
    return np.sum(np.stack(hs) ** 2)


def backwards_with_break(x):
    s = 1.0
    for v in reversed(x):
        s = s * np.cos(v)
        if s < 0.5:
            break
    return s


X = np.array([0.3, -0.7, 1.1, 0.2])
M = np.array([[-0.7, 0.35, -0.2], [-0.6, -0.45, -0.9], [0.75, 0.95, 0.4]])


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (recurrence, (0.7, X)),
        (recurrence, (0.7, X[:0])),
        (newton, (2.0,)),
        *((swaps_and_exits, (1.2, 0.7, n)) for n in range(7)),
        *((swaps_and_exits, (2.2, 1.9, n)) for n in range(5)),
        (return_from_nested_loops, (-0.643, 1.054, M)),
        (return_from_nested_loops, (-0.643, 0.1, M)),
        (return_from_nested_loops, (-0.643, 1.054, 2 * M)),
        (last_value_of_a_name, (X,)),
        (only_the_first_trips, (X, 0.5)),
        (only_the_first_trips, (X, 50.0)),
        (branch_inside_a_loop, (0.8, X)),
        (carried_array, (M, 3)),
        (carried_array, (M, 0)),
        (list_of_hidden_states, (M, M[0], M)),
        (backwards_with_break, (X,)),
    ],
)
def test_orders_one_and_two_agree_with_differences(f, args):
    agrees(f, *args)


def test_third_order_of_a_loop_agrees_with_differences():
    agrees(recurrence, 0.7, X, orders=3)


def test_element_cotangents_accumulate_in_loop_carried_buffer():
    lines = shown(recurrence, 0.7, X).splitlines()

    assert sum("zeros_like" in line for line in lines) == 1
    assert sum("add_at" in line for line in lines) == 1


def test_loop_saves_only_state_and_reindexes_elements():
    loops = [op for op in walk(derived(recurrence, 0.7, X).block) if isinstance(op, For)]

    (forward, backward) = loops

    assert len(forward.outputs) == 2 + 1 + 1
    assert len(backward.seqs) == 2


def test_list_collected_by_loop_reused_as_residual():
    forward = next(
        op for op in walk(derived(list_of_hidden_states, M, M[0], M).block) if isinstance(op, For)
    )

    collected = forward.body.results[2:]
    assert len(collected) == len(set(collected)) == 2


def test_zero_iteration_loop_gradient_is_zero():
    a, x = gradient(recurrence, 0.7, X[:0])

    assert a == 0.0
    assert x.shape == (0,)


def distances(points, centres, weights):
    total = 0.0
    for k in range(weights.size):
        apart = points - centres[k]
        total = total + weights[k] * np.sum(np.sqrt(apart * apart + 1.0))
    return total


def test_matrix_rematerialised_from_available_values():
    points = np.arange(6.0).reshape(3, 2)
    args = (points, np.array([[0.3, 1.0], [2.0, -0.4]]), np.array([1.5, 0.5]))
    source = srcad.grad(distances, wrt=(0, 1, 2)).inspect(*args).adjoint_source

    agrees(distances, *args)
    assert source.count("    apart = points - centres[k]") == 2
