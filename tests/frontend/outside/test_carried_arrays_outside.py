"""Loop variables that become arrays from outside the function, and are written into."""

from types import SimpleNamespace

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError

WEIGHTS = np.array([0.3, 0.7])
HOLDER = SimpleNamespace(weights=WEIGHTS)
TABLE = {"weights": WEIGHTS}
X = np.array([0.6, 1.1])


def add(x):
    v = x * 1.0
    for _ in range(3):
        v[0] += 0.1 * x[1]
        v = WEIGHTS
    return np.sum(v * x)


def store_after_loop(x, n):
    v = x * 1.0
    for _ in range(n):
        v = WEIGHTS
    v[1] = x[0] * x[1]
    return np.sum(v * x)


def store_while(x):
    v, k = x * 1.0, 0
    while k < 3:
        v[0] *= x[1]
        v = WEIGHTS
        k += 1
    return np.sum(v * x)


def store_into_view(x):
    v = x * 1.0
    for _ in range(3):
        v[1] = x[0] * x[1]
        v = WEIGHTS[::-1]
    return np.sum(v * x)


def through_another_name(x):
    u, v = x * 1.0, x * 2.0
    for _ in range(3):
        v[1] += x[0] * x[1]
        v = u
        u = WEIGHTS
    return np.sum(v * x)


def item_of_list(x):
    v = [x * 1.0]
    for _ in range(3):
        v[0][1] = x[0] * x[1]
        v[0] = WEIGHTS
    return np.sum(v[0] * x)


def item_of_tuple(x):
    v = (x * 1.0, 1.0)
    for _ in range(3):
        v[0][1] = x[0] * x[1]
        v = (WEIGHTS, x[0])
    return np.sum(v[0] * x)


def entry_of_dict(x):
    v = {"a": x * 1.0}
    for _ in range(3):
        v["a"][1] = x[0] * x[1]
        v["a"] = TABLE["weights"]
    return np.sum(v["a"] * x)


def attribute_outside(x):
    v = x * 1.0
    for _ in range(3):
        v.sort()
        v *= x
        v = HOLDER.weights
    return np.sum(v * x)


def by_out(x):
    v = x * 1.0
    for _ in range(3):
        np.multiply(v, x, out=v)
        v = WEIGHTS
    return np.sum(v * x)


def in_helper(x):
    def put(v):
        v[0] = x[0] * x[1]

    v = x * 1.0
    for _ in range(3):
        put(v)
        v = WEIGHTS
    return np.sum(v * x)


def in_inner_loop(x):
    v = x * 1.0
    for _ in range(3):
        for _ in range(2):
            v[1] = x[0] * x[1]
        v = WEIGHTS
    return np.sum(v * x)


def closure_variable():
    inner = np.array([0.3, 0.7])

    def function(x):
        v = x * 1.0
        for _ in range(3):
            v[0] += 0.1 * x[1]
            v = inner
        return np.sum(v * x)

    return function


WRITES = [
    add, store_while, store_into_view, through_another_name, item_of_list, item_of_tuple,
    entry_of_dict, attribute_outside, by_out, in_helper, in_inner_loop, closure_variable(),
]  # fmt: skip


@pytest.mark.parametrize("derivative", [srcad.grad, srcad.jacfwd])
@pytest.mark.parametrize("function", WRITES)
def test_write_into_loop_variable_from_outside_is_refused(function, derivative):
    with pytest.raises(MutationError, match="from outside the function"):
        derivative(function)(X)
    np.testing.assert_array_equal(WEIGHTS, [0.3, 0.7])


def test_write_after_loop_that_leaves_array_outside_is_refused():
    with pytest.raises(MutationError, match="from outside the function"):
        srcad.grad(store_after_loop)(X, 3)
    np.testing.assert_array_equal(WEIGHTS, [0.3, 0.7])


def own_array_each_iteration(x):
    v = WEIGHTS
    for _ in range(3):
        v = v * x
        v[1] = x[0] * x[1]
        u = v
        v = WEIGHTS
    return np.sum(v * x * u)


def copied_before(x):
    v = x * 1.0
    for _ in range(3):
        v[0] += 0.1 * x[1]
        v = WEIGHTS.copy()
    return np.sum(v * x)


def read_only(x):
    u, v = x * 1.0, x * 2.0
    for _ in range(3):
        u, v = v * u[0], WEIGHTS
    return np.sum(u * v * x)


@pytest.mark.parametrize("function", [own_array_each_iteration, copied_before, read_only])
def test_loop_variable_from_outside_without_write_is_right(function):
    h = 1e-6
    wanted = [(function(X + s) - function(X - s)) / (2 * h) for s in h * np.eye(2)]
    np.testing.assert_allclose(srcad.grad(function)(X), wanted, rtol=1e-6, atol=1e-8)
