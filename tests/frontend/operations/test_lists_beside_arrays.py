"""Operators between a list or tuple and an array, which NumPy makes arrays of."""

import numpy as np
import pytest

import srcad

WEIGHTS = np.array([1.0, 2.0])
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])


def power_in_place(x):
    y = WEIGHTS * 1.0
    y **= x
    return np.sum(y * WEIGHTS)


def product_in_place(x):
    y = WEIGHTS * 1.0
    y *= x
    return np.sum(y * WEIGHTS)


PROGRAMS = {
    "x * array": lambda x: np.sum(x * np.ones(2) * WEIGHTS),
    "array * x": lambda x: np.sum(WEIGHTS * x),
    "array - x": lambda x: np.sum((WEIGHTS - x) ** 2),
    "array / x": lambda x: np.sum(WEIGHTS / x),
    "array ** x": lambda x: np.sum(WEIGHTS**x),
    "x ** array": lambda x: np.sum(x**WEIGHTS),
    "array @ x": lambda x: np.sum((MATRIX @ x) ** 2),
    "x @ array": lambda x: np.sum((x @ MATRIX) ** 2),
    "active @ x": lambda x: np.minimum(x, x[1]) @ x,
    "**=": power_in_place,
    "*=": product_in_place,
}
MODES = {
    "grad": lambda f, x: srcad.grad(f)(x),
    "jacrev": lambda f, x: srcad.jacrev(f)(x),
    "jacfwd": lambda f, x: srcad.jacfwd(f)(x),
}


def differences(f, x, step=1e-6):
    array, kind = np.array(x), type(x)
    return [
        (f(kind((array + step * e).tolist())) - f(kind((array - step * e).tolist()))) / (2 * step)
        for e in np.eye(len(x))
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("x", [[0.3, 0.5], (0.3, 0.5)], ids=["list", "tuple"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_operator_between_sequence_and_array(name, x, mode):
    f = PROGRAMS[name]

    np.testing.assert_allclose(MODES[mode](f, x), differences(f, x), atol=1e-7)


def test_product_with_list_that_is_not_differentiated():
    def f(x, p):
        return np.minimum(x, 0.4) @ p

    np.testing.assert_array_equal(srcad.grad(f)(np.array([0.3, 0.5]), [1.0, 2.0]), [1.0, 0.0])


def test_product_with_nested_list():
    x = [[0.3, 0.5], [0.1, 0.2]]

    found = srcad.grad(lambda x: np.sum(MATRIX @ x * MATRIX))(x)

    np.testing.assert_allclose(found, MATRIX.T @ MATRIX, rtol=1e-14)


WHOLE = {
    "()": lambda p: p[0][()] ** 3 * p[1] + np.sin(p[0]),
    "...": lambda p: p[0][...] ** 3 * p[1] + np.sin(p[0]),
    "None": lambda p: p[0][None][0] ** 3 * p[1] + np.sin(p[0]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_of_0d_array_in_list(name):
    found = srcad.grad(WHOLE[name])([np.array(0.7), 1.5])

    expected = [4.5 * 0.7**2 + np.cos(0.7), 0.7**3]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_whole_of_array_in_list():
    x = np.array([0.7, 0.3])

    found = srcad.grad(lambda p: np.sum(p[1][...] ** 3) * p[0] + p[1][0])([1.5, x])

    np.testing.assert_allclose(found[0], np.sum(x**3), rtol=1e-14)
    np.testing.assert_allclose(found[1], 4.5 * x**2 + np.array([1.0, 0.0]), rtol=1e-14)
