"""Stores that are removed, and stores that must stay."""

import numpy as np
import pytest

from benchmarks.problems import PROBLEMS
from srcad.backends.numba.loops import ONE, named, whole
from srcad.backends.numba.stores import contradictory
from tests.backends.numba.interpreted import Compared

X = np.array([0.4, 1.3, 0.7, 2.1])
A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def square_roots(x):
    x = x.copy()
    for i in range(len(x)):
        x[i] = np.sqrt(x[i])
    return np.sum(x)


def products_with_the_next(x):
    x = x.copy()
    for _ in range(3):
        for i in range(len(x) - 1):
            x[i] = x[i] * x[i + 1]
    return np.sum(x)


def products_with_the_one_before(x):
    x = x.copy()
    for _ in range(2):
        for i in range(1, len(x)):
            x[i] = x[i] * x[i - 1]
    return np.sum(x)


def repeated_sines(x):
    x = x.copy()
    for _ in range(3):
        for i in range(len(x)):
            x[i] = np.sin(x[i]) * x[i]
    return np.sum(x)


def entries_written_twice(x):
    x = x.copy()
    for i in range(len(x) - 1):
        x[i + 1] = np.exp(-x[i + 1])
        x[i] = x[i] * x[i + 1]
    return np.sum(x)


def by_a_condition(x):
    x = x.copy()
    for i in range(len(x)):
        if x[i] > 1:
            x[i] = np.sqrt(x[i])
    return np.sum(x * x)


def two_precisions(x):
    y = np.zeros(len(x), dtype=np.float32)
    s = 0.0
    for i in range(len(x)):
        y[i] = np.exp(x[i])
        s += y[i] * x[i]
    return s


def one_place(x):
    y = np.zeros(2)
    s = 0.0
    for i in range(len(x)):
        y[0] = np.sin(x[i])
        y[1] = y[0] * x[i]
        s += y[1] * y[0]
    return s


@pytest.mark.parametrize(
    ("f", "x", "saves"),
    [
        (square_roots, X, False), (PROBLEMS["cholesky"].primal, A, False),
        (products_with_the_next, X, True),
        (products_with_the_one_before, X, True), (repeated_sines, X, True),
        (entries_written_twice, X, True), (by_a_condition, X, True), (two_precisions, X, True),
        (one_place, X, True),
    ],
)  # fmt: skip
def test_saved_unless_the_array_still_holds_it(f, x, saves):
    compared = Compared(f, (x,))

    compared.agree((x,))
    assert ("saved" in compared.text) == saves


def test_inequalities_of_integers():
    i, j, n = named("i"), named("j"), named("n")

    assert contradictory([i, n - i - ONE, i - n])
    assert contradictory([i - j - ONE, j - i])
    assert contradictory([(i + j).scaled(2) - whole(3), ONE - i - j])
    assert not contradictory([i, n - i - ONE])
    assert not contradictory([i - j, j - i, n - i])
