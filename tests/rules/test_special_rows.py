"""Rows that the table's loop cannot check: casts, writes, helpers, and what has no derivative."""

import math
import operator

import numpy as np
import pytest

import srcad
from srcad import rules, runtime
from srcad.ir.disjoint import of_type_may_repeat
from srcad.ir.primitives import add_at, add_at_repeated, identity, updated
from srcad.types.numeric import BOOL, FLOAT, INT, array_type
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf
from tests.marks import named
from tests.rules.harness import cotangents

A = np.arange(4.0)


@pytest.mark.parametrize("cast", [np.float32, np.float16, np.longdouble, float], ids=named)
def test_a_cast_to_a_float_passes_the_cotangent(cast):
    assert cotangents(cast, (0.5,), {}, 2.0) == [2.0]


def test_a_cast_keeps_the_shape_of_one_entry():
    (bar,) = cotangents(np.ndarray.item, (np.ones((1, 1)),), {}, 2.0)

    np.testing.assert_array_equal(bar, [[2.0]])


@pytest.mark.parametrize(
    "call", [(np.astype, (A, int)), (np.asarray, (A, np.int64)), (np.array, (A, bool))], ids=named
)
def test_cast_to_integer_has_no_derivative(call):
    target, args = call

    assert cotangents(target, args, {}, np.ones(4))[0] is None


def test_overwritten_entry_gets_no_cotangent():
    array_bar, _, value_bar = cotangents(updated, (A, slice(1, 3), 0.5), {}, A + 1)

    np.testing.assert_array_equal(array_bar, [1, 0, 0, 4])
    assert value_bar == 5


@pytest.mark.parametrize(
    ("target", "index"), [(add_at, slice(1, 3)), (add_at_repeated, [1, 1])], ids=named
)
def test_an_addition_passes_its_cotangent_to_both(target, index):
    array_bar, _, value_bar = cotangents(target, (A, index, np.zeros(2)), {}, A + 1)

    np.testing.assert_array_equal(array_bar, A + 1)
    np.testing.assert_array_equal(value_bar, (A + 1)[index])


def test_the_transpose_of_unbroadcast_repeats():
    bar, _ = cotangents(runtime.unbroadcast, (np.zeros((2, 3)), np.zeros(3)), {}, np.arange(3.0))

    np.testing.assert_array_equal(bar, [[0, 1, 2], [0, 1, 2]])


def test_identities_pass_the_cotangent():
    assert cotangents(identity, (0.5,), {}, 2.0) == [2.0]
    assert cotangents(runtime.converted_like, (0.5, 1.5), {}, 2.0)[0] == 2.0
    x = np.array([0.3, 0.8])
    bar = cotangents(
        runtime.rounded_as_in_place, (np.cbrt(x), np.cbrt, x[::-1], x), {}, np.array([2.0, 3.0])
    )
    np.testing.assert_array_equal(bar[0], [2.0, 3.0])


@pytest.mark.parametrize(
    ("target", "args", "kwargs"),
    [
        (np.reshape, (A, (2, 2), "A"), {}),
        (np.ravel, (A, "K"), {}),
        (np.einsum, (A, [0], A, [0]), {}),
    ],
    ids=named,
)  # fmt: skip
def test_unsupported_call_form_returns_no_partial(target, args, kwargs):
    assert isinstance(cotangents(target, args, kwargs, 1.0)[0], rules.NoPartial)


def test_full_svd_bases_of_wide_matrix_have_no_rule():
    y_bar = (np.ones((3, 3)), None, None)

    (bar,) = cotangents(np.linalg.svd, (np.arange(12.0).reshape(3, 4) ** 2,), {}, y_bar)

    assert isinstance(bar, rules.NoPartial)


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (INT, False), (Opaque(slice), False), (BOOL, False), (array_type(bool, None), False),
        (array_type(int, None), True), (ListOf(INT), True), (ListOf(BOOL), False),
        (TupleOf((INT, array_type(np.int8, ()))), False),
        (TupleOf((Opaque(slice), ListOf(INT))), True), (Opaque(), True),
        (TupleOf((Fixed(None), INT)), False), (TupleOf((INT, TupleOf((ListOf(INT),)))), True),
    ],
    ids=named,
)  # fmt: skip
def test_only_index_arrays_may_repeat(type_, expected):
    assert of_type_may_repeat(type_) is expected


@pytest.mark.parametrize(
    "target", [np.argmax, np.floor, operator.lt, len, np.zeros_like, math.floor, round], ids=named
)
def test_counts_comparisons_and_roundings_are_constant(target):
    assert rules.rule_for(target).kind == "nondifferentiable"


def test_float_is_a_type_of_number():
    assert rules.rule_for(float).kind == "linear"
    assert FLOAT.is_python


@pytest.mark.parametrize("f", [np.sum, np.prod, np.max, np.min, np.ptp, np.nansum, np.nanmax])
@pytest.mark.parametrize("options", [{"axis": 0}, {"axis": -1}, {"axis": 0, "keepdims": True}])
def test_scalar_reduced_over_axis_zero_gradient(f, options):
    """NumPy reduces a number by axis 0 or -1; its cotangent got an axis and did not fit."""
    x = np.array([0.3, 0.7])

    got = srcad.grad(lambda x: f(x[0] * x[1], **options) * x[1])(x)

    want = 0.0 if f is np.ptp else 2.0 * x[0] * x[1]
    np.testing.assert_allclose(got, [want and x[1] ** 2, want])
