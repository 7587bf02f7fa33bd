"""Loops over numbers, arrays and containers, and the names that they bind."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.points import at, at_each

V = np.array([0.3, -0.7, 1.1, 0.5])
M = np.array([[0.2, -0.5, 0.9, 0.1], [1.2, 0.4, -0.3, -0.8], [0.6, -1.1, 0.7, 0.35]])

one_number = at_each((0.2,), (0.8,), (1.6,))
two_numbers = at_each((0.7, 1.3), (1.4, -0.4), (-0.3, 1.2))
vector = at_each((V,), (np.abs(V),), (-V[::-1].copy(),))
matrix = at_each((M,), (np.abs(M),))


@one_number
def range_loop(a):
    """A range with a start and a step."""
    s = 0.0
    for i in range(1, 8, 2):
        s = s * a + i
    return s


@one_number
def down_loop(a):
    """A range that counts down."""
    s = 1.0
    for i in range(5, 0, -2):
        s = math.sin(s * a) + i
    return s


@matrix
def rows(m):
    """A loop over the rows of a matrix."""
    s = 0.0
    for row in m:
        s = s + np.sum(row * row) * s + np.mean(row)
    return s


@vector
def entries(x):
    """A loop over the entries of a vector."""
    s = 1.0
    for e in x:
        s = s * e + e
    return s


@vector
def by_index(x):
    """A loop over the indices of a vector."""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i - 1]
    return s


@matrix
def by_two_indices(m):
    """Two loops over the indices of a matrix."""
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j] ** 2 * m[i][j - 1]
    return s


@two_numbers
def over_tuple(a, b):
    """A loop over a tuple that is written there."""
    s = 0.0
    for e in (a, b, a * b):
        s = s * e + e
    return s


@two_numbers
def over_list(a, b):
    """A loop over a list that is written there."""
    s = 1.0
    for e in [a, b, a * b]:
        s = s * e + e
    return s


@at(V[:3], M)
def over_zip(x, m):
    """Two arrays in step."""
    s = 0.0
    for e, row in zip(x, m):
        s += e * np.sum(row * row)
    return s


@at(V, np.cos(V))
def over_zip_of_three(x, y):
    """A range and two arrays in step, of which the shortest ends the loop."""
    s = 0.0
    for i, e, d in zip(range(10), x, y[1:]):
        s += i * e * d
    return s


@vector
def over_enumerate(x):
    """Entries with their numbers, from one on."""
    s = 0.0
    for i, e in enumerate(x, start=1):
        s += i * e * e
    return s


@vector
def over_reversed(x):
    """The entries from the last to the first."""
    s = 1.0
    for e in reversed(x):
        s = math.sin(s) * e
    return s


@vector
def over_reversed_range(x):
    """A range from its end to its start."""
    s = 1.0
    for i in reversed(range(len(x))):
        s = math.sin(s) * x[i]
    return s


@at(V, np.cos(V))
def over_enumerate_of_zip(x, y):
    """Pairs with their numbers."""
    s = 0.0
    for i, (e, d) in enumerate(zip(x, y)):
        s += (i + 1) * e * d
    return s


@two_numbers
def over_dict(a, b):
    """The keys, items and values of a dict."""
    s = 0.0
    d = {"p": a, "q": b}
    for k in d:
        s += d[k] * d[k]
    for k, e in d.items():
        s = s * e
    for e in d.values():
        s = s + e
    return s


@two_numbers
def swap_in_loop(a, b):
    """Two names that change places, and are computed with, at every trip."""
    for _ in range(3):
        a, b = b, a * b
    return a - b


@two_numbers
def swap_in_an_odd_loop(a, b):
    """Two names that change places an odd number of times."""
    for _ in range(5):
        a, b = b, a
    return a * 3.0 + b * b


@two_numbers
def rotate_in_loop(a, b):
    """Three names that change places."""
    c = a * b
    for _ in range(4):
        a, b, c = b, c, a
    return a + 2 * b * c


@two_numbers
def fibonacci(a, b):
    """A recurrence of two terms."""
    for _ in range(6):
        a, b = b, a + b * 0.5
    return a * b


@vector
def loop_variable_after_the_loop(x):
    """The name that a loop binds lives on behind it."""
    s = 0.0
    for i in range(3):
        s += x[i]
    for e in x:
        s = s * 1.5
    return s * i * e * x[i]


@vector
def loop_variable_reassigned(x):
    """The name that a loop binds is bound again in its body."""
    s = 0.0
    for e in x:
        e = e * e
        s += e
    return s * e


@one_number
def zero_trips(a):
    """A loop over an empty range."""
    s = a
    for _ in range(0):
        s = s * s
    return s * 3.0


@vector
def zero_trips_over_empty(x):
    """A loop over no entry of an array."""
    s = np.sum(x)
    for e in x[:0]:
        s = s * e
    return s * s


@vector
def number_or_array(x):
    """A name that is a number first and an array then."""
    y = 0.0
    for i in range(3):
        y = y + x * i
    return np.sum(y * y)
