"""`collections.deque`, with and without a greatest length."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import srcad
from tests.language import assert_program, named

X = np.array([0.3, -0.7, 1.2, 0.5, 0.9])


def window(x):
    w = deque(maxlen=3)
    s = 0.0
    for v in x:
        w.append(v * v)
        s = s + sum(w) * v
    return s


def filtered(x):
    taps = deque([0.0] * 3, maxlen=3)
    s = 0.0
    for v in x:
        taps.append(v)
        s = s + sum(a * b for a, b in zip(taps, [0.2, 0.3, 0.5])) ** 2 + np.mean(taps)
    return s


def from_the_left(x):
    q = deque(x, maxlen=3)
    s = 0.0
    for v in x:
        q.appendleft(v * q[-1])
        s += q[0] * q[1]
    for i, v in enumerate(q):
        s += i * v
    return s


def both_ends(x):
    q = deque([x[0], x[1]])
    q.appendleft(x[2] * 2)
    q.append(x[3])
    a = q.popleft() * q.pop()
    q.rotate(1)
    return a * q[0] + sum(q) * len(q)


def emptied(x):
    q = deque()
    for v in x:
        q.append(v)
    s = 0.0
    while q:
        a = q.popleft()
        if len(q) > 0:
            s += a * q.pop()
        else:
            s += a
    return s


def turned(x):
    q = deque(x)
    s = 0.0
    for k in range(len(x)):
        q.rotate(k)
        s += q[0] * q[1] * k
    q[0] = 2.0 * q[1]
    q.extend(x[:2])
    q.extendleft(x[2:])
    for k, v in enumerate(reversed(q)):
        s = s + v * k
    return s


def delayed(x):
    line = deque([0.0, 0.0])
    s = 0.0
    for v in x:
        line.append(v + 0.5 * line[0])
        s = s + line.popleft() ** 2
    return s


def kept_in_a_queue(x):
    row = [1.0, 2.0]
    queue = deque([row])
    row[0] = 5.0
    return x[0] * queue[0][0]


def part_of_a_list_in_a_queue(x):
    rows, queue = [[1.0, 2.0], [3.0]], deque()
    queue.append(rows[0])
    rows[0][0] = 5.0
    return x[0] * queue[0][0]


PROGRAMS: list[tuple[Any, ...]] = [
    (f, X)
    for f in (
        window, filtered, from_the_left, both_ends, emptied, turned, delayed, kept_in_a_queue,
        part_of_a_list_in_a_queue,
    )
]  # fmt: skip


@pytest.mark.parametrize(**named(PROGRAMS))
def test_deque_gradient(program: tuple[Any, ...]) -> None:
    assert_program(*program)


def test_pop_from_empty_deque_raises_index_error():
    def f(x):
        q = deque()
        for v in x:
            q.append(v)
        s = 0.0
        for _ in range(len(x) + 1):
            s = s + q.pop()
        return s

    with pytest.raises(IndexError, match="pop from an empty deque"):
        srcad.grad(f)(X)
