"""Derivatives of solvers: rules that differentiate the function that they are given.

No samples check them: the problem of a solver is made by the compiler only.
"""

from __future__ import annotations

import sys
from types import FunctionType

import numpy as np

from srcad.api.gradients import grad
from srcad.api.jacobians import hessian, jacobian, sparsity
from srcad.api.products import jvp, pullback
from srcad.calling.gradient import Gradient
from srcad.errors import SrcadError
from srcad.frontend.operations.closures import Closure
from srcad.frontend.prelude.solvers import (
    at_end,
    compiled,
    constrained_of,
    covariance_of,
    dense_matrix,
    estimate_multipliers,
    estimated_hessian,
    free_entries,
    held_below,
    held_conditions,
    integral_of,
    integral_of_slopes,
    integrate_slopes,
    least_between,
    least_of,
    least_under,
    limit_of_pair,
    limit_of_rows,
    linear_constraint,
    linear_least_of,
    minimum_of,
    option_function,
    require_real,
    root_of,
    roots_of,
    run_linear,
    run_solver,
    size_of,
    sizes_of,
    slope_like,
    slopes_at,
    tolerances,
    value_at,
    warn,
    without_tails,
)
from srcad.rules.declare import adjoint, nondifferentiable
from srcad.rules.equations import checked_residual
from srcad.rules.functions import zero_like

# mypy: ignore-errors

SINGULAR = (
    "the equations of the solution are singular there; its derivative is nan: leave out equations "
    "that follow from others and unknowns that no equation determines, or hold the solution "
    "constant by srcad.stop_gradient(...)"
)


Closure.derivative = staticmethod(lambda request, function: Gradient(function, request))
nondifferentiable(option_function)
nondifferentiable(require_real)
nondifferentiable(run_linear, memory="fresh")
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
    if len(active) == 0:
        return ()
    bars = pullback(of_values, active)[1](seed)[0]
    pairs = zip(bars, active, strict=True)
    return tuple(zero_like(leaf) if bar is None else bar for bar, leaf in pairs)


# ---------------------------------------------------------------------------- large systems
MOST_DENSE = 500  # unknowns of a system with a dense matrix
PROBES = 8  # columns of a matrix that may be sparse


def equations_at(problem, z, active, others, is_minimum):
    """Return residuals, or the slope of an objective, in one row."""
    if is_minimum:
        return np.ravel(grad(lambda u: value_of_problem(problem, u, active, others))(z))
    return np.ravel(value_of_problem(problem, z, active, others))


def solve_large(problem, z, active, others, b, is_minimum, is_transposed):
    """Return ``inv(J) @ b``, or with ``J.T``, for the Jacobian `J` of equations at a point.

    `J` is sparse where at most a tenth of it is nonzero.  Else Krylov's methods take products with
    it, and where they do not converge it is a full matrix, a row or column for each product.
    """
    solved = solved_by_colouring(problem, z, active, others, b, is_minimum, is_transposed)
    if solved is None:
        solved = solved_by_products(problem, z, active, others, b, is_minimum, is_transposed)
    return solved


def derivative_of_equations(problem, make, kind, is_minimum):
    """Return a derivative by `z` of the equations of a problem, times `v`; it is made once."""
    if (kind, is_minimum) not in problem.derivatives:

        def equations(z, active, others, v):
            r = equations_at(problem, z, active, others, is_minimum)
            return np.sum(v * r) if kind == "rows" else r

        def moved(step, z, active, others, v):
            moved = z + step * np.reshape(v, np.shape(z))
            return equations_at(problem, moved, active, others, is_minimum)

        function = moved if kind == "columns" else equations
        code = function.__code__.replace()  # compilations are kept by code: these die with it
        own = FunctionType(code, globals(), problem.name, None, function.__closure__)
        problem.derivatives[kind, is_minimum] = make(own)
    return problem.derivatives[kind, is_minimum]


def solved_by_colouring(problem, z, active, others, b, is_minimum, is_transposed):
    """Return the solution of sparse equations, or None if they are not sparse."""
    if not is_sparse(problem, z, active, others, is_minimum):
        return None
    jac = derivative_of_equations(problem, sparse_jacobian, "sparse", is_minimum)
    a = jac(z, active, others, 0.0).tocsc()
    if is_transposed:
        a = a.T.tocsc()
    algebra = sys.modules["scipy.sparse.linalg"]
    try:
        factors = algebra.splu(a)
    except RuntimeError:  # exactly singular
        return nan_for(b, problem)
    inverse = algebra.LinearOperator(
        a.shape, matvec=factors.solve, rmatvec=lambda v: factors.solve(v, "T"), dtype=float
    )
    rcond = 1.0 / (algebra.onenormest(inverse) * algebra.norm(a, 1))
    return factors.solve(b) if rcond > np.finfo(float).eps else nan_for(b, problem)


def is_sparse(problem, z, active, others, is_minimum):
    """Return True if at most a tenth of a Jacobian is nonzero; it is looked at once.

    The pattern is found only if that holds for some columns: the one of a full matrix is expensive.
    """
    n = np.size(z)
    note = "is_sparse", is_minimum, n
    if note not in problem.derivatives:
        columns = derivative_of_equations(problem, jacobian, "columns", is_minimum)
        some = np.zeros((PROBES, n))
        some[np.arange(PROBES), np.linspace(0, n - 1, PROBES).astype(int)] = 1.0
        counts = [np.count_nonzero(columns(0.0, z, active, others, one)) for one in some]
        problem.derivatives[note] = sum(counts) <= 0.1 * n * PROBES
        if problem.derivatives[note]:
            pattern = derivative_of_equations(problem, sparsity, "pattern", is_minimum)
            try:
                problem.derivatives[note] = pattern(z, active, others, 0.0).nnz <= 0.1 * n**2
            except SrcadError:  # it cannot be followed
                problem.derivatives[note] = False
    return problem.derivatives[note]


def sparse_jacobian(function):
    """Return the sparse Jacobian by the first argument."""
    return jacobian(function, sparse=True)


def nan_for(b, problem):
    """Return nan for the solution of singular equations, with a warning."""
    warn(problem, SINGULAR)
    return np.full(np.shape(b), np.nan)


def solved_by_products(problem, z, active, others, b, is_minimum, is_transposed):
    """Return the solution by products with the matrix."""
    if is_transposed and not is_minimum:
        rows = derivative_of_equations(problem, grad, "rows", is_minimum)

        def product(v):
            return np.ravel(rows(z, active, others, v))
    else:
        columns = derivative_of_equations(problem, jacobian, "columns", is_minimum)

        def product(v):
            return np.ravel(columns(0.0, z, active, others, v))

    algebra, n = sys.modules["scipy.sparse.linalg"], np.size(b)
    operator = algebra.LinearOperator((n, n), matvec=product, dtype=float)
    options = {"rtol": 1e-10, "atol": 0.0}
    failed = True
    if is_minimum:
        x, failed = algebra.cg(operator, b, maxiter=n, **options)
    if failed:
        x, failed = algebra.gmres(operator, b, restart=100, maxiter=3, **options)
    if failed or not np.all(np.isfinite(x)):
        return solved_by_matrix(product, b, problem)
    return x


def solved_by_matrix(product, b, problem):
    """Return the solution with a full matrix of products."""
    return solve_or_nan(np.stack([product(row) for row in np.eye(np.size(b))], 1), b, problem)


@adjoint(solve_large, active=("z", "active", "b"), memory="fresh", samples=())
def solve_large_rule(x_bar, x, problem, z, active, others, b, is_minimum, is_transposed):
    """Solve the transposed equations; ``left @ J @ right`` is differentiated by the point."""
    b_bar = solve_large(problem, z, active, others, x_bar, is_minimum, not is_transposed)
    left, right = (x, b_bar) if is_transposed else (b_bar, x)

    def form(u, values):
        direction = np.reshape(right, np.shape(z))
        at = lambda u: equations_at(problem, u, values, others, is_minimum)  # noqa: E731
        return np.sum(left * jvp(at, (u,), (direction,))[1])

    z_bar = -grad(lambda u: form(u, active))(z)
    return z_bar, cotangents(lambda values: form(z, values), active, -1.0), b_bar


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

    if np.size(y) > MOST_DENSE:
        seed = -solve_large(residual, y, active, others, np.ravel(x_bar), False, True)
    else:
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
nondifferentiable(slope_like)


@adjoint(minimum_of, active=("active", "lower", "upper"), memory="fresh", samples=())
def minimum_rule(x_bar, y, objective, x, active, others, lower, upper):
    """Apply the implicit function theorem to ``grad(objective)(x) == 0``, where `x` is free.

    An entry that a limit holds follows it.
    """

    def at(z):
        return value_of_problem(objective, z, active, others)

    def slope_of(values):
        return grad(lambda z: value_of_problem(objective, z, values, others))(y)

    if lower is None and np.ndim(y) == 1:
        if np.size(y) > MOST_DENSE:
            seed = -solve_large(objective, y, active, others, x_bar, True, True)
        else:
            seed = -solve_or_nan(hessian(at)(y), x_bar, objective)
        return cotangents(slope_of, active, seed), None, None
    curvature = float(hessian(at)(y)) if np.ndim(y) == 0 else hessian(at)(y)
    if lower is None:
        seed = -divide_or_nan(curvature, x_bar, objective)
        return cotangents(slope_of, active, seed), None, None
    slope = grad(at)(y)
    if np.ndim(y) == 0:
        is_free = float(free_entries(y, slope, curvature, lower, upper))
        seed = -is_free * divide_or_nan(is_free * curvature + (1.0 - is_free), x_bar, objective)
        bar = (1.0 - is_free) * x_bar
        is_below = float(held_below(y, slope, curvature, lower))
    else:
        is_free = free_entries(y, slope, np.diag(curvature), lower, upper)
        reduced = curvature * is_free[:, None] * is_free + np.diag(1.0 - is_free)
        seed = -is_free * solve_or_nan(reduced, is_free * x_bar, objective)
        bar = (1.0 - is_free) * (x_bar + curvature @ seed)
        is_below = held_below(y, slope, np.diag(curvature), lower)
    return cotangents(slope_of, active, seed), is_below * bar, (1.0 - is_below) * bar


@adjoint(least_of, active=("x", "active"), samples=())
def least_rule(v_bar, v, objective, value, x, active, others):
    """Return the partial derivative with the place of the minimum held: the envelope theorem."""
    bars = cotangents(lambda values: value_of_problem(objective, x, values, others), active, v_bar)
    return None, bars


@adjoint(least_between, active=("x", "lower", "upper", "active"), samples=())
def least_between_rule(v_bar, v, objective, value, x, lower, upper, active, others):
    """Add, for entries that a limit holds, the slope of the objective: the multiplier."""

    def at(z):
        return value_of_problem(objective, z, active, others)

    slope = grad(at)(x)
    if np.ndim(x) == 0:
        curvature = float(hessian(at)(x))
        is_free = float(free_entries(x, slope, curvature, lower, upper))
        is_below = float(held_below(x, slope, curvature, lower))
    else:
        curvature = np.diag(hessian(at)(x))
        is_free = free_entries(x, slope, curvature, lower, upper)
        is_below = held_below(x, slope, curvature, lower)
    bar = v_bar * (1.0 - is_free) * slope
    bars = cotangents(lambda values: value_of_problem(objective, x, values, others), active, v_bar)
    return None, is_below * bar, (1.0 - is_below) * bar, bars


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


# ---------------------------------------------------------------------------- linear least squares
def normal_or_nan(s, c, problem):
    """Return ``p`` with ``s.T @ s @ p == c``, and ``s @ p``, in one row; nan if singular."""
    q, r = np.linalg.qr(s)
    half = solve_or_nan(r.T, c, problem)
    return np.concatenate([solve_or_nan(r, half, problem), q @ half])


@adjoint(normal_or_nan, active=("s", "c"), samples=())
def normal_rule(y_bar, y, s, c, problem):
    """Solve the same equations."""
    n = np.size(c)
    p, w, p_bar, w_bar = y[:n], y[n:], y_bar[:n], y_bar[n:]
    both = normal_or_nan(s, p_bar + s.T @ w_bar, problem)
    q, sq = both[:n], both[n:]
    return np.outer(w_bar - sq, p) - np.outer(w, q), q


@adjoint(linear_least_of, active=("a", "b", "lower", "upper"), memory="fresh", samples=())
def linear_least_rule(x_bar, y, a, b, x, lower, upper, problem):
    """Differentiate the normal equations of the entries that no limit holds, by a QR factor."""
    m, n = np.shape(a)
    r = b - a @ y
    if lower is None:
        is_free, is_below = np.ones(n), np.zeros(n)
    else:
        slope, curvature = -(a.T @ r), np.sum(a**2, 0)
        is_at_end = (y <= lower) | (y >= upper)
        is_free = np.where(is_at_end, 0.0, free_entries(y, slope, curvature, lower, upper))
        is_below = np.where(y <= lower, 1.0, held_below(y, slope, curvature, lower))
    reduced = np.concatenate([a * is_free, np.diag(1.0 - is_free)])
    both = normal_or_nan(reduced, is_free * x_bar, problem)
    p, w = both[:n], both[n : n + m]
    bar = (1.0 - is_free) * (x_bar - a.T @ w)
    a_bar = np.outer(r, p) - np.outer(w, y)
    if lower is None:
        return a_bar, w, None, None
    return a_bar, w, is_below * bar, (1.0 - is_below) * bar


# ---------------------------------------------------------------------------- constraints
nondifferentiable(estimate_multipliers)
nondifferentiable(estimated_hessian, memory="fresh")
nondifferentiable(held_conditions)
nondifferentiable(linear_constraint)
nondifferentiable(dense_matrix)
nondifferentiable(size_of)


def lagrangian(problem, z, values, others, multipliers):
    """Evaluate an objective minus its conditions times multipliers."""
    (objective, conditions), more = problem(values, others)
    return objective(z, *more) - np.sum(multipliers * conditions(z))


def conditions_of(problem, z, values, others):
    """Evaluate the conditions of a problem."""
    (_, conditions), _ = problem(values, others)
    return conditions(z)


def multipliers_of(problem, y, active, others):
    """Return multipliers by least squares, and weights of conditions, zero for those not held.

    A weight is the inverse length of the gradient of a condition.  Both are constants for another
    derivative, where the point and the conditions move, except that the multipliers follow them.
    """

    def at(z):
        (objective, _), more = problem(active, others)
        return objective(z, *more)

    slope = grad(at)(y)
    normals = jacobian(lambda z: conditions_of(problem, z, active, others))(y)
    first = estimate_multipliers(problem, y, active, others, slope, normals)
    curvature = hessian(lambda z: lagrangian(problem, z, active, others, first))(y)
    weights = held_conditions(problem, y, active, others, slope, normals, first, curvature)
    equations = bordered(np.eye(np.size(y)), weights[:, None] * normals, -1.0 * (weights == 0))
    target = np.concatenate([slope, np.zeros(np.shape(weights))])
    return weights * solve_or_nan(equations, target, problem)[np.size(y) :], weights


def bordered(square, rows, rest):
    """Return the symmetric matrix of a square, rows below it and a diagonal in the corner."""
    upper = np.concatenate([square, rows.T], 1)
    return np.concatenate([upper, np.concatenate([rows, np.diag(rest)], 1)])


@adjoint(constrained_of, active=("active",), memory="fresh", samples=())
def constrained_rule(x_bar, y, problem, x, active, others):
    """Apply the implicit function theorem to the conditions of Karush, Kuhn and Tucker.

    They are divided by the size of the second derivatives.
    """
    multipliers, weights = multipliers_of(problem, y, active, others)
    curvature = hessian(lambda z: lagrangian(problem, z, active, others, multipliers))(y)
    normals = jacobian(lambda z: conditions_of(problem, z, active, others))(y)
    size = size_of(curvature)
    equations = bordered(curvature / size, weights[:, None] * normals, 1.0 * (weights == 0))
    target = np.concatenate([x_bar / size, np.zeros(np.shape(weights))])
    seed = -solve_or_nan(equations, target, problem)

    def residuals(values):
        slope = grad(lambda z: lagrangian(problem, z, values, others, multipliers))(y)
        moved = size * weights * conditions_of(problem, y, values, others)
        return np.concatenate([slope, moved])

    return cotangents(residuals, active, seed)


@adjoint(least_under, active=("x", "active"), samples=())
def least_under_rule(v_bar, v, problem, value, x, active, others):
    """Return the partial derivative of the Lagrangian: the envelope theorem."""
    multipliers, _ = multipliers_of(problem, x, active, others)
    bars = cotangents(
        lambda values: lagrangian(problem, x, values, others, multipliers), active, v_bar
    )
    return None, bars


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
    return a_bar, b_bar, parts_like(total, active)


# ---------------------------------------------------------------------------- solvers of users
def flat(tree):
    """Return the numbers of a number, an array, or a tuple, list or dict of these, in one row."""
    if isinstance(tree, dict):
        return np.concatenate([np.ravel(tree[key]) for key in tree])
    if isinstance(tree, tuple | list):
        return np.concatenate([np.ravel(item) for item in tree])
    return np.ravel(tree)


def like(row, tree):
    """Return the numbers of a row in the structure of a tree."""
    if isinstance(tree, dict):
        parts, found = parts_like(row, list(tree.values())), {}
        for k, key in enumerate(list(tree)):
            found[key] = parts[k]
        return found
    if isinstance(tree, tuple | list):
        return parts_like(row, tree)
    return parts_like(row, [tree])[0]


def parts_like(row, items):
    """Return consecutive numbers of a row as numbers and arrays like those of a sequence."""
    parts, start = [], 0
    for item in items:
        part = row[start : start + np.size(item)]
        parts.append(part[0] if np.ndim(item) == 0 else np.reshape(part, np.shape(item)))
        start = start + np.size(item)
    return tuple(parts)


def cotangents_of_equations(residual, x_bar, x, arguments, equations):
    """Return the cotangents of the arguments of a solver, by the implicit function theorem."""

    def checked(z, *given):
        r = checked_residual(residual(z, *given), x, equations)
        if not isinstance(x, dict):
            return r
        in_order = {}
        for key in list(x):
            in_order[key] = r[key]
        return in_order

    jac = jacobian(lambda row: flat(checked(like(row, x), *arguments)))(flat(x))
    seed = -solve_or_nan(jac.T, flat(x_bar), equations)
    return pullback(lambda *given: checked(x, *given), *arguments)[1](like(seed, x))


Closure.equations = staticmethod(cotangents_of_equations)
