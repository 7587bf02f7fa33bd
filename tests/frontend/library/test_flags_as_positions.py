"""Flags where NumPy reads positions: False is 0 and True is 1, and they are no mask."""

import numpy as np
import pytest

import srcad

X = np.array([1.0, 2.0, 3.0])
FLAGS = np.array([True, False, True])


def put(x):
    y = x * 1.0
    np.put(y, FLAGS[:2], [5.0, x[2] ** 2])
    return np.sum(y * np.arange(1.0, 4.0))


def put_by_method(x):
    y = x * 1.0
    y.put([True, False], x[:2] ** 2)
    return np.sum(y * np.arange(1.0, 4.0))


USES = {
    "take": lambda x: np.sum(np.take(x, FLAGS) ** 2),
    "list": lambda x: np.sum(np.take(x, [True, False]) ** 2),
    "one flag": lambda x: np.take(x, True) ** 2,
    "flags of the argument": lambda x: np.sum(np.take(x, x > 1.5) ** 2),
    "method": lambda x: np.sum(x.take(x > 1.5) ** 2),
    "axis": lambda x: np.sum(np.take(np.outer(x, x), FLAGS, axis=1) ** 2),
    "keywords": lambda x: np.sum(np.take(np.outer(x, x), axis=-1, indices=FLAGS) ** 2),
    "put": put,
    "put by method": put_by_method,
}


@pytest.mark.parametrize("name", USES)
def test_flags_are_positions(name):
    f = USES[name]
    wanted = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]

    np.testing.assert_allclose(srcad.grad(f)(X), wanted, rtol=1e-7, atol=1e-8)
    assert srcad.jvp(f, (X,), (np.ones(3),))[1] == pytest.approx(np.sum(wanted), rel=1e-7)
