"""Arrays that are made together and written one by one: rows of a new array, several results."""

from __future__ import annotations

import numpy as np
import pytest

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


@pytest.mark.parametrize(**named(PROGRAMS))
def test_what_was_made_together_is_written_apart(program):
    assert_program(*program)
