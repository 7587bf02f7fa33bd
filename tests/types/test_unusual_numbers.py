"""Numbers and arrays of unusual kinds: other precisions, large integers, functions, fields."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

import srcad
from tests.marks import named_some
from tests.numeric import assert_close, difference

X = np.array([0.3, -0.2, 0.5, 0.1])
LARGE, HUGE = 2**70, 10**400


# ------------------------------------------------------------------------ other precisions
def chosen(x, s):
    return np.sum(np.where(x > 0, x * x, s))


def chosen_the_other_way(x, s):
    return np.sum(np.where(x > 0, s, x * s))


def chosen_in_a_loop(x, s):
    t = s
    for _ in range(2):
        t = np.where(x > 0, t * s, x)
    return np.sum(t)


def chosen_twice(x, s):
    return np.sum(np.where(x > 0, np.where(s > 0, x, s), s) * 2)


def chosen_by_a_flag(x, s):
    return np.sum(np.where(True, s, x) * s)


NUMBERS = [
    0.7, np.float32(0.7), np.float16(0.7), np.float64(0.7), np.array(0.7, np.float32),
    np.array([0.7, -0.2], np.float32),
]  # fmt: skip


@pytest.mark.parametrize(
    "f",
    named_some(
        [chosen, chosen_the_other_way, chosen_in_a_loop, chosen_twice, chosen_by_a_flag],
        ["chosen", "chosen_by_a_flag"],
    ),
)
@pytest.mark.parametrize("wrt", [0, 1])
def test_where_with_scalars_of_two_precisions(f, wrt):
    for x, s in itertools.product(NUMBERS, NUMBERS):
        value, bar = srcad.value_and_grad(f, wrt=wrt)(x, s)
        wide = tuple(np.asarray(a, float) if np.ndim(a) else float(a) for a in (x, s))

        assert value == f(x, s)
        assert np.shape(bar) == np.shape((x, s)[wrt])
        assert_close(np.asarray(bar, float), np.asarray(difference(f, wide, wrt)), 2e-3, 2e-3)


# ------------------------------------------------------------------------ large integers
def powers_of_a_large_one(x, n):
    return np.sum(n**x) + n ** x[0]


def beside_a_large_one(x, n):
    return np.sum(x) / n + np.maximum(np.sum(x), -n)


def in_a_quotient_of_integers(x, n):
    return np.sum(x) * (n // (n // 3)) * math.sqrt(n) / math.sqrt(n)


def of_text_and_tests(x, n):
    return np.sum(x * x) * (2 if n > 2**65 else 3) * len(str(n))


@pytest.mark.parametrize(
    ("f", "n"),
    [
        (powers_of_a_large_one, LARGE), (powers_of_a_large_one, 2**63), (powers_of_a_large_one, 3),
        (beside_a_large_one, LARGE), (in_a_quotient_of_integers, LARGE),
        (of_text_and_tests, HUGE), (of_text_and_tests, 7),
    ],
)  # fmt: skip
def test_integer_beyond_int64(f, n):
    value, bar = srcad.value_and_grad(f)(X, n)

    assert value == f(X, n)
    want = difference(f, (X, n))
    assert_close(bar, want, rtol=1e-6, atol=1e-9 * np.max(np.abs(want)) + 1e-6)


def test_power_with_large_constant_base():
    assert srcad.grad(lambda x: LARGE**x)(0.5) == pytest.approx(LARGE**0.5 * math.log(LARGE))


def test_integer_to_float_overflow_raises_overflow_error():
    def f(x, n):
        return np.sum(x) * n

    with pytest.raises(OverflowError):
        f(X, HUGE)
    with pytest.raises(OverflowError):
        srcad.grad(f)(X, HUGE)


# ------------------------------------------------------------------------ functions of entries
RAISED = np.frompyfunc(lambda t: t * t, 1, 1)
FUNCTIONS = np.array([np.sin, np.cos], dtype=object)
FIELDS = [("a", "f8"), ("b", "f8")]
TABLE = np.array([(1.0, 2.0), (3.0, 4.0)], dtype=FIELDS)


def of_python_here(x):
    return np.sum(np.frompyfunc(lambda t: t * t, 1, 1)(x))


def of_python_outside(x):
    return np.sum(RAISED(x))


def an_array_of_functions(x):
    return np.sum(FUNCTIONS[0](x))


def an_array_of_functions_made_here(x):
    functions = np.array([np.sin, np.cos])
    return np.sum(functions[1](x))


def fields_written(x):
    s = np.zeros(2, dtype=FIELDS)
    s["a"] = x[:2]
    return np.sum(s["a"] ** 2)


def fields_made(x):
    s = np.array([(x[0], 1.0)], dtype=FIELDS)
    return s["a"][0]


@pytest.mark.parametrize(
    "f",
    [of_python_here, of_python_outside, an_array_of_functions, an_array_of_functions_made_here,
     fields_written, fields_made],
)  # fmt: skip
def test_numpy_callbacks_and_object_storage_rejected_with_location(f):
    f(X)

    with pytest.raises(srcad.errors.SrcadError) as info:
        srcad.grad(f)(X)

    assert info.value.where.file == __file__


def weights_by_entries(x):
    return np.sum(np.vectorize(lambda t: t * t)(np.arange(4.0)) * x)


def weights_of_fields(x):
    return np.sum(x[:2] * TABLE["a"]) + np.sum(TABLE[1]["b"] * x)


@pytest.mark.parametrize("f", [weights_by_entries, weights_of_fields])
def test_inactive_values_of_unusual_types(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_close(srcad.grad(f)(X), difference(f, (X,)))


# ------------------------------------------------------------------------ larger than floats
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda n: n * n, math.inf),
        (lambda n: -n * n, -math.inf),
        (lambda n: n**3, math.inf),
        (lambda n: (n + 1) * (n - 1), math.inf),
        (lambda n: 2 * n + 1, 2.0),
        (lambda n: n * n if n > 0 else 0, math.inf),
    ],
)
def test_gradient_by_integer_beyond_float_range(f, slope):
    n = 10**400

    value, gradient = srcad.value_and_grad(f)(n)

    assert value == f(n)
    assert gradient == slope
    assert srcad.grad(f)(n) == slope
    assert srcad.grad(f)(3) == pytest.approx((f(3 + 1e-6) - f(3 - 1e-6)) / 2e-6)


def test_overflow_error_matches_original_function():
    with pytest.raises(OverflowError, match="math range error"):
        srcad.value_and_grad(lambda x: math.exp(x))(1e4)
    with pytest.raises(OverflowError, match="too large to convert"):
        srcad.value_and_grad(lambda n, x: n * x)(10**400, 2.0)
