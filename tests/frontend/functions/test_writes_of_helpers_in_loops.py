"""Helpers with loops: a write into what they are given reaches the caller, into their own does not.

Those that write into their own arrays keep functions of their own.
"""

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.array([0.4, 0.9, 0.2, 0.7])


# -------------------------------------------------------------------- into what they are given
def fills(y, x):
    for k in range(len(x)):
        y[k] = np.sin(y[k] * x[k]) + x[k] ** 2
    return np.sum(y * x) * np.cos(y[0])


def fills_another_name(y, x):
    z = y
    for k in range(len(x)):
        z[k] = z[k] * x[k] + np.cos(x[k])
        z = y
    return np.sum(z * x) * np.cos(z[0])


def fills_a_view(y, x):
    tail = y[1:]
    for k in range(len(x) - 1):
        tail[k] = np.sin(x[k]) * tail[k] + y[0]
    return np.sum(tail * x[1:]) * np.cos(y[0])


def exchanges(y, x):
    a, b = y, y * 0.5
    for _ in range(3):
        a[:] = np.sin(b) + x * a
        a, b = b, a
    return np.sum(a * x) + np.sum(b) * x[0]


def fills_in_nested_loops(y, x):
    for _ in range(2):
        for k in range(len(x)):
            y[k] = np.tanh(y[k] + x[k]) * x[k - 1]
    return np.sum(y * x) * np.cos(y[0])


def fills_while(y, x):
    k = 0
    while k < len(x):
        y[k] = np.exp(-y[k]) * x[k]
        k = k + 1
    return np.sum(y * x) * np.cos(y[0])


def fills_in_a_try(y, x):
    for k in range(len(x)):
        try:
            y[k] = np.sin(y[k]) * x[k]
        except IndexError:
            break
    return np.sum(y * x) * np.cos(y[0])


def of_array(helper):
    def f(x):
        y = x * 2.0
        return helper(y, x) + np.sum(y * y) + helper(y, x * 0.5)

    f.__name__ = helper.__name__
    return f


def fills_rows(rows, x):
    for k in range(len(rows)):
        rows[k][0] = rows[k][0] * x[k]
    return sum(row[0] * row[1] for row in rows)


def of_rows(x):
    rows = [[x[0], 1.0], [x[1], 2.0], [x[2], x[3]]]
    return fills_rows(rows, x) + rows[0][0] * 3.0 + rows[2][0]


def replaces_items(items, x):
    for k in range(len(items)):
        items[k] = items[k] * x[k] + 1.0
    return items[0] * items[1]


def of_items(x):
    items = [x[0], x[1] * 2.0, x[3]]
    return replaces_items(items, x) * items[2] + items[0]


def counts(table, x):
    for k in range(3):
        table["total"] = table["total"] + x[k] * table["scale"]
    return table["total"] * x[0]


def of_dict(x):
    table = {"total": x[0], "scale": x[1]}
    return counts(table, x) + table["total"] ** 2


class State:
    def __init__(self, y):
        self.y = y
        self.total = y[0]


def moves(state, x):
    for k in range(3):
        state.total = state.total * x[k] + state.y[k]
        state.y[k] = state.total
    return state.total * np.sum(state.y)


def of_object(x):
    state = State(x * 1.5)
    return moves(state, x) + state.total + np.sum(state.y**2)


GIVEN = [
    fills, fills_another_name, fills_a_view, exchanges, fills_in_nested_loops, fills_while,
    fills_in_a_try,
]  # fmt: skip
PROGRAMS = [*map(of_array, GIVEN), of_rows, of_items, of_dict, of_object]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_write_in_a_loop_reaches_the_caller(f):
    value, _ = srcad.value_and_grad(f)(X.copy())

    assert value == f(X.copy())
    check_grads(f, (X,), order=1)


# ---------------------------------------------------------------------------- into their own
def steps(x, a):
    y = np.zeros(5)
    y[0] = a
    for k in range(4):
        y[k + 1] = np.sin(y[k]) * x[k] + np.exp(-y[k] * y[k]) * a
    return np.tanh(y) * y


def relaxes(x, a):
    u = x * a
    for _ in range(3):
        new = u.copy()
        for k in range(1, 3):
            new[k] = 0.5 * (u[k - 1] + u[k + 1]) + np.sin(u[k]) * x[k]
        u = new
    return u * np.cos(u)


def swaps(x, a):
    u, v = x * a, x * 0.0
    for _ in range(3):
        v[:] = np.sin(u) * x + a * np.exp(-u * u)
        u, v = v, u
    return u + np.tanh(v)


def grows(x, a):
    rows = np.zeros((3, 4))
    for k in range(3):
        rows[k] = x * a
        for j in range(k):
            rows[k] += np.sin(rows[j]) * np.exp(-rows[k])
    return np.sum(rows * rows, axis=0) * np.cos(rows[0])


def of_own(helper):
    def f(x):
        return np.sum(helper(x, 0.7 * x[1]) * helper(x * 0.5, x[0]))

    f.__name__ = helper.__name__
    return f


@pytest.mark.parametrize("helper", [steps, relaxes, swaps, grows])
def test_helper_that_writes_into_its_own_arrays_is_a_pair(helper):
    f = of_own(helper)
    derivative = srcad.value_and_grad(f)
    value, _ = derivative(X)

    assert value == f(X)
    (name,) = derivative.inspect(X).helpers
    assert (str(name), name.stands) == (helper.__name__, "a pair")
    check_grads(f, (X,), order=2)
