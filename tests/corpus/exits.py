"""Every way out of a loop."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.points import at_each

V = np.array([0.3, -0.7, 1.1, 0.5])
M = np.array([[0.2, -0.5, 0.9, 0.1], [1.2, 0.4, -0.3, -0.8], [0.6, -1.1, 0.7, 0.35]])

one_number = at_each((0.2,), (0.8,), (1.6,))
vector = at_each((V,), (np.abs(V),), (-V[::-1].copy(),))
matrix = at_each((M,), (np.abs(M),))


@vector
def break_loop(x):
    """A loop that is left when a sum is large enough."""
    s = 0.0
    for e in x:
        s = s + e * e
        if s > 0.5:
            break
    return s


@vector
def break_before_use(x):
    """A loop that is left before an entry is used."""
    s = 1.0
    for e in x:
        if e < 0:
            break
        s = s * e
    return s


@vector
def continue_loop(x):
    """A loop that skips entries."""
    s = 0.0
    for e in x:
        if e < 0:
            continue
        s = s + e * e
    return s


@vector
def continue_and_break(x):
    """A trip that is cut short, and a loop that is left."""
    s = 0.1
    for i, e in enumerate(x):
        s = s + e * s
        if i == 0:
            continue
        s = s * 2.0
        if s > 3.0:
            s = s * e
            break
        s = s + 1.0
    return s


@vector
def loop_else(x):
    """The `else` of a loop that may be left."""
    s = 1.0
    for e in x:
        s = s * (1.0 + e * e)
        if s > 100.0:
            break
    else:
        s = s * s
    return s


@vector
def loop_else_after_break(x):
    """The `else` of a loop that is left for some arguments."""
    s = 1.0
    for e in x:
        if e < 0:
            s = s + e
            break
        s = s * e
    else:
        s = s * 100.0
    return s * s


@one_number
def while_loop(a):
    """Newton's method: the number of trips depends on the argument."""
    x = a
    while abs(x * x - a) > 1e-5:
        x = 0.5 * (x + a / x)
    return x


@one_number
def while_true(a):
    """A loop without a test, which is left by `break`."""
    s, k = a, 0
    while True:
        s = math.sin(s) * a
        k += 1
        if k > 3:
            break
    return s


@one_number
def while_else(a):
    """The `else` of a `while`."""
    s, k = a, 0
    while k < 3:
        s, k = s * a, k + 1
    else:
        s = s + a
    return s


@one_number
def while_never(a):
    """A `while` without a trip."""
    s = a
    while s > 100:
        s = s / 2
    return s * a


@vector
def return_from_loop(x):
    """A return from within a loop."""
    s = 0.0
    for e in x:
        s = s + e * e
        if s > 0.5:
            return s * 10.0
    return s


@matrix
def return_from_inner_loop(m):
    """A return from within two loops."""
    s = 1.0
    for row in m:
        for e in row:
            s = s * (1.0 + 0.3 * e)
            if e < -0.4:
                return s * e
        s = s + np.sum(row)
    return s


@one_number
def return_from_inner_while(a):
    """A return from a `while` within a loop."""
    s = a
    for i in range(4):
        k = 0
        while k < 3:
            s = s + a * 0.3
            if i * 3 + k == 7:
                return s * s * a
            k += 1
        s = math.sin(s)
    return s


@matrix
def break_of_inner_loop_only(m):
    """A `break` that leaves the inner loop alone."""
    s = 1.0
    for row in m:
        for e in row:
            if e < 0:
                break
            s = s * (1.0 + e)
        s = s + row[0]
    return s
