"""Rules of the user's that share what the primal saves."""

import numpy as np
import pytest

import srcad
from srcad import rules
from srcad.errors import MissingRuleError, RuleError, UnsupportedTypeError
from srcad.testing import check_grads, check_rule

pytestmark = pytest.mark.usefixtures("own_table")
CALLS = []


def solved(A, b, *, twice=False):
    y = np.linalg.solve(A, b)
    return np.linalg.solve(A, y) if twice else y


def solve(A, b, *, twice=False):
    CALLS.append("solve")
    return solved(A, b, twice=twice)


def inverse_and_solve(A, b, *, twice=False):
    CALLS.append("saving")
    return inverse_and_solved(A, b, twice=twice)


def inverse_and_solved(A, b, *, twice=False):
    inverse = np.linalg.inv(A)
    y = np.linalg.solve(A, b)
    return (np.linalg.solve(A, y) if twice else y), {"inverse": inverse, "x": y}


def solve_rule(y_bar, y, saved, A, b, *, twice=False):
    inverse = saved["inverse"].T
    b_bar = inverse @ y_bar
    A_bar = -np.outer(b_bar, y)
    if twice:
        A_bar = A_bar - np.outer(inverse @ b_bar, saved["x"])
        b_bar = inverse @ b_bar
    return A_bar, b_bar


@pytest.fixture
def solving():
    CALLS.clear()
    rules.adjoint(solve, primal=inverse_and_solve)(solve_rule)


A = np.array([[4.0, 1.0, 0.5], [0.3, 3.0, -1.0], [0.2, 0.1, 2.0]])
b = np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize("twice", [False, True])
def test_primal_residual_passed_to_rule(solving, twice):
    def f(A, b):
        return np.sum(np.sin(solve(A, b**2, twice=twice)))

    check_grads(f, (A, b), order=1, modes=("rev",))


def test_saving_primal_runs_once_when_active(solving):
    def f(b):
        return np.sum(solve(A, b) ** 2) + np.sum(solve(A, np.ones(3)))

    srcad.grad(f)(b)
    assert sorted(CALLS) == ["saving", "solve"]

    CALLS.clear()
    _, back = srcad.pullback(f, b)
    back(1.0), back(2.0)
    assert sorted(CALLS) == ["saving", "solve"]


def test_loop_keeps_primal_residual_per_iteration(solving):
    def f(A, b):
        for _ in range(3):
            b = solve(A, b) + b
        return np.sum(b**2)

    check_grads(f, (A, b), order=1, modes=("rev",))


def test_the_result_may_be_written_into(solving):
    def f(b):
        y = solve(A, b)
        z = y * 1.0
        z[0] = 3.0 * y[1]
        return np.sum(z**2)

    check_grads(f, (b,), order=1, modes=("rev",))


def spread(x):
    return np.exp(x), np.sum(x)


def spread_saving(x):
    e = np.exp(x)
    return (e, np.sum(x)), e


def spread_rule(y_bar, y, e, x):
    first, second = y_bar
    bar = np.zeros_like(x)
    if first is not None:
        bar = bar + e * first
    return bar if second is None else bar + second


def test_a_saving_rule_may_be_for_several_results():
    rules.adjoint(spread, primal=spread_saving)(spread_rule)

    def f(x):
        e, s = spread(x)
        return np.sum(e) * s

    check_grads(f, (b,), order=1, modes=("rev",))
    check_grads(lambda x: spread(x)[1] ** 2, (b,), order=1, modes=("rev",))


def test_forward_mode_transposes_the_rule(solving):
    y, y_dot = srcad.jvp(lambda A, b: solve(A, b), (A, b), (A + 1.0, b - 1.0))

    want = np.linalg.solve(A, b - 1.0 - (A + 1.0) @ y)
    assert np.allclose(y_dot, want)


def test_forward_mode_uses_tangent_rule(solving):
    @rules.tangent(solve)
    def solve_tangent(A_dot, b_dot, y, A, b, *, twice=False):
        CALLS.append("tangent")
        return np.linalg.solve(A, b_dot - A_dot @ y)

    y, y_dot = srcad.jvp(lambda A, b: solve(A, b), (A, b), (A + 1.0, None))

    assert np.allclose(y_dot, np.linalg.solve(A, -(A + 1.0) @ y))


def test_non_transposable_rule_error_suggests_tangent():
    def unknown(x):
        return np.polyfit(np.arange(3.0), x, 1)

    def rule(y_bar, y, x):
        return np.array([np.polyfit(np.arange(3.0), e, 1) for e in np.eye(3)]) @ unwrapped(y_bar)

    def unwrapped(y_bar):
        return np.emath.sqrt(y_bar) - np.emath.sqrt(y_bar) + y_bar

    rules.adjoint(unknown)(rule)

    with pytest.raises(MissingRuleError, match=r"@srcad.rules.tangent\(unknown\)"):
        srcad.jvp(unknown, (b,), (b,))


SECOND = [
    lambda b: srcad.grad(lambda A: np.sum(srcad.grad(total)(A, b) ** 2))(A),
    lambda b: srcad.jvp(srcad.grad(total), (A, b), (A, None)),
    lambda b: srcad.hvp(total)(A, b, v=A),
]


def total(A, b):
    return np.sum(solve(A, b) ** 2)


@pytest.mark.parametrize("second", SECOND)
def test_second_derivative_through_residual_rejected(solving, second):
    """What is saved depends on the argument, and no rule says how."""
    with pytest.raises(UnsupportedTypeError, match="second derivative needs that of what"):
        second(b)


def product(a, b):
    return a * b


def test_second_derivative_independent_of_residual():
    rules.adjoint(product, primal=lambda a, b: (a * b, "unused"))(
        lambda y_bar, y, saved, a, b: (y_bar * b, y_bar * a)
    )

    check_grads(lambda a, b: product(a, np.sin(b)) ** 2, (1.5, 0.7), order=2, modes=("rev",))
    assert srcad.grad(srcad.grad(lambda a: product(a, a)))(3.0) == 2.0


def test_a_function_with_a_saving_rule_is_differentiated_by_itself(solving):
    y, back = srcad.pullback(solve, A, b)

    A_bar, b_bar = back(np.ones(3))
    assert np.array_equal(y, np.linalg.solve(A, b))
    assert np.allclose(b_bar, np.linalg.solve(A.T, np.ones(3)))
    assert np.allclose(A_bar, -np.outer(b_bar, y))


def test_a_saving_rule_is_checked():
    # Not `solve`: a rule that changes a list outside is compiled again for each call.
    rules.adjoint(solved, primal=inverse_and_solved)(solve_rule)

    check_rule(solved, (A, b))
    check_rule(solved, (A, b), kwargs={"twice": True})


def test_saving_rule_signature_error_message():
    with pytest.raises(RuleError, match=r"f\(y_bar, y, saved, \*params\)"):
        rules.adjoint(product, primal=lambda a, b: (a * b, None))(lambda y_bar, y: None)
    with pytest.raises(RuleError, match="callable"):
        rules.adjoint(product, primal=3)
    with pytest.raises(RuleError, match="primal another"):
        rules.adjoint(product, primal=product)
