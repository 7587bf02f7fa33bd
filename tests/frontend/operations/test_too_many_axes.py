"""``op=`` and ``out=`` with operands of more axes than what is written: NumPy raises."""

from __future__ import annotations

import numpy as np
import pytest

import srcad


def point_times(x, c):
    a = np.array(x[0])
    a *= c
    return np.sum(a)


def point_raised(x, c):
    a = np.array(x[0])
    a **= c
    return np.sum(a)


def point_times_either(x, c):
    a = np.array(x[0])
    a *= c if x[0] > 0 else 2.0
    return np.sum(a)


def row_times(x, c):
    a = x * 1.0
    a *= c.reshape(1, -1)
    return np.sum(a)


def row_plus(x, c):
    a = x * 1.0
    a += c.reshape(1, -1)
    return np.sum(a)


def part_times(x, c):
    a = x * 1.0
    a[0:1] *= c.reshape(1, 1)
    return np.sum(a)


def out_of_point(x, c):
    a = np.array(x[0])
    np.multiply(a, c, out=a)
    return np.sum(a)


def out_of_row(x, c):
    a = x * 1.0
    np.add(a, c.reshape(1, -1), out=a)
    return np.sum(a)


PROGRAMS = [
    point_times, point_raised, point_times_either, row_times, row_plus, part_times, out_of_point,
    out_of_row,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_in_place_operand_with_more_axes_raises(program):
    x, c = np.array([0.3]), np.array([0.5])

    with pytest.raises(ValueError, match="broadcast"):
        program(x.copy(), c)
    with pytest.raises(ValueError, match="broadcast"):
        srcad.value_and_grad(program)(x, c)


def test_in_place_operand_with_fewer_axes_broadcast():
    def loss(x, c):
        a = np.outer(x, x)
        a *= c
        return np.sum(a)

    assert np.allclose(srcad.grad(loss)(np.array([1.0, 2.0]), np.array([0.5, 1.0])), [4.0, 5.5])
