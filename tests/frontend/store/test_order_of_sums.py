"""The value is to the bit what the plain call returns, also where views run backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad import gradient, pullback
from srcad.runtime import rounded_as_in_place
from tests.adapter import evaluated
from tests.numeric import assert_gradient


def into_a_reversed_view(x):
    h = np.zeros(5)
    np.exp(x, out=h[::-1])
    return h


def into_a_row_of_a_matrix(x):
    h = np.zeros((2, 5))
    np.cbrt(x, out=h[1, ::-1])
    return h


def into_reversed_rows(x):
    h = np.zeros((3, 5))
    np.sinh(np.stack([x] * 3), out=h[::-1])
    return h


def into_a_view_with_a_name(x):
    h = np.zeros((4, 5))
    v = h[::-1, ::-1]
    np.expm1(x * 2, out=v)
    return h


def into_itself(x):
    h = x.copy()
    v = h[::-1]
    np.cbrt(v, out=v)
    return h


def into_an_operand(x):
    h = x.copy()
    v = np.flip(h)
    np.power(x, v, out=v)
    return h


def into_the_operand_the_other_way_round(x):
    h = x * 1.0
    np.cbrt(h, out=h[::-1])
    return h


def under_a_mask(x):
    h = np.zeros(5)
    np.power(x, 1.3, out=h[::-1], where=x > 0.5)
    return h


def in_a_loop(x):
    h = np.zeros((2, 5))
    for k in range(2):
        np.arcsinh(x * (k + 1) + h[k - 1], out=h[k, ::-1])
    return h


def in_a_helper(x):
    def fill(v):
        np.log1p(x, out=v)

    h = np.zeros(10)
    fill(h[::-2])
    return h


PROGRAMS = [
    into_a_reversed_view,
    into_a_row_of_a_matrix,
    into_reversed_rows,
    into_a_view_with_a_name,
    into_itself,
    into_an_operand,
    into_the_operand_the_other_way_round,
    under_a_mask,
    in_a_loop,
    in_a_helper,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_write_into_reversed_view_rounds_like_numpy(program: Callable[..., Any]) -> None:
    # The last digit of some functions depends on whether the entries lie in order.
    random = np.random.default_rng(1)
    for _ in range(30):
        x = np.abs(random.normal(size=5)) + 0.1

        want = program(x.copy())

        np.testing.assert_array_equal(pullback(program, x)[0], want)
        np.testing.assert_array_equal(evaluated(program, x), want)
    assert_gradient(gradient, lambda x: np.sum(program(x) ** 2), x)


def test_rounding_depends_on_output_strides() -> None:
    x = np.abs(np.random.default_rng(2).normal(size=64))
    y, place = np.cbrt(x), np.empty(64)[::-1]
    np.cbrt(x, out=place)

    assert rounded_as_in_place(y, np.cbrt, np.empty(64), x) is y
    np.testing.assert_array_equal(rounded_as_in_place(y, np.cbrt, place, x), place)
