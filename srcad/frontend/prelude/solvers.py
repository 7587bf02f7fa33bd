"""SciPy's solvers as operations: one that runs a solver, others that mark its results.

`run_solver` is not differentiated.  The other operations return a result unchanged;
`srcad.api.solvers` has their derivatives, by the equations that the result solves.  A problem is a
`Closure`; its captured values are operands beside it: active ones, and the others.
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


def option_function(closure, active, others):
    """Return a function that is an option of a solver."""
    return closure(active, others)


def warn(problem, message):
    """Issue a warning once for each place of a program."""
    where = problem.where
    place = "" if where is None else f"{where.file}:{where.line}: "
    if (place, message) not in _WARNED:
        _WARNED.add((place, message))
        warnings.warn(f"{place}{message}", SolverWarning, stacklevel=3)


def root_of(residual, x, active, others):
    """Return a solution of ``residual(x) == 0``."""
    return x.copy() if isinstance(x, np.ndarray) else x


def roots_of(residual, x, active, others):
    """Return the solutions of independent equations."""
    return x.copy()


def first_result(function, x, *more):
    """Return the first of several results."""
    return function(x, *more)[0]


def minus_argument(function, x, *more):
    """Return the residual of a fixed point."""
    return function(x, *more) - x


def report_field(name):
    """Return a property that reads a field of a solver's report."""
    return property(lambda self: getattr(self.report, name))


def refused_field(name, why):
    """Return a property that is refused_field: its derivative has no formula."""
    return property(lambda self: without_formula(name, why))


def without_formula(name, why):
    """Stand for a field that is not differentiated; the front end refuses it."""
    raise NotImplementedError(name, why)


class Result:
    """The result of a solver: its report and the active fields (`x`, `root`, `fun`, `cost`)."""

    def __init__(self, report):
        self.report = report

    active_mask = report_field("active_mask")
    converged = report_field("converged")
    flag = report_field("flag")
    function_calls = report_field("function_calls")
    iterations = report_field("iterations")
    message = report_field("message")
    method = report_field("method")
    nfev = report_field("nfev")
    nhev = report_field("nhev")
    nit = report_field("nit")
    njev = report_field("njev")
    optimality = report_field("optimality")
    status = report_field("status")
    success = report_field("success")
    fjac = refused_field("fjac", "the factors of a Jacobian have no formula")
    grad = refused_field("grad", "it is zero where no bound holds the solution")
    hess = refused_field("hess", "it has no formula")
    hess_inv = refused_field("hess_inv", "it is an estimate from the steps of the solver")
    jac = refused_field("jac", "it has no formula, or is zero where no bound holds the solution")

    def __getitem__(self, name):
        return getattr(self, name)


def require_real(x):
    """Return a result of a solver, which must be real."""
    if np.iscomplexobj(x):
        raise TypeError("solvers with complex unknowns are not differentiated")
    return x


# ---------------------------------------------------------------------------- minima
def minimum_of(objective, x, active, others, lower, upper):
    """Return the location of a minimum; limits of None stand for no bounds."""
    return x.copy() if isinstance(x, np.ndarray) else x


def least_of(objective, value, x, active, others):
    """Return the value of an objective at its minimum."""
    return value


def value_at(function, value, x, active, others):
    """Return the value of a function at a solution."""
    return value.copy()


def covariance_of(residuals, value, x, active, others, absolute):
    """Return the covariance of fitted parameters."""
    return value.copy()


def free_entries(x, slope, curvature, lower, upper):
    """Return 0 for numbers that a limit holds, and 1 for the others.

    It holds those that a step of Newton's method would take to the limit or beyond: solvers stop at
    a limit or near it, and where nothing holds them the step is as small as their tolerance.  A
    number at a limit where the objective is flat counts as held.
    """
    steepest = np.copysign(np.inf, slope)
    step = np.where(curvature > 0, slope / np.where(curvature > 0, curvature, 1.0), steepest)
    return np.where((x - step <= lower) | (x - step >= upper), 0.0, 1.0)


def limit_of_rows(bounds, x, k):
    """Return the lower or upper limits in a list of pairs, or in an object with both."""
    if hasattr(bounds, "lb"):
        return limit_of_pair(bounds, x, k)
    rows = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    return np.array(rows, float).T[k]


def limit_of_pair(bounds, x, k):
    """Return the lower or upper limits in a pair of them, or in an object with both."""
    pair = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    return np.broadcast_to(np.asarray(pair[k], float), np.shape(x))


def half_squares(residuals, loss, scale, z, *more):
    """Return half the sum of squared residuals, each under a loss function."""
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
