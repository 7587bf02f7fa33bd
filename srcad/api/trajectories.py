"""Derivatives of initial value problems, along the steps that a solver has accepted."""

from __future__ import annotations

import numpy as np

from srcad.api.products import pullback
from srcad.frontend.prelude.trajectories import (
    between,
    coefficients,
    coefficients_between,
    count_of,
    groups_of,
    rows_of,
    run_ivp,
    states_of,
    times_of,
    values_at,
)
from srcad.rules.declare import adjoint, nondifferentiable
from srcad.rules.functions import zero_like

# mypy: ignore-errors

nondifferentiable(coefficients)
nondifferentiable(coefficients_between)
nondifferentiable(count_of)
nondifferentiable(groups_of)
nondifferentiable(rows_of)
nondifferentiable(run_ivp, memory="fresh")
nondifferentiable(times_of)
nondifferentiable(values_at)


def slope_at(problem, t, z, values, others):
    """Evaluate the right-hand side of a problem."""
    function, more = problem(values, others)
    return np.asarray(function(t, z, *more), float)


def stages_at(problem, t, h, y, active, others, a, c):
    """Return the slopes of the stages of a step, and their states.

    They are ``k[i] = f(t + c[i] * h, z[i])`` and ``z[i] = y + h * sum(a[i, j] * k[j])``.
    """
    k, z = np.zeros((len(c), np.size(y))), np.zeros((len(c), np.size(y)))
    for i in range(len(c)):
        z[i] = y + h * (a[i] @ k)
        k[i] = slope_at(problem, t + c[i] * h, z[i], active, others)
    return k, z


def pull_back_stages(k_bar, problem, k, z, t, h, active, others, a, c):
    """Return the cotangents of the state, of time and step size, and of captured values."""
    bars = tuple(zero_like(leaf) for leaf in active)
    y_bar, t_bar, h_bar = np.zeros(np.shape(z[0])), 0.0, 0.0
    for i in range(len(c) - 1, -1, -1):
        at_bar, z_bar, more = pullback(
            lambda at, z, values: slope_at(problem, at, z, values, others),
            t + c[i] * h, z[i], active,
        )[1](k_bar[i])  # fmt: skip
        y_bar = y_bar + z_bar
        k_bar = k_bar + h * np.outer(a[i], z_bar)
        t_bar = t_bar + at_bar
        h_bar = h_bar + c[i] * at_bar + np.sum(z_bar * (a[i] @ k))
        bars = tuple(one + other for one, other in zip(bars, more, strict=True))
    return y_bar, t_bar, h_bar, bars


@adjoint(states_of, active=("times", "y0", "active"), memory="fresh", samples=())
def states_rule(y_bar, y, problem, run, times, y0, active, others, a, b, c):
    """Pull the cotangents back through the steps, from the last to the first."""
    bars = tuple(zero_like(leaf) for leaf in active)
    times_bar = np.zeros(np.shape(times))
    carried = np.zeros(np.shape(y0))
    for step in range(len(times) - 2, -1, -1):
        t, h = times[step], times[step + 1] - times[step]
        k, z = stages_at(problem, t, h, y[step], active, others, a, c)
        carried = carried + y_bar[step + 1]
        more_y, t_bar, h_bar, more = pull_back_stages(
            h * np.outer(b, carried), problem, k, z, t, h, active, others, a, c
        )
        h_bar = h_bar + np.sum(carried * (b @ k))
        carried = carried + more_y
        times_bar[step] += t_bar - h_bar
        times_bar[step + 1] += h_bar
        bars = tuple(one + other for one, other in zip(bars, more, strict=True))
    return times_bar, carried + y_bar[0], bars


@adjoint(
    between, active=("t", "times", "states", "active"), memory="fresh", samples=()
)
def between_rule(y_bar, y, problem, value, t, groups, times, states, active, others, a, c, p):
    """Pull the cotangents back through the polynomials, and through the stages that they need."""
    bars = tuple(zero_like(leaf) for leaf in active)
    t_bar, times_bar = np.zeros(np.shape(t)), np.zeros(np.shape(times))
    states_bar = np.zeros(np.shape(states))
    powers = np.arange(1, np.shape(p)[1] + 1)
    for group in range(len(groups)):
        step, start, end = groups[group, 0], groups[group, 1], groups[group, 2]
        at, h = times[step], times[step + 1] - times[step]
        k, z = stages_at(problem, at, h, states[step], active, others, a, c)
        x = (t[start:end] - at) / h
        weights = x[:, None] ** powers @ p.T
        rows_bar = y_bar[start:end]
        slopes = (powers * x[:, None] ** (powers - 1)) @ p.T
        x_bar = h * np.sum(rows_bar * (slopes @ k), 1)
        more_y, at_bar, h_bar, more = pull_back_stages(
            h * weights.T @ rows_bar, problem, k, z, at, h, active, others, a, c
        )
        h_bar = h_bar + np.sum(rows_bar * (weights @ k)) - np.sum(x_bar * x) / h
        t_bar[start:end] += x_bar / h
        times_bar[step] += at_bar - h_bar - np.sum(x_bar) / h
        times_bar[step + 1] += h_bar
        states_bar[step] += more_y + np.sum(rows_bar, 0)
        bars = tuple(one + other for one, other in zip(bars, more, strict=True))
    return t_bar, times_bar, states_bar, bars
