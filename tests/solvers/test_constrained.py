"""Derivatives of minima under bounds and constraints, against closed forms."""

import numpy as np
import pytest
from scipy.optimize import (
    NonlinearConstraint,
    brentq,
    curve_fit,
    least_squares,
    lsq_linear,
    minimize,
    nnls,
)

import srcad
from tests.marks import some


def test_held_variable_follows_its_bound():
    def f(c):
        found = minimize(lambda z: np.sum((z - 3.0) ** 2), [0.1, 0.2], bounds=[(0, c), (0, None)])
        return found.x[0] * found.fun

    # x = (c, 3): c (c - 3)**2
    np.testing.assert_allclose(srcad.grad(f)(0.7), (0.7 - 3) * (3 * 0.7 - 3), rtol=1e-6)
    np.testing.assert_allclose(srcad.hessian(f)(0.7), 6 * 0.7 - 12, rtol=1e-6)


def test_parameter_of_a_fit_follows_its_bound():
    x = np.arange(5.0)

    def f(c):
        model = lambda x, a, b: a + b * x  # noqa: E731
        (offset, slope), _ = curve_fit(model, x, 2 * x + 1.5, bounds=([0, 0], [c, 5]))
        return offset + slope

    # slope = (x @ (2 x + 1.5 - c)) / (x @ x)
    np.testing.assert_allclose(srcad.grad(f)(0.7), 1 - np.sum(x) / np.sum(x**2), rtol=1e-6)


def test_linear_least_squares_has_the_derivative_of_the_pseudoinverse():
    a = np.stack([np.ones(6), np.linspace(0, 1, 6) ** 2, np.linspace(0, 1, 6) ** 3]).T
    b = np.array([1.0, 1.2, 0.7, 1.4, 1.9, 3.0])

    np.testing.assert_allclose(
        srcad.jacobian(lambda b: lsq_linear(a, b).x)(b), np.linalg.pinv(a), rtol=1e-10
    )
    np.testing.assert_allclose(
        srcad.hessian(lambda b: lsq_linear(a, b).cost)(b),
        np.eye(6) - a @ np.linalg.pinv(a),
        atol=1e-12,
    )


def test_ill_conditioned_least_squares_keep_digits():
    x = np.linspace(0.0, 1.0, 12)
    a = np.stack([x**k for k in range(7)]).T  # of condition 1e5, squared 1e10

    got = srcad.jacobian(lambda b: lsq_linear(a, b).x)(np.cos(x))

    want = np.linalg.pinv(a)
    assert np.max(np.abs(got - want)) <= 1e-10 * np.max(np.abs(want))


def test_entries_of_nnls_that_are_zero_are_held():
    a, b = np.eye(3), np.array([1.0, -1.0, 0.0])

    found = srcad.jacobian(lambda b: nnls(a, b)[0])(b)

    np.testing.assert_array_equal(found, np.diag([1.0, 0.0, 0.0]))


def test_square_of_the_norm_of_nnls():
    a = np.array([[1.0, 0.2], [0.3, 1.0], [0.5, 0.4]])
    b = np.array([1.0, 2.0, 0.2])
    gradient = srcad.grad(lambda b: nnls(a, b)[1] ** 2)

    np.testing.assert_allclose(gradient(b), 2 * (b - a @ nnls(a, b)[0]), rtol=1e-10)


def test_rank_deficient_least_squares_give_nan_and_a_warning():
    with pytest.warns(srcad.SolverWarning, match="singular"):
        slope = srcad.grad(lambda c: lsq_linear(np.ones((3, 2)) * c, np.arange(3.0)).x[0])(2.0)

    assert np.isnan(slope)


def test_slopes_at_free_minima_are_zero():
    def of_minimum(a):
        found = minimize(lambda z: np.sum((z - a) ** 4 + z**2), [0.5, 0.5])
        return np.sum(found.jac * np.array([1.0, 2.0])) + a

    def of_fit(a):
        return np.sum(least_squares(lambda z: z**2 - a, [0.5, 0.5]).grad) + a

    for f in (of_minimum, of_fit):
        value, slope = srcad.value_and_grad(f)(1.3)
        assert value == f(1.3)
        assert slope == 1.0


def projection(a, c, method="SLSQP"):
    """Project a point on the half-plane ``z[0] + z[1] <= c``."""
    limit = {"type": "ineq", "fun": lambda z: c - z[0] - z[1]}
    return minimize(lambda z: np.sum((z - a) ** 2), [0.1, 0.2], method=method, constraints=limit).x


@pytest.mark.filterwarnings("ignore:delta_grad")
@pytest.mark.parametrize(
    "method", some(["SLSQP", "COBYLA", "COBYQA", "trust-constr"], lambda k, _: k == 0)
)
@pytest.mark.parametrize(("c", "by_a", "by_c"), [(1.0, [0.5, -0.5], 0.5), (1.805, [1.0, 0.0], 0.0)])
def test_inequality_is_held_with_the_default_tolerances(method, c, by_a, by_c):
    a = np.array([0.8, 1.0])
    gradient = srcad.grad(lambda a, c: projection(a, c, method)[0], wrt=(0, 1))

    a_bar, c_bar = gradient(a, c)

    np.testing.assert_allclose(a_bar, by_a, atol=1e-8)
    np.testing.assert_allclose(c_bar, by_c, atol=1e-8)


def test_value_under_a_constraint_has_the_multiplier():
    def f(c):
        limit = {"type": "ineq", "fun": lambda z: c - z[0] - z[1]}
        return minimize(lambda z: np.sum((z - 1.0) ** 2), [0.1, 0.2], constraints=limit).fun

    # (c - 2)**2 / 2
    np.testing.assert_allclose(srcad.grad(f)(1.0), -1.0, rtol=1e-6)
    np.testing.assert_allclose(srcad.hessian(f)(1.0), 1.0, rtol=1e-6)


def test_inequality_with_a_vanishing_multiplier_counts_as_held():
    np.testing.assert_allclose(
        srcad.grad(lambda a: projection(a, 2.0)[0])(np.array([1.0, 1.0])), [0.5, -0.5], atol=1e-6
    )


def test_conditions_that_follow_from_others_are_left_out():
    def f(mean):
        cost = lambda w: np.sum(w**2) - mean @ w  # noqa: E731
        total = {"type": "eq", "fun": lambda w: np.sum(w) - 1.0}
        bounds = [(0, 1)] * 3
        return mean @ minimize(cost, np.full(3, 0.3), bounds=bounds, constraints=total).x

    np.testing.assert_allclose(srcad.grad(f)(np.array([9.0, 0.3, 0.1])), [1, 0, 0], atol=1e-9)


@pytest.mark.parametrize("size", some([1e-4, 1.0, 1e4], lambda k, _: k == 0))
@pytest.mark.parametrize("of_limits", [1e-4, 1e4])
def test_constraints_in_any_units(size, of_limits):
    """The second inequality is not active."""

    def f(a):
        limits = [
            {"type": "ineq", "fun": lambda z: of_limits * (1.2 * size - z[0] - z[1])},
            {"type": "ineq", "fun": lambda z: of_limits * (0.75 * size - z[0])},
        ]
        jac = lambda z: (z / size - a) / size * 1e-4  # noqa: E731
        found = minimize(
            lambda z: 0.5e-4 * np.sum((z / size - a) ** 2),
            np.array([0.49, 0.69]) * size,
            jac=jac,
            constraints=limits,
            options={"ftol": 1e-15},
        )
        return found.x[0] / size

    np.testing.assert_allclose(srcad.grad(f)(np.array([0.8, 1.0])), [0.5, -0.5], atol=1e-6)


class Calls:
    count = 0


def counted(z):
    Calls.count += 1
    return z


def test_constraint_is_called_as_often_as_by_the_plain_call():
    srcad.rules.derivative(counted)(lambda z: 1.0)

    def f(c):
        limit = {"type": "eq", "fun": lambda z: counted(z[0]) + z[1] - c}
        return minimize(lambda z: np.sum(z**2), [0.1, 0.2], constraints=limit).x[0]

    Calls.count = 0
    f(2.0)
    plain = Calls.count
    _, pull = srcad.pullback(f, 2.0)
    Calls.count = 0
    _, pull = srcad.pullback(f, 2.0)

    assert Calls.count == plain
    np.testing.assert_allclose(pull(1.0), 0.5)


def test_root_of_a_minimum_under_a_constraint():
    def f(c):
        def outer(t):
            line = {"type": "eq", "fun": lambda z: z[0] + c * z[1] - 1.0}
            found = minimize(lambda z: np.sum((z - t) ** 2), [0.1, 0.2], constraints=line)
            return found.x[0] - 0.3 * t - 0.2

        return brentq(outer, -3.0, 5.0, xtol=1e-13)

    # x[0] = t - ((1 + c) t - 1) / (1 + c**2), so t = (0.2 - 1/q) / (0.7 - (1 + c)/q), q = 1 + c**2
    solution = lambda c: (0.2 * (1 + c**2) - 1) / (0.7 * (1 + c**2) - (1 + c))  # noqa: E731
    want = (solution(0.9 + 1e-6) - solution(0.9 - 1e-6)) / 2e-6
    np.testing.assert_allclose(srcad.grad(f)(0.9), want, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:delta_grad")
def test_constraint_of_a_solver_that_is_not_differentiated():
    def f(a):
        scale = 0.7
        limit = NonlinearConstraint(lambda z: z[0] + scale * z[1], -np.inf, 0.5)
        found = minimize(
            lambda z: np.sum((z - 1) ** 2), [0.1, 0.1], constraints=limit, method="trust-constr"
        )
        return a * found.x[0]

    assert srcad.value_and_grad(f)(2.0) == (f(2.0), f(2.0) / 2)
