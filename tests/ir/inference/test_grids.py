"""The types of ``np.mgrid``, ``np.ogrid``, ``np.r_``, ``np.c_``, compared with their results."""

import numpy as np
import pytest

from srcad import grad
from srcad.ir.core import Const, Display, Value
from srcad.ir.inference.grids import type_of_grid
from srcad.types.numeric import INT
from srcad.types.sizes import resolved
from srcad.types.structures import TupleOf
from tests.language import assert_program, named

X = np.arange(1.0, 7.0) / 5
P = np.array([0.93, 0.37])

INDICES = [
    slice(0, 4), slice(0, 4.0), slice(0, 1, 3j), slice(None, 5, 2), slice(-3, 3),
    (slice(0, 4), slice(1, 3)), (slice(0, 2.0), slice(1, 3)), (slice(0, 1, 2j), slice(0, 3)),
]  # fmt: skip
PARTS = [
    (0, slice(2, 4)), (True, 2), (1.5, slice(2, 4)), ([1, 2], 3, [1.5]), (np.float32(1), 2),
    (slice(0, 1, 3j), -1),
]  # fmt: skip
COLUMNS = [slice(0, 3), (1, 2.5), (slice(0, 2), [1.5, 2.5]), (slice(0, 2), slice(2, 4))]
CASES = [
    *((maker, index) for maker in (np.mgrid, np.ogrid, np.r_) for index in INDICES),
    *((np.r_, index) for index in PARTS),
    *((np.c_, index) for index in COLUMNS),
]


def display(index):
    if isinstance(index, slice):
        return Display("slice", tuple(map(Const, (index.start, index.stop, index.step))))
    if isinstance(index, tuple | list):
        return Display(type(index).__name__, tuple(map(display, index)))
    return Const(index)


def assert_type_of(type_, made):
    assert type_.dtype == made.dtype
    assert len(type_.shape) == made.ndim
    for extent, length in zip(type_.shape, made.shape, strict=True):
        extent = resolved(extent)
        assert extent.terms or extent.constant == length


@pytest.mark.parametrize(("maker", "index"), CASES)
def test_type_of_grid_is_that_of_what_is_made(maker, index):
    found, made = type_of_grid(Const(maker), display(index)), maker[index]

    if isinstance(made, tuple):
        assert isinstance(found, TupleOf)
        for type_, array in zip(found.items, made, strict=True):
            assert_type_of(type_, array)
    else:
        assert_type_of(found, made)


def test_type_of_grid_to_an_integer_of_the_call_has_unknown_lengths():
    until = Display("slice", (Const(0), Value(INT), Const(None)))

    found = type_of_grid(Const(np.mgrid), Display("tuple", (until, until)))

    assert str(found) == "int64[2, n, n]"


def test_type_of_grid_with_a_directive_is_unknown():
    assert type_of_grid(Const(np.r_), display(("0,2", slice(0, 3)))) is None


def bins_of_pixels(p):
    yy, xx = np.mgrid[0:4, 0:4]
    pos = (0.3 * yy + 0.21 * xx) * p[0] + p[1]
    low = pos.astype(int)
    return np.sum((pos - low) ** 2)


def bins_of_an_open_grid(p):
    yy, xx = np.ogrid[:4, :3]
    pos = (0.3 * yy + 0.21 * xx) * p[0] + p[1]
    return np.sum((pos - pos.astype(int)) ** 2)


def bins_of_a_grid_with_steps(p):
    t = np.mgrid[0:2:5j] * p[0]
    return np.sum((t - t.astype(np.int64)) * p[1])


def selected_entries(x):
    free = np.r_[0, 2:4]
    return np.sum(np.r_[x[free], x[free] ** 2]) + np.sum(np.c_[x[free], x[free]] ** 3)


def selected_up_to_a_length(x):
    free = np.r_[: len(x) - 2, -1]
    return np.sum(np.r_[x[free], 1.0, x[free] ** 2] ** 2)


def selected_by_flags(x):
    chosen = np.r_[True, False, True, True, False, True]
    return np.sum(np.c_[x[chosen], np.arange(4), x[chosen] ** 2] ** 3)


@pytest.mark.parametrize(
    **named([
        (bins_of_pixels, P), (bins_of_an_open_grid, P), (bins_of_a_grid_with_steps, P),
        (selected_entries, X), (selected_up_to_a_length, X), (selected_by_flags, X),
    ])
)  # fmt: skip
def test_program_with_grid_has_right_gradient(program):
    assert_program(*program)


def test_grid_of_a_length_serves_other_lengths():
    def total(x):
        i, j = np.mgrid[: len(x), : len(x)]
        return np.sum(x[i] * x[j] * (i + 1))

    gradient = grad(total)
    gradient(np.ones(3))

    weights = np.arange(1.0, 6.0)
    expected = weights * np.sum(X[:5]) + np.sum(weights * X[:5])
    np.testing.assert_allclose(gradient(X[:5]), expected, rtol=1e-14)
