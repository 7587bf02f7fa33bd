"""Powers of Python numbers with unused results, which raise for zero."""

import numpy as np
import pytest

import srcad


def unused_power(x, y):
    y**-2
    return x * x + y


def unused_variable_power(x, y):
    y ** (-x)
    return x * x


def unused_power_in_helper(x, y):
    def helper(a, b):
        b**-1.5
        return a * b

    return helper(x, y) + helper(y, x + 1.0)


def unused_power_in_loop(x, y):
    for _ in range(2):
        y**-1
    return x * x


def written_power(x, y):
    s = y
    s **= -1
    return x * x


def power_by_function(x, y):
    pow(y, -1)
    return x * x


UNUSED = [
    unused_power, unused_variable_power, unused_power_in_helper, unused_power_in_loop,
    written_power, power_by_function,
]  # fmt: skip


def second(function):
    return lambda *args: srcad.hessian(function)(*args)


@pytest.mark.parametrize("helpers", ["inline", "keep"])
@pytest.mark.parametrize("function", UNUSED)
def test_unused_power_of_zero_raises(function, helpers, monkeypatch):
    monkeypatch.setenv("SRCAD_HELPERS", helpers)
    for derivative in (srcad.grad, second):
        with pytest.raises(ZeroDivisionError, match="negative power"):
            derivative(function)(0.3, 0.0)
    with pytest.raises(ZeroDivisionError, match="negative power"):
        srcad.jvp(function, (0.3, 0.0), (1.0, 1.0))


@pytest.mark.parametrize("function", UNUSED)
def test_unused_power_of_numpy_zero_does_not_raise(function):
    x, y = np.float64(0.3), np.float64(0.0)
    with np.errstate(all="ignore"):
        assert srcad.value_and_grad(function)(x, y)[0] == function(x, y)


def in_branch(x, y):
    if y > 0.1:
        return y**-2 * x
    return x * x


def in_loop_of_no_iterations(x, y):
    s = x
    n = 0 if y < 0.1 else 2
    for _ in range(n):
        s = s * x + y**-1
    return s * x


def in_branch_of_loop(x, y):
    s = x * x
    for k in range(3):
        if k > 4:
            s = s + y**-1
    return s


@pytest.mark.parametrize("function", [in_branch, in_loop_of_no_iterations, in_branch_of_loop])
def test_power_of_zero_that_is_not_computed_does_not_raise(function):
    value, slope = srcad.value_and_grad(function)(0.3, 0.0)
    assert value == function(0.3, 0.0)
    assert slope == pytest.approx(0.6)


def unused_ratio(x, y):
    x / y
    return np.sum(x * x)


def unused_remainder(x, y):
    x % y
    return np.sum(x * x)


@pytest.mark.parametrize("function", [unused_ratio, unused_remainder])
def test_unused_division_of_unequal_lengths_raises(function):
    with pytest.raises(ValueError, match="broadcast"):
        srcad.grad(function)(np.ones(2), np.ones(3))
    np.testing.assert_array_equal(srcad.grad(function)(np.ones(2), np.ones(2)), [2.0, 2.0])
