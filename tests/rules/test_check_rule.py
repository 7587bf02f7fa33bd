"""`check_rule` compares a rule with differences, each of several results by itself."""

from typing import NamedTuple

import numpy as np
import pytest

from srcad import rules
from srcad.errors import OptionError, RuleError
from srcad.testing import check_grads, check_rule

pytestmark = pytest.mark.usefixtures("own_table")


def square(x):
    return x * x


@pytest.mark.parametrize(
    "rule",
    [
        lambda y_bar, y, x: 2 * x,
        lambda y_bar, y, x: 2 * x * y_bar / abs(y_bar),
        lambda y_bar, y, x: 3 * x * y_bar,
        lambda y_bar, y, x: None,
    ],
)
@pytest.mark.parametrize("x", [1.5, np.array([1.0, 2.0, 3.0])], ids=repr)
def test_wrong_rule_detected(rule, x):
    rules.adjoint(square)(rule)

    with pytest.raises(AssertionError, match="the gradient is"):
        check_rule(square, [x])


def test_a_rule_is_checked_under_keywords():
    def scaled(x, *, twice=False):
        return 2 * x if twice else x

    rules.linear(scaled)(lambda y_bar, x, *, twice=False: y_bar)

    check_rule(scaled, [1.5])
    with pytest.raises(AssertionError, match="the gradient is"):
        check_rule(scaled, [1.5], kwargs={"twice": True})


def test_each_of_several_outputs_is_checked():
    check_rule(np.linalg.slogdet, [np.eye(2) + 0.5])
    check_rule(np.linalg.eigh, [np.diag([1.0, 2.0, 4.0]) + 0.4])


def power(x, n, tol=1e-3):
    return x**n


def test_arguments_without_rule_entry_are_constant():
    @rules.adjoint(power)
    def power_rule(y_bar, y, x, n, tol=1e-3):
        return y_bar * n * x ** (n - 1), None

    check_rule(power, [np.array([1.5, 2.0]), 3.0, 1e-2], order=2)


def test_wrong_tangent_detected():
    rules.adjoint(square)(lambda y_bar, y, x: 2 * x * y_bar)
    rules.tangent(square)(lambda x_dot, y, x: 3 * x * x_dot)

    check_rule(square, [1.5], modes=("rev",))
    with pytest.raises(AssertionError, match="in forward mode the slope is"):
        check_rule(square, [1.5])


def test_mode_disagreement_within_difference_tolerance_detected():
    rules.adjoint(square)(lambda y_bar, y, x: 2 * x * y_bar)
    rules.tangent(square)(lambda x_dot, y, x: 2.000001 * x * x_dot)

    with pytest.raises(AssertionError, match="disagree along a random direction"):
        check_rule(square, [1.5])


def test_primal_with_wrong_value_detected():
    rules.adjoint(square, primal=lambda x: (x * x + 0.1, x))(
        lambda y_bar, y, saved, x: 2 * x * y_bar
    )

    with pytest.raises(AssertionError, match="the function itself"):
        check_rule(square, [1.5])


def test_primal_without_pair_result_detected():
    rules.adjoint(square, primal=lambda x: x * x)(lambda y_bar, y, saved, x: 2 * x * y_bar)

    with pytest.raises(AssertionError, match="not a pair"):
        check_rule(square, [1.5])


def test_function_without_rule_or_float_argument_rejected():
    with pytest.raises(RuleError, match="no derivative rule"):
        check_rule(np.emath.sqrt, [np.eye(2)[0]])
    with pytest.raises(OptionError, match="no argument of 'sin'"):
        check_rule(np.sin, [1])


def spread(x):
    return x * x, np.sum(x)


def spread_rule(y_bar, y, x):
    squares_bar, sum_bar = y_bar
    bar = np.zeros_like(x)
    if squares_bar is not None:
        bar = bar + 2.0 * x * squares_bar
    return bar if sum_bar is None else bar + sum_bar


class Moments(NamedTuple):
    mean: float
    square: float


def moments(x, *, scale=1.0):
    return Moments(scale * np.mean(x), np.sum(x * x))


def moments_rule(y_bar, y, x, *, scale=1.0):
    mean_bar, square_bar = y_bar
    bar = np.zeros_like(x)
    if mean_bar is not None:
        bar = bar + scale * mean_bar / np.size(x)
    return bar if square_bar is None else bar + 2.0 * x * square_bar


def unpacked(x):
    a, b = spread(x)
    return np.sum(a) * b


def indexed(x):
    y = spread(x)
    return np.sum(y[0]) * y[1]


def one_of_two(x):
    return spread(x)[1] ** 2


def in_a_loop(x):
    return sum([np.sum(spread(x * k)[0]) for k in range(3)])


def by_name(x):
    found = moments(x)
    return found.mean * found.square


def by_name_under_a_keyword(x):
    return moments(np.sin(x), scale=3.0).mean


@pytest.mark.parametrize(
    "f", [unpacked, indexed, one_of_two, in_a_loop, by_name, by_name_under_a_keyword]
)
def test_a_function_with_a_rule_may_return_several_results(f):
    rules.adjoint(spread)(spread_rule)
    rules.adjoint(moments)(moments_rule)

    check_grads(f, [np.array([1.0, 2.0, 0.5])])


def test_a_rule_for_several_results_is_checked_for_each():
    rules.adjoint(spread)(spread_rule)
    check_rule(spread, [np.array([1.0, 2.0])], order=2)

    rules.adjoint(spread)(lambda y_bar, y, x: 2.0 * x * y_bar[0] + y_bar[1])
    with pytest.raises((TypeError, RuleError)):
        check_rule(spread, [np.array([1.0, 2.0])])
