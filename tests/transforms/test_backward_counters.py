"""Counters that a loop carries while it goes through a sequence from its end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.language import assert_program, named

X = np.array([0.3, -0.7, 1.2, 0.5, 0.9])


def one_by_one(x):
    s, k = 0.0, 0
    for v in reversed(x):
        s = s + v * k
        k = k + 1
    return s


def by_steps(x):
    s, k, j = 0.0, 3, 10
    for v in reversed(x):
        s = s + v * v * k * j
        k += 2
        j -= 3
    return s


def with_a_break(x):
    s, k = 0.0, 4
    for v in reversed(x):
        s = s + v * k
        k -= 2
        if s > 4.2:
            break
    return s


def inside_another_loop(x):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        k = 0
        for v in reversed(x[:i]):
            s = s + v * k * x[k]
            k += 1
    return s


def as_a_place(x):
    y, k = np.zeros(20), 2
    for v in reversed(x):
        y[k] = v * v
        k += 3
    return np.sum(y * np.arange(20))


def items_in_reverse(items):
    for item in reversed(items):
        yield item


def enumerated(x):
    items = []
    for v in x:
        items.append(v)
    s = 0.0
    for k, v in enumerate(items_in_reverse(items)):
        s = s + v * k
    return s


PROGRAMS: list[tuple[Any, ...]] = [
    (one_by_one, X), (by_steps, X), (with_a_break, X), (inside_another_loop, X), (as_a_place, X),
    (enumerated, X),
]  # fmt: skip


@pytest.mark.parametrize(**named(PROGRAMS))
def test_counter_decremented_when_reversing_backward_loop(program: tuple[Any, ...]) -> None:
    assert_program(*program)
