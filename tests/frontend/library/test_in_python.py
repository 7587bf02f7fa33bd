"""Functions of libraries whose meaning is written in Python."""

import heapq

import numpy as np
import pytest
from scipy import spatial

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
def test_heapq_selection_gradient(f):
    assert srcad.value_and_grad(f)(X)[0] == f(X)
    check_grads(f, (X,))


def test_heapq_of_inactive_values_calls_heapq():
    def f(x, k):
        return x[heapq.nlargest(1, k)[0]] ** 2

    made = srcad.grad(f)

    assert made(X, [0, 2, 1]) == pytest.approx([0, 0, 4.4, 0])
    assert "nlargest(1, k)" in made.source


@pytest.mark.parametrize("choose", [heapq.nlargest, heapq.nsmallest])
@pytest.mark.parametrize("n", [-1, 0, 1, 2, 5])
def test_heapq_selection_count_matches(choose, n):
    def f(x):
        return sum(choose(n, [x[0] * 2, x[1] * 1.0, x[2] + 0.0])) + x[0]

    assert srcad.value_and_grad(f)([1.0, 3.0, 2.0])[0] == f([1.0, 3.0, 2.0])


@pytest.mark.parametrize("name", ["nlargest", "nsmallest"])
def test_heapq_selection_with_nan_rejected(name):
    def largest(x):
        return sum(heapq.nlargest(2, [x[0] * 2, x[1] * 1.0, x[2] + 0.0]))

    def smallest(x):
        return sum(heapq.nsmallest(2, [x[0] * 2, x[1] * 1.0, x[2] + 0.0]))

    f = largest if name == "nlargest" else smallest
    with pytest.raises(ValueError, match=f"heapq.{name} of nan"):
        srcad.grad(f)([1.0, 3.0, float("nan")])


POINTS = np.array([[0.3, 1.2], [-0.7, 0.4], [1.1, -0.9], [0.2, 0.6]])
OTHERS = np.array([[1.0, 0.1], [0.4, -1.3], [-0.8, 0.5], [0.9, 0.7]])


def procrustes_disparity(a, b):
    return spatial.procrustes(a, b)[2]


def procrustes_of_all_results(a, b):
    first, second, disparity = spatial.procrustes(data1=a, data2=b)
    return np.sum(first**3) + np.sum(np.sin(second)) + disparity


@pytest.mark.parametrize("f", [procrustes_disparity, procrustes_of_all_results])
def test_procrustes_gradient(f):
    assert srcad.value_and_grad(f)(POINTS, OTHERS)[0] == f(POINTS, OTHERS)
    check_grads(f, (POINTS, OTHERS))


@pytest.mark.parametrize(
    ("a", "b"),
    [(POINTS[0], OTHERS[0]), (POINTS, OTHERS[:3]), (POINTS[:0], OTHERS[:0]), (POINTS * 0, OTHERS)],
)
def test_procrustes_raises_as_scipy_does(a, b):
    with pytest.raises(ValueError, match="Input matrices") as expected:
        spatial.procrustes(a, b)
    with pytest.raises(ValueError, match="Input matrices") as found:
        srcad.grad(procrustes_disparity)(a, b)

    assert str(found.value) == str(expected.value)
