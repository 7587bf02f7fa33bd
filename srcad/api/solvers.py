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
    covariance_of,
    free_between,
    free_entries,
    free_in,
    free_of_fit,
    least_of,
    limits_of,
    limits_of_fit,
    minimum_of,
    opened,
    real,
    root_of,
    roots_of,
    run_solver,
    scalar_minimum_of,
    value_at,
    warn,
)
from srcad.rules.declare import adjoint, nondifferentiable

# mypy: ignore-errors


Closure.derivative = staticmethod(lambda request, function: Gradient(function, request))
nondifferentiable(opened)
nondifferentiable(real)
nondifferentiable(run_solver, memory="fresh")


def solved(a, b, problem):
    """Return ``inv(a) @ b`` for a matrix or a number; nan with a warning if it is singular."""
    if np.ndim(a) == 0:
        is_singular = a == 0
        x = np.nan if is_singular else b / a
    else:
        lapack = sys.modules["scipy.linalg"].lapack
        factors, pivots, info = lapack.dgetrf(a)
        rcond = 0.0 if info else lapack.dgecon(factors, np.linalg.norm(a, 1))[0]
        is_singular = not rcond > np.finfo(float).eps
        x = np.full(np.shape(b), np.nan) if is_singular else lapack.dgetrs(factors, pivots, b)[0]
    if is_singular:
        warn(problem, "the equations of the solution are singular there; its derivative is nan")
    return x


@adjoint(solved, active=("a", "b"), samples=())
def solved_rule(x_bar, x, a, b, problem):
    """Solve the transposed equations."""
    b_bar = solved(a.T if np.ndim(a) > 0 else a, x_bar, problem)
    return -np.outer(b_bar, x) if np.ndim(a) > 0 else -b_bar * x, b_bar


def solved_each(a, b, problem):
    """Return ``b / a`` for independent equations; nan with a warning where `a` is 0."""
    is_singular = a == 0
    if np.any(is_singular):
        warn(problem, "the equations of the solution are singular there; its derivative is nan")
    return np.where(is_singular, np.nan, b / np.where(is_singular, 1.0, a))


@adjoint(solved_each, active=("a", "b"), samples=())
def solved_each_rule(x_bar, x, a, b, problem):
    """Solve the same equations."""
    b_bar = solved_each(a, x_bar, problem)
    return -b_bar * x, b_bar


@adjoint(root_of, active=("active",), memory="fresh", samples=())
def root_rule(x_bar, y, residual, x, active, others):
    """Pull ``-inv(J).T @ x_bar`` back through the residual: the implicit function theorem.

    `J` is the Jacobian of the residual by its argument, at the solution.
    """

    def of_unknowns(z):
        function, more = residual(active, others)
        return function(z, *more)

    def of_values(values):
        function, more = residual(values, others)
        return function(y, *more)

    if np.ndim(y) == 0:
        seed = -solved(grad(of_unknowns)(y), x_bar, residual)
        return pullback(of_values, active)[1](seed)[0]
    jac = jacobian(lambda z: np.ravel(of_unknowns(np.reshape(z, np.shape(y)))))(np.ravel(y))
    seed = -solved(jac.T, np.ravel(x_bar), residual)
    return pullback(lambda values: np.ravel(of_values(values)), active)[1](seed)[0]


@adjoint(roots_of, active=("active",), memory="fresh", samples=())
def roots_rule(x_bar, y, residual, x, active, others):
    """Do the same for equations that are independent of each other."""

    def of_unknowns(z):
        function, more = residual(active, others)
        return np.reshape(function(z, *more), np.shape(z))

    def of_values(values):
        function, more = residual(values, others)
        return np.reshape(function(y, *more), np.shape(y))

    slopes = jvp(of_unknowns, (y,), (np.ones_like(y),))[1]
    return pullback(of_values, active)[1](-solved_each(slopes, x_bar, residual))[0]


# ---------------------------------------------------------------------------- minima
nondifferentiable(free_between)
nondifferentiable(free_entries)
nondifferentiable(free_in)
nondifferentiable(free_of_fit)
nondifferentiable(limits_of)
nondifferentiable(limits_of_fit)


@adjoint(minimum_of, active=("active",), memory="fresh", samples=())
def minimum_rule(x_bar, y, objective, x, active, others, free):
    """Apply the implicit function theorem to ``grad(objective)(x) == 0``, where `x` is free."""

    def of_unknowns(z):
        function, more = objective(active, others)
        return function(z, *more)

    def of_values(values):
        function, more = objective(values, others)
        return grad(lambda z: function(z, *more))(y)

    second = hessian(of_unknowns)(y) * free[:, None] * free + np.diag(1.0 - free)
    seed = -free * solved(second, free * x_bar, objective)
    return pullback(of_values, active)[1](seed)[0]


@adjoint(scalar_minimum_of, active=("active",), samples=())
def scalar_minimum_rule(x_bar, y, objective, x, active, others, low, high):
    """Do the same for one number, unless an end of the interval holds it."""

    def of_unknowns(z):
        function, more = objective(active, others)
        return function(z, *more)

    def of_values(values):
        function, more = objective(values, others)
        return grad(lambda z: function(z, *more))(y)

    second = hessian(of_unknowns)(y)
    free = float(free_between(y, grad(of_unknowns)(y), second, low, high))
    seed = -free * solved(free * second + (1.0 - free), x_bar, objective)
    return pullback(of_values, active)[1](seed)[0]


@adjoint(least_of, active=("x", "active"), samples=())
def least_rule(v_bar, v, objective, value, x, active, others):
    """Return the partial derivative with the place of the minimum held: the envelope theorem."""

    def of_values(values):
        function, more = objective(values, others)
        return function(x, *more)

    return np.zeros_like(x), pullback(of_values, active)[1](v_bar)[0]


@adjoint(value_at, active=("x", "active"), memory="fresh", samples=())
def value_rule(v_bar, v, function, value, x, active, others):
    """Differentiate by the solution, and by what the function holds itself."""

    def of_both(z, values):
        inner, more = function(values, others)
        return np.reshape(inner(z, *more), np.shape(v))

    return pullback(of_both, x, active)[1](v_bar)


@adjoint(covariance_of, active=("x", "active"), memory="fresh", samples=())
def covariance_rule(c_bar, c, residuals, value, x, active, others, absolute):
    """``inv(J.T @ J)``, with the variance of the residuals as a factor unless `absolute`."""

    def of_both(z, values):
        function, _ = residuals(values, others)
        jac = jacobian(function)(z)
        inverse = np.linalg.inv(jac.T @ jac)
        if absolute:
            return inverse
        r = function(z)
        return inverse * (np.sum(r**2) / (np.size(r) - np.size(z)))

    return pullback(of_both, x, active)[1](c_bar)
