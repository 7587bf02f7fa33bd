"""Rules of one's own for solvers: what they refuse, and functions that are held constant."""

import functools
import operator

import numpy as np
import pytest
from scipy.optimize import brentq

import srcad
from srcad import rules
from srcad.errors import RuleError, UnsupportedTypeError
from tests.solvers.own import by_newton, of_parameters, of_system


@pytest.mark.parametrize("solve", [by_newton, lambda f, x: brentq(f, 0.0, 5.0)])
def test_function_that_is_stopped_holds_what_it_captures(solve):
    def f(a):
        return solve(srcad.stop_gradient(lambda z: z**3 - a), 1.0) * a

    assert srcad.grad(f)(8.0) == pytest.approx(2.0)


def test_stopped_function_is_differentiated_by_its_arguments():
    def f(a):
        c = a
        scaled = srcad.stop_gradient(lambda z: z * c)
        c = c * 2.0
        return scaled(a)

    assert srcad.value_and_grad(f)(2.0) == (8.0, 4.0)


class Counter:
    def __init__(self, a):
        self.a = a

    def step(self, z):
        self.a = self.a * 2.0
        return z * self.a


def test_stopped_method_that_changes_its_object_is_refused():
    def f(a):
        counter = Counter(a)
        step = srcad.stop_gradient(counter.step)
        return step(a) * counter.a

    with pytest.raises(UnsupportedTypeError, match="cannot take what"):
        srcad.grad(f)(2.0)


def test_function_of_a_rule_that_captures_nothing_active():
    assert srcad.grad(lambda a: by_newton(lambda z: z**3 - 8.0, 1.0) * a)(3.0) == pytest.approx(2.0)
    assert srcad.grad(lambda a: by_newton(np.cos, 1.0) * a)(3.0) == pytest.approx(np.pi / 2)


def test_cotangent_of_a_function_outside_of_a_rule_is_none():
    _, back = srcad.pullback(operator.call, np.sin, 1.0)

    assert back(1.0)[0] is None


def bisected(c, low=0.0):
    high = 3.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**3 < c else (low, middle)
    return middle


@pytest.mark.parametrize(
    "residual",
    [lambda x, c: x**3 - c, lambda x, c, low=1.0: x**3 - c, lambda x, d, low=0.0: x**3 - d],
    ids=["missing", "default", "name"],
)
def test_residual_takes_the_parameters_of_the_solver(residual):
    with pytest.raises(RuleError, match="does not take the parameters") as refused:
        rules.implicit(bisected)(residual)

    assert "(solution, c, low=0.0)" in str(refused.value)


def test_solver_with_arguments_of_any_name_is_refused():
    def solver(c, **options):
        return c

    with pytest.raises(RuleError, match="arguments of any name"):
        rules.implicit(solver)(lambda x, c, **options: x - c)


def test_residual_of_the_wrong_shape_is_an_error():
    def doubled(c):
        return np.array([c, 2 * c])

    @rules.implicit(doubled)
    def _(x, c):
        return x[0] - c

    with pytest.raises(RuleError, match="is a number where the solution is") as refused:
        srcad.grad(lambda c: np.sum(doubled(c)))(1.0)
    assert "one equation for each unknown" in str(refused.value)


def test_result_with_a_report_is_an_error():
    def reported(c):
        return np.array([c]), "converged"

    @rules.implicit(reported)
    def _(x, c):
        return x[0] - c

    with pytest.raises(RuleError, match="rules.adjoint"):
        srcad.grad(lambda c: np.sum(reported(c)[0]))(1.0)


def test_singular_equations_of_a_rule_give_nan_and_a_warning():
    def halves(c):
        return np.array([c / 2, c / 2])

    @rules.implicit(halves)
    def _(x, c):
        return np.array([x[0] + x[1] - c, 2 * x[0] + 2 * x[1] - 2 * c])

    with pytest.warns(srcad.SolverWarning, match="singular"):
        assert np.isnan(srcad.grad(lambda c: np.sum(halves(c)))(1.0))


def test_start_that_the_rule_does_not_differentiate_is_refused():
    with pytest.raises(srcad.errors.MissingRuleError, match="no derivative for argument"):
        srcad.grad(lambda a: np.sum(of_system(lambda z: z - 1.0, np.ones(2) * a)))(1.0)


def test_rule_without_a_cotangent_for_its_function_is_refused():
    def solver(fun, x):
        return x - fun(x)

    @rules.adjoint(solver)
    def _(y_bar, y, fun, x):
        return None, y_bar

    assert srcad.grad(lambda x: solver(lambda z: 2.0, x))(1.0) == 1.0
    with pytest.raises(RuleError, match="no cotangent for what its function captures"):
        srcad.grad(lambda x: solver(lambda z: z * x, x))(1.0)


def test_residual_in_a_dict_may_have_another_order():
    def state(a, b):
        return {"x": a * b, "y": b**3}

    @rules.implicit(state)
    def _(s, a, b):
        return {"y": s["y"] - b**3, "x": 2 * (s["x"] - a * b)}

    def f(a, b):
        found = state(a, b)
        return found["x"] ** 2 + 3 * found["y"]

    assert srcad.grad(f, wrt=(0, 1))(2.0, 1.5) == pytest.approx((9.0, 32.25))


def test_rule_of_a_partial_takes_functions():
    def step(fun, x, k):
        return x - fun(x) * k

    half = functools.partial(step, k=0.5)

    @rules.adjoint(half, active=("fun", "x"))
    def _(y_bar, y, fun, x):
        slope = srcad.grad(lambda z: fun(z))(x)
        return -0.5 * srcad.pullback(operator.call, fun, x)[1](y_bar)[0], y_bar * (1 - 0.5 * slope)

    def f(x):
        return half(lambda z: z * z * x, x)

    assert srcad.grad(f)(1.2) == pytest.approx(1 - 0.5 * 3 * 1.2**2)


def test_dict_of_parameters_of_a_solver_by_equations():
    def f(p):
        return of_parameters(0.5, p)

    p = {"w": 0.3, "b": 0.1}
    x = f(p)
    slope = np.sin(p["w"] * x + p["b"])
    want = -slope / (1 + slope * p["w"])

    gradient = srcad.grad(f)(p)

    assert gradient == pytest.approx({"w": want * x, "b": want}, rel=1e-9)
    tangent = srcad.jvp(f, (p,), ({"w": 2.0, "b": 1.0},))[1]
    assert tangent == pytest.approx(2.0 * want * x + want, rel=1e-9)
