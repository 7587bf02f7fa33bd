"""Entries of integer arrays as numbers of Python: they carry the derivative on."""

import operator

import numpy as np
import pytest

import srcad

X = np.array([2, 3, 4])
PROGRAMS = {
    "tolist": (lambda x: sum(v * v for v in x.tolist()), X, X * 2.0),
    "tolist of rows": (lambda x: x.tolist()[1][2] ** 2, X.reshape(1, 3) + [[0], [1]], None),
    "tolist of a point": (lambda x: x.tolist() ** 2 * 1.0, np.array(3), 6.0),
    "tolist of an entry": (lambda x: x[1].tolist() ** 2, X, [0, 6, 0]),
    "item": (lambda x: x.item(1) ** 2, X, [0, 6, 0]),
    "item of an entry": (lambda x: x[1].item() ** 2, X, [0, 6, 0]),
    "index": (lambda x: operator.index(x[1]) ** 2, X, [0, 6, 0]),
    "array of a list": (lambda x: np.sum(np.array(x.tolist()) ** 2), X, X * 2.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivative_by_integers_passes_through_numbers_of_python(name):
    f, x, expected = PROGRAMS[name]
    if expected is None:
        expected = [[0, 0, 0], [0, 0, 10]]

    y, y_dot = srcad.jvp(f, (x,), (np.ones(x.shape),))
    value, slope = srcad.value_and_grad(f)(x)

    assert type(y) is type(value) is type(f(x))
    assert (y, y_dot) == (f(x), np.sum(expected))
    np.testing.assert_array_equal(slope, expected)
    assert np.asarray(slope).dtype == float


def test_whole_numbers_of_python_still_serve_as_counts():
    def f(x, n):
        return sum(k * x for k in range(n.tolist()[0]))

    assert srcad.grad(f)(1.5, np.array([4, 2])) == 6.0
