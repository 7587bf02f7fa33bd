"""Initial value problems as operations: one runs a solver, others mark its results.

`run_ivp` is not differentiated.  The other operations return a value unchanged;
`srcad.api.trajectories` has their derivatives, along the steps that the solver has accepted.
"""

import sys
from typing import Any

import numpy as np

from srcad.frontend.prelude.solvers import Report, report_field, warn

# mypy: ignore-errors


class Run:
    """A call of `solve_ivp`: its report, and the times and states of all accepted steps.

    Implicit methods have the states at the inner stages of each step, too.
    """

    def __init__(self, report, times, states, inner):
        self.report = report
        self.times = np.array(times)
        self.states = states if isinstance(states, np.ndarray) else np.array(states)
        self.inner = np.empty((len(inner), 2, self.states.shape[1]))
        for k in range(len(inner)):  # each is held twice for a moment only
            self.inner[k], inner[k] = inner[k], None


def run_ivp(solver, problem, active, others, method="RK45", **options):
    """Run a solver of initial value problems, and record its steps."""
    method = method_of(method)
    function, more = problem(active, others)
    if more:
        options["args"] = more
    times, states, inner = [], [], []
    integrate = sys.modules["scipy.integrate"]
    has_stages = is_implicit(method)

    class Recorded(method):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.record()

        def step(self):
            message = super().step()
            if self.status != "failed":
                self.record()
            return message

        def record(self):
            times.append(self.t)
            states.append(self.y)
            if has_stages and self.t_old is not None:
                inner.append(inner_stages(self))

    report = solver(function, method=Recorded, **options)
    if report.sol is not None and issubclass(method, integrate.BDF | integrate.LSODA):
        report.sol = integrate.OdeSolution(report.sol.ts, report.sol.interpolants, True)
    if not report.success:
        warn(
            problem,
            f"solve_ivp has not reached the end: {report.message.removesuffix('.')}; the "
            "derivative is that along the accepted steps: end before the singularity, or take an "
            "implicit method if the problem is stiff",
        )
    is_all = options.get("t_eval") is None and len(report.t) == len(times) and report.status != 1
    return Run(report, times, report.y.T if is_all else states, inner)


def method_of(method: Any) -> Any:
    """Return the class of a method of `solve_ivp`, which may be given by its name."""
    return getattr(sys.modules["scipy.integrate"], method) if isinstance(method, str) else method


def is_explicit(method: Any) -> bool:
    """Return True for the class of an explicit method of Runge and Kutta with SciPy's steps."""
    base = sys.modules["scipy.integrate"].RK45.__mro__[1]
    return (
        isinstance(method, type)
        and issubclass(method, base)
        and method._step_impl is base._step_impl
    )


def is_implicit(method: Any) -> bool:
    """Return True for the class of an implicit method of SciPy."""
    integrate = sys.modules["scipy.integrate"]
    return method in (integrate.Radau, integrate.BDF, integrate.LSODA)


def coefficients(method, name):
    """Return coefficients of an explicit method of Runge and Kutta.

    These are `a`, in a row of which are the weights of the stages before; `b`, those of all stages
    in a step; and `c`, the places of stages in a step.  The polynomial in a step,
    ``y + h * (p @ [x, x**2, ..]) @ stages``, has further stages, the first of which is the slope at
    its end: `all_a` and `all_c` are with these.
    """
    count = method.n_stages
    rows = [*method.A[:count], method.B, *getattr(method, "A_EXTRA", ())]
    if name in ("a", "all_a"):
        size = count if name == "a" else len(rows)
        a = np.zeros((size, size))
        for k in range(size):
            a[k, : len(rows[k][:size])] = rows[k][:size]
        return a
    if name == "all_c":
        return np.concatenate([method.C[:count], [1.0], getattr(method, "C_EXTRA", [])])
    if name == "p":
        return polynomial_of_dop853(method) if hasattr(method, "D") else method.P.copy()
    return (method.B if name == "b" else method.C[:count]).copy()


def polynomial_of_dop853(method):
    """Return the weights of stages in powers of the place in a step.

    SciPy's form is ``f0 * x + f1 * x * (1 - x) + f2 * x**2 * (1 - x) + ..``.
    """
    count, size = method.n_stages, np.shape(method.D)[1]
    change, first, last = np.zeros((3, size))
    change[:count] = method.B
    first[0] = 1.0
    last[count] = 1.0
    rows = [change, first - change, 2.0 * change - first - last]
    factors = np.polynomial.Polynomial([0.0, 1.0]), np.polynomial.Polynomial([1.0, -1.0])
    p, power = np.zeros((size, 7)), np.polynomial.Polynomial([1.0])
    for k, row in enumerate([*rows, *method.D]):
        power = power * factors[k % 2]
        p += np.outer(row, np.append(power.coef[1:], np.zeros(7 - power.degree())))
    return p


def called_with_state(function, t, y, more):
    """Return the value of a right-hand side or of an event, which must not write into the state."""
    return function(t, y, *more)


def times_of(run):
    """Return the times of all accepted steps."""
    return run.times.copy()


def states_of(problem, run, times, y0, active, others, a, b, c):
    """Return the states of all accepted steps, in rows; nothing else reads them from the run."""
    if run.states.dtype != y0.dtype:
        raise TypeError("write the kind of the initial state:  np.asarray(y0, complex)")
    return run.states


def count_of(run):
    """Return the number of times in the result."""
    return len(run.report.t)


def reached(run, t):
    """Return those of the given times that the solver has reached."""
    return t[: count_of(run)]


def rows_of(run, t, states):
    """Return the states at the given times, in rows."""
    return np.reshape(np.transpose(run.report.y), (len(t), states.shape[1]))


def values_at(run, t, states):
    """Return the values of the polynomials between accepted steps, in rows."""
    return run.report.sol(t).T


def steps_of(run, t):
    """Return the step that each time belongs to."""
    times, count = run.times, len(run.times) - 1
    if times[-1] >= times[0]:
        steps = np.searchsorted(times, t) - 1
    else:
        steps = count - np.searchsorted(times[::-1], t, side="right")
    return np.clip(steps, 0, count - 1)


def groups_of(run, t):
    """Return a table with a step in each row, and the first and last place of its times."""
    steps = steps_of(run, t)
    starts = np.flatnonzero(np.append(True, steps[1:] != steps[:-1])[: len(t)])
    return np.stack([steps[starts], starts, np.append(starts[1:], len(t))[: len(starts)]], 1)


def between(problem, value, t, groups, times, states, active, others, a, c, p):
    """Return states between the accepted steps, in rows."""
    return value.copy("K")


def times_of_event(run, k):
    """Return the times of an event."""
    return np.asarray(run.report.t_events[k])


def rows_of_event(run, k, states):
    """Return the states at the times of an event, in rows."""
    return np.reshape(run.report.y_events[k], (len(run.report.t_events[k]), states.shape[1]))


def event_times(problem, t, k, rows, steps, times, states, active, others, a, c, p):
    """Return the times when an event, the one of this number, is zero."""
    return t.copy()


def ends_at(run, k):
    """Return True if an event, the one of this number, has ended a run."""
    if run.report.status != 1:
        return False
    ends = [t[-1] if len(t) else None for t in run.report.t_events]
    last = max if run.times[-1] >= run.times[0] else min
    return ends.index(last(end for end in ends if end is not None)) == k


def with_event(is_last, times, states, t_event, y_event):
    """Return times and states, in the last place those of an event if it has ended the run."""
    if is_last:
        times = np.concatenate((times[:-1], t_event[-1:]))
        states = np.concatenate((states[:-1], y_event[-1:]))
    return times, states


def with_ends(times, t0, t1):
    """Return the times of all accepted steps; only the first and the last depend on the span."""
    end = t1 if times[-1] == t1 else times[-1]
    return np.concatenate((np.array([t0]), times[1:-1], np.array([end])))


# ---------------------------------------------------------------------------- implicit methods
_ROOT = np.sqrt(6.0)
# The method of Radau IIA with three stages: Hairer and Wanner, "Solving Ordinary Differential
# Equations II", table 5.6.  Its polynomial has the powers of the place in a step.
RADAU_C = np.array([(4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0, 1.0])
RADAU_A = np.array(
    [
        [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
        [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
        [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
    ]
)
RADAU_P = np.linalg.inv(RADAU_C[:, None] ** np.arange(1, 4)).T
POWERS = np.arange(1, 4)


def inner_stages(solver):
    """Return the states at the first two stages of Radau IIA in the last step of a solver."""
    h = solver.t - solver.t_old
    return solver.dense_output()(solver.t_old + RADAU_C[:2] * h).T


def stages_of(problem, run, times, y0, active, others):
    """Return the states of all accepted steps, in rows, and those at the inner stages of each."""
    return run.states, run.inner


def moved(value, polynomial):
    """Return values of the solver's own polynomials; those of Radau IIA tell how they move."""
    return value.copy("K")


def polynomials(t, steps, times, states, inner):
    """Return values of the cubic polynomials through the stages of steps, in rows."""
    start, y = times[steps], states[steps]
    stages = np.concatenate((inner[steps], states[steps + 1][:, None]), 1)
    h = times[steps + 1] - start
    x = (t - start) / np.where(h == 0, 1.0, h)
    weights = (x[:, None] ** POWERS) @ RADAU_P.T
    return y + np.sum(weights[:, :, None] * (stages - y[:, None]), 1)


def event_times_on_stages(problem, t, k, steps, times, states, inner, active, others):
    """Return the times when an event, the one of this number, is zero."""
    return t.copy()


def row_sizes(matrix):
    """Return the greatest absolute value in each row of a matrix, 1 for zeros."""
    sizes = np.max(np.abs(matrix), 1)
    return np.where(sizes > 0, sizes, 1.0)


class Trajectory(Report):
    """The report of `solve_ivp`, with times, states and events."""

    message = report_field("message")
    nfev = report_field("nfev")
    njev = report_field("njev")
    nlu = report_field("nlu")
    status = report_field("status")
    success = report_field("success")


class Solution:
    """The polynomials between accepted steps: `.sol` of the result of `solve_ivp`.

    The front end gives it `run`, `problem`, `times`, `states`, `active`, `others`, the coefficients
    in `table`, and `ts`, the times in the result.
    """

    t_min = property(lambda self: np.minimum(self.ts[0], self.ts[-1]))
    t_max = property(lambda self: np.maximum(self.ts[0], self.ts[-1]))

    def __call__(self, t):
        if np.ndim(t) > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        flat = np.ravel(np.asarray(t, float))
        rows = self.rows(flat, values_at(self.run, flat, self.states))
        return rows[0] if np.ndim(t) == 0 else rows.T

    def at_given(self, t):
        return self.rows(t, rows_of(self.run, t, self.states))

    def times_of_event(self, k):
        t = times_of_event(self.run, k)
        return event_times(
            self.problem, t, k, rows_of_event(self.run, k, self.states), steps_of(self.run, t),
            self.times, self.states, self.active, self.others, *self.table,
        )  # fmt: skip

    def at_event(self, k, t):
        return self.rows(t, rows_of_event(self.run, k, self.states))

    def rows(self, t, value):
        return between(
            self.problem, value, t, groups_of(self.run, t), self.times, self.states,
            self.active, self.others, *self.table,
        )  # fmt: skip


class StageSolution(Solution):
    """The polynomials between accepted steps of an implicit method, with `inner` for `table`."""

    def times_of_event(self, k):
        t = times_of_event(self.run, k)
        return event_times_on_stages(
            self.problem, t, k, steps_of(self.run, t), self.times, self.states, self.inner,
            self.active, self.others,
        )  # fmt: skip

    def rows(self, t, value):
        steps = steps_of(self.run, t)
        return moved(value, polynomials(t, steps, self.times, self.states, self.inner))


# ---------------------------------------------------------------------------- odeint
def time_first(function, t, y, *more):
    """Call the right-hand side of `odeint` as that of `solve_ivp`."""
    return function(y, t, *more)


def rows_of_odeint(problem, value, t, y0, active, others, options):
    """Return the states at the given times, in rows."""
    return value.copy()


def rows_by_lsoda(problem, t, y0, active, others, options):
    """Return the states at the given times, in rows, by the steps of `solve_ivp`."""
    if t[-1] == t[0]:
        return np.ones((len(t), 1)) * y0
    function, more = problem(active, others)
    rtol, atol, longest = options
    solution = sys.modules["scipy.integrate"].solve_ivp(
        function,
        (t[0], t[-1]),
        y0,
        method="LSODA",
        dense_output=True,
        args=more,
        rtol=rtol,
        atol=atol,
        max_step=longest if longest > 0 else np.inf,
    )
    return np.transpose(solution.sol(t))


def compared(y_bar, y, rows, problem):
    """Return cotangents; warn if the steps of `solve_ivp` lead to other states than `odeint`."""
    if not np.max(np.abs(rows - y)) <= 1e-3 * np.max(np.abs(y)):
        warn(
            problem,
            "odeint and solve_ivp with its tolerances find different states; the derivative is "
            "that of solve_ivp: set a larger mxstep where odeint stops, hmax where it misses short "
            "pulses, or smaller tolerances",
        )
    return y_bar.copy()
