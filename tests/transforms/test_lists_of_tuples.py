"""A list of tuples that is read by several loops, each of which reads another part.

Their cotangents are lists of tuples that have something in different places; they are added item by
item.  It used to be None where nothing had been read.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.transforms.checking import agrees

X = np.array([0.3, 0.9, 1.4, 0.7])


def two_comprehensions(x):
    pairs = []
    for k in range(x.shape[0]):
        pairs.append((x[k], x[k] * x[k]))
    return np.sum(np.array([a for a, _ in pairs])) + np.prod(np.array([b for _, b in pairs]))


def of_a_slice(x):
    pairs = []
    for k in range(x.shape[0]):
        pairs.append((x[k], x[k] * x[k]))
    total = 0.0
    for a, _ in pairs[1:]:
        total = total + np.sin(a)
    for _, b in pairs[:-1]:
        total = total * b
    return total


def by_index(x):
    pairs = []
    for k in range(x.shape[0]):
        pairs.append((x[k], x * x[k]))
    total = 1.0
    for k in range(len(pairs)):
        total = total + pairs[k][0] * total
    for _, v in pairs:
        total = total + np.sum(v) * total
    return total


def stopping(x):
    pairs = []
    for k in range(x.shape[0]):
        pairs.append((x[k], x * x[k]))
    total = 1.0
    for a, _ in pairs:
        total = total * a
        if total > 0.5:
            break
    for _, v in pairs:
        total = total + np.sum(v) * total
    return total


def sometimes(x):
    pairs = []
    for k in range(x.shape[0]):
        pairs.append((x[k], x * x[k]))
    total = 1.0
    if x[0] > 0.0:
        for a, _ in pairs:
            total = total * a
    else:
        for _, v in pairs:
            total = total + np.sum(v) * total
    return total


@pytest.mark.parametrize("f", [two_comprehensions, of_a_slice, by_index, stopping, sometimes])
def test_loops_may_read_different_parts(f):
    agrees(f, X)
    agrees(f, -X)
