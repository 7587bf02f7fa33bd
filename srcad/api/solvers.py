"""Derivatives of solvers: rules that differentiate the function that they are given.

No samples check them: the problem of a solver is made by the compiler only.
"""

from __future__ import annotations

import sys

import numpy as np

from srcad.api.gradients import grad
from srcad.api.jacobians import hessian, jacobian
from srcad.api.products import jvp, pullback
from srcad.calling.gradient import Gradient
from srcad.frontend.operations.closures import Closure
from srcad.frontend.prelude.solvers import (
    at_end,
    compiled,
    covariance_of,
    free_entries,
    integral_of,
    integral_of_slopes,
    integrate_slopes,
    least_of,
    limit_of_pair,
    limit_of_rows,
    minimum_of,
    option_function,
    require_real,
    root_of,
    roots_of,
    run_solver,
    sizes_of,
    slopes_at,
    tolerances,
    value_at,
    warn,
    without_tails,
)
from srcad.rules.declare import adjoint, nondifferentiable
from srcad.rules.equations import checked_residual

# mypy: ignore-errors

SINGULAR = "the equations of the solution are singular there; its derivative is nan"


Closure.derivative = staticmethod(lambda request, function: Gradient(function, request))
nondifferentiable(option_function)
nondifferentiable(require_real)
nondifferentiable(run_solver, memory="fresh")


def solve_or_nan(a, b, problem):
    """Return ``inv(a) @ b``; nan with a warning if the matrix is singular."""
    scipy = sys.modules.get("scipy.linalg")
    x, rcond = solved_by_numpy(a, b) if scipy is None else solved_by_lapack(scipy.lapack, a, b)
    if rcond > np.finfo(float).eps:
        return x
    warn(problem, SINGULAR)
    return np.full(np.shape(b), np.nan)


def solved_by_lapack(lapack, a, b):
    """Return ``inv(a) @ b`` and the reciprocal condition number, 0 for a singular matrix."""
    factors, pivots, info = lapack.dgetrf(a)
    if info:
        return None, 0.0
    return lapack.dgetrs(factors, pivots, b)[0], lapack.dgecon(factors, np.linalg.norm(a, 1))[0]


def solved_by_numpy(a, b):
    """Return the same without SciPy."""
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None, 0.0
    return np.linalg.solve(a, b), 1.0 / (np.linalg.norm(a, 1) * np.linalg.norm(inverse, 1))


@adjoint(solve_or_nan, active=("a", "b"), samples=())
def solve_rule(x_bar, x, a, b, problem):
    """Solve the transposed equations."""
    b_bar = solve_or_nan(a.T, x_bar, problem)
    return -np.outer(b_bar, x), b_bar


def divide_or_nan(a, b, problem):
    """Return ``b / a``, one number or entry by entry; nan with a warning where `a` is 0."""
    is_singular = np.asarray(a) == 0
    if np.any(is_singular):
        warn(problem, SINGULAR)
    return np.where(is_singular, np.nan, b / np.where(is_singular, 1.0, a))[()]


@adjoint(divide_or_nan, active=("a", "b"), samples=())
def divide_rule(x_bar, x, a, b, problem):
    """Divide by the same numbers."""
    b_bar = divide_or_nan(a, x_bar, problem)
    return -b_bar * x, b_bar


def value_of_problem(problem, z, active, others):
    """Evaluate the function of a problem at a point."""
    function, more = problem(active, others)
    return function(z, *more)


def cotangents(of_values, active, seed):
    """Return the cotangents of the values of a problem, zero for unused ones."""
    bars = pullback(of_values, active)[1](seed)[0]
    pairs = zip(bars, active, strict=True)
    return tuple(zero_of(leaf) if bar is None else bar for bar, leaf in pairs)


def zero_of(leaf):
    """Return a zero cotangent."""
    return 0.0 if np.ndim(leaf) == 0 else np.zeros(np.shape(leaf))


@adjoint(root_of, active=("active",), memory="fresh", samples=())
def root_rule(x_bar, y, residual, x, active, others):
    """Pull ``-inv(J).T @ x_bar`` back through the residual: the implicit function theorem.

    `J` is the Jacobian of the residual by its argument, at the solution.
    """
    if np.ndim(y) == 0:
        slope = grad(lambda z: value_of_problem(residual, z, active, others))(y)
        seed = -divide_or_nan(slope, x_bar, residual)
        return cotangents(
            lambda values: value_of_problem(residual, y, values, others), active, seed
        )

    def flat(z, values):
        return np.ravel(value_of_problem(residual, np.reshape(z, np.shape(y)), values, others))

    jac = jacobian(lambda z: flat(z, active))(np.ravel(y))
    seed = -solve_or_nan(jac.T, np.ravel(x_bar), residual)
    return cotangents(lambda values: flat(y, values), active, seed)


@adjoint(roots_of, active=("active",), memory="fresh", samples=())
def roots_rule(x_bar, y, residual, x, active, others):
    """Do the same for equations that are independent of each other."""

    def at(z, values):
        return np.reshape(value_of_problem(residual, z, values, others), np.shape(y))

    slopes = jvp(lambda z: at(z, active), (y,), (np.ones_like(y),))[1]
    seed = -divide_or_nan(slopes, x_bar, residual)
    return cotangents(lambda values: at(y, values), active, seed)


# ---------------------------------------------------------------------------- minima
nondifferentiable(limit_of_pair)
nondifferentiable(limit_of_rows)


@adjoint(minimum_of, active=("active",), memory="fresh", samples=())
def minimum_rule(x_bar, y, objective, x, active, others, lower, upper):
    """Apply the implicit function theorem to ``grad(objective)(x) == 0``, where `x` is free."""

    def at(z):
        return value_of_problem(objective, z, active, others)

    def slope_of(values):
        return grad(lambda z: value_of_problem(objective, z, values, others))(y)

    if np.ndim(y) == 0:
        curvature = float(hessian(at)(y))
        if lower is None:
            seed = -divide_or_nan(curvature, x_bar, objective)
        else:
            is_free = float(free_entries(y, grad(at)(y), curvature, lower, upper))
            seed = -is_free * divide_or_nan(is_free * curvature + (1.0 - is_free), x_bar, objective)
    else:
        curvature = hessian(at)(y)
        if lower is None:
            seed = -solve_or_nan(curvature, x_bar, objective)
        else:
            is_free = free_entries(y, grad(at)(y), np.diag(curvature), lower, upper)
            reduced = curvature * is_free[:, None] * is_free + np.diag(1.0 - is_free)
            seed = -is_free * solve_or_nan(reduced, is_free * x_bar, objective)
    return cotangents(slope_of, active, seed)


@adjoint(least_of, active=("x", "active"), samples=())
def least_rule(v_bar, v, objective, value, x, active, others):
    """Return the partial derivative with the place of the minimum held: the envelope theorem."""
    bars = cotangents(lambda values: value_of_problem(objective, x, values, others), active, v_bar)
    return None, bars


@adjoint(value_at, active=("x", "active"), memory="fresh", samples=())
def value_rule(v_bar, v, function, value, x, active, others):
    """Differentiate a function by its argument and by its captured values."""

    def at(z, values):
        return np.reshape(value_of_problem(function, z, values, others), np.shape(v))

    x_bar = pullback(lambda z: at(z, active), x)[1](v_bar)[0]
    return x_bar, cotangents(lambda values: at(x, values), active, v_bar)


@adjoint(covariance_of, active=("x", "active"), memory="fresh", samples=())
def covariance_rule(c_bar, c, residuals, value, x, active, others, absolute):
    """Differentiate ``inv(J.T @ J)``, times the variance of the residuals unless `absolute`."""

    def at(z, values):
        r = value_of_problem(residuals, z, values, others)
        jac = jacobian(lambda z: value_of_problem(residuals, z, values, others))(z)
        inverse = np.linalg.inv(jac.T @ jac)
        return inverse if absolute else inverse * (np.sum(r**2) / (np.size(r) - np.size(z)))

    x_bar = pullback(lambda z: at(z, active), x)[1](c_bar)[0]
    return x_bar, cotangents(lambda values: at(x, values), active, c_bar)


# ---------------------------------------------------------------------------- integrals
nondifferentiable(compiled)
nondifferentiable(sizes_of)
nondifferentiable(tolerances)


@adjoint(integral_of, active=("a", "b", "active"), memory="fresh", samples=())
def integral_rule(v_bar, v, function, value, a, b, active, others, options):
    """Integrate the cotangents of an integrand."""
    return bars_of_integral(v_bar, function, a, b, active, others, options)


@adjoint(integral_of_slopes, active=("a", "b", "active"), memory="fresh", samples=())
def slopes_rule(v_bar, v, function, a, b, active, others, count, options):
    """Do the same for slopes, which are integrated for another derivative."""
    return bars_of_integral(v_bar, function, a, b, active, others, options)


def bars_of_integral(v_bar, function, a, b, active, others, options):
    """Return the cotangents of an integral, by its limits and by captured values.

    The slopes are integrated in units of the captured values, to which the tolerances belong.
    """
    whole, more = function(active, others)
    a_bar = -np.sum(v_bar * at_end(whole, a, *more))
    b_bar = np.sum(v_bar * at_end(whole, b, *more))
    if len(active) == 0:
        return a_bar, b_bar, ()
    sizes = sizes_of(active)
    if np.ndim(v_bar) == 0:
        size, seed = v_bar, 1.0
    else:
        size = np.max(sizes_of((v_bar,)))
        seed = v_bar / size

    place = compiled()

    def slopes(x):
        y, bars = slopes_at(function, place, active, others, seed, x)
        return without_tails(y, sizes * np.concatenate([np.ravel(bar) for bar in bars]))

    total = size / sizes * integrate_slopes(slopes, a, b, np.size(sizes), options)
    bars, start = [], 0
    for leaf in active:
        part = total[start : start + np.size(leaf)]
        bars.append(part[0] if np.ndim(leaf) == 0 else np.reshape(part, np.shape(leaf)))
        start = start + np.size(leaf)
    return a_bar, b_bar, tuple(bars)


# ---------------------------------------------------------------------------- solvers of users
def flat(tree):
    """Return the numbers of a number, an array, or a tuple or dict of these, in one row."""
    if isinstance(tree, dict):
        return np.concatenate([np.ravel(tree[key]) for key in tree])
    if isinstance(tree, tuple | list):
        return np.concatenate([np.ravel(item) for item in tree])
    return np.ravel(tree)


def like(row, tree):
    """Return numbers in the structure of a tree."""
    if isinstance(tree, dict):
        keys, start, found = list(tree), 0, {}
        for key in keys:
            part = row[start : start + np.size(tree[key])]
            found[key] = (
                part[0] if np.ndim(tree[key]) == 0 else np.reshape(part, np.shape(tree[key]))
            )
            start = start + np.size(tree[key])
        return found
    if isinstance(tree, tuple | list):
        parts, start = [], 0
        for item in tree:
            part = row[start : start + np.size(item)]
            parts.append(part[0] if np.ndim(item) == 0 else np.reshape(part, np.shape(item)))
            start = start + np.size(item)
        return tuple(parts)
    return row[0] if np.ndim(tree) == 0 else np.reshape(row, np.shape(tree))


def cotangents_of_equations(residual, x_bar, x, arguments, equations):
    """Return the cotangents of the arguments of a solver, by the implicit function theorem."""

    def checked(z, *given):
        return checked_residual(residual(z, *given), x, equations)

    jac = jacobian(lambda row: flat(checked(like(row, x), *arguments)))(flat(x))
    seed = -solve_or_nan(jac.T, flat(x_bar), equations)
    return pullback(lambda *given: checked(x, *given), *arguments)[1](like(seed, x))


Closure.equations = staticmethod(cotangents_of_equations)
