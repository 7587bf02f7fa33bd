"""The forms in which NumPy's functions may be called: as methods, by position, of other ranks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import srcad
from srcad import gradient
from tests.language import assert_program

X = np.array([0.3, -1.2, 0.8])
PLACES = np.array([2, 0, 1, 1])
GRID = np.arange(12.0).reshape(2, 3, 2) % 3


# ------------------------------------------------------------------------ methods that differ
def compress_by_flags(x):
    return (x.compress([True, False, True]) * np.array([1.0, 2.0])).sum()


def compress_by_comparison(x):
    return (x.compress(x > 0) ** 2).sum()


def compress_rows(x):
    m = np.outer(x, x)
    return (m.compress(axis=0, condition=[False, True, True]) * x).sum()


def compress_places(x):
    """Of an array that carries no derivative: the value was wrong, too."""
    k = PLACES.compress(np.array([True, False, True, True]))
    return (x[k] * np.arange(3.0)).sum()


def clip_below(x):
    return (x.clip(0.0) ** 2).sum()


def clip_mixed(x):
    return (x.clip(-1.0, max=0.5) ** 2).sum()


def clip_above(x):
    return (x.clip(max=0.5) ** 2).sum()


def item_of_matrix(x):
    m = np.outer(x, x)
    return m.item(-1) + 2.0 * m.item(3) + m.item((0, 2)) + m.item(1, 1)


def item_of_number(x):
    return x.sum().item(0) * x.item(1)


def partitioned_places(x):
    return x[x.argpartition(1)[0]] ** 2


# ------------------------------------------------------------------------ by position
def sort_stably(x):
    return np.sort(x, -1, "stable")[0] + x[1] * x[0]


def linspace_in_full(x):
    return (np.linspace(x[0], x[1], 5, True, False) ** 2).sum()


def trace_in_full(x):
    return np.trace(np.outer(x, x), 0, 0, 1, None)


def spread_in_full(x):
    return x.reshape(3, 1).std(0, None, None, 1, True)[0, 0]


def take_clipped(x):
    return np.take(x, [0, 7], 0, None, "clip") @ np.array([1.0, 2.0])


def median_as_usual(x):
    return np.median(x, 0, None, False, True)[0]


# ------------------------------------------------------------------------ no axes, one axis
def sums_without_axes(x):
    z = np.array(x[0] * x[1])
    return z.sum(axis=0) + z.max(-1) * x[2] + z.prod(0) + np.sum(z, -1, None, None, True)


def running_without_axes(x):
    z = np.array(x[0] * x[1])
    return z.cumsum(0)[0] + (z.cumprod(-1) * x).sum()


def taken_without_axes(x):
    z = x.sum()
    return z.take([0, -1], 0).sum() + z.compress([True], 0)[0] + z.repeat(2, 0).sum()


def transposed_vector(x):
    return (x.transpose(0) * np.arange(3.0)).sum() + (np.transpose(x, (-1,)) ** 2).sum()


def number_in_fortran_order(x):
    return np.asfortranarray(x[0] * x[1]).sum()


def padded_number(x):
    return np.pad(np.array(x[0] * x[1]), 1) * x[2]


def angle_of_flags(x):
    return np.arctan2(x > 0, x[2]).sum()


# ------------------------------------------------------------------------ where of one argument
def where_of_grid(x):
    i, j, k = np.where(x[:2, None, None] * GRID > 0.4)
    return x.sum() * (i.sum() + 2 * j.sum() + 3 * k.sum()) + len(np.where(GRID))


def where_has_ranks(x):
    """The entries of the result were taken for those of an array like the mask."""
    places = np.where(x[:2, None, None] * GRID)
    return x.sum() * places[0].ndim * len(places)


@pytest.mark.parametrize(
    "f",
    [
        compress_by_flags,
        compress_by_comparison,
        compress_rows,
        compress_places,
        clip_below,
        clip_mixed,
        clip_above,
        item_of_matrix,
        item_of_number,
        partitioned_places,
        sort_stably,
        linspace_in_full,
        trace_in_full,
        spread_in_full,
        take_clipped,
        median_as_usual,
        sums_without_axes,
        running_without_axes,
        taken_without_axes,
        transposed_vector,
        number_in_fortran_order,
        padded_number,
        angle_of_flags,
        where_of_grid,
        where_has_ranks,
    ],
)
def test_numpy_call_forms_match_numpy(f: Callable[..., float]) -> None:
    assert_program(f, X)


# ------------------------------------------------------------------------ floats made integers
def full_like_integers(x):
    return np.full_like(np.array([1, 2]), 3.0 * x[2]).sum() * x.sum()


def linspace_of_integers(x):
    return np.linspace(0, 5.3 * x[2], 4, dtype=int).sum() * x.sum()


def sum_to_integers(x):
    return np.sum(3.0 * x, dtype=int) * x.sum()


def sum_of_list_to_integers(x):
    return np.sum([3.0 * x[0], 2], dtype=int) * x.sum()


def running_sum_to_integers(x):
    return np.cumsum(3.0 * x, dtype=int).sum() * x.sum()


def pad_integers(x):
    return np.pad(np.array([1, 2]), 1, constant_values=4.0 * x[2]).sum() * x.sum()


@pytest.mark.parametrize(
    "f",
    [
        full_like_integers,
        linspace_of_integers,
        sum_to_integers,
        sum_of_list_to_integers,
        running_sum_to_integers,
        pad_integers,
    ],
)
def test_float_to_integer_truncation_has_zero_derivative(f: Callable[..., float]) -> None:
    """Where the dtype of a result is one of integers, the derivative was that of the floats."""
    assert_program(f, X)


def test_integer_argument_gradient_through_integer_sum() -> None:
    def f(n, x):
        return np.sum(n, dtype=int) * x

    assert np.array_equal(gradient(f, np.array([1, 2]), 3.0)[0], [3.0, 3.0])


def test_truncation_of_ambiguous_int_or_float_rejected() -> None:
    def f(x, n):
        items = n if x[0] > 0 else x
        return np.sum(items, dtype=int) * x[1]

    with pytest.raises(srcad.errors.SrcadError, match="what may be floats or integers"):
        gradient(f, X, np.array([1, 2, 3]))


# ------------------------------------------------------------------------ views, not copies
def conjugate_is_the_array(x):
    y = 1.0 * x
    y.conj()[0] = 5.0 * x[1]
    y.conjugate()[2] = 3.0
    return (y * np.arange(1.0, 4.0)).sum()


def conjugate_of_number(x):
    return x[0].conj() * x.sum().conjugate() + np.array([True, False]).conj().sum() * x[1]


def conjugate_by_function_is_new(x):
    y = 1.0 * x
    np.conj(y)[0] = 5.0
    return (y**2).sum()


def difference_of_neighbours_is_new(x):
    y = 1.0 * x
    z = np.diff(y)
    z[0] = 9.0
    w = np.linalg.matrix_power(np.outer(y, y), 2)
    w[0] = 0.0
    return (y**2).sum() + z.sum() + w.sum()


def without_copy(x):
    y = 1.0 * x
    y[1] = np.inf
    np.nan_to_num(y, copy=False, posinf=3.0)[0] = 6.0 * x[1]
    return (y * x).sum()


def without_copy_of_constants(x):
    y = np.array([np.nan, 1.0, 2.0])
    np.nan_to_num(y, False, 3.0)
    return (y * x).sum()


@pytest.mark.parametrize(
    "f",
    [
        without_copy,
        without_copy_of_constants,
        conjugate_is_the_array,
        conjugate_of_number,
        conjugate_by_function_is_new,
        difference_of_neighbours_is_new,
    ],
)
def test_write_through_view_returned_by_call(f: Callable[..., float]) -> None:
    assert_program(f, X)


def no_difference(x):
    y = 1.0 * x
    np.diff(y, n=0)[0] = 6.0
    return y.sum()


def first_power(x):
    y = np.outer(x, x)
    np.linalg.matrix_power(y, 1)[0] = 6.0
    return y.sum()


def copied_or_not(x):
    y = 1.0 * x
    np.nan_to_num(y, copy=x[0] > 0)[0] = 6.0
    return y.sum()


def overwritten(x):
    y = np.array([3.0, 1.0, 2.0])
    return np.median(y, overwrite_input=True) * (y * x).sum()


@pytest.mark.parametrize(
    "f",
    [
        no_difference,
        first_power,
        copied_or_not,
        overwritten,
    ],
)
def test_calls_that_mutate_or_return_argument_rejected(f: Callable[..., float]) -> None:
    """They were taken for calls that make something new and change nothing."""
    with pytest.raises(srcad.errors.MutationError):
        gradient(f, X)


# ------------------------------------------------------------------------ refusals
def test_unsupported_positional_argument_named_in_error() -> None:
    def f(x):
        return np.linspace(x[0], x[1], 5, True, True)[0].sum()

    with pytest.raises(
        srcad.errors.MissingRuleError, match="says nothing of the keyword 'retstep'"
    ):
        gradient(f, X)


def test_array_split_of_list_along_axis_rejected() -> None:
    """NumPy counts the items of the list, not the entries along the axis."""

    def f(x):
        return np.array_split([x, 2 * x], 2, axis=-1)[1].sum()

    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="of a list along an axis"):
        gradient(f, X)


def test_failing_numpy_call_raises_same_exception() -> None:
    """The rule fails, too: what it would say does not matter."""

    def f(x):
        return x.mean(axis=(0, 1)).sum()

    with pytest.raises(np.exceptions.AxisError):
        gradient(f, X)


def test_exception_in_user_rule_names_rule() -> None:
    def halved(x, axis=None):
        return x / 2

    @srcad.rules.adjoint(halved)
    def _(y_bar, y, x, axis=None):
        if axis is not None:
            raise ValueError("no axis")
        return y_bar / 2

    def f(x):
        return np.sum(halved(x, axis=1))

    with pytest.raises(srcad.errors.MissingRuleError, match="raises for these arguments"):
        gradient(f, X)
