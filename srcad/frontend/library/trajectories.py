"""Initial value problems: `solve_ivp` of functions that read active values."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.library.solvers import Solver, is_none, solves
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, attribute, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.closures import closure_of
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.prelude import solvers, trajectories
from srcad.ir.core import Value
from srcad.types.numeric import INT, Numeric
from srcad.types.sizes import constant_extent, fresh_extent
from srcad.types.structures import Opaque

_FLOAT = np.dtype(float)


@solves("solve_ivp", module="scipy.integrate", run=trajectories.run_ivp)
def solve_ivp(state: Machine, solver: Solver) -> AbstractValue:
    """``solve_ivp(fun, t_span, y0)``."""
    method = _method(state, solver)
    run = solver.report
    events = _events(solver.given.get("events", Constant(None)))
    problem = TupleValue((solver.function, solver.more, TupleValue(tuple(events))))
    closure, active, others = closure_of(state, problem, "problem")
    y0 = state.emit(np.asarray, state.emit(np.asarray, solver.given["y0"]), Constant(float))
    shape = y0.type.shape if isinstance(y0.type, Numeric) else None
    size = shape[0] if shape else fresh_extent("n")
    times = _times(state, solver)
    count = times.type.shape[0] if isinstance(times.type, Numeric) else fresh_extent("m")
    states = state.emit(
        trajectories.states_of,
        *(Constant(closure), run, times, y0, active, others),
        *_table(state, trajectories.coefficients, method, "abc"),
        type=Numeric(_FLOAT, (count, size), "array"),
        hint="states",
    )
    t, y, solution = times, states, Constant(None)
    is_given = not is_none(solver.given.get("t_eval"))
    is_dense = bool(solver.option(state, "dense_output"))
    found: list[tuple[AbstractValue, AbstractValue]] = []
    if is_given or is_dense or events:
        table = TupleValue(_table(state, trajectories.coefficients_between, method, "acp"))
        keys = ("run", "problem", "times", "states", "active", "others", "table")
        parts = (run, Constant(closure), times, states, active, others, table)
        solution = RecordValue(trajectories.Solution, keys, parts)
        found = [_event(state, solution, k) for k in range(len(events))]
    t_events, y_events = (ListValue(tuple(pair[side] for pair in found)) for side in range(2))
    if events:
        last = state.emit(trajectories.last_event, run, type=INT, hint="last")
        ended = (last, times, states, t_events, y_events)
        both = apply(state, Constant(trajectories.with_event), ended, {})
        t, y = (getitem(state, both, Constant(side)) for side in range(2))
    if is_dense:
        solution = RecordValue(trajectories.Solution, (*keys, "ts"), (*parts, t))
    if is_given:
        t = state.emit(np.asarray, solver.given["t_eval"])
        t = apply(state, Constant(trajectories.reached), (run, t), {})
        y = apply(state, Constant(trajectories.Solution.at_given), (solution, t), {})
    fields = {
        "report": attribute(state, run, "report"),
        "t": t,
        "y": state.emit(np.transpose, y),
        "sol": solution if is_dense else Constant(None),
        "t_events": t_events if events else Constant(None),
        "y_events": y_events if events else Constant(None),
    }
    return RecordValue(trajectories.Trajectory, tuple(fields), tuple(fields.values()))


def _events(box: AbstractValue) -> list[AbstractValue]:
    """Return the functions of events."""
    if is_none(box):
        return []
    if isinstance(box, TupleValue | ListValue):
        return list(box.items)
    if isinstance(box, Constant) and isinstance(box.value, tuple | list):
        return [Constant(event) for event in box.value]
    return [box]


def _event(state: Machine, solution: AbstractValue, k: int) -> tuple[AbstractValue, AbstractValue]:
    """Return the times of an event, and the states at these."""
    number = Constant(k)
    t = apply(state, Constant(trajectories.Solution.times_of_event), (solution, number), {})
    y = apply(state, Constant(trajectories.Solution.at_event), (solution, number, t), {})
    return t, y


def _method(state: Machine, solver: Solver) -> Any:
    """Return the class of the method, which must be explicit."""
    given = solver.option(state, "method")
    try:
        method = trajectories.method_of(given)
    except AttributeError:
        method = None
    if not trajectories.is_explicit(method):
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot differentiate solve_ivp with the method {given!r}",
            why="only explicit methods of Runge and Kutta have a rule.",
            help=("take one of them:  method='DOP853'",),
        )
    return method


def _times(state: Machine, solver: Solver) -> Value:
    """Return the times of all accepted steps."""
    span = solver.given["t_span"]
    ends = [getitem(state, span, Constant(k)) for k in range(2)]
    type_ = Numeric(_FLOAT, (fresh_extent("m"),), "array")
    times = state.emit(trajectories.times_of, solver.report, type=type_, hint="times")
    if not state.is_active(*ends):
        return times
    return apply(state, Constant(trajectories.with_ends), (times, *ends), {})


def _table(state: Machine, make: Any, method: Any, names: str) -> tuple[AbstractValue, ...]:
    """Return the coefficients of a method: a matrix for the stages, and others."""
    coefficients = state.emit(make, Constant(method), type=Opaque(), hint="coefficients")
    stages, powers = fresh_extent("s"), fresh_extent("p")
    shapes = {"a": (stages, stages), "p": (stages, powers)}
    table = []
    for k, name in enumerate(names):
        type_ = Numeric(_FLOAT, shapes.get(name, (stages,)), "array")
        item = getitem(state, coefficients, Constant(k))
        table.append(state.emit(solvers.require_real, item, type=type_, hint=name))
    return tuple(table)


@means(trajectories.rows_of)
def rows_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``rows_of(run, t, states)``: one row for each time."""
    return _rows(state, trajectories.rows_of, args)


@means(trajectories.values_at)
def values_at(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``values_at(run, t, states)``: one row for each time."""
    return _rows(state, trajectories.values_at, args)


def _rows(state: Machine, target: Any, args: Args) -> AbstractValue:
    """Emit an operation with a row for each time."""
    run, t, states = args
    shapes = [box.type.shape for box in (t, states) if isinstance(box, Value)]
    type_ = Numeric(_FLOAT, (shapes[0][0], shapes[1][1]), "array")
    return state.emit(target, run, t, states, type=type_, hint="rows")


@means(trajectories.between)
def between(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``between(problem, value, ...)``: an array like the value."""
    value = args[1]
    type_ = value.type if isinstance(value, Value) else None
    return state.emit(trajectories.between, *args, type=type_, hint="rows")


@means(trajectories.groups_of)
def groups_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``groups_of(run, t)``: a row for each group."""
    type_ = Numeric(np.dtype(np.intp), (fresh_extent("g"), constant_extent(3)), "array")
    return state.emit(trajectories.groups_of, *args, type=type_, hint="groups")


@means(trajectories.count_of)
def count_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``count_of(run)``: an int."""
    return state.emit(trajectories.count_of, *args, type=INT, hint="count")


@means(trajectories.times_of_event)
def times_of_event(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``times_of_event(run, k)``: one number for each event."""
    type_ = Numeric(_FLOAT, (fresh_extent("e"),), "array")
    return state.emit(trajectories.times_of_event, *args, type=type_, hint="t_event")


@means(trajectories.rows_of_event)
def rows_of_event(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``rows_of_event(run, k, states)``: one row for each event."""
    states = args[2]
    n = states.type.shape[1] if isinstance(states, Value) else fresh_extent("n")
    type_ = Numeric(_FLOAT, (fresh_extent("e"), n), "array")
    return state.emit(trajectories.rows_of_event, *args, type=type_, hint="y_event")


@means(trajectories.event_times)
def event_times(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``event_times(problem, t, ...)``: an array like `t`."""
    t = args[1]
    type_ = t.type if isinstance(t, Value) else None
    return state.emit(trajectories.event_times, *args, type=type_, hint="t_event")


@means(trajectories.steps_of)
def steps_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``steps_of(run, t)``: an int for each time."""
    type_ = Numeric(np.dtype(np.intp), (fresh_extent("e"),), "array")
    return state.emit(trajectories.steps_of, *args, type=type_, hint="steps")
