"""Lengths that two integers of the call decide: nothing is known of them before it.

The stand-ins for both were the same number, so that a range from one to the other was taken for an
empty one, and everything that was multiplied by its length for zero.
"""

import numpy as np
import pytest

import srcad


def ends(a):
    return int(a[0]) - 1, int(a[1])


def of_arange(x, a):
    m, k = ends(a)
    return x * len(np.arange(m, k))


def of_a_tuple_of_a_range(x, a):
    m, k = ends(a)
    return x * len(tuple(range(m, k + 2)))


def of_an_array_of_a_range(x, a):
    m, k = ends(a)
    return x * np.size(np.array(range(m, k)))


def without_a_slice(x, a):
    m, k = ends(a)
    return x * np.size(np.delete(np.ones(5), slice(m, k)))


@pytest.mark.parametrize(
    "f", [of_arange, of_a_tuple_of_a_range, of_an_array_of_a_range, without_a_slice]
)
def test_length_from_two_integer_arguments_is_dynamic(f):
    a = np.array([1.0, 1.0])

    assert srcad.grad(f)(1.0, a) == f(1.0, a) > 0
