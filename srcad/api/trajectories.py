"""Derivatives of initial value problems, along the steps that a solver has accepted."""

from __future__ import annotations

import numpy as np

from srcad.api.gradients import grad
from srcad.api.jacobians import jacobian
from srcad.api.products import pullback
from srcad.api.solvers import solve_or_nan
from srcad.frontend.prelude.solvers import warn
from srcad.frontend.prelude.trajectories import (
    RADAU_A,
    RADAU_C,
    between,
    called_with_state,
    coefficients,
    compared,
    count_of,
    ends_at,
    event_times,
    event_times_on_stages,
    groups_of,
    moved,
    polynomials,
    row_sizes,
    rows_by_lsoda,
    rows_of,
    rows_of_event,
    rows_of_odeint,
    run_ivp,
    stages_of,
    states_of,
    steps_of,
    times_of,
    times_of_event,
    values_at,
)
from srcad.rules.conjugates import conj, real_part
from srcad.rules.declare import adjoint, nondifferentiable
from srcad.rules.functions import zero_like

# mypy: ignore-errors

nondifferentiable(coefficients, memory="fresh")
nondifferentiable(count_of)
nondifferentiable(groups_of)
nondifferentiable(ends_at)
nondifferentiable(row_sizes)
nondifferentiable(rows_of_event)
nondifferentiable(steps_of)
nondifferentiable(times_of_event)
nondifferentiable(rows_of)
nondifferentiable(run_ivp, memory="fresh")
nondifferentiable(times_of, memory="fresh")
nondifferentiable(values_at)


def slope_at(problem, t, z, values, others):
    """Evaluate the right-hand side of a problem."""
    function, more, _ = problem(values, others)
    return np.broadcast_to(
        np.asarray(called_with_state(function, t, z, more), z.dtype), np.shape(z)
    )


def inner(u, v):
    """Return the inner product of cotangents and tangents, a real number."""
    return real_part(np.sum(conj(u) * v))


def added(bars, more):
    """Return sums of cotangents of captured values; None stands for unused ones, or for all."""
    if more is None:
        return bars
    pairs = zip(bars, more, strict=True)
    return tuple(bar if other is None else bar + other for bar, other in pairs)


def stages_at(problem, t, h, y, active, others, a, c):
    """Return the slopes of the stages of a step, and their states.

    They are ``k[i] = f(t + c[i] * h, z[i])`` and ``z[i] = y + h * sum(a[i, j] * k[j])``.
    """
    k, z = np.zeros((len(c), np.size(y)), y.dtype), np.zeros((len(c), np.size(y)), y.dtype)
    for i in range(len(c)):
        z[i] = y + h * (a[i] @ k)
        k[i] = slope_at(problem, t + c[i] * h, z[i], active, others)
    return k, z


def pull_back_stages(k_bar, problem, k, z, t, h, active, others, a, c):
    """Return the cotangents of the state, of time and step size, and of captured values."""
    bars = tuple(zero_like(leaf) for leaf in active)
    y_bar, t_bar, h_bar = np.zeros_like(z[0]), 0.0, 0.0
    for i in range(len(c) - 1, -1, -1):
        at_bar, z_bar, more = pullback(
            lambda at, z, values: slope_at(problem, at, z, values, others),
            t + c[i] * h, z[i], active,
        )[1](k_bar[i])  # fmt: skip
        y_bar = y_bar + z_bar
        k_bar = k_bar + h * np.outer(a[i], z_bar)
        t_bar = t_bar + at_bar
        h_bar = h_bar + c[i] * at_bar + inner(z_bar, a[i] @ k)
        bars = added(bars, more)
    return y_bar, t_bar, h_bar, bars


@adjoint(states_of, active=("times", "y0", "active"), memory="fresh", samples=())
def states_rule(y_bar, y, problem, run, times, y0, active, others, a, b, c):
    """Pull the cotangents back through the steps, from the last to the first."""
    bars = tuple(zero_like(leaf) for leaf in active)
    times_bar = np.zeros(np.shape(times))
    carried = np.zeros_like(y0)
    for step in range(len(times) - 2, -1, -1):
        t, h = times[step], times[step + 1] - times[step]
        k, z = stages_at(problem, t, h, y[step], active, others, a, c)
        carried = carried + y_bar[step + 1]
        more_y, t_bar, h_bar, more = pull_back_stages(
            h * np.outer(b, carried), problem, k, z, t, h, active, others, a, c
        )
        h_bar = h_bar + inner(carried, b @ k)
        carried = carried + more_y
        times_bar[step] += t_bar - h_bar
        times_bar[step + 1] += h_bar
        bars = added(bars, more)
    return times_bar, carried + y_bar[0], bars


@adjoint(between, active=("t", "times", "states", "active"), memory="fresh", samples=())
def between_rule(y_bar, y, problem, value, t, groups, times, states, active, others, a, c, p):
    """Pull the cotangents back through the polynomials, and through the stages that they need."""
    bars = tuple(zero_like(leaf) for leaf in active)
    t_bar, times_bar = np.zeros(np.shape(t)), np.zeros(np.shape(times))
    states_bar = np.zeros_like(states)
    powers = np.arange(1, np.shape(p)[1] + 1)
    for group in range(len(groups)):
        step, start, end = groups[group, 0], groups[group, 1], groups[group, 2]
        at, h = times[step], times[step + 1] - times[step]
        k, z = stages_at(problem, at, h, states[step], active, others, a, c)
        x = (t[start:end] - at) / h
        weights = x[:, None] ** powers @ p.T
        rows_bar = y_bar[start:end]
        slopes = (powers * x[:, None] ** (powers - 1)) @ p.T
        x_bar = h * real_part(np.sum(conj(rows_bar) * (slopes @ k), 1))
        more_y, at_bar, h_bar, more = pull_back_stages(
            h * weights.T @ rows_bar, problem, k, z, at, h, active, others, a, c
        )
        h_bar = h_bar + inner(rows_bar, weights @ k) - np.sum(x_bar * x) / h
        t_bar[start:end] += x_bar / h
        times_bar[step] += at_bar - h_bar - np.sum(x_bar) / h
        times_bar[step + 1] += h_bar
        states_bar[step] += more_y + np.sum(rows_bar, 0)
        bars = added(bars, more)
    return t_bar, times_bar, states_bar, bars


def quotient_or_nan(bar, rate, is_crossing, problem):
    """Return ``bar / rate``; nan with a warning where an event only touches zero."""
    if is_crossing:
        return bar / rate
    warn(problem, GRAZING)
    return bar * np.nan


@adjoint(quotient_or_nan, active=("bar", "rate"), samples=())
def quotient_rule(y_bar, y, bar, rate, is_crossing, problem):
    """Divide by the same rate."""
    bar_bar = quotient_or_nan(y_bar, rate, is_crossing, problem)
    return bar_bar, -bar_bar * y


GRAZING = (
    "an event of solve_ivp touches zero there and does not cross it; the derivative of its time is "
    "nan: take an event that crosses zero, or hold its time constant by srcad.stop_gradient(...)"
)


@adjoint(event_times, active=("times", "states", "active"), memory="fresh", samples=())
def event_times_rule(
    t_bar, y, problem, t, k, rows, steps, times, states, active, others, a, c, p
):  # fmt: skip
    """Pull the cotangents of the times back, one after the other."""
    bars = tuple(zero_like(leaf) for leaf in active)
    times_bar, states_bar = np.zeros(np.shape(times)), np.zeros_like(states)
    for i in range(len(y)):
        start, end = steps[i], steps[i] + 2
        ends_bar, corners_bar, more = pull_back_event(
            t_bar[i], y[i], problem, k, rows[i : i + 1], times[start:end], states[start:end],
            active, others, a, c, p,
        )  # fmt: skip
        times_bar[start:end] += ends_bar
        states_bar[start:end] += corners_bar
        bars = added(bars, more)
    return times_bar, states_bar, bars


def pull_back_event(
    t_bar, t, problem, k, rows, ends, corners, active, others, a, c, p
):  # fmt: skip
    """Apply the implicit function theorem to an event along the polynomial of one step."""
    only = np.array([[0, 0, 1]])

    def at(u, ends, corners, values):
        times = np.reshape(u, (1,))
        z = between(problem, rows, times, only, ends, corners, values, others, a, c, p)
        return event_at(problem, k, u, z[0], values, others)

    rate = grad(lambda u: at(u, ends, corners, active))(t)
    seed = seed_of_event(t_bar, rate, problem, k, ends, corners, active, others)
    return pullback(at, t, ends, corners, active)[1](seed)[1:]


def seed_of_event(t_bar, rate, problem, k, ends, corners, active, others):
    """Return ``-t_bar / rate``; nan with a warning where an event only touches zero in a step."""
    first = event_at(problem, k, ends[0], corners[0], active, others)
    last = event_at(problem, k, ends[1], corners[1], active, others)
    is_crossing = abs(rate * (ends[1] - ends[0])) > 1e-6 * max(abs(first), abs(last))
    return -quotient_or_nan(t_bar, rate, is_crossing, problem)


def event_at(problem, k, t, z, values, others):
    """Evaluate an event of a problem."""
    _, more, events = problem(values, others)
    return called_with_state(events[k], t, z, more)


# ---------------------------------------------------------------------------- implicit methods
def jacobian_at(problem, t, z, active, others):
    """Return the Jacobian of the right-hand side by the state."""
    return jacobian(lambda u: slope_at(problem, t, u, active, others))(z)


def pullback_at(problem, t, z, active, others):
    """Return the right-hand side, and its pullback to time and captured values."""
    return pullback(lambda at, values: slope_at(problem, at, z, values, others), t, active)


def solve_scaled(a, b, problem):
    """Return ``inv(a) @ b`` for rows of different sizes; nan with a warning if singular."""
    sizes = row_sizes(a)
    return solve_or_nan(a / sizes[:, None], b / sizes, problem)


@adjoint(stages_of, active=("times", "y0", "active"), memory="fresh", samples=())
def stages_rule(y_bar, y, problem, run, times, y0, active, others):
    """Pull the cotangents back through the steps of Radau IIA, from the last to the first.

    The stages of a step solve ``z[i] == y + h * sum(a[i, j] * f(t + c[j] * h, z[j]))``.
    """
    states, inner = y
    states_bar, inner_bar = y_bar
    bars = tuple(zero_like(leaf) for leaf in active)
    times_bar = np.zeros(np.shape(times))
    n = np.size(y0)
    carried = np.zeros(n)
    for step in range(len(times) - 2, -1, -1):
        t, h = times[step], times[step + 1] - times[step]
        z = np.concatenate((inner[step], states[step + 1 : step + 2]))
        seed = np.zeros((3, n))
        if inner_bar is not None:
            seed[:2] += inner_bar[step]
        seed[2] += carried
        if states_bar is not None:
            seed[2] += states_bar[step + 1]
        jacs = np.zeros((3, n, n))
        for i in range(len(z)):
            jacs[i] = jacobian_at(problem, t + RADAU_C[i] * h, z[i], active, others)
        weights = h * np.transpose(RADAU_A)
        blocks = weights[:, None, :, None] * np.transpose(jacs, (0, 2, 1))[:, :, None, :]
        equations = np.eye(3 * n) - np.reshape(blocks, (3 * n, 3 * n))
        z_bar = np.reshape(solve_scaled(equations, np.ravel(seed), problem), (3, n))
        k, k_bar = np.zeros((3, n)), weights @ z_bar
        for i in range(len(z)):
            k[i], pull = pullback_at(problem, t + RADAU_C[i] * h, z[i], active, others)
            at_bar, more = pull(k_bar[i])
            times_bar[step] += (1.0 - RADAU_C[i]) * at_bar
            times_bar[step + 1] += RADAU_C[i] * at_bar
            bars = added(bars, more)
        h_bar = np.sum(z_bar * (RADAU_A @ k))
        times_bar[step] -= h_bar
        times_bar[step + 1] += h_bar
        carried = np.sum(z_bar, 0)
    return times_bar, carried if states_bar is None else carried + states_bar[0], bars


@adjoint(moved, active=("polynomial",), memory="fresh", samples=())
def moved_rule(y_bar, y, value, polynomial):
    """Take the polynomial for the value."""
    return y_bar


def pull_back_event_on_stages(t_bar, t, problem, k, ends, corners, inner, active, others):
    """Return the cotangents of a step with an event, and of captured values."""
    only = np.array([0])

    def at(u, ends, corners, inner, values):
        z = polynomials(np.reshape(u, (1,)), only, ends, corners, inner)[0]
        return event_at(problem, k, u, z, values, others)

    rate = grad(lambda u: at(u, ends, corners, inner, active))(t)
    seed = seed_of_event(t_bar, rate, problem, k, ends, corners, active, others)
    return pullback(at, t, ends, corners, inner, active)[1](seed)[1:]


@adjoint(
    event_times_on_stages,
    active=("times", "states", "inner", "active"),
    memory="fresh",
    samples=(),
)
def event_times_on_stages_rule(
    t_bar, y, problem, t, k, steps, times, states, inner, active, others
):
    """Apply the implicit function theorem to the event along the polynomials of Radau IIA."""
    bars = tuple(zero_like(leaf) for leaf in active)
    times_bar, states_bar = np.zeros(np.shape(times)), np.zeros(np.shape(states))
    inner_bar = np.zeros(np.shape(inner))
    for i in range(len(y)):
        step = steps[i]
        ends_bar, corners_bar, one_bar, more = pull_back_event_on_stages(
            t_bar[i], y[i], problem, k,
            times[step : step + 2], states[step : step + 2], inner[step : step + 1],
            active, others,
        )  # fmt: skip
        times_bar[step : step + 2] += ends_bar
        states_bar[step : step + 2] += corners_bar
        inner_bar[step : step + 1] += one_bar
        bars = added(bars, more)
    return times_bar, states_bar, inner_bar, bars


# ---------------------------------------------------------------------------- odeint
@adjoint(rows_of_odeint, active=("t", "y0", "active"), memory="fresh", samples=())
def rows_of_odeint_rule(y_bar, y, problem, value, t, y0, active, others, options):
    """Pull the cotangents back through the steps of `solve_ivp`: `odeint` does not tell its own."""
    rows, pull = pullback(
        lambda t, y0, values: rows_by_lsoda(problem, t, y0, values, others, options), t, y0, active
    )
    return pull(compared(y_bar, y, rows, problem))


@adjoint(compared, active=("y_bar", "y", "rows"), memory="fresh", samples=())
def compared_rule(bar, z, y_bar, y, rows, problem):
    """Return the same cotangents: the comparison decides on a warning only."""
    return bar, None, None
