"""Checks and conversions that types make unnecessary, and those that they do not."""

import functools

import numpy as np
import pytest

import srcad
from srcad.errors import NonScalarOutputError, UnsupportedTypeError


def summed(x):
    total = 0
    for value in x:
        total = total + value * value
    return total


def test_sum_that_begins_with_an_integer_needs_no_check():
    derivative = srcad.grad(summed)

    assert derivative(np.array([1.0, -2.0])) == pytest.approx([2.0, -4.0])
    assert "real_scalar" not in derivative.source


def flag_or_sum(x, k):
    found = x[0] > 0
    for _ in range(k):
        found = found * x[0]
    return found


def test_number_that_may_be_a_flag_is_checked():
    derivative = srcad.grad(flag_or_sum)

    assert derivative(np.array([2.0]), 1) == pytest.approx([1.0])
    with pytest.raises(NonScalarOutputError):
        derivative(np.array([2.0]), 0)


@functools.lru_cache
def _unread(n):
    return complex(0, n)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_complex_number_of_an_unread_call_refused():
    with pytest.raises(UnsupportedTypeError, match="complex"):
        srcad.grad(lambda x: np.sum(np.abs(x * _unread(2))))(np.array([1.0, -2.0]))
