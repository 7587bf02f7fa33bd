"""Programs with initial value problems that implicit methods solve."""

import numpy as np
from scipy.integrate import BDF, odeint, solve_ivp
from scipy.optimize import root

from tests.solvers.registry import registry

PROGRAMS, program = registry()

TOLERANCES = {"rtol": 1e-9, "atol": 1e-11}


def kinetics(t, y, slow, fast):
    """Return the rates of Robertson's reactions."""
    one, two, three = slow * y[0], fast * y[1] * y[2], 3e4 * y[1] ** 2
    return np.array([two - one, one - two - three, three])


@program(0.9, 1.3)
def reactions(a, b):
    options = {"rtol": 1e-9, "atol": [1e-11, 1e-13, 1e-11]}
    found = solve_ivp(kinetics, (0.0, 3.0), [1.0, 0.0, 0.0], "Radau", args=(a, 1e2 * b), **options)
    return found.y[0, -1] + np.sqrt(found.y[2, -1])


@program(4.0, 1.3)
def van_der_pol(a, b):
    def oscillator(t, y):
        return [y[1], a * (1.0 - y[0] ** 2) * y[1] - b * y[0]]

    found = solve_ivp(oscillator, (0.0, 3.0), [2.0, 0.1 * a], method=BDF, **TOLERANCES)
    return found.y[0, -1] * found.y[1, -1]


@program(0.7, 1.3)
def linear(a, b):
    matrix = np.array([[-a, 1.0], [0.0, -1e4 * b]])
    found = solve_ivp(
        lambda t, y: matrix @ y + np.array([0.0, np.sin(t)]),
        (0.0, 2.0),
        np.array([1.0, a]),
        method="Radau",
        jac=lambda t, y: matrix,
        **TOLERANCES,
    )
    return np.sum(found.y[:, -1] ** 2)


@program(np.array([0.7, 1.1]), 1.3)
def terminal_event(a, b):
    def empty(t, y):
        return y[0] - 0.2 * b

    empty.terminal = True
    found = solve_ivp(
        lambda t, y: -a * y**2 - 1e3 * np.array([0.0, 1.0]) * (y - np.cos(t)),
        (0.0, 30.0),
        [1.0, 1.0],
        method="BDF",
        events=empty,
        **TOLERANCES,
    )
    return found.t[-1] + found.y_events[0][0, 1]


@program(0.7, 1.3)
def several_events(a, b):
    events = [lambda t, y: y[0], lambda t, y: y[1] - 0.1 * a]
    found = solve_ivp(
        lambda t, y: [y[1], -b * y[0] - 0.1 * a * y[1]],
        (0.0, 8.0),
        [1.0, a],
        method="Radau",
        events=events,
        **TOLERANCES,
    )
    return np.sum(found.t_events[0] ** 2) + np.sum(found.y_events[1][:, 0] ** 3)


@program(0.7, 1.3)
def given_times(a, b):
    t = b * np.linspace(0.0, 2.0, 9)
    found = solve_ivp(
        lambda t, y: -50.0 * a * (y - np.cos(b * t)),
        (0.0, 2.7),
        [a],
        method="LSODA",
        t_eval=t,
        **TOLERANCES,
    )
    return found.y[0] @ found.t


@program(0.7, 1.3)
def between_steps(a, b):
    found = solve_ivp(
        lambda t, y: -40.0 * a * (y - np.cos(b * t)),
        (0.0, 2.0),
        [a, b],
        method="Radau",
        dense_output=True,
        **TOLERANCES,
    )
    return found.sol(a)[0] + np.sum(found.sol(np.array([0.1, b, 1.9])) ** 2)


@program(0.7, 1.3)
def both_ends(a, b):
    found = solve_ivp(
        lambda t, y: -3.0 * t * y + np.sin(a * t), (b, 0.5 * a), [b, 1.0], "Radau", **TOLERANCES
    )
    return np.sum(found.y[:, -1] ** 2) * found.t[-1] + found.t[0]


def pendulum(y, t, damping, rate):
    """Return the velocity and acceleration of a pendulum."""
    return [y[1], -damping * y[1] - rate * np.sin(y[0])]


@program(0.7, 1.3)
def odeint_with_arguments(a, b):
    y = odeint(pendulum, [a, 0.1], np.linspace(0.0, 3.0, 7), args=(b, 5.0), rtol=1e-9, atol=1e-9)
    return np.sum(y**2)


@program(0.7, 1.3)
def odeint_with_time_first(a, b):
    y, report = odeint(
        lambda t, y: -20.0 * (y - a * np.cos(t)),
        np.array([b]),
        [0.1 * a, 1.0, 1.0, 2.0 * b],
        tfirst=True,
        full_output=True,
        rtol=1e-10,
        atol=1e-10,
    )
    return np.sum(y**2) + 0.0 * report["nfe"][-1]


@program(0.7, 1.3)
def shooting(a, b):
    fun = lambda t, y: np.vstack((y[1], -a * np.exp(y[0])))  # noqa: E731
    bc = lambda ya, yb: np.array([ya[0] - 0.1 * b, yb[0]])  # noqa: E731
    x, y = np.linspace(0.0, 1.0, 5), np.zeros((2, 5))

    def shoot(y0):
        rates = lambda t, z: np.ravel(fun(t, z))  # noqa: E731
        return solve_ivp(rates, (x[0], x[-1]), y0, rtol=1e-9, atol=1e-9, dense_output=True)

    y0 = root(lambda y0: bc(y0, shoot(y0).y[:, -1]), y[:, 0]).x
    values = shoot(y0).sol(x)
    return np.sum(values**2)
