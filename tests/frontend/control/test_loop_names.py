"""Loops whose names live longer than it seems."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from srcad.frontend.control.fixpoint import LoopReader
from tests.adapter import evaluated


def read_by_the_test(x):
    n = 0
    y = 0.0
    while y < 2.0:
        y = x * n
        n += 1
    return n * x


def read_by_else(xs):
    for v in xs:
        w = v * 2
    else:
        z = w + v
    return z


def read_a_trip_later(xs):
    total = 0.0
    for i, v in enumerate(xs):
        if i > 0:
            total = total + last * v  # noqa: F821 - an earlier trip has bound it
        last = v  # noqa: F841
    return total


def target_after_the_loop(n):
    for i in range(n):
        pass
    return i * 1.5


def target_reassigned(n):
    total = 0.0
    for i in range(n):
        i = i * 2
        total += i
    return total


def test_loop_carried_variable_used_only_in_condition():
    assert evaluated(read_by_the_test, 0.7) == read_by_the_test(0.7)


def test_loop_carried_variables_used_in_else_clause():
    assert evaluated(read_by_else, [1.0, 2.0]) == read_by_else([1.0, 2.0])


def test_loop_carried_variable_used_in_next_iteration():
    assert evaluated(read_a_trip_later, [1.0, 2.0, 5.0]) == read_a_trip_later([1.0, 2.0, 5.0])


def test_loop_target_keeps_last_value():
    assert evaluated(target_after_the_loop, 4) == target_after_the_loop(4)


def test_reassigned_loop_target_keeps_iteration_count():
    assert evaluated(target_reassigned, 4) == target_reassigned(4)


def bound_in_every_trip(xs, n):
    total = np.sum(xs)
    for k in range(n):
        scale = np.sin(xs[k]) * k
        shifted = xs * scale
        total = total + np.sum(shifted)
    return total * scale + shifted[0]


def bound_in_some_trips(xs, n):
    total = 0.0
    for k in range(n):
        if k % 2 == 0:
            scale = np.sin(xs[k])
        total = total + scale * xs[k]
    return total


def bound_before_a_break(xs, n):
    for k in range(n):
        if xs[k] > 0.5:
            break
        scale = np.sin(xs[k])
    return scale


@pytest.mark.parametrize(
    ("f", "readings"),
    [(bound_in_every_trip, 1), (bound_in_some_trips, 2), (bound_before_a_break, 2)],
)
def test_loop_reinterpreted_only_with_cross_iteration_dependency(f, readings, monkeypatch):
    """A name that every trip binds before it is read there is carried, but nobody sees it."""
    xs, counted, read = np.array([0.3, 0.1, 0.7]), [], LoopReader._once
    monkeypatch.setattr(LoopReader, "_once", lambda self: counted.append(self) or read(self))

    gradient = srcad.grad(f)(xs, 3)

    assert len(counted) == readings
    slopes = [(f(xs + h, 3) - f(xs - h, 3)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)


def nested(x, n):
    total, last = 0.0, 0.0
    for _ in range(n):
        for _ in range(n):
            for _ in range(n):
                for _ in range(n):
                    total = total + np.sum([np.sin(v) for v in x]) * last
                    last = total * 0.1 + x[0]
    return total


def test_nested_loops_interpretation_count_bounded(monkeypatch):
    """Every level was read twice at least, and all that is inside it each time: 62 readings."""
    counted, read = [], LoopReader._once
    monkeypatch.setattr(LoopReader, "_once", lambda self: counted.append(self) or read(self))
    x = np.array([0.3, 0.1])

    gradient = srcad.grad(nested)(x, 2)

    assert len(counted) <= 20
    slopes = [(nested(x + h, 2) - nested(x - h, 2)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)
