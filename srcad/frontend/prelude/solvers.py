"""SciPy's solvers as operations: one that runs a solver, others that mark its results.

`run_solver` is not differentiated.  The other operations return a result unchanged;
`srcad.api.solvers` has their derivatives, by the equations that the result solves.  A problem is a
`Closure`; its captured values are operands beside it: active ones, and the others.
"""

import sys
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
    if solver.__name__ == "fsolve" and not options.get("full_output"):
        x, said = _fsolve(solver, function, options)
        if said:
            warn(problem, _not_converged(solver, said))
        return x
    report = solver(function, **options)
    parts = report if type(report) is tuple else (report,)
    for part in parts:
        is_failed = np.any(np.equal(getattr(part, "converged", True), False))
        if is_failed or getattr(part, "success", True) is False:
            said = getattr(part, "message", None) or getattr(part, "flag", "")
            warn(problem, _not_converged(solver, said))
    if solver.__name__ == "fsolve" and report[2] != 1:
        warn(problem, _not_converged(solver, report[3]))
    return report


def _fsolve(solver, function, options):
    """Return the solution, and the message of a solver that has not converged, or None.

    Without the report, SciPy would warn without the place of the call in the program.
    """
    x, _, status, said = solver(function, **{**options, "full_output": True})
    if status not in range(1, 6):
        raise TypeError(said)
    return x, None if status == 1 else said


def _not_converged(solver, said):
    """Return the text of a warning with the message of a solver."""
    said = " ".join(str(said).split()).removesuffix(".")
    return (
        f"{solver.__name__} has not converged{': ' if said else ''}{said}; the derivative is that "
        "at the point where it stopped: begin nearer to the solution, allow more iterations or "
        "choose another method"
    )


def run_linear(solver, **options):
    """Run a solver of linear equations."""
    return solver(**options)


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


def dense_matrix(a):
    """Return a matrix that may be sparse as an array."""
    a = a.toarray() if hasattr(a, "toarray") else np.asarray(a)
    if a.ndim != 2:
        raise TypeError("a linear operator is not differentiated: pass its matrix")
    return a.astype(float)


def linear_residuals(a, b, z):
    """Return the residuals of linear equations."""
    return a @ z - b


def norm_of_residuals(a, b, z):
    """Return the length of the residuals of linear equations."""
    return np.linalg.norm(a @ z - b)


class Report:
    """The report of a solver, and fields that have derivatives."""

    def __init__(self, report):
        self.report = report

    def __getitem__(self, name):
        return getattr(self, name)

    def __contains__(self, name):
        return name in self.report

    def get(self, name, default=None):
        """Return a field."""
        return getattr(self, name, default)


class Result(Report):
    """The report of a solver of `scipy.optimize`, with `x`, `root`, `fun` or `cost`."""

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
    constr = refused_field("constr", "it repeats the functions of the constraints")
    constr_violation = refused_field("constr_violation", "it is zero to the solver's tolerance")
    final_simplex = refused_field("final_simplex", "it depends on the steps of the solver")
    lagrangian_grad = refused_field("lagrangian_grad", "it is zero to the solver's tolerance")
    maxcv = refused_field("maxcv", "it is zero to the solver's tolerance")
    multipliers = refused_field("multipliers", "the derivative of multipliers is not supported yet")
    unbounded_sol = refused_field("unbounded_sol", "it is the result of another call")
    v = refused_field("v", "the derivative of multipliers is not supported yet")


class Info(Report):
    """The dict of further results of `fsolve` and `curve_fit`, with the residuals."""

    fjac = refused_field("fjac", "the factors of a Jacobian have no formula")
    ipvt = refused_field("ipvt", "the factors of a Jacobian have no formula")
    qtf = refused_field("qtf", "the factors of a Jacobian have no formula")
    r = refused_field("r", "the factors of a Jacobian have no formula")
    nfev = property(lambda self: self.report["nfev"])
    njev = property(lambda self: self.report["njev"])


class FreeResult(Result):
    """The result of `minimize` without bounds and constraints: the slope is zero."""

    jac = property(lambda self: slope_like(self.report.jac, self.x))


class FreeFit(Result):
    """The result of `least_squares` without bounds: the slope of the objective is zero."""

    grad = property(lambda self: slope_like(self.report.grad, self.x))


def slope_like(slope, x):
    """Return the slope at a minimum, which is zero to the tolerance of the solver."""
    return slope


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


def least_between(objective, value, x, lower, upper, active, others):
    """Return the value of an objective at its minimum between limits that have derivatives."""
    return value


def free_entries(x, slope, curvature, lower, upper):
    """Return 0 for numbers that a limit holds, and 1 for the others.

    It holds those that a step of Newton's method would take to the limit or beyond: solvers stop at
    a limit or near it, and where nothing holds them the step is as small as their tolerance.  A
    number at a limit where the objective is flat counts as held.
    """
    return (1.0 - held_below(x, slope, curvature, lower)) * (
        1.0 - held_below(-x, -slope, curvature, -upper)
    )


def held_below(x, slope, curvature, lower):
    """Return 1 for numbers that a lower limit holds, and 0 for the others."""
    steepest = np.copysign(np.inf, slope)
    step = np.where(curvature > 0, slope / np.where(curvature > 0, curvature, 1.0), steepest)
    return np.where((x - step <= lower) & (lower > -np.inf), 1.0, 0.0)


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


def limits_like(limits, x):
    """Return limits that have derivatives, one for each unknown."""
    if np.ndim(x) == 0:
        return limits
    return limits + np.zeros(np.shape(x))


def column_of(bounds, k):
    """Return the lower or upper limits in an array with one row for each unknown."""
    return bounds[:, k]


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


def linear_least_of(a, b, x, lower, upper, problem):
    """Return the solution of linear equations in the sense of least squares, between limits."""
    return x.copy()


def fit_residuals(f, x, y, sigma, z):
    """Return the residuals of a fit, divided by the errors of the data."""
    r = np.asarray(f(x, *z)) - np.asarray(y)
    if sigma is None:
        return r
    if np.ndim(sigma) == 2:
        return np.linalg.solve(np.linalg.cholesky(sigma), r)
    return r / np.asarray(sigma)


# ---------------------------------------------------------------------------- constraints
def constrained_of(problem, x, active, others):
    """Return the location of a minimum under constraints."""
    return x.copy()


def least_under(problem, value, x, active, others):
    """Return the value of an objective at its minimum under constraints."""
    return value


def linear_constraint(*args, **kwargs):
    """Return a constraint without differentiated values."""
    return sys.modules["scipy.optimize"].LinearConstraint(*args, **kwargs)


def estimated_hessian():
    """Return the default of `NonlinearConstraint`, which keeps a state: new for each call."""
    return sys.modules["scipy.optimize"].BFGS()


def finite_limits(limits):
    """Return limits, zero for infinite ones."""
    return np.where(np.isfinite(limits), limits, 0.0)


def conditions_at(parts, z):
    """Return numbers that are zero or, for inequalities, at least zero.

    A part is a kind, a function or matrix, further arguments, and lower and upper limits.
    """
    rows = []
    for kind, function, more, lower, upper in parts:
        if kind == "linear":
            row = function @ z
        elif kind == "bounds":
            row = z
        else:
            row = np.ravel(np.asarray(function(z, *more)))
        if kind in ("eq", "ineq"):
            rows.append(row)
        else:
            rows.append(row - finite_limits(lower))
            rows.append(finite_limits(upper) - row)
    return np.concatenate(rows)


def distances(problem, x, active, others):
    """Return conditions, infinite ones where there is no limit, and which are equations.

    The second side of an equation counts as infinite.
    """
    (_, conditions), _ = problem(active, others)
    c = np.array(conditions(x), float)
    is_equal = np.zeros(c.shape, bool)
    at = 0
    (parts,) = conditions.args
    for kind, function, more, lower, upper in parts:
        if kind in ("eq", "ineq"):
            end = at + np.size(function(x, *more))
            is_equal[at:end] = kind == "eq"
            at = end
            continue
        if kind == "nonlinear":
            count = np.size(function(x, *more))
        else:
            count = np.size(x) if kind == "bounds" else len(function)
        lower, upper = (np.broadcast_to(side, (count,)) for side in (lower, upper))
        middle = at + count
        end = middle + count
        is_equal[at:middle] = lower == upper
        c[at:middle][np.isinf(lower)] = np.inf
        c[middle:end][np.isinf(upper) | (lower == upper)] = np.inf
        at = end
    return c, is_equal


def _in_lengths(problem, x, active, others, normals):
    """Return distances from the limits, unit normals, lengths of normals and the equations."""
    c, is_equal = distances(problem, x, active, others)
    sizes = np.sqrt(np.sum(normals**2, 1))
    sizes = np.where(sizes > 0, sizes, 1.0)
    return np.where(is_equal, 0.0, c / sizes), normals / sizes[:, None], sizes, is_equal


def estimate_multipliers(problem, x, active, others, slope, normals):
    """Estimate multipliers, with the right signs, without knowledge of the active inequalities.

    Those of inequalities far from equality are made small by a weight: Di Pillo and Grippo, "A new
    class of augmented Lagrangians in nonlinear programming", 1979.
    """
    away, rows, sizes, is_equal = _in_lengths(problem, x, active, others, normals)
    if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(rows))):
        return np.zeros(np.shape(away))
    found = np.zeros(np.shape(away))
    equations = rows[is_equal]
    basis = np.zeros((0, np.size(x)))
    if len(equations) > 0:
        _, sizes_of_equations, basis = np.linalg.svd(equations, full_matrices=False)
        basis = basis[sizes_of_equations > 1e-10]
    is_near = ~is_equal & np.isfinite(away)
    if np.any(is_near):
        columns = rows[is_near].T
        columns = columns - basis.T @ (basis @ columns)
        weights = np.diag(away[is_near] / (1.0 + np.sqrt(np.sum(x**2))))
        target = np.concatenate([slope - basis.T @ (basis @ slope), np.zeros(len(weights))])
        nnls = sys.modules["scipy.optimize"].nnls
        found[is_near] = nnls(
            np.concatenate([columns, weights]), target, maxiter=1000 + 10 * len(weights)
        )[0]
    if len(equations) > 0:
        found[is_equal] = np.linalg.lstsq(equations.T, slope - rows.T @ found, rcond=None)[0]
    return found / sizes


def size_of(matrix):
    """Return the greatest absolute value of a matrix, 1 for zeros."""
    size = float(np.max(np.abs(matrix)))
    return size if size > 0 else 1.0


def held_conditions(problem, x, active, others, slope, normals, multipliers, curvature):
    """Return weights of equations and active inequalities, and 0 for the others.

    A weight is the inverse length of a gradient.

    An inequality is active if a step of Newton's method without it would violate it: solvers stop
    at a limit or near it.  One whose multiplier vanishes counts as active where it is an equality.
    Conditions that follow from others are left out.
    """
    away, rows, sizes, is_equal = _in_lengths(problem, x, active, others, normals)
    length = 1.0 + np.sqrt(np.sum(x**2))
    pull = multipliers * sizes
    bend = np.sum((rows @ curvature) * rows, 1)
    bend = np.maximum(bend, 0.01 * np.sqrt(np.sum(slope**2)) / length)
    step = np.where(pull > 0, pull, 0.0) / np.where(bend > 0, bend, 1.0)
    terms = np.sum(np.abs(rows * x), 1) + np.where(np.isfinite(away), np.abs(away), 0.0)
    candidates = np.flatnonzero(is_equal | (away <= step + 1e-8 * terms))
    order = sorted(candidates, key=lambda k: (not is_equal[k], -pull[k]))
    held, basis = np.zeros(len(away)), np.zeros((0, np.size(x)))
    for k in order:
        rest = rows[k]
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        size = np.sqrt(np.sum(rest**2))
        if size > 1e-8:
            held[k] = 1.0 / sizes[k]
            basis = np.concatenate([basis, rest[None] / size])
    return held


# ---------------------------------------------------------------------------- integrals
def integral_of(function, value, a, b, active, others, options):
    """Return the integral of a function from `a` to `b`."""
    return value.copy() if isinstance(value, np.ndarray) else value


def integrate_slopes(slopes, a, b, count, options):
    """Return the integrals of `count` slopes; the front end makes a `Closure` of `slopes`."""
    raise NotImplementedError(slopes, a, b, count, options)


def integral_of_slopes(function, a, b, active, others, count, options):
    """Return the integrals of `count` slopes.

    A few are integrated one after the other, at many of the same points.
    """
    slopes, _ = function(active, others)
    integrate = sys.modules["scipy.integrate"]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if "norm" in options or ("weight" not in options and count > MOST_SINGLE):
            return integrate.quad_vec(slopes, a, b, **options)[0]
        known = {}

        def slope(x, k):
            if x not in known:
                known[x] = slopes(x)
            return known[x][k]

        found = [
            integrate.quad(slope, a, b, args=(k,), full_output=1, **options)[0]
            for k in range(count)
        ]
    return np.array(found)


MOST_SINGLE = 8


class Tolerances(dict):
    """The options of an integral, none of which has a derivative."""


def tolerances(**options):
    """Return the options of an integral."""
    return Tolerances(options)


class Compiled:
    """The compiled gradient of the integrand of one integral, and the arguments it is for."""

    function = active = kind = run = None


def compiled():
    """Return an object that keeps a compiled gradient during one integral."""
    return Compiled()


def slopes_at(function, place, active, others, seed, x):
    """Return an integrand and its gradient by captured values.

    Only the first call of an integral is checked.
    """
    is_known = place.function is function and place.active is active and place.kind is type(x)
    if not is_known:
        place.run = function.slopes.specialize(active, others, seed, x)
        place.function, place.active, place.kind = function, active, type(x)
    return place.run(active, others, seed, x)


def sizes_of(leaves):
    """Return the absolute values of numbers and arrays in one row, 1 for zeros."""
    sizes = np.concatenate([np.abs(np.ravel(leaf)) for leaf in leaves])
    return np.where(sizes > 0, sizes, 1.0)


def at_end(function, x, *more):
    """Return an integrand at a limit, zero at infinity."""
    return 0.0 if np.isinf(x) else function(x, *more)


def without_tails(y, slopes):
    """Return slopes, zero where the integrand is zero and they are not finite: in far tails."""
    if y == 0:
        return np.where(np.isfinite(slopes), slopes, 0.0)
    return slopes


def limit_at(limit, *outer):
    """Return a limit of an inner integral, a number or a function of the outer variables."""
    return limit(*outer) if callable(limit) else limit


def inner_of_dblquad(func, gfun, hfun, options, x, *args):
    """Return the inner integral of a double integral."""
    integrate = sys.modules["scipy.integrate"]
    return integrate.quad(func, limit_at(gfun, x), limit_at(hfun, x), args=(x, *args), **options)[0]


def inner_of_tplquad(func, gfun, hfun, qfun, rfun, options, x, *args):
    """Return the two inner integrals of a triple integral."""
    integrate = sys.modules["scipy.integrate"]
    return integrate.dblquad(
        func,
        limit_at(gfun, x),
        limit_at(hfun, x),
        lambda y: limit_at(qfun, x, y),
        lambda y: limit_at(rfun, x, y),
        args=(x, *args),
        **options,
    )[0]


def inner_of_nquad(func, ranges, opts, x, *args):
    """Return all integrals but the outermost."""
    return sys.modules["scipy.integrate"].nquad(func, ranges, (x, *args), opts)[0]


def range_at(limits, *args):
    """Return the limits of an integral of `nquad`."""
    return limits(*args) if callable(limits) else limits


def fixed_quad(func, a, b, args=(), n=5):
    """Integrate by Gaussian quadrature, as SciPy does; its derivative uses the same nodes."""
    if np.isinf(a) or np.isinf(b):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    x, w = sys.modules["scipy.special"].roots_legendre(n)
    y = (b - a) * (x + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(w * func(y, *args), axis=-1), None
