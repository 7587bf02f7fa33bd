"""Functions of libraries whose meaning is written in Python."""

import heapq

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.array([0.4, -1.3, 2.2, 0.9])


def two_largest(x):
    a, b = heapq.nlargest(2, [x[0] * 2, x[1] ** 2, np.sin(x[2])])
    return a * b


def two_smallest_by_key(x):
    return sum(heapq.nsmallest(2, [v**2 for v in x], key=lambda v: -v))


def by_keyword(x):
    return heapq.nlargest(n=1, iterable=list(x), key=np.abs)[0] ** 3


@pytest.mark.parametrize("f", [two_largest, two_smallest_by_key, by_keyword])
def test_what_heapq_chooses_carries_its_derivative(f):
    assert srcad.value_and_grad(f)(X)[0] == f(X)
    check_grads(f, (X,))


def test_numbers_without_derivative_are_chosen_by_the_function_itself():
    def f(x, k):
        return x[heapq.nlargest(1, k)[0]] ** 2

    made = srcad.grad(f)

    assert made(X, [0, 2, 1]) == pytest.approx([0, 0, 4.4, 0])
    assert "nlargest(1, k)" in made.source
