"""Solvers of SciPy: a result is found as SciPy finds it, and is then a solution of equations.

`run_solver` runs a solver, and nothing of it is differentiated.  The others return what it has
found; `srcad.api.solvers` has their derivatives.  The function of a problem comes as a closure, its
values beside it: those with a derivative, and the others.
"""

import warnings

import numpy as np

from srcad.errors import SolverWarning

# mypy: ignore-errors

_WARNED = set()


def run_solver(solver, problem, active, others, **options):
    """Run a solver on a function and its further arguments."""
    function, more = problem(active, others)
    if more:
        options["args"] = more
    report = solver(function, **options)
    for name in ("success", "converged"):
        if getattr(report, name, True) is False:
            said = getattr(report, "message", None) or getattr(report, "flag", "")
            warn(problem, f"{solver.__name__} has not converged: {said}")
    return report


def opened(closure, active, others):
    """Return the function of an option."""
    return closure(active, others)


def warn(problem, message):
    """Issue a warning once for each place of a program."""
    where = problem.where
    place = "" if where is None else f"{where.file}:{where.line}: "
    if (place, message) not in _WARNED:
        _WARNED.add((place, message))
        warnings.warn(f"{place}{message}", SolverWarning, stacklevel=3)


def root_of(residual, x, active, others):
    """Return a solution of ``residual(x) == 0``, as it is."""
    return x.copy() if isinstance(x, np.ndarray) else x


def roots_of(residual, x, active, others):
    """Return solutions of one equation each, as they are."""
    return x.copy()


def first(function, x, *more):
    """Return the first of several results."""
    return function(x, *more)[0]


def minus_argument(function, x, *more):
    """Return what is zero at a fixed point."""
    return function(x, *more) - x


class Root:
    """What `root` returns: the solution, and what is reported about the way to it."""

    def __init__(self, report, x):
        self.report = report
        self.x = x

    @property
    def success(self):
        return self.report.success

    @property
    def status(self):
        return self.report.status

    @property
    def message(self):
        return self.report.message

    @property
    def nfev(self):
        return self.report.nfev

    @property
    def nit(self):
        return self.report.nit

    @property
    def fun(self):
        return self.report.fun

    def __getitem__(self, name):
        return getattr(self, name)


class ScalarRoot:
    """What `root_scalar` returns."""

    def __init__(self, report, root):
        self.report = report
        self.root = root

    @property
    def converged(self):
        return self.report.converged

    @property
    def flag(self):
        return self.report.flag

    @property
    def function_calls(self):
        return self.report.function_calls

    @property
    def iterations(self):
        return self.report.iterations

    @property
    def method(self):
        return self.report.method

    def __getitem__(self, name):
        return getattr(self, name)


def real(x):
    """Return a result of a solver, which must be real."""
    if np.iscomplexobj(x):
        raise TypeError("solvers with complex unknowns are not differentiated")
    return x


# ---------------------------------------------------------------------------- minima
def minimum_of(objective, x, active, others, free):
    """Return the place of a minimum, as it is; `free` is 0 where it is held at a bound."""
    return x.copy() if isinstance(x, np.ndarray) else x


def scalar_minimum_of(objective, x, active, others, low, high):
    """Return the place of a minimum in an interval, as it is."""
    return x


def least_of(objective, value, x, active, others):
    """Return the value of an objective at its minimum, as it is."""
    return value


def value_at(function, value, x, active, others):
    """Return the value of a function at a solution, as it is."""
    return value.copy()


def covariance_of(residuals, value, x, active, others, absolute):
    """Return the covariance of fitted parameters, as it is."""
    return value.copy()


def free_entries(x, slope, lower, upper):
    """Return 0 for numbers at a bound that the objective pushes them to, and 1 for the others.

    One at a bound where the objective is flat counts as held.
    """
    near = 1e-9 * (1.0 + np.abs(x))
    at_lower = (x - lower <= near) & (slope >= 0)
    at_upper = (upper - x <= near) & (slope <= 0)
    return np.where(at_lower | at_upper, 0.0, 1.0)


def free_between(x, slope, second, low, high):
    """Return 0 where a step of Newton's method leaves an interval, which then holds the minimum.

    `minimize_scalar` comes near the end of an interval, and never reaches it.
    """
    step = slope / second if second > 0 else np.copysign(np.inf, slope)
    return 1.0 if low < x - step < high else 0.0


def free_in(mask):
    """Return 1 for numbers that are at no bound."""
    return np.where(np.asarray(mask) == 0, 1.0, 0.0)


def limits_of(bounds):
    """Return the lower and upper limits of bounds in any form that `minimize` takes."""
    if hasattr(bounds, "lb"):
        return np.asarray(bounds.lb, float), np.asarray(bounds.ub, float)
    rows = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    return np.array(rows, float).T


def limits_of_fit(bounds):
    """Return the lower and upper limits of the parameters of a fit."""
    if bounds is None:
        return -np.inf, np.inf
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    return np.asarray(bounds[0], float), np.asarray(bounds[1], float)


def free_of_fit(x, limits):
    """Return 0 for fitted parameters at a limit, and 1 for the others."""
    near = 1e-8 * (1.0 + np.abs(x))
    return np.where((x - limits[0] <= near) | (limits[1] - x <= near), 0.0, 1.0)


def half_squares(residuals, loss, scale, z, *more):
    """Return half the sum of the squares of residuals, or of what a loss makes of them."""
    r = np.asarray(residuals(z, *more))
    if loss == "linear":
        return 0.5 * np.sum(r**2)
    s = (r / scale) ** 2
    if loss == "soft_l1":
        rho = 2.0 * (np.sqrt(1.0 + s) - 1.0)
    elif loss == "huber":
        rho = np.where(s <= 1.0, s, 2.0 * np.sqrt(np.where(s <= 1.0, 1.0, s)) - 1.0)
    elif loss == "cauchy":
        rho = np.log1p(s)
    else:
        rho = np.arctan(s)
    return 0.5 * scale**2 * np.sum(rho)


def fit_residuals(f, x, y, sigma, z):
    """Return the residuals of a fit, divided by the errors of the data."""
    r = np.asarray(f(x, *z)) - np.asarray(y)
    if sigma is None:
        return r
    if np.ndim(sigma) == 2:
        return np.linalg.solve(np.linalg.cholesky(sigma), r)
    return r / np.asarray(sigma)


class Minimum:
    """What `minimize` and `minimize_scalar` return."""

    def __init__(self, report, x, fun):
        self.report = report
        self.x = x
        self.fun = fun

    @property
    def success(self):
        return self.report.success

    @property
    def status(self):
        return self.report.status

    @property
    def message(self):
        return self.report.message

    @property
    def nfev(self):
        return self.report.nfev

    @property
    def njev(self):
        return self.report.njev

    @property
    def nit(self):
        return self.report.nit

    @property
    def jac(self):
        return without_formula("jac", "the gradient is zero where no bound holds the solution")

    @property
    def hess_inv(self):
        return without_formula("hess_inv", "it is an estimate from the steps of the solver")

    def __getitem__(self, name):
        return getattr(self, name)


class Fit:
    """What `least_squares` and `lsq_linear` return."""

    def __init__(self, report, x, cost, fun):
        self.report = report
        self.x = x
        self.cost = cost
        self.fun = fun

    @property
    def success(self):
        return self.report.success

    @property
    def status(self):
        return self.report.status

    @property
    def message(self):
        return self.report.message

    @property
    def nfev(self):
        return self.report.nfev

    @property
    def njev(self):
        return self.report.njev

    @property
    def nit(self):
        return self.report.nit

    @property
    def active_mask(self):
        return self.report.active_mask

    @property
    def optimality(self):
        return self.report.optimality

    @property
    def jac(self):
        return without_formula("jac", "the Jacobian has no rule")

    @property
    def grad(self):
        return without_formula("grad", "the gradient is zero where no bound holds the solution")

    def __getitem__(self, name):
        return getattr(self, name)


def without_formula(name, why):
    """Stand for a field that is not differentiated; the front end refuses it."""
    raise NotImplementedError(name, why)
