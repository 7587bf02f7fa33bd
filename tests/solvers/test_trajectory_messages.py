"""Errors and warnings about initial value problems: line, cause, and a remedy that works."""

import warnings

import numpy as np
import pytest
from scipy.integrate import OdeSolver, solve_ivp

import srcad
from srcad.errors import MutationError, UnsupportedSyntaxError
from srcad.frontend.prelude import solvers
from tests.numeric import difference

OPTIONS = {"rtol": 1e-9, "atol": 1e-11}
STEPS = {"max_step": 0.25, "first_step": 0.25, "rtol": 0.1}  # the same for each parameter


def refused(f, kind, *words):
    """Differentiate a program in two modes; it is refused with these words and a line of it."""
    for derivative in (srcad.grad(f), lambda a: srcad.jvp(f, (a,), (1.0,))):
        with pytest.raises(kind) as found:
            derivative(1.3)
        text = str(found.value)
        assert "test_trajectory_messages.py:" in text
        assert all(word in text for word in ("why:", "help:", *words))
    return found.value


@pytest.fixture(autouse=True)
def forgotten_warnings(monkeypatch):
    monkeypatch.setattr(solvers, "_WARNED", set())


def warned(f, a):
    """Return the gradient of a program, and its warnings."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        gradient = srcad.grad(f)(a)
    assert all(issubclass(one.category, srcad.SolverWarning) for one in noted)
    return gradient, [str(one.message) for one in noted]


def slope(f, a=1.3, e=1e-4):
    return (f(a + e) - f(a - e)) / (2 * e)


# ---------------------------------------------------------------------------- events
def at_a_step(touches, hold=lambda t: t):
    """The time of an event that is zero at the end of a step, times a parameter."""

    def f(a):
        event = lambda t, y: touches(t - 1.0) * y[0]  # noqa: E731
        sol = solve_ivp(lambda t, y: -a * y, (0.0, 2.0), [1.0], events=event, **STEPS)
        return hold(sol.t_events[0][0]) * a

    return f


@pytest.mark.parametrize("touches", [np.square, np.abs])
def test_event_that_touches_zero_warns_and_has_no_derivative(touches):
    gradient, (text,) = warned(at_a_step(touches), 1.3)

    assert np.isnan(gradient)
    assert "test_trajectory_messages.py:" in text
    assert "touches zero there and does not cross it" in text
    assert "srcad.stop_gradient(...)" in text


def test_stopped_time_of_an_event_is_constant():
    gradient, messages = warned(at_a_step(np.square, srcad.stop_gradient), 1.3)

    assert messages == []
    assert gradient == pytest.approx(1.0)


def test_event_that_crosses_zero_at_its_side_has_a_derivative():
    def f(a):
        sol = solve_ivp(
            lambda t, y: [y[1], -a], (0.0, 2.0), [0.0, a], events=lambda t, y: y[1], **STEPS
        )
        return sol.y_events[0][0, 0]

    gradient, messages = warned(f, 1.0)

    assert messages == []
    assert gradient == pytest.approx(0.5)


# ---------------------------------------------------------------------------- ends
def to_the_pole(end):
    def f(a):
        sol = solve_ivp(lambda t, y: y**2, (0.0, end), [a], rtol=1e-8, atol=1e-8)
        return sol.y[0, 5]

    return f


def test_pole_warns_and_the_derivative_is_that_of_the_accepted_steps():
    gradient, (text,) = warned(to_the_pole(3.0), 1.3)

    t = solve_ivp(lambda t, y: y**2, (0.0, 3.0), [1.3], rtol=1e-8, atol=1e-8).t[5]
    assert gradient == pytest.approx(1 / (1 - 1.3 * t) ** 2, rel=1e-6)
    assert "test_trajectory_messages.py:" in text
    assert "solve_ivp has not reached the end: Required step size" in text
    assert "end before the singularity" in text


def test_end_before_the_pole_does_not_warn():
    _, messages = warned(to_the_pole(0.5), 1.3)

    assert messages == []


# ---------------------------------------------------------------------------- states
def by_item(a, y):
    y[0] = a * y[1]
    return [y[1], -a * y[0]]


def in_place(a, y):
    y *= -a
    return y


def through_a_view(a, y):
    y.reshape(2, 1)[1] = a
    return -a * y


def by_out(a, y):
    np.clip(y, 0.0, 1.0, out=y)
    return -a * y


def in_a_branch(a, y):
    if y[0] > 0.7:
        y[1] = a
    return -a * y


def in_a_helper(a, y):
    by_item(a, y)
    return -a * y


@pytest.mark.parametrize(
    "rate", [by_item, in_place, through_a_view, by_out, in_a_branch, in_a_helper]
)
def test_function_that_writes_into_its_state_is_refused(rate):
    def f(a):
        return solve_ivp(lambda t, y: rate(a, y), (0.0, 1.0), [1.0, 0.5]).y[0, -1]

    def copied(a):
        def fun(t, y):
            y = y.copy()
            return rate(a, y)

        return solve_ivp(fun, (0.0, 1.0), [1.0, 0.5], **OPTIONS).y[0, -1]

    error = refused(f, MutationError, "writes into its state", "y = y.copy()", "reads the array")
    assert error.where.function in ("by_item", rate.__name__)
    np.testing.assert_allclose(srcad.grad(copied)(1.3), slope(copied), rtol=1e-6, atol=1e-8)


def test_event_that_writes_into_the_state_is_refused():
    def f(a):
        def event(t, y):
            y[0] -= 0.4
            return y[0]

        sol = solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0], events=event)
        return sol.t_events[0][0]

    refused(f, MutationError, "'event'", "writes into its state", "y = y.copy()")


def test_complex_states_have_derivatives():
    def f(a):
        sol = solve_ivp(lambda t, y: 1j * a * y, (0.0, 1.0), [1.0 + 0j], **OPTIONS)
        return np.abs(sol.y[0, -1] - 1)

    def wave(a, b):
        sol = solve_ivp(
            lambda t, y, p, q: -1j * p * y + q * t * np.conj(y),
            (0.0, b + 1.0),
            [1.0 + 0.5j * a],
            args=(a, b),
            t_eval=[0.1, 0.2 * b, 0.5 * a],
            dense_output=True,
            **OPTIONS,
        )
        return np.sum(np.imag(sol.y)) + sol.sol(0.7 * b)[0].real

    assert srcad.grad(f)(1.3) == pytest.approx(np.cos(0.65), rel=1e-7)
    np.testing.assert_allclose(srcad.grad(wave)(1.3, 0.9), difference(wave, (1.3, 0.9)), rtol=1e-6)
    np.testing.assert_allclose(
        srcad.jvp(wave, (1.3, 0.9), (1.0, None))[1], srcad.grad(wave)(1.3, 0.9), rtol=1e-12
    )


# ---------------------------------------------------------------------------- methods
class Euler(OdeSolver):
    pass


@pytest.mark.parametrize(
    ("method", "cause"),
    [("RK4", "no method of this name"), (Euler, "explicit ones of Runge and Kutta")],
)
def test_unknown_method_is_refused(method, cause):
    def f(a):
        return solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0], method=method).y[0, -1]

    refused(f, UnsupportedSyntaxError, "with the method", cause, "method='DOP853'")


def test_method_of_the_remedy_has_a_derivative():
    def f(a):
        return solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0], method="DOP853").y[0, -1]

    assert srcad.grad(f)(1.3) == pytest.approx(-np.exp(-1.3), rel=1e-3)
