"""Slopes at special points of Python's numbers, and failures in the order of the plain call."""

import math
from fractions import Fraction

import numpy as np
import pytest

import srcad

PAIRS = [
    (10.0, 0.01), (-10.0, 0.01), (10.0, -0.01), (1.0, 0.1), (0.3, 0.1), (0.6, 0.2), (7.5, 2.5),
    (5.0, 3.0), (-5.0, 3.0), (1e15, 0.1), (4.35, 0.01), (49 * 0.7, 0.7), (1000 / 3, 1 / 3),
]  # fmt: skip
REMAINDERS = {
    "np.fmod": lambda a, b: np.fmod(a, b),
    "math.fmod": lambda a, b: math.fmod(a, b),
    "np.mod": lambda a, b: np.mod(a, b),
    "%": lambda a, b: a % b,
    "math.remainder": lambda a, b: math.remainder(a, b),
    "divmod": lambda a, b: divmod(a, b)[1],
    "of arrays": lambda a, b: np.sum(np.fmod(np.array([a]), np.array([b]))),
}


@pytest.mark.parametrize("name", REMAINDERS)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_remainder_slope_consistent_with_value(name, a, b):
    y, (a_bar, b_bar) = srcad.value_and_grad(REMAINDERS[name], (0, 1))(a, b)

    multiples = round((Fraction(a) - Fraction(float(y))) / Fraction(b))
    assert a_bar == 1.0
    assert b_bar == pytest.approx(-multiples, rel=1e-12)


def test_the_second_derivative_of_a_remainder_is_zero():
    gradient = srcad.grad(lambda b: np.sum(np.fmod(np.array([10.0, 7.3]), b)))

    assert srcad.grad(gradient)(0.01) == 0.0


LENGTHS = {
    "abs": lambda x: abs(x),
    "fabs": lambda x: math.fabs(x),
    "np.abs": lambda x: np.abs(x),
    "in a loop": lambda x: sum([abs(x) for _ in range(3)]) / 3.0,
    "copysign": lambda x: math.copysign(x, 1.0),
    "of a multiple": lambda x: abs(2.0 * x) / 2.0,
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("kind", [float, np.float64])
def test_absolute_value_slope_is_sign_and_nan_at_nan(name, kind):
    points = (2.0, -3.0, 0.0, -0.0, math.inf, -math.inf, math.nan)

    found = [float(srcad.grad(LENGTHS[name])(kind(x))) for x in points]

    np.testing.assert_equal(found, [1.0, -1.0, 0.0, 0.0, 1.0, -1.0, math.nan])


def test_absolute_value_second_derivative_is_zero():
    assert [srcad.grad(srcad.grad(abs))(x) for x in (2.0, -2.0, 0.0)] == [0.0, 0.0, 0.0]
    assert srcad.grad(srcad.grad(lambda x: abs(x) ** 3))(-2.0) == 12.0


def first_the_logarithm(x):
    return math.log(x - 1.0) + x / (x - 1.0)


def first_the_quotient(x):
    return x / (x - 1.0) + math.log(x - 1.0)


def in_a_loop(x):
    s = 0.0
    for k in range(3):
        s += math.log(x - k)
    return s


def with_a_default(x):
    try:
        y = math.log(x)
    except ValueError:
        y = 7.0 * x
    return y


FAILING = [
    lambda x: math.log(x),
    lambda x: math.log(x) + x * x,
    lambda x: math.log(x * x) / x,
    lambda x: math.log10(x) * math.log2(x),
    lambda x: math.sqrt(x - 1.0) / (x - 1.0),
    lambda x: math.fmod(3.0, x) / x,
    first_the_logarithm,
    first_the_quotient,
    in_a_loop,
    with_a_default,
]


def failure(f, x):
    try:
        f(x)
    except Exception as error:  # noqa: BLE001 - whatever the plain call raises
        return type(error), str(error)
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", FAILING)
@pytest.mark.parametrize("x", [0.0, -1.0, 1.0, 2.5, 2.0])
def test_derivative_raises_same_exception_as_function(f, x):
    expected = failure(f, x)

    assert failure(srcad.grad(f), x) == expected
    assert failure(srcad.value_and_grad(f), x) == expected
    assert failure(lambda x: srcad.pullback(f, x)[1](1.0), x) == expected
