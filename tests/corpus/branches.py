"""Branches, and the names that they bind."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.points import at, at_each

V = np.array([0.3, -0.7, 1.1, 0.5])

one_number = at_each((0.2,), (0.8,), (1.6,))
two_numbers = at_each((0.7, 1.3), (1.4, -0.4), (-0.3, 1.2))


@one_number
def branches(a):
    """A chain of tests, of which one arm is taken."""
    if a > 1:
        y = a * a
    elif a > 0:
        y = math.sin(a)
    else:
        y = -a
    return y * a


@one_number
def one_sided(a):
    """A test without `else`: the name keeps what it was."""
    y = a
    if a > 0:
        y = y * a
    return y * 2


@two_numbers
def nested_branches(a, b):
    """A test in a test, with a return in one arm."""
    if a > 0:
        if b > 0:
            return a * b
        c = a - b
    else:
        c = b
        if b > 1:
            c = c * c
    return c * a


@one_number
def defined_in_one_branch_only(a):
    """A name that one arm binds, read where the same test holds."""
    if a > 0:
        y = a * a
        z = y
    else:
        z = a
    if a > 0:
        z = z + y
    return z


@at(0.3, V)
def changes_kind_in_a_branch(a, x):
    """A name that is a number on one path and an array on the other."""
    y = a if a > 100 else x
    return np.sum(y * y)


@one_number
def code_after_an_early_return(a):
    """Code behind a return that was not taken."""
    if a > 1:
        return a * a
    b = a * 3
    if b > 1:
        return b * a
    c = b * b
    return c
