"""Arrays that are made together and written one by one: rows of a new array, several results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from srcad import value_and_grad
from srcad.errors import MutationError
from srcad.ir import memory
from tests.language import assert_program, named

X = np.array([[0.3, 0.5], [0.7, 1.1]])


def indices(x):
    rows, columns = np.indices(x.shape)
    rows += 1
    return np.sum(x * rows * columns)


def mesh(x):
    u, v = np.meshgrid(np.arange(2), np.arange(2))
    u += 1
    v *= 2
    return np.sum(x * u * v)


def positions(x):
    a, b = np.nonzero(x > 0.4)
    a -= a
    b += 0
    return np.sum(x[a, b])


def stacked(x):
    a, b = np.stack([x, x**2])
    a += 1
    b *= a
    a -= b
    return np.sum(x * a * b)


def view_of_a_row(x):
    a, b = np.stack([x, x**2])
    first = a[0]
    a += 1
    return np.sum(x * first * b)


def entries_of_rows(x):
    (a, b), (c, d) = x * 2.0
    a += b
    d *= c
    return a * b * c * d


def rows_in_a_loop(x):
    a, b = x * 1.0
    for _ in range(3):
        a += b
        b *= 0.5
    return np.sum(a * b)


def transposed(x):
    a, b = (x * 1.0).T
    a += b
    c = b[:1]
    c *= 3
    return np.sum(a * b)


def whole_and_rows(x):
    y = (x * 2.0)[::-1]
    a, b = y
    a += b
    return np.sum(y * y) + np.sum(a * b)


def decomposition(x):
    w, v = np.linalg.eigh(x + x.T)
    w += 1.0
    return np.sum(w**2) + 0.0 * np.sum(v)


PROGRAMS = [
    (f, X)
    for f in (
        indices, mesh, positions, stacked, view_of_a_row, entries_of_rows, rows_in_a_loop,
        transposed, whole_and_rows, decomposition,
    )
]  # fmt: skip


SQUARE = np.array([[2.0, 1.0], [1.0, 3.0]])
CALLS = {
    "nonzero": (SQUARE,),
    "meshgrid": (X[0], X[1]),
    "unravel_index": (np.array([0, 3]), (2, 2)),
    "triu_indices": (2,),
    "tril_indices": (2,),
    "triu_indices_from": (SQUARE,),
    "tril_indices_from": (SQUARE,),
    "mask_indices": (2, np.triu),
    "unique": (SQUARE, True, True, True),
    "svd": (SQUARE,),
    "eigh": (SQUARE,),
    "eig": (SQUARE,),
    "qr": (SQUARE,),
    "slogdet": (SQUARE,),
}


def test_numpy_results_assumed_disjoint_are_disjoint():
    for name, args in CALLS.items():
        results = getattr(np, name, None) or getattr(np.linalg, name)
        assert memory.makes_new_arrays(results), name
        arrays = [a for a in (*results(*args), *args) if isinstance(a, np.ndarray)]
        for a, b in itertools.combinations(arrays, 2):
            assert not np.shares_memory(a, b), name


def one_array_twice(x):
    a, b = np.diag_indices(2)
    a += 1
    return np.sum(x[a - 1, b - 1])


def one_array_twice_from(x):
    a, b = np.diag_indices_from(x)
    a *= 0
    return np.sum(x[a, b] * x)


def edges_of_a_histogram(x):
    edges = np.array([0.0, 1.0, 2.0])
    _, same = np.histogram(np.array([0.5, 1.5]), bins=edges)
    same += 1.0
    return np.sum(x) * edges[0]


@pytest.mark.parametrize("f", [one_array_twice, one_array_twice_from, edges_of_a_histogram])
def test_array_returned_twice_correct_or_rejected(f):
    try:
        value, _ = value_and_grad(f)(X)
    except MutationError:
        return

    assert value == f(X)


@pytest.mark.parametrize(**named(PROGRAMS))
def test_write_into_separate_arrays_created_together(program):
    assert_program(*program)
