"""Initial value problems with implicit methods, against differences and closed forms."""

import copy
import warnings

import numpy as np
import pytest
from scipy.integrate import RK45, OdeSolver, ode, odeint, solve_bvp, solve_ivp

import srcad
from srcad.errors import UnsupportedSyntaxError, UnsupportedTypeError
from srcad.frontend.prelude import solvers
from tests.marks import some
from tests.numeric import difference, leaves
from tests.solvers import stiff

SIZES = {"odeint_with_time_first": 1e-3}
METHODS = ["Radau", "BDF", "LSODA"]


def slope_of(f, args, k, step=1e-4):
    """Return differences of a program by one argument: of fourth order in a coarse step."""
    x = np.asarray(args[k], float)
    slopes = []
    for one in np.eye(x.size).reshape(x.size, *x.shape):

        def at(e, one=one):
            moved = [copy.deepcopy(arg) for arg in args]
            moved[k] = (x + e * one)[()]
            return f(*moved)

        near, far = (at(e * step) - at(-e * step) for e in (1, 2))
        slopes.append((8 * near - far) / (12 * step))
    return np.reshape(slopes, x.shape)


@pytest.mark.parametrize("name", some(stiff.PROGRAMS, lambda k, _: k == 7))
def test_gradient_agrees_with_differences(name):
    f, args = stiff.PROGRAMS[name]

    value, gradient = srcad.value_and_grad(f, wrt=(0, 1))(*args)

    assert value == f(*args)
    for k in range(2):
        want = slope_of(f, args, k, 1e-3)
        np.testing.assert_allclose(gradient[k], want, rtol=1e-5, atol=1e-5 * abs(value))


@pytest.mark.parametrize("name", some(stiff.PROGRAMS, lambda k, _: False))
def test_jvp_agrees_with_the_gradient(name):
    f, args = stiff.PROGRAMS[name]
    want = sum(np.sum(leaf) for leaf in leaves(srcad.grad(f, wrt=(0, 1))(*args)))

    _, slope = srcad.jvp(f, args, (np.ones_like(args[0])[()], 1.0))

    assert slope == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(
    "name", some(["reactions", "several_events", "between_steps", "odeint_with_arguments"],
                 lambda k, _: False)
)  # fmt: skip
def test_hessian_agrees_with_differences_of_the_gradient(name):
    f, args = stiff.PROGRAMS[name]

    hessian = srcad.hessian(f)(*args)

    want = slope_of(srcad.grad(f), args, 0, 1e-3)
    assert hessian == pytest.approx(want, rel=1e-4)


@pytest.mark.parametrize("method", some(METHODS, lambda k, _: False))
def test_linear_problem_agrees_with_its_closed_form(method):
    def f(a, b):  # y == sin(t) + b * exp(-a * t)
        found = solve_ivp(
            lambda t, y: -a * (y - np.sin(t)) + np.cos(t), (0.0, 1.0), [b], method, rtol=1e-10,
            atol=1e-12,
        )  # fmt: skip
        return found.y[0, -1]

    a, b = 6.0, 2.0
    tolerance = 1e-8 if method == "Radau" else 1e-6
    got = srcad.grad(f, wrt=(0, 1))(a, b)
    assert got == pytest.approx((-b * np.exp(-a), np.exp(-a)), rel=tolerance)
    assert srcad.hessian(f)(a, b) == pytest.approx(b * np.exp(-a), rel=10 * tolerance)


@pytest.mark.parametrize("method", some(METHODS, lambda k, _: False))
@pytest.mark.parametrize(
    "options",
    [{}, {"t_eval": np.linspace(0.0, 1.0, 7)}, {"dense_output": True}, {"vectorized": True}],
    ids=["plain", "t_eval", "dense", "vectorized"],
)
def test_values_and_calls_are_those_of_the_plain_call(method, options):
    def f(a, field):
        found = solve_ivp(
            stiff.kinetics, (0.0, 1.0), [1.0, 0.0, 0.0], method, args=(a, 1e2), **options
        )
        return np.sum(found.y) if field == "y" else a * found.nfev

    for field in ("y", "nfev"):
        assert srcad.value_and_grad(f)(2.0, field)[0] == f(2.0, field)


def test_kinetics_to_the_steady_state_are_not_singular():
    def f(k):
        found = solve_ivp(
            lambda t, y: np.array([
                1e4 * y[1] * y[2] - 0.04 * k * y[0],
                0.04 * k * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2,
                3e7 * y[1] ** 2,
            ]),
            (0.0, 1e10), [1.0, 0.0, 0.0], "Radau", rtol=1e-6, atol=[1e-9, 1e-13, 1e-9],
        )  # fmt: skip
        return np.log(found.y[0, -1])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert srcad.grad(f)(1.0) == pytest.approx(-2.0, rel=1e-3)  # y0 goes as 1 / k**2


# ---------------------------------------------------------------------------- messages
def refused(f, kind, *words):
    with pytest.raises(kind) as found:
        srcad.grad(f)(2.0)
    text = str(found.value)
    assert "test_stiff.py:" in text
    assert all(word in text for word in ("why:", "help:", *words))


def test_complex_states_are_refused_with_their_parts():
    def f(a):
        return np.abs(solve_ivp(lambda t, y: 1j * a * y, (0, 1), [1 + 1j], method="BDF").y[0, -1])

    refused(f, UnsupportedTypeError, "complex states", "def parts(t, v):", "np.imag(y0)")


def test_real_and_imaginary_parts_are_states():
    def f(a):
        fun = lambda t, y: (1j - 0.5) * a * y  # noqa: E731
        t_span, y0 = (0.0, 1.0), np.array([1.0 + 0.5j, 2.0])

        def parts(t, v):
            r = np.asarray(fun(t, v[: len(v) // 2] + 1j * v[len(v) // 2 :]))
            return np.concatenate([r.real, r.imag])

        v0 = np.concatenate([np.real(y0), np.imag(y0)])
        sol = solve_ivp(parts, t_span, v0, method="Radau", rtol=1e-9, atol=1e-9)
        return sol.y[0, -1] + sol.y[3, -1]

    z = 1j - 0.5
    slopes = z * np.array([1.0 + 0.5j, 2.0]) * np.exp(z * 1.3)
    assert srcad.grad(f)(1.3) == pytest.approx(slopes[0].real + slopes[1].imag, rel=1e-8)


@pytest.mark.parametrize("p", [None, [1.0]], ids=["without", "with"])
def test_boundary_value_problems_are_refused_with_shooting(p):
    def f(a):
        y = np.zeros((2, 5))
        fun = lambda x, y, *p: np.vstack((y[1], -a * y[0]))  # noqa: E731
        return solve_bvp(fun, lambda ya, yb, *p: ya, np.linspace(0, 1, 5), y, p).y[0, 0]

    words = "solve_bvp", "dense_output=True", "root(lambda "
    refused(f, UnsupportedSyntaxError, *words, "u[n:]" if p else "bc(y0, ")


def test_boundary_value_problem_of_constants_is_called():
    def f(a):
        fun = lambda x, y: np.vstack((y[1], -np.exp(y[0])))  # noqa: E731
        bc = lambda ya, yb: np.array([ya[0], yb[0]])  # noqa: E731
        return a * solve_bvp(fun, bc, np.linspace(0, 1, 5), np.zeros((2, 5))).y[0, 2]

    assert srcad.grad(f)(2.0) == f(1.0)


def test_class_of_another_method_is_refused_by_name():
    class Mine(OdeSolver):
        pass

    def f(a):
        return solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], method=Mine).y[0, -1]

    refused(f, UnsupportedSyntaxError, "Mine", "method='DOP853'", "'Radau'")


def test_longest_step_of_odeint_is_that_of_its_derivative():
    def f(a):
        pulse = lambda y, t: a * np.exp(-(((t - 50.0) / 0.02) ** 2)) - 0.01 * y  # noqa: E731
        return odeint(pulse, 1.0, np.array([0.0, 100.0]), hmax=0.05, mxstep=5000)[-1, 0]

    want = 0.02 * np.sqrt(np.pi) * np.exp(-0.5)
    assert srcad.grad(f)(3.0) == pytest.approx(want, rel=1e-5)


@pytest.mark.filterwarnings("ignore:Excess work")
def test_odeint_that_stops_warns_with_its_line(monkeypatch):
    monkeypatch.setattr(solvers, "_WARNED", set())

    def f(a):
        return odeint(lambda y, t: a * y, 1.0, [0.0, 20.0], mxstep=5)[-1, 0]

    with pytest.warns(srcad.SolverWarning, match=r"test_stiff.py:\d+: odeint and .*larger mxstep"):
        srcad.grad(f)(1.0)


def test_equations_of_very_different_sizes_are_not_singular():
    def f(a):
        def rates(t, y):
            return [-1e18 * (y[0] - a * np.cos(t)), -a * y[1] + y[0]]

        options = {"method": "Radau", "rtol": 1e-8, "atol": 1e-10}
        return solve_ivp(rates, (0, 1), [a, 1.0], **options).y[1, -1]

    # y[0] is a * cos(t); y[1] follows it.
    def exact(a):
        start = 1.0 - a * a / (1.0 + a * a)
        moved = a * (a * np.cos(1.0) + np.sin(1.0)) / (1.0 + a * a)
        return start * np.exp(-a) + moved

    assert f(0.7) == pytest.approx(exact(0.7), rel=1e-6)
    assert srcad.grad(f)(0.7) == pytest.approx(difference(exact, (0.7,)), rel=1e-6)


@pytest.mark.parametrize(
    "solver",
    [
        lambda a: RK45(lambda t, y: -a * y, 0.0, [1.0], 1.0).y[0],
        lambda a: ode(lambda t, y: -a * y).set_initial_value([1.0]).integrate(1.0)[0],
    ],
)
def test_solvers_that_are_objects_are_refused(solver):
    with pytest.raises(UnsupportedSyntaxError, match="solver that is an object") as caught:
        srcad.grad(solver)(0.7)

    assert "solve_ivp(fun, (t0, t1), y0)" in str(caught.value)


def test_result_is_read_as_a_dict():
    def f(a):
        sol = solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-11)
        return sol["y"][0, -1] + ("t" in sol) + sol.get("y")[0, -1] + sol.get("no", 2.0)

    assert srcad.grad(f)(0.7) == pytest.approx(-2.0 * np.exp(-0.7), rel=1e-8)
