"""What `np.split` and its kin return is a list of arrays, wherever it goes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from srcad import value_and_grad
from tests.language import named
from tests.numeric import assert_close, difference

X = np.array([0.11, -0.32, 0.23, 0.41, -0.17, 0.29])
TABLE = np.arange(24.0).reshape(4, 6) / 20 - 0.4


@functools.cache
def kept(value):
    return value


def lists_in_a_list(x):
    parts = [np.split(x * (i + 1), 3) for i in range(2)]
    return sum(np.sum(np.sin(p)) * p[0] for part in parts for p in part)


def one_of_two_lists(x):
    u = np.split(x, 3)
    v = u if x[0] < 10 else np.split(2 * x, 3)
    return np.sum(np.sin(u[0] * v[1]))


def one_of_two_lists_in_each_trip(x):
    total = 0.0
    u = np.split(x, 3)
    for i in range(3):
        v = u if i < 2 else np.split(x * 2, 3)
        total = total + np.sum(np.sin(v[i] * v[0]))
    return total


def lists_put_together(x):
    u, v = np.split(x, 3), np.split(x * x, 3)
    w = [p * q for p, q in zip(u, v, strict=True)]
    return np.sum(np.sin(np.concatenate(u + v))) + np.sum(w[0]) + np.sum(u[0])


def a_list_made_anew_in_a_loop(x, n):
    u, k = np.split(x, 3), 0
    while k < n:
        u = [p * 1.1 for p in u] if k % 2 else u
        k += 1
    return np.sum(np.sin(np.concatenate(u) * u[0][1]))


def a_list_until_it_is_large(x):
    u, v = np.split(x, 3), np.split(x, 3)
    while np.sum(u[0]) < 5:
        u = [p + 1.0 + 0.1 * q for p, q in zip(u, v, strict=True)]
    return np.sum(np.sin(u[0] * u[2]))


def appended_to(x):
    u = np.split(x, 2)
    u.append(x[:3])
    return np.sum(np.sin(u[0] * u[2])) + np.sum(u[2])


def rows_of_a_table(table):
    parts = [np.split(row, 3) for row in table]
    return sum(np.sum(np.sin(p[0] * p[2])) for p in parts)


def of_a_count_that_a_helper_knows(x):
    u = np.split(x, kept(3))
    return np.sum(u[0]) * np.sum(u[1] ** 2) + sum(np.sum(np.cos(p)) for p in u)


def along_an_axis(table, axis):
    p, q = np.split(table, 2, axis)
    return np.sum(np.sin(p * q))


def in_unequal_parts(x):
    u = np.array_split(x, 4)
    turned = np.concatenate([p[::-1] * k for k, p in enumerate(u)])
    return np.sum(np.sin(turned)) + len(u) * x[0]


def in_other_directions(table):
    u, v = np.vsplit(table, 2), np.hsplit(table, 3)
    w = np.dsplit(np.reshape(table, (2, 2, 6)), 3)
    either = u if table[0, 0] < 9 else np.vsplit(2 * table, 2)
    return np.sum(np.sin(u[0] * either[1])) + np.sum(v[0] * v[2]) + np.sum(w[0] * w[1])


@pytest.mark.parametrize(
    **named(
        [
            (lists_in_a_list, X),
            (one_of_two_lists, X),
            (one_of_two_lists_in_each_trip, X),
            (lists_put_together, X),
            (a_list_made_anew_in_a_loop, X, 3),
            (a_list_until_it_is_large, X),
            (appended_to, X),
            (rows_of_a_table, TABLE),
            (of_a_count_that_a_helper_knows, X),
            (along_an_axis, TABLE, 0),
            (along_an_axis, TABLE, -1),
            (in_unequal_parts, X),
            (in_other_directions, TABLE),
        ]
    )
)
def test_split_parts_gradient(program):
    f, *args = program

    value, bar = value_and_grad(f)(*args)

    assert value == f(*args)
    assert_close(bar, difference(f, tuple(args)))


def test_unequal_split_raises_value_error():
    with pytest.raises(ValueError, match="equal division"):
        value_and_grad(lambda x: np.sum(np.split(x, 4)[0]))(X)
