"""Derivatives of SciPy's solvers, against differences of the plain calls."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import (
    Bounds,
    brentq,
    curve_fit,
    least_squares,
    minimize,
    minimize_scalar,
    newton,
    root,
)

import srcad
from srcad.errors import UnsupportedSyntaxError, UnsupportedTypeError
from tests.marks import named_some, some
from tests.numeric import difference, leaves
from tests.solvers import constrained, integrals, minima, own, roots

PROGRAMS = {
    **{name: (*program, 2e-6) for name, program in roots.PROGRAMS.items()},
    **{
        name: (*program, 1e-3 if name in minima.LOOSE else 5e-6)
        for name, program in minima.PROGRAMS.items()
    },
    **{name: (*program, 1e-6) for name, program in integrals.PROGRAMS.items()},
    **{name: (*program, 1e-6) for name, program in own.PROGRAMS.items()},
    **{
        name: (*program, 1e-3 if name in constrained.LOOSE else 4e-5)
        for name, program in constrained.PROGRAMS.items()
    },
}
LOOSE = minima.LOOSE | constrained.LOOSE
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def slopes(f, args, k):
    """The differences of a program by one of two arguments."""
    if k == 0:
        return leaves(difference(f, copy.deepcopy(args)))
    return leaves(difference(lambda b, a: f(a, b), copy.deepcopy(args[::-1])))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some(PROGRAMS, lambda k, _: k % 5 == 0))
def test_gradient_agrees_with_differences(name):
    f, args, tolerance = PROGRAMS[name]

    value, gradient = srcad.value_and_grad(f, wrt=(0, 1))(*copy.deepcopy(args))

    np.testing.assert_array_equal(value, f(*copy.deepcopy(args)))
    for k in (0, 1):
        for got, want in zip(leaves(gradient[k]), slopes(f, args, k), strict=True):
            if np.asarray(want).dtype.kind == "f":
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some(PROGRAMS, lambda k, _: k % 9 == 2))
def test_other_modes_agree_with_the_gradient(name):
    f, args, _ = PROGRAMS[name]
    if not isinstance(args[0], float | np.ndarray):
        pytest.skip("the argument is a dict or an object")
    if name == "triple":
        pytest.skip("it takes minutes")
    gradient = srcad.grad(f)
    x, y = args
    x_dot = np.ones_like(x) if isinstance(x, np.ndarray) else 1.0

    _, slope = srcad.jvp(f, args, (x_dot, None))

    np.testing.assert_allclose(slope, np.sum(gradient(*args)), rtol=1e-9)
    e = 1e-5
    want = (np.asarray(gradient(x + e, y)) - np.asarray(gradient(x - e, y))) / (2 * e)
    hessian = np.reshape(srcad.hessian(f)(*args), (np.size(x), np.size(x)))
    scale = 1e-3 if name in LOOSE else 1e-6
    np.testing.assert_allclose(np.sum(hessian, 0), np.ravel(want), rtol=10 * scale, atol=30 * scale)


def test_solution_of_linear_fit_has_exact_second_derivatives():
    x = np.arange(5.0)
    a = np.stack([np.ones(5), x]).T
    inverse = np.linalg.pinv(a)

    def f(y):
        fit = least_squares(lambda p: a @ p - y, np.zeros(2), jac=lambda p: a)
        return np.sum(fit.x**2)

    y = np.array([0.9, 2.1, 2.9, 4.2, 5.1])

    np.testing.assert_allclose(srcad.grad(f)(y), 2 * inverse.T @ inverse @ y, rtol=1e-9)
    np.testing.assert_allclose(srcad.hessian(f)(y), 2 * inverse.T @ inverse, atol=1e-12)


def test_covariance_of_a_linear_fit():
    x = np.arange(5.0)
    a = np.stack([np.ones(5), x]).T

    def variance(y):
        _, covariance = curve_fit(lambda x, p, q: p + q * x, x, y, jac=lambda x, p, q: a)
        return covariance[0, 0]

    y = np.array([0.9, 2.1, 2.9, 4.2, 5.1])
    residuals = y - a @ (np.linalg.pinv(a) @ y)
    factor = np.linalg.inv(a.T @ a)[0, 0]

    np.testing.assert_allclose(srcad.grad(variance)(y), 2 * residuals * factor / 3, rtol=1e-7)


def test_text_of_one_equation_is_short():
    gradient = srcad.grad(lambda p: brentq(lambda z: z**3 + p * z - 1.0, 0.0, 5.0))

    gradient(1.3)

    assert len(gradient.source.splitlines()) <= 9
    assert "problem_of_brentq" in gradient.source


def test_function_is_called_as_often_as_by_the_plain_call():
    calls = []

    def counted(z):
        calls.append(z)
        return z

    @srcad.rules.derivative(counted)
    def _(z):
        return 1.0

    def f(p):
        return brentq(lambda z: counted(z) ** 3 - p, 0.0, 5.0)

    f(2.0)
    plain = len(calls)
    derivative = srcad.value_and_grad(f)
    derivative(2.0)
    calls.clear()
    derivative(2.0)

    assert len(calls) <= plain + 3


@pytest.mark.parametrize("method", ["L-BFGS-B", "Nelder-Mead", "Powell", "SLSQP", "TNC"])
def test_bounds_hold_variables(method):
    def f(a):
        found = minimize(
            lambda z: np.sum((z - a) ** 2), [0.5, 0.5], bounds=[(0, 1), (0, 1)], method=method
        )
        return np.sum(found.x)

    np.testing.assert_allclose(srcad.grad(f)(np.array([0.4, 2.0])), [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(srcad.grad(f)(np.array([-3.0, 0.5])), [0.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_bounds_of_a_fit_hold_parameters(method):
    x, y = np.arange(5.0), np.array([0.9, 2.1, 2.9, 4.2, 5.1])

    def slope(c):  # the offset is held at 0.5
        model = lambda x, a, b: a + b * x * c  # noqa: E731
        (_, b), _ = curve_fit(model, x, y, bounds=([0, 0], [0.5, 3]), method=method)
        return b

    want = -np.sum(x * (y - 0.5)) / np.sum(x**2) / 1.1**2
    np.testing.assert_allclose(srcad.grad(slope)(1.1), want, rtol=1e-6)


@pytest.mark.parametrize(("a", "slope"), [(0.9995, 1.0), (1.5, 0.0), (-0.5, 0.0), (0.5, 1.0)])
def test_interval_holds_its_minimum(a, slope):
    def f(a):
        return minimize_scalar(lambda z: (z - a) ** 2 + 1.0, bounds=(0.0, 1.0)).x

    np.testing.assert_allclose(srcad.grad(f)(a), slope, atol=1e-9)


def test_scale_of_a_loss_has_a_derivative():
    data = np.array([1.0, 2.0, 9.0])

    def f(s):
        fit = least_squares(
            lambda p: p - data, [0.5], loss="soft_l1", f_scale=s, xtol=1e-15, gtol=1e-15
        )
        return fit.x[0]

    want = (f(1.0 + 1e-4) - f(1.0 - 1e-4)) / 2e-4
    np.testing.assert_allclose(srcad.grad(f)(1.0), want, rtol=1e-3)


def test_starting_points_have_no_derivative():
    assert srcad.grad(lambda a: newton(np.cos, a) * a)(1.0) == newton(np.cos, 1.0)


def singular(a):
    return np.sum(root(lambda z: np.array([z[0] + z[1] - a, 2 * z[0] + 2 * z[1]]), np.ones(2)).x)


def test_integral_at_its_limits():
    def sine(a, b):
        return quad(lambda x: np.cos(x), a, b)[0]

    assert srcad.grad(sine, wrt=(0, 1))(0.3, 1.2) == pytest.approx((-np.cos(0.3), np.cos(1.2)))
    assert srcad.grad(lambda a: quad(np.exp, a, 1)[0])(0.3) == pytest.approx(-np.exp(0.3))
    tail = srcad.grad(lambda b: quad(lambda x: np.exp(-x), 0.0, b)[0])
    assert tail(np.inf) == 0.0


def test_jump_that_moves_contributes_nothing():
    def f(a):
        return quad(lambda x: x if x < a else 0.0, 0.0, 2.0, points=[1.0])[0]

    assert srcad.grad(f)(1.0) == 0.0


def test_gradient_of_an_integral_keeps_kinds():
    def f(p, x):
        return quad(lambda t: np.sum(p["w"] * np.exp(-p["k"] * t * x)), 0.0, 1.0)[0]

    p = {"w": np.array([1.0, 2.0]), "k": 0.5}
    gradient = srcad.grad(f)(p, np.array([0.3, 0.7]))

    assert gradient["w"].shape == (2,)
    assert isinstance(gradient["k"], float)


def test_two_integrals_of_one_form():
    def total(p):
        return [quad(lambda x, k=k: np.sin(p * x) * x**k, 0.0, 1.0)[0] for k in (0, 2)]

    def f(p):
        first, second = total(p)
        return first * 2.0 + second**2

    e = 1e-6
    want = (f(1.3 + e) - f(1.3 - e)) / (2 * e)
    np.testing.assert_allclose(srcad.grad(f)(1.3), want, rtol=1e-8)


def test_singular_equations_give_nan_and_one_warning():
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        found = [srcad.grad(singular)(0.0) for _ in range(2)]

    assert np.all(np.isnan(found))
    assert sum("singular" in str(one.message) for one in noted) == 1
    assert all(issubclass(one.category, srcad.SolverWarning) for one in noted)
    assert "test_solvers.py" in str(noted[0].message)


def test_solver_that_has_not_converged_warns():
    def f(a):
        return np.sum(root(lambda z: z**2 + a, np.array([1.0, 2.0])).x)

    with pytest.warns(srcad.SolverWarning, match="has not converged"):
        srcad.grad(f)(1.0)


@pytest.mark.parametrize(
    ("f", "kind", "message"),
    [
        (lambda a: np.real(newton(lambda z: z**2 + a, 1 + 1j)), UnsupportedTypeError, "complex"),
        (
            lambda a: minimize(lambda z: np.sum((z - a) ** 2), np.ones(2)).hess_inv[0, 0],
            UnsupportedSyntaxError,
            "hess_inv",
        ),
        (
            lambda a: quad(lambda x: x, 0.0, a, weight="cos", wvar=1.0)[0],
            UnsupportedSyntaxError,
            "'weight'",
        ),
        (
            lambda a: quad(lambda x: a * 1j, 0.0, 1.0, complex_func=True)[0].imag,
            UnsupportedSyntaxError,
            "'complex_func'",
        ),
        (
            lambda a: quad(lambda x: np.abs(x - a), 0.0, 1.0, points=[a])[0],
            UnsupportedSyntaxError,
            "'points'",
        ),
        (
            lambda a: np.sum(
                minimize(lambda z: np.sum((z - a) ** 2), [1.0], bounds=[(0.0, 2.0)]).jac
            ),
            UnsupportedSyntaxError,
            "'.jac'",
        ),
        (
            lambda a: np.sum(
                minimize(
                    lambda z: np.sum((z - a) ** 2),
                    [1.0],
                    constraints=[{"type": "eq", "fun": np.sum}] * int(a),
                ).x
            ),
            UnsupportedSyntaxError,
            "'constraints'",
        ),
    ],
    ids=[
        "complex",
        "hess_inv",
        "weight",
        "complex_func",
        "points",
        "jac at bounds",
        "list of unknown length",
    ],
)
def test_what_has_no_derivative_is_refused(f, kind, message):
    with pytest.raises(kind, match=message):
        srcad.grad(f)(1.0)


def test_function_that_changes_what_is_around_it_is_refused():
    def appending(a):
        seen = []
        return brentq(lambda z: (seen.append(z), z - a)[1], -5.0, 5.0)

    def counting(a):
        n = 0

        def f(z):
            nonlocal n
            n += 1
            return z - a

        return brentq(f, -5.0, 5.0)

    def of_object(a):
        line = Counting(a)
        return brentq(line.at, -5.0, 5.0) * line.calls

    def of_argument(a):
        buffer = [0.0, a]
        return brentq(storing, -5.0, 5.0, args=(buffer,)) + buffer[0]

    for f in (appending, counting, of_object, of_argument):
        with pytest.raises(UnsupportedTypeError, match="to a solver") as refused:
            srcad.grad(f)(1.0)
        assert "compute only" in str(refused.value)


class Counting:
    def __init__(self, a):
        self.a, self.calls = a, 0

    def at(self, z):
        self.calls += 1
        return z - self.a


def storing(z, buffer):
    buffer[0] = z
    return z - buffer[1]


class Power:
    def __init__(self, a, n, data):
        self.a, self.n, self.data = a, n, data

    def at(self, z):
        return z**3 - self.a


def test_fields_that_the_function_does_not_read_have_zero_gradients():
    gradient = srcad.grad(lambda power: brentq(power.at, 0.0, 5.0))(Power(2.0, 3, np.arange(3)))

    assert gradient.a == pytest.approx(2.0 ** (-2 / 3) / 3)
    assert gradient.n == 0.0
    np.testing.assert_array_equal(gradient.data, np.zeros(3))


def test_arguments_by_name_from_outside():
    options = {"scale": 2.0}

    def f(a):
        fit = least_squares(lambda p, scale=1.0: p * scale * a - 3.0, [0.5], kwargs=options)
        return fit.x[0]

    assert srcad.grad(f)(2.0) == pytest.approx(-3 / 8, rel=1e-6)


def test_residuals_in_a_list():
    def f(a):
        x, y = root(lambda u: [u[0] ** 3 + u[0] - a, u[1] - u[0]], [1.0, 1.0]).x
        return x * y

    e = 1e-6
    want = (f(2.0 + e) - f(2.0 - e)) / (2 * e)
    np.testing.assert_allclose(srcad.grad(f)(2.0), want, rtol=1e-6)


def test_pickled_gradient_of_a_root():
    gradient = srcad.grad(cube_root)
    gradient(8.0)

    np.testing.assert_allclose(pickle.loads(pickle.dumps(gradient))(27.0), 1 / 27, rtol=1e-9)


def cube_root(a):
    return brentq(lambda z: z**3 - a, 0.0, 10.0, xtol=1e-14)


def solution_of_solution(c, a):
    def outer(y):
        x = brentq(lambda x: x**3 + x - y * c, -3.0, 3.0, xtol=1e-15)
        return x + y - a

    return brentq(outer, 0.0, 2.0, xtol=1e-15)


def solution_in_coefficient(c, a):
    def outer(y):
        x = brentq(lambda x: x**3 + x - c, -3.0, 3.0, xtol=1e-15)
        return x * y + y**3 - a

    return brentq(outer, 0.0, 2.0, xtol=1e-15)


@pytest.mark.parametrize("f", [solution_of_solution, solution_in_coefficient])
def test_second_derivatives_of_nested_solvers(f):
    gradient = srcad.grad(f)
    want = (gradient(1.1 + 1e-5, 0.8) - gradient(1.1 - 1e-5, 0.8)) / 2e-5

    np.testing.assert_allclose(srcad.hessian(f)(1.1, 0.8), want, rtol=1e-8)


def behind_moving_end(a):
    def miss(rate):
        return solve_ivp(lambda t, y: -rate * y * t, (0.0, a), [1.0], **TIGHT).y[0, -1] - 0.5

    return brentq(miss, 0.1, 3.0, xtol=1e-14)


def behind_moving_start_of_implicit_method(a):
    def miss(rate):
        sol = solve_ivp(lambda t, y: -rate * y * t, (a, 0.0), [0.5], method="Radau", **TIGHT)
        return sol.y[0, -1] - 1.0

    return brentq(miss, 0.1, 3.0, xtol=1e-14)


def behind_moving_bound(a):
    def miss(c):
        found = minimize(lambda z: (z[0] - c - 5) ** 2, [0.0], bounds=[(None, a**2)], tol=1e-12)
        return found.x[0] * c - 2.0 * np.log(2.0)

    return brentq(miss, 0.1, 3.0, xtol=1e-14)


def behind_moving_object_of_bounds(a):
    def miss(c):
        found = minimize(lambda z: (z[0] - c - 5) ** 2, [0.0], bounds=Bounds([-9.0], [a**2]))
        return np.sqrt(found.fun) - 5.0 - c + 2.0 * np.log(2.0) / c

    return brentq(miss, 0.1, 3.0, xtol=1e-14)


def behind_moving_bound_of_one_variable(a):
    def miss(c):
        limits = {"bounds": (0.0, a**2), "method": "bounded", "options": {"xatol": 1e-13}}
        return minimize_scalar(lambda z: (z - c - 5) ** 2, **limits).x * c - 2.0 * np.log(2.0)

    return brentq(miss, 0.1, 3.0, xtol=1e-14)


def behind_moving_bound_of_a_fit(a):
    def miss(c):
        found = least_squares(lambda z: z - c - 5, [0.0], bounds=([-9.0], [a**2]))
        return found.x[0] * c - 2.0 * np.log(2.0)

    return brentq(miss, 0.1, 3.0, xtol=1e-14)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "f",
    named_some(
        [
            behind_moving_end,
            behind_moving_start_of_implicit_method,
            behind_moving_bound,
            behind_moving_object_of_bounds,
            behind_moving_bound_of_one_variable,
            behind_moving_bound_of_a_fit,
        ],
        {"behind_moving_bound"},
    ),
)
def test_second_derivative_by_an_end_or_a_bound_of_an_inner_solver(f):
    hessian = srcad.hessian(f)(1.3)

    assert hessian == pytest.approx(12.0 * np.log(2.0) / 1.3**4, rel=1e-5)  # of 2 log(2) / a**2


def test_second_derivative_of_a_rule_with_a_solver():
    def square(c):
        return float(c) ** 2

    @srcad.rules.adjoint(square)
    def _(y_bar, y, c):
        return y_bar * 2.0 * brentq(lambda z: z - c, 0.0, 5.0)

    assert srcad.grad(square)(3.0) == pytest.approx(6.0)
    assert srcad.grad(srcad.grad(square))(3.0) == pytest.approx(2.0)


def written_after(x):
    w = x * 1.0
    z = root(lambda z: z**3 + z - w, np.ones(2), tol=1e-13).x
    w[0] = 7.0
    return np.sum(z * w)


def written_into(x):
    z = root(lambda z: z**3 + z - x, np.ones(2), tol=1e-13).x
    s = z * 2
    z[0] = 0.0
    return np.sum(s * z) + s[0]


@pytest.mark.parametrize("f", [written_after, written_into])
def test_writes_beside_a_solver(f):
    x = np.array([0.8, 1.3])

    np.testing.assert_allclose(srcad.grad(f)(x), difference(f, (x,)), rtol=1e-6, atol=1e-8)


def test_variables_are_those_of_the_call():
    def f(p):
        held = [p]
        g = lambda z: z**3 - held[0] * p  # noqa: E731
        held[0] = held[0] * 3.0
        p = p * 2.0
        return brentq(g, 0.0, 5.0, xtol=1e-14)

    assert srcad.value_and_grad(f)(1.3) == pytest.approx((f(1.3), 2 * f(1.3) / (3 * 1.3)))


OPTIONS = {"rtol": 1e-8, "scale": 2.0}


def scaled(z, rtol, scale):
    return z**3 * scale + rtol


def test_global_dict_of_options_in_a_function_of_a_solver():
    def spread(a):
        return brentq(lambda z: scaled(z, **OPTIONS) - a, 0.0, 3.0, xtol=1e-14)

    def displayed(a):
        return brentq(lambda z: scaled(z, **{**OPTIONS, "scale": 1.0}) - a, 0.0, 3.0, xtol=1e-14)

    def copied(a):
        return brentq(lambda z: scaled(z, **dict(OPTIONS, rtol=0.0)) - a, 0.0, 3.0, xtol=1e-14)

    assert srcad.grad(spread)(2.0 + 1e-8) == pytest.approx(1 / 6, rel=1e-8)
    assert srcad.grad(displayed)(8.0 + 1e-8) == pytest.approx(1 / 12, rel=1e-8)
    assert srcad.grad(copied)(2.0) == pytest.approx(1 / 6, rel=1e-8)


def test_changed_dict_of_options_is_read_again(monkeypatch):
    gradient = srcad.grad(lambda a: brentq(lambda z: scaled(z, **OPTIONS) - a, 0.0, 3.0))
    gradient(2.0)

    monkeypatch.setitem(OPTIONS, "scale", 16.0)

    assert gradient(2.0 + 1e-8) == pytest.approx(1 / (3 * 16.0 * 0.25), rel=1e-8)
