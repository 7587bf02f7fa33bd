"""Initial value problems: `solve_ivp` of functions that read active values."""

from __future__ import annotations

import inspect
import sys
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
from srcad.frontend.library.solvers import Solver, is_differentiated, is_none, solves
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, attribute, means, means_in
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.closures import closure_of, may_carry
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.prelude import solvers, trajectories
from srcad.ir.core import Value
from srcad.types.numeric import BOOL, INT, Numeric
from srcad.types.sizes import Extent, constant_extent, fresh_extent
from srcad.types.structures import TupleOf

_FLOAT = np.dtype(float)


@solves("solve_ivp", module="scipy.integrate", run=trajectories.run_ivp)
def solve_ivp(state: Machine, solver: Solver) -> AbstractValue:
    """``solve_ivp(fun, t_span, y0)``."""
    method = _method(state, solver)
    run = solver.report
    events = _events(solver.given.get("events", Constant(None)))
    problem = TupleValue((solver.function, solver.more, TupleValue(tuple(events))))
    closure, active, others = closure_of(state, problem, "problem")
    y0 = _floats(state, solver.given["y0"], "y0")
    times = _times(state, solver)
    operands = (Constant(closure), run, times, y0, active, others)
    is_implicit = trajectories.is_implicit(method)
    parts: dict[str, AbstractValue] = {
        "run": run, "problem": Constant(closure), "times": times, "active": active,
        "others": others,
    }  # fmt: skip
    cls: Any = trajectories.Solution
    if is_implicit:
        _refuse_complex(state, y0)
        cls = trajectories.StageSolution
        parts["states"], parts["inner"] = _stages(state, operands)
    else:
        parts["states"] = state.emit(
            trajectories.states_of,
            *operands,
            *_coefficients(state, method, "a", "b", "c"),
            type=Numeric(_dtype(y0), (_length(times), _length(y0)), "array"),
            hint="states",
        )
    t, y = times, parts["states"]
    is_dense = bool(solver.option(state, "dense_output"))
    is_given = not is_none(solver.given.get("t_eval"))
    fields: dict[str, AbstractValue] = {"report": attribute(state, run, "report")}
    if not (events or is_dense or is_given):
        none = dict.fromkeys(("sol", "t_events", "y_events"), Constant(None))
        fields |= {"t": t, "y": state.emit(np.transpose, y), **none}
        return RecordValue(trajectories.Trajectory, tuple(fields), tuple(fields.values()))
    if not is_implicit:
        parts["table"] = TupleValue(_coefficients(state, method, "all_a", "all_c", "p"))
    solution = RecordValue(cls, tuple(parts), tuple(parts.values()))
    found = [_event(state, solution, k) for k in range(len(events))]
    t_events, y_events = (ListValue(tuple(pair[side] for pair in found)) for side in range(2))
    for k in range(len(events)):
        is_last = state.emit(trajectories.ends_at, run, Constant(k), type=BOOL, hint="is_last")
        both = apply(state, Constant(trajectories.with_event), (is_last, t, y, *found[k]), {})
        t, y = (getitem(state, both, Constant(side)) for side in range(2))
    whole = RecordValue(cls, (*parts, "ts"), (*parts.values(), t))
    if is_given:
        t = state.emit(np.asarray, solver.given["t_eval"])
        t = apply(state, Constant(trajectories.reached), (run, t), {})
        y = apply(state, Constant(cls.at_given), (solution, t), {})
    fields |= {
        "t": t,
        "y": state.emit(np.transpose, y),
        "sol": whole if is_dense else Constant(None),
        "t_events": t_events if events else Constant(None),
        "y_events": y_events if events else Constant(None),
    }
    return RecordValue(trajectories.Trajectory, tuple(fields), tuple(fields.values()))


def _floats(state: Machine, box: AbstractValue, name: str) -> Value:
    """Return an array of floats, or of complex numbers, with a name in generated code."""
    array = state.emit(np.asarray, box, hint=name)
    dtype = complex if isinstance(array.type, Numeric) and array.type.kind == "c" else float
    if isinstance(array.type, Numeric) and array.type.dtype == dtype:
        return array
    return state.emit(np.asarray, array, Constant(dtype), hint=name)


def _dtype(box: AbstractValue) -> Any:
    """Return the dtype of an array, float where it is unknown."""
    type_ = box.type if isinstance(box, Value) else None
    return type_.dtype if isinstance(type_, Numeric) and type_.dtype is not None else _FLOAT


def _length(box: AbstractValue, axis: int = 0) -> Extent:
    """Return the length of an array along an axis, a new one where it is unknown."""
    type_ = box.type if isinstance(box, Value) else None
    shape = type_.shape if isinstance(type_, Numeric) else None
    return shape[axis] if shape is not None and len(shape) > axis else fresh_extent("n")


def _events(box: AbstractValue) -> list[AbstractValue]:
    """Return the functions of events."""
    if is_none(box):
        return []
    if isinstance(box, TupleValue | ListValue):
        return list(box.items)
    if isinstance(box, Constant) and isinstance(box.value, tuple | list):
        return [Constant(event) for event in box.value]
    return [box]


def _event(state: Machine, solution: RecordValue, k: int) -> tuple[AbstractValue, AbstractValue]:
    """Return the times of an event, and the states at these."""
    cls: Any = solution.cls
    number = Constant(k)
    t = apply(state, Constant(cls.times_of_event), (solution, number), {})
    y = apply(state, Constant(cls.at_event), (solution, number, t), {})
    return t, y


def _method(state: Machine, solver: Solver) -> Any:
    """Return the class of the method."""
    given = solver.option(state, "method")
    try:
        method = trajectories.method_of(given)
    except AttributeError:
        method = None
    if not (trajectories.is_explicit(method) or trajectories.is_implicit(method)):
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot differentiate solve_ivp with the method {given!r}",
            why="SciPy has no method of this name."
            if method is None
            else "only SciPy's own methods, and explicit ones of Runge and Kutta, have a rule.",
            help=("take one of these:  method='DOP853', or 'Radau' for a stiff problem",),
        )
    return method


def _times(state: Machine, solver: Solver) -> AbstractValue:
    """Return the times of all accepted steps."""
    span = solver.given["t_span"]
    ends = [getitem(state, span, Constant(k)) for k in range(2)]
    type_ = Numeric(_FLOAT, (fresh_extent("m"),), "array")
    times = state.emit(trajectories.times_of, solver.report, type=type_, hint="times")
    if not may_carry(state, *ends):
        return times
    floats = [apply(state, Constant(float), (end,), {}) for end in ends]
    return apply(state, Constant(trajectories.with_ends), (times, *floats), {})


def _coefficients(state: Machine, method: Any, *names: str) -> tuple[Value, ...]:
    """Return coefficients of a method: a matrix for the stages, and others."""
    stages, powers = fresh_extent("s"), fresh_extent("p")
    shapes = {"a": (stages, stages), "all_a": (stages, stages), "p": (stages, powers)}
    found = []
    for name in names:
        type_ = Numeric(_FLOAT, shapes.get(name, (stages,)), "array")
        args = Constant(method), Constant(name)
        found.append(
            state.emit(trajectories.coefficients, *args, type=type_, hint=name.removeprefix("all_"))
        )
    return tuple(found)


@means(trajectories.called_with_state)
def called_with_state(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue:
    """``function(t, y, *more)``, refused if it writes into `y`: the solver reads `y` afterwards."""
    function, t, y, more = args
    assert isinstance(more, TupleValue)
    with state.kept(y) as kept:
        result = apply(state, function, (t, y, *more.items), {})
    if kept.box is not y:
        made = (op for op in state.builder.ops if kept.box in op.results)
        where = next((op.where for op in made if op.where is not None), state.builder.where)
        name = "" if where is None else f" in {where.function!r}"
        raise errors.MutationError(
            f"cannot differentiate solve_ivp of a function that writes into its state{name}",
            where=where,
            why="the solver reads the array afterwards, and goes on from what was written.",
            help="let the function begin with a copy of its state:  y = y.copy()",
        )
    return result


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
    type_ = Numeric(_dtype(states), (_length(t), _length(states, 1)), "array")
    return state.emit(target, run, t, states, type=type_, hint="rows")


def _like(target: Any, place: int) -> None:
    """Infer the type of an operation's result as that of one of its operands."""

    @means(target)
    def emit(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        operand = args[place]
        type_ = operand.type if isinstance(operand, Value) else None
        return state.emit(target, *args, type=type_)


_like(trajectories.between, 1)
_like(trajectories.event_times, 1)
_like(trajectories.event_times_on_stages, 1)
_like(trajectories.moved, 0)


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
    type_ = Numeric(_dtype(states), (fresh_extent("e"), _length(states, 1)), "array")
    return state.emit(trajectories.rows_of_event, *args, type=type_, hint="y_event")


@means(trajectories.steps_of)
def steps_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``steps_of(run, t)``: an int for each time."""
    type_ = Numeric(np.dtype(np.intp), (fresh_extent("e"),), "array")
    return state.emit(trajectories.steps_of, *args, type=type_, hint="steps")


# ---------------------------------------------------------------------------- implicit methods
def _refuse_complex(state: Machine, y0: Value) -> None:
    """Refuse complex states: the derivative of the right-hand side need not be complex."""
    if isinstance(y0.type, Numeric) and y0.type.kind == "c":
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot differentiate an implicit method of solve_ivp with complex states",
            why="the right-hand side need not have a complex derivative.",
            help=(
                "integrate the real and the imaginary parts, where 'fun' is the function:\n"
                "def parts(t, v):\n"
                "    r = np.asarray(fun(t, v[: len(v) // 2] + 1j * v[len(v) // 2 :]))\n"
                "    return np.concatenate([r.real, r.imag])\n"
                "v0 = np.concatenate([np.real(y0), np.imag(y0)])\n"
                "sol = solve_ivp(parts, t_span, v0, method='Radau')",
            ),
        )


def _stages(
    state: Machine, operands: tuple[AbstractValue, ...]
) -> tuple[AbstractValue, AbstractValue]:
    """Return the states of all accepted steps, and those at the inner stages of each."""
    count, size = _length(operands[2]), _length(operands[3])
    states = Numeric(_FLOAT, (count, size), "array")
    inner = Numeric(_FLOAT, (fresh_extent("m"), constant_extent(2), size), "array")
    both = state.emit(
        trajectories.stages_of, *operands, type=TupleOf((states, inner)), hint="stages"
    )
    return getitem(state, both, Constant(0)), getitem(state, both, Constant(1))


# ---------------------------------------------------------------------------- odeint
# Options that the steps of `solve_ivp` take from `odeint`, and their defaults there.
_FOLLOWED_OPTIONS = {"rtol": 1.49012e-8, "atol": 1.49012e-8, "hmax": 0.0}


@solves("odeint", module="scipy.integrate")
def odeint(state: Machine, solver: Solver) -> AbstractValue:
    """``odeint(func, y0, t)``."""
    is_full = bool(solver.option(state, "full_output"))
    found = getitem(state, solver.report, Constant(0)) if is_full else solver.report
    t, y0 = (_floats(state, solver.given[name], name) for name in ("t", "y0"))
    y0 = state.emit(np.ravel, y0)
    options = []
    for name, default in _FOLLOWED_OPTIONS.items():
        box = solver.options.get(name, Constant(None))
        options.append(Constant(default) if is_none(box) else box)
    type_ = Numeric(_FLOAT, (_length(t), _length(y0)), "array")
    array = state.emit(solvers.require_real, found, type=type_, hint="found")
    change = None if solver.option(state, "tfirst") else trajectories.time_first
    y = solver.solution(
        state, trajectories.rows_of_odeint, array, change, TupleValue(tuple(options)), at=(t, y0)
    )
    if not is_full:
        return y
    return TupleValue((y, getitem(state, solver.report, Constant(1))))


# ---------------------------------------------------------------------------- refused solvers
@means_in("scipy.integrate", "BDF", "DOP853", "LSODA", "RK23", "RK45", "Radau")
@means_in("scipy.integrate", "complex_ode", "ode")
def stepped(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``RK45(fun, t0, y0, t_bound)``, ``ode(f)``: objects that change with each step."""
    if not is_differentiated(state, TupleValue((*args, *kwargs.values()))):
        return None
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot differentiate a solver that is an object",
        why="each step changes its state.",
        help=(
            "take all steps by one call:  sol = solve_ivp(fun, (t0, t1), y0)",
            "or, for states between its ends:  solve_ivp(fun, (t0, t1), y0, t_eval=times).y",
        ),
    )


@means_in("scipy.integrate", "solve_bvp")
def solve_bvp(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``solve_bvp(fun, bc, x, y)``: refused where it is differentiated."""
    problem = TupleValue((*args, *kwargs.values()))
    if not is_differentiated(state, problem):
        return None
    bound = inspect.signature(sys.modules["scipy.integrate"].solve_bvp).bind(*args, **kwargs)
    has_unknowns = not is_none(bound.arguments.get("p"))
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot differentiate solve_bvp",
        why="its nodes and polynomials have no rule.",
        help=(
            "shoot from the first end, where the names are those of the arguments:\n"
            + (_SHOOT_WITH_UNKNOWNS if has_unknowns else _SHOOT),
        ),
    )


_SHOOT = """\
def shoot(y0):
    rates = lambda t, z: np.ravel(fun(t, z))
    return solve_ivp(rates, (x[0], x[-1]), y0, rtol=1e-9, atol=1e-9, dense_output=True)
y0 = root(lambda y0: bc(y0, shoot(y0).y[:, -1]), y[:, 0]).x
values = shoot(y0).sol(x)"""
_SHOOT_WITH_UNKNOWNS = """\
n = len(y)
def shoot(u):
    rates = lambda t, z: np.ravel(fun(t, z, u[n:]))
    return solve_ivp(rates, (x[0], x[-1]), u[:n], rtol=1e-9, atol=1e-9, dense_output=True)
u = root(lambda u: bc(u[:n], shoot(u).y[:, -1], u[n:]), np.concatenate([y[:, 0], p])).x
values = shoot(u).sol(x)"""
