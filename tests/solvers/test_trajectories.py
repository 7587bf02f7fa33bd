"""Derivatives of initial value problems, against differences and through the accepted steps."""

import copy

import numpy as np
import pytest
from scipy.integrate import DOP853, RK23, RK45, solve_ivp
from scipy.integrate._ivp.base import OdeSolver

import srcad
from tests.marks import named_some
from tests.numeric import difference, leaves
from tests.solvers.trajectories import LOOSE, NESTED, PROGRAMS

BY_DEFAULT = {"further_arguments", "active_ends", "given_times"}
OF_SECOND_ORDER = (
    "captured",
    "further_arguments",
    "matrix",
    "active_ends",
    "given_times",
    "dense",
    "local_event",
    "shooting",
    "dict_of_parameters",
)


def slopes(f, args, k):
    """The differences of a program by one of two arguments."""
    if k == 0:
        return leaves(difference(f, copy.deepcopy(args)))
    return leaves(difference(lambda b, a: f(a, b), copy.deepcopy(args[::-1])))


@pytest.fixture
def counts(monkeypatch):
    """The solvers that `solve_ivp` has made, which count the calls of the function."""
    made, init = [], OdeSolver.__init__

    def noting(self, *args, **kwargs):
        made.append(self)
        init(self, *args, **kwargs)

    monkeypatch.setattr(OdeSolver, "__init__", noting)
    return made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", named_some(PROGRAMS, BY_DEFAULT))
def test_value_and_gradient_agree_with_plain_calls(name, counts):
    f, args = PROGRAMS[name]

    value, gradient = srcad.value_and_grad(f, wrt=(0, 1))(*copy.deepcopy(args))
    found = [solver.nfev for solver in counts]
    counts.clear()
    plain = f(*copy.deepcopy(args))

    np.testing.assert_array_equal(value, plain)
    if name not in NESTED:
        assert found == [solver.nfev for solver in counts]
    tolerance = 1e-3 if name in LOOSE else 1e-6
    for k in (0, 1):
        for got, want in zip(leaves(gradient[k]), slopes(f, args, k), strict=True):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", named_some(PROGRAMS, {"one_state"}))
def test_forward_mode_agrees_with_the_gradient(name):
    f, args = PROGRAMS[name]
    if not isinstance(args[0], float | np.ndarray):
        pytest.skip("the argument is a dict")
    along = np.ones_like(args[0]) if isinstance(args[0], np.ndarray) else 1.0

    value, slope = srcad.jvp(f, args, (along, None))

    assert value == f(*args)
    np.testing.assert_allclose(slope, np.sum(srcad.grad(f)(*args)), rtol=1e-11)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", named_some(OF_SECOND_ORDER, {"matrix"}))
def test_hessian_agrees_with_differences_of_the_gradient(name):
    f, (x, y) = PROGRAMS[name]
    gradient, e = srcad.grad(f), 1e-4

    hessian = np.reshape(srcad.hessian(f)(x, y), (np.size(x), np.size(x)))

    want = (np.ravel(gradient(x + e, y)) - np.ravel(gradient(x - e, y))) / (2 * e)
    np.testing.assert_allclose(np.sum(hessian, 0), want, rtol=1e-6, atol=1e-6)


# ---------------------------------------------------------------------------- accepted steps
def along_steps(fun, t, y, method):
    """Repeat the accepted steps of an explicit method of SciPy; states may be complex."""
    states = [y]
    for start, end in zip(t, t[1:], strict=False):
        h, k = end - start, []
        for row, c in zip(method.A, method.C[: method.n_stages], strict=False):
            weights = row[: len(k)]
            z = y + h * sum((w * one for w, one in zip(weights, k, strict=True)), 0.0)
            k.append(fun(start + c * h, z))
        y = y + h * sum(w * one for w, one in zip(method.B, k, strict=True))
        states.append(y)
    return np.array(states).T


def duffing(t, y, p, q):
    return np.array([y[1], p * np.cos(t) - q * y[0] ** 3 - 0.1 * y[1] * y[0]])


@pytest.mark.parametrize("method", [RK23, RK45, DOP853])
def test_derivative_is_that_of_the_accepted_steps(method):
    options = {"method": method, "rtol": 1e-3, "atol": 1e-5}

    def f(p, q):
        sol = solve_ivp(duffing, (0.0, 5.0), np.array([1.0, q]), args=(p, q), **options)
        return np.sum(sol.y**2) + sol.y[0, -1]

    def frozen(p, q):
        y = along_steps(lambda t, y: duffing(t, y, p, q), t, np.array([1.0, q]), method)
        return np.sum(y**2) + y[0, -1]

    t = solve_ivp(duffing, (0.0, 5.0), [1.0, 1.3], args=(0.7, 1.3), **options).t
    e = 1e-30
    want = np.imag([frozen(0.7 + e * 1j, 1.3), frozen(0.7, 1.3 + e * 1j)]) / e

    tolerance = {"rtol": 1e-13, "atol": 1e-13 * np.max(np.abs(want))}
    np.testing.assert_allclose(srcad.grad(f, wrt=(0, 1))(0.7, 1.3), want, **tolerance)
    np.testing.assert_allclose(srcad.jvp(f, (0.7, 1.3), (1.0, None))[1], want[0], **tolerance)


def test_second_derivative_is_that_of_the_accepted_steps():
    options = {"rtol": 1e-3, "atol": 1e-5}

    def f(p):
        return solve_ivp(duffing, (0.0, 3.0), [1.0, 0.0], args=(p, 1.3), **options).y[0, -1]

    def frozen(p):
        fun = lambda t, y: duffing(t, y, p, 1.3)  # noqa: E731
        return along_steps(fun, t, np.array([1.0, 0.0]), RK45)[0, -1]

    t = solve_ivp(duffing, (0.0, 3.0), [1.0, 0.0], args=(0.7, 1.3), **options).t
    e = 1e-4  # differences of a complex step are off by e**2
    slopes = [np.imag(frozen(0.7 + s + 1e-30j)) / 1e-30 for s in (-e, e, -e / 2, e / 2)]
    first, second = (slopes[1] - slopes[0]) / (2 * e), (slopes[3] - slopes[2]) / e

    want = (4 * second - first) / 3
    np.testing.assert_allclose(srcad.hessian(f)(0.7), want, rtol=1e-9)


@pytest.mark.parametrize("jacobian", [srcad.jacfwd, srcad.jacrev])
def test_jacobian_of_residuals(jacobian):
    t = np.linspace(0.0, 2.0, 5)

    def residuals(p):
        sol = solve_ivp(
            lambda t, y: [-p[0] * y[0], p[0] * y[0] - p[1] * y[1]],
            *((0.0, 2.0), [p[2], 0.0]),
            t_eval=t,
            method="DOP853",
            rtol=1e-11,
            atol=1e-13,
        )
        return sol.y[1]

    k, m, start = 0.7, 1.3, 2.0
    p = np.array([k, m, start])
    first, second = np.exp(-k * t), np.exp(-m * t)
    rest = start / (m - k)
    want = np.stack(
        [
            rest * (first - second) * (1 + k / (m - k)) - k * rest * t * first,
            -k * rest / (m - k) * (first - second) + k * rest * t * second,
            k / (m - k) * (first - second),
        ],
        axis=1,
    )

    np.testing.assert_allclose(jacobian(residuals)(p), want, rtol=1e-8, atol=1e-10)
