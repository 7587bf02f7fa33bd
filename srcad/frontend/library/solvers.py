"""Solvers of `scipy.optimize` and `scipy.integrate`, of functions that read active values."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import partial
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    FunctionValue,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.machine.constants import pinned
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, attribute, means, means_in
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.closures import Closure, closure_of, holds_function, may_carry
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.operations.reified_closures import reads_active, reads_outside
from srcad.frontend.prelude import solvers
from srcad.frontend.store.stopped import constant_of
from srcad.ir.core import Value
from srcad.rules import stubs
from srcad.rules.equations import checked_residual, cotangents_of_arguments, wrong_form
from srcad.rules.registry import lookup
from srcad.startup.records import dataclass, field
from srcad.types.numeric import FLOAT, Numeric
from srcad.types.sizes import constant_extent, fresh_extent
from srcad.types.structures import Opaque

Solve = Callable[[Machine, "Solver"], AbstractValue]


@dataclass(eq=False)
class Solver:
    """A call of a solver: function, its further arguments, other arguments, report.

    `options` are the other arguments `given` as constants.
    """

    name: str
    function: AbstractValue
    more: TupleValue
    given: dict[str, AbstractValue]
    options: dict[str, AbstractValue] = field(init=False)
    report: Value = field(init=False)

    def run(self, state: Machine, target: Any) -> None:
        """Emit the call, which is not differentiated."""
        boxes = _constants(state, tuple(self.given.values()))
        self.options = dict(zip(self.given, boxes, strict=True))
        problem = TupleValue((self.function, self.more))
        closure, active, others = closure_of(state, problem, f"problem_of_{self.name}")
        self.report = state.emit(
            target,
            *(Constant(_solver(self.name)), Constant(closure), active, others),
            kwargs=self.options,
            effect=True,
            type=Opaque(),
            hint="report",
        )

    def result(self, cls: type = solvers.Result, **fields: AbstractValue) -> RecordValue:
        """Return the result of the call, with these active fields."""
        keys = ("report", *fields)
        return RecordValue(cls, keys, (self.report, *fields.values()))

    def option(self, state: Machine, name: str) -> Any:
        """Return an option that must be known when the program is read."""
        box = self.given.get(name)
        default = inspect.signature(_solver(self.name)).parameters[name].default
        if box is None:
            return default
        if not isinstance(box, Constant):
            state.refuse(
                errors.UnsupportedSyntaxError,
                f"cannot differentiate {self.name} with this {name!r}",
                why="its value is not known before the call.",
                help=(f"write it out:  {self.name}(..., {name}={default!r})",),
            )
        return box.value

    def is_true(self, name: str) -> bool:
        """Return True if an option is True, and not a function, say."""
        box = self.given.get(name)
        return isinstance(box, Constant) and box.value is True

    def refuse_active(self, state: Machine, *names: str) -> None:
        """Refuse active options: the solution depends on them by no known formula."""
        for name in names:
            if state.is_active(self.given.get(name, Constant(None))):
                _refuse_option(
                    state,
                    self,
                    name,
                    "it depends on the differentiated arguments, and the solution may follow it.",
                    f"take it for a constant:  {name}=srcad.stop_gradient(...)",
                )

    def solution(
        self,
        state: Machine,
        target: Any,
        found: Value,
        change: Any = None,
        *options: AbstractValue,
        at: tuple[AbstractValue, ...] = (),
        function: AbstractValue | None = None,
    ) -> Value:
        """Emit the operation that gives a result its derivative.

        The result is a solution, the value of a function `at` a solution, or an integral with its
        limits.  `change` wraps the function.
        """
        function = self.function if function is None else function
        if change is not None:
            function = BoundValue(Constant(change), (function,))
        problem = TupleValue((function, self.more))
        closure, active, others = closure_of(state, problem, f"equations_of_{self.name}")
        args = (found, *at, active, others, *options)
        return state.emit(target, Constant(closure), *args, type=found.type, hint="x")


# Options that a solution depends on; it does not on where a solver begins, or on tolerances.
_FOLLOWED = frozenset(
    {"a", "b", "bounds", "constraints", "f_scale", "points", "ranges", "wvar"}
    | {"gfun", "hfun", "qfun", "rfun", "t", "t_span", "y0", "t_eval", "events"}
)


_MODULES: dict[str, str] = {}  # of the solvers that `solves` has registered


def solves(
    *names: str, module: str = "scipy.optimize", run: Any = solvers.run_solver
) -> Callable[[Solve], Solve]:
    """Register the handler that makes the result of some solvers, and the operation of the call."""

    def register(solve: Solve) -> Solve:
        for name in names:
            _MODULES[name] = module
            means_in(module, name)(partial(_called, name, solve, run))
        return solve

    return register


def _solver(name: str) -> Any:
    return getattr(sys.modules[_MODULES.get(name, "scipy.optimize")], name)


def _called(
    name: str, solve: Solve, run: Any, state: Machine, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Interpret a call of a solver; None for an opaque call without active operands."""
    target = _solver(name)
    try:
        bound = inspect.signature(target).bind(*args, **kwargs)
    except TypeError:
        return None
    given: dict[str, Any] = dict(bound.arguments)
    for parameter in bound.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(parameter.name, {})
    function, more = _problem(name, given)
    if function is None:
        return None
    followed = [given[option] for option in given if option in _FOLLOWED]
    if reads_outside(state, function):
        return None
    problem = TupleValue((function, more, *followed))
    if not is_differentiated(state, problem):
        if not state.is_active(*given.values()):
            return None
        constants = dict(zip(kwargs, _constants(state, tuple(kwargs.values())), strict=True))
        return apply(state, Constant(target), _constants(state, args), constants)
    solver = Solver(name, function, more, given)
    _refuse_compiled(state, solver)
    solver.run(state, run)
    return solve(state, solver)


def _refuse_compiled(state: Machine, solver: Solver) -> None:
    """Refuse compiled code that Python cannot call, and an active object of a class in C."""
    function = solver.function
    if isinstance(function, Constant) and _is_low_level(function.value):
        kind, called = type(function.value).__name__, "compiled.function"
        why = "it is compiled code without a derivative, which Python does not call."
    elif isinstance(function, Value) and state.is_active(function):
        kind, called = "compiled object", "compiled"
        why = "it holds differentiated values, and srcad reads Python only."
    else:
        return
    state.refuse(
        errors.MissingRuleError,
        f"no derivative rule for the {kind} that is given to {solver.name}",
        why=why,
        help=(
            "write it in Python, or call it in a function with a rule, with a partial derivative "
            "in the place of each '...':\n"
            + stubs.python_around(called, 1 + len(solver.more.items)),
        ),
    )


def _is_low_level(value: Any) -> bool:
    """Return True for compiled code that SciPy calls without Python."""
    return isinstance(value, sys.modules["scipy"].LowLevelCallable)


def _problem(name: str, given: dict[str, Any]) -> tuple[AbstractValue | None, TupleValue]:
    """Take the function and its further arguments out of the arguments of a solver.

    The function is None where its further arguments by name are unknown.
    """
    function = given.pop(next(iter(given)))
    named = given.pop("kwargs", Constant(None))
    if isinstance(named, Constant) and isinstance(named.value, dict):
        function = BoundValue(function, (), {k: Constant(v) for k, v in named.value.items()})
    elif isinstance(named, DictValue):
        function = BoundValue(function, (), dict(zip(named.keys, named.items, strict=True)))
    elif not is_none(named):
        function = None
    more = given.pop("args", TupleValue(()))
    if name in _UNPACKING:
        more = _unpacked(more)
    if isinstance(more, Constant) and isinstance(more.value, tuple):
        more = TupleValue(tuple(map(Constant, more.value)))
    if not isinstance(more, TupleValue):
        more = TupleValue((more,))
    return function, more


# Solvers that unpack any sequence of further arguments.  To the others, a list is one argument.
_UNPACKING = frozenset(
    {"dblquad", "fixed_point", "least_squares", "newton", "nquad", "solve_ivp", "tplquad"}
)


def _unpacked(more: AbstractValue) -> AbstractValue:
    """Return further arguments, which may be None or a list, as a tuple."""
    if is_none(more):
        return TupleValue(())
    if isinstance(more, ListValue):
        return TupleValue(more.items)
    if isinstance(more, Constant) and isinstance(more.value, list):
        return Constant(tuple(more.value))
    return more


def is_differentiated(state: Machine, problem: TupleValue) -> bool:
    """Return True if a problem is active, or may be where the rule itself is differentiated."""
    if state.stops_all:
        return bool(closure_of(state, problem, "problem")[1].items)
    return state.is_active(problem) or reads_active(state, problem)


def _constants(state: Machine, boxes: Iterable[AbstractValue]) -> tuple[AbstractValue, ...]:
    """Return options as constants."""
    return tuple(_constant(state, box) for box in boxes)


def _constant(state: Machine, box: AbstractValue) -> AbstractValue:
    if not holds_function(box) and not _holds_constraint(box):
        return constant_of(state, box)
    closure, active, others = closure_of(state, box, "option")
    values = constant_of(state, active)
    return state.emit(solvers.option_function, Constant(closure), values, others, type=Opaque())


def _holds_constraint(box: AbstractValue) -> bool:
    """Return True if an abstract value is or holds an object of SciPy, which its class makes."""
    if isinstance(box, TupleValue | ListValue):
        return any(map(_holds_constraint, box.items))
    return isinstance(box, RecordValue) and box.cls.__module__.startswith("scipy.optimize")


_ANY_FLOAT = FLOAT.of_shape((), "any")


def _any_vector() -> Numeric:
    return Numeric(np.dtype(float), (fresh_extent("m"),), "array")


def _any_matrix() -> Numeric:
    return Numeric(np.dtype(float), (fresh_extent("m"), fresh_extent("n")), "array")


def _number(state: Machine, x: AbstractValue) -> Value:
    """Return a result as a real number."""
    return state.emit(solvers.require_real, x, type=_ANY_FLOAT, hint="found")


def _start(state: Machine, box: AbstractValue) -> Value:
    """Return the initial guess as an array; refuse complex ones."""
    start = state.emit(np.asarray, box)
    if isinstance(start.type, Numeric) and start.type.kind == "c":
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot differentiate a solver with complex unknowns",
            why="its equations need not have a complex derivative.",
            help=(
                "solve for the real and the imaginary parts, where 'fun' is the function:\n"
                "def parts(v):\n"
                "    r = fun(v[0] + 1j * v[1])\n"
                "    return np.array([r.real, r.imag])\n"
                "v = scipy.optimize.root(parts, [z0.real, z0.imag]).x",
            ),
        )
    return start


def _array(state: Machine, x: AbstractValue, like: AbstractValue, *, flat: bool) -> Value:
    """Return a result as an array of the shape of the initial guess."""
    start = _start(state, like)
    if flat:
        start = state.emit(np.ravel, start)
    type_ = start.type
    shape = type_.shape if isinstance(type_, Numeric) else None
    if shape is None:
        return state.emit(solvers.require_real, x, hint="found")
    type_ = Numeric(np.dtype(float), shape, "array")
    return state.emit(solvers.require_real, x, type=type_, hint="found")


# ---------------------------------------------------------------------------- roots
@solves("bisect", "brenth", "brentq", "ridder", "toms748")
def bracketed(state: Machine, solver: Solver) -> AbstractValue:
    """``brentq(f, a, b)``, and the other solvers of one equation in a bracket."""
    if not solver.option(state, "full_output"):
        return solver.solution(state, solvers.root_of, _number(state, solver.report))
    root, report = (getitem(state, solver.report, Constant(k)) for k in range(2))
    x = solver.solution(state, solvers.root_of, _number(state, root))
    return TupleValue((x, _report(report, x)))


def _report(report: AbstractValue, root: Value) -> RecordValue:
    """Return the report of a solver of one equation, which holds the root, too."""
    return RecordValue(solvers.Result, ("report", "root"), (report, root))


@solves("root_scalar")
def root_scalar(state: Machine, solver: Solver) -> AbstractValue:
    """``root_scalar(f, bracket=(a, b))``."""
    returns_slope = solver.is_true("fprime") or solver.is_true("fprime2")
    change = solvers.first_result if returns_slope else None
    found = _number(state, attribute(state, solver.report, "root"))
    x = solver.solution(state, solvers.root_of, found, change)
    return solver.result(root=x)


@solves("newton")
def newton(state: Machine, solver: Solver) -> AbstractValue:
    """``newton(func, x0)``: one equation, or one for each entry of `x0`."""
    start = _start(state, solver.options["x0"])
    is_one = isinstance(start.type, Numeric) and start.type.shape == ()
    full = bool(solver.option(state, "full_output"))
    found = getitem(state, solver.report, Constant(0)) if full else solver.report
    if is_one:
        x = solver.solution(state, solvers.root_of, _number(state, found))
    else:
        array = _array(state, found, start, flat=False)
        x = solver.solution(state, solvers.roots_of, array)
    if not full:
        return x
    report, *rest = (
        getitem(state, solver.report, Constant(k)) for k in range(1, 2 if is_one else 3)
    )
    return TupleValue((x, _report(report, x) if is_one else report, *rest))


@solves("fixed_point")
def fixed_point(state: Machine, solver: Solver) -> AbstractValue:
    """``fixed_point(func, x0)``."""
    start = _start(state, solver.options["x0"])
    is_one = isinstance(start.type, Numeric) and start.type.shape == ()
    found = (
        _number(state, solver.report) if is_one else _array(state, solver.report, start, flat=False)
    )
    return solver.solution(state, solvers.root_of, found, solvers.minus_argument)


@solves("fsolve")
def fsolve(state: Machine, solver: Solver) -> AbstractValue:
    """``fsolve(func, x0)``."""
    full = bool(solver.option(state, "full_output"))
    found = getitem(state, solver.report, Constant(0)) if full else solver.report
    array = _array(state, found, solver.options["x0"], flat=True)
    x = solver.solution(state, solvers.root_of, array)
    if not full:
        return x
    info, *rest = (getitem(state, solver.report, Constant(k)) for k in range(1, 4))
    residuals = getitem(state, info, Constant("fvec"))
    return TupleValue((x, _info(info, residuals), *rest))


def _info(info: AbstractValue, residuals: AbstractValue) -> RecordValue:
    """Return the dict of further results of a solver."""
    return RecordValue(solvers.Info, ("report", "fvec"), (info, residuals))


@solves("root")
def root(state: Machine, solver: Solver) -> AbstractValue:
    """``root(fun, x0)``."""
    change = solvers.first_result if solver.is_true("jac") else None
    method = solver.option(state, "method")
    flat = isinstance(method, str) and method.lower() in ("hybr", "lm")
    found = attribute(state, solver.report, "x")
    array = _array(state, found, solver.options["x0"], flat=flat)
    x = solver.solution(state, solvers.root_of, array, change)
    return solver.result(x=x, fun=attribute(state, solver.report, "fun"))


# ---------------------------------------------------------------------------- minima
@means(solvers.without_formula)
def without_formula(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Refuse a field of a result whose derivative has no formula."""
    name, why = (box.value for box in args if isinstance(box, Constant))
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot read '.{name}' of the result of a solver in a differentiated function",
        why=f"{why}.",
        help=(
            *_INSTEAD_OF_FIELDS.get(name, ()),
            "read it from a call outside of the function that is differentiated",
        ),
    )


# Expressions of the same matrices that have derivatives, where 'fun' is the function of the solver.
_INSTEAD_OF_FIELDS = {
    "hess": ("compute it, where 'fun' is the objective:  srcad.hessian(fun)(result.x)",),
    "hess_inv": (
        "compute it, where 'fun' is the objective:  np.linalg.inv(srcad.hessian(fun)(result.x))",
    ),
}


def _refuse_option(state: Machine, solver: Solver, name: str, why: str, remedy: str) -> NoReturn:
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot differentiate {solver.name} with {name!r}",
        why=why,
        help=(remedy,),
    )


def is_none(box: AbstractValue | None) -> bool:
    return box is None or (isinstance(box, Constant) and box.value is None)


Limits = tuple[AbstractValue, AbstractValue]


def _limits(state: Machine, solver: Solver, x: Value, limit: Any) -> Limits:
    """Return the lower and upper bounds of a solution, None without bounds."""
    bounds = solver.options.get("bounds")
    if bounds is None or is_none(bounds):
        return Constant(None), Constant(None)
    if may_carry(state, solver.given["bounds"]):
        lower, upper = (_active_limit(state, solver, x, limit, k) for k in range(2))
        return lower, upper
    lower = state.emit(limit, bounds, x, Constant(0), type=x.type, hint="lower")
    upper = state.emit(limit, bounds, x, Constant(1), type=x.type, hint="upper")
    return lower, upper


def _active_limit(state: Machine, solver: Solver, x: Value, limit: Any, k: int) -> AbstractValue:
    """Return lower or upper bounds that depend on the differentiated arguments."""
    bounds = solver.given["bounds"]
    if isinstance(bounds, RecordValue):
        side = attribute(state, bounds, ("lb", "ub")[k])
    elif limit is solvers.limit_of_pair:
        side = getitem(state, bounds, Constant(k))
    elif isinstance(bounds, ListValue | TupleValue):
        infinite = Constant((-np.inf, np.inf)[k])
        rows = [getitem(state, pair, Constant(k)) for pair in bounds.items]
        side = ListValue(tuple(infinite if is_none(row) else row for row in rows))
    else:
        side = apply(state, Constant(solvers.column_of), (bounds, Constant(k)), {})
    if isinstance(side, ListValue | TupleValue):
        side = state.emit(np.array, side)
    return apply(state, Constant(solvers.limits_like), (side, x), {})


def _least(
    state: Machine, solver: Solver, found: Value, x: Value, limits: Limits, change: Any = None,
    function: AbstractValue | None = None,
) -> Value:  # fmt: skip
    """Return the least value of an objective."""
    target: Any = solvers.least_of
    at: tuple[AbstractValue, ...] = (x,)
    if may_carry(state, *limits):
        target, at = solvers.least_between, (x, *limits)
    return solver.solution(state, target, found, change, at=at, function=function)


@solves("minimize")
def minimize(state: Machine, solver: Solver) -> AbstractValue:
    """``minimize(fun, x0)``."""
    change = solvers.first_result if solver.is_true("jac") else None
    array = _array(state, attribute(state, solver.report, "x"), solver.options["x0"], flat=True)
    found = _number(state, attribute(state, solver.report, "fun"))
    limits = _limits(state, solver, array, solvers.limit_of_rows)
    conditions = _conditions(state, solver)
    if conditions:
        return _constrained(state, solver, array, found, limits, conditions, change)
    x = solver.solution(state, solvers.minimum_of, array, change, *limits)
    value = _least(state, solver, found, x, limits, change)
    cls = solvers.FreeResult if is_none(limits[0]) else solvers.Result
    return solver.result(cls, x=x, fun=value)


@solves("minimize_scalar")
def minimize_scalar(state: Machine, solver: Solver) -> AbstractValue:
    """``minimize_scalar(fun)``."""
    number = _number(state, attribute(state, solver.report, "x"))
    limits = _limits(state, solver, number, solvers.limit_of_pair)
    x = solver.solution(state, solvers.minimum_of, number, None, *limits)
    found = _number(state, attribute(state, solver.report, "fun"))
    return solver.result(x=x, fun=_least(state, solver, found, x, limits))


@means(solvers.slope_like)
def slope_like(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``slope_like(slope, x)``: an array of the shape of `x`."""
    slope, x = args
    type_ = x.type if isinstance(x, Value) else None
    return state.emit(solvers.slope_like, slope, x, type=type_, hint="slope")


@solves("least_squares")
def least_squares(state: Machine, solver: Solver) -> AbstractValue:
    """``least_squares(fun, x0)``."""
    loss, scale = solver.option(state, "loss"), solver.given.get("f_scale", Constant(1.0))
    if not isinstance(loss, str):
        _refuse_option(
            state, solver, "loss", "what a function makes of residuals has no rule.",
            'take one of the losses that have names:  loss="soft_l1"',
        )  # fmt: skip
    array = _array(state, attribute(state, solver.report, "x"), solver.options["x0"], flat=True)
    limits = _limits(state, solver, array, solvers.limit_of_pair)
    objective = BoundValue(Constant(solvers.half_squares), (solver.function, Constant(loss), scale))
    x = solver.solution(state, solvers.minimum_of, array, None, *limits, function=objective)
    found = _number(state, attribute(state, solver.report, "cost"))
    cost = _least(state, solver, found, x, limits, function=objective)
    residuals = state.emit(np.asarray, attribute(state, solver.report, "fun"), type=_any_vector())
    fun = solver.solution(state, solvers.value_at, residuals, None, at=(x,))
    cls = solvers.FreeFit if is_none(solver.given.get("bounds")) else solvers.Result
    return solver.result(cls, x=x, cost=cost, fun=fun)


def _linear_problem(
    state: Machine, name: str, args: Args, kwargs: Kwargs
) -> tuple[Solver, Value, Value] | None:
    """Run a solver of linear equations: return it and its operands.

    None stands for a call without active operands.
    """
    try:
        bound = inspect.signature(_solver(name)).bind(*args, **kwargs)
    except TypeError:
        return None
    given: dict[str, Any] = dict(bound.arguments)
    problem = TupleValue((given["A"], given["b"], given.get("bounds", Constant(None))))
    if not is_differentiated(state, problem):
        return None
    a, b = given["A"], state.emit(np.asarray, given["b"])
    if isinstance(a, Value) and isinstance(a.type, Opaque):
        a = state.emit(solvers.dense_matrix, a, type=_any_matrix(), hint="matrix")
    a = state.emit(np.asarray, a)
    solver = Solver(name, Constant(None), TupleValue(()), given)
    boxes = _constants(state, tuple(given.values()))
    solver.options = dict(zip(given, boxes, strict=True))
    target = Constant(_solver(name))
    solver.report = state.emit(
        solvers.run_linear, target, kwargs=solver.options, type=Opaque(), hint="report"
    )
    return solver, a, b


def _linear_solution(
    state: Machine, solver: Solver, a: Value, b: Value, found: AbstractValue, limits: Any
) -> tuple[Value, Limits]:
    """Emit the operation that gives the solution of linear equations its derivative."""
    size = a.type.shape[1:] if isinstance(a.type, Numeric) and a.type.shape is not None else None
    type_ = Numeric(np.dtype(float), size, "array")
    array = state.emit(solvers.require_real, found, type=type_, hint="found")
    lower, upper = limits(array)
    closure = closure_of(state, TupleValue(()), f"equations_of_{solver.name}")[0]
    operands = (a, b, array, lower, upper, Constant(closure))
    x = state.emit(solvers.linear_least_of, *operands, type=type_, hint="x")
    return x, (lower, upper)


@means_in("scipy.optimize", "lsq_linear")
def lsq_linear(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``lsq_linear(A, b, bounds)``."""
    problem = _linear_problem(state, "lsq_linear", args, kwargs)
    if problem is None:
        return None
    solver, a, b = problem
    x, limits = _linear_solution(
        state,
        solver,
        *(a, b, attribute(state, solver.report, "x")),
        lambda array: _limits(state, solver, array, solvers.limit_of_pair),
    )
    residuals = BoundValue(Constant(solvers.linear_residuals), (a, b))
    objective = BoundValue(
        Constant(solvers.half_squares), (residuals, Constant("linear"), Constant(1.0))
    )
    found = _number(state, attribute(state, solver.report, "cost"))
    cost = _least(state, solver, found, x, limits, function=objective)
    fun = state.emit(np.asarray, attribute(state, solver.report, "fun"), type=b.type)
    fun = solver.solution(state, solvers.value_at, fun, None, at=(x,), function=residuals)
    return solver.result(x=x, cost=cost, fun=fun)


@means_in("scipy.optimize", "nnls")
def nnls(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``nnls(A, b)``: entries that are zero are held."""
    problem = _linear_problem(state, "nnls", args, kwargs)
    if problem is None:
        return None
    solver, a, b = problem
    found, norm = (getitem(state, solver.report, Constant(k)) for k in range(2))
    limits = (Constant(0.0), Constant(np.inf))
    x, _ = _linear_solution(state, solver, a, b, found, lambda array: limits)
    length = BoundValue(Constant(solvers.norm_of_residuals), (a, b))
    value = solver.solution(
        state, solvers.least_of, _number(state, norm), None, at=(x,), function=length
    )
    return TupleValue((x, value))


# ---------------------------------------------------------------------------- fits
def _data(state: Machine, box: AbstractValue) -> AbstractValue:
    """Convert lists of data to arrays."""
    return state.emit(np.asarray, box) if isinstance(box, ListValue) else box


@means_in("scipy.optimize", "curve_fit")
def curve_fit(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``curve_fit(f, xdata, ydata, p0, sigma)``: the data have derivatives, too."""
    target = _solver("curve_fit")
    try:
        bound = inspect.signature(target).bind(*args, **kwargs)
    except TypeError:
        return None
    given: dict[str, Any] = dict(bound.arguments)
    given |= given.pop("kwargs", {})
    f = given.pop("f")
    data = tuple(_data(state, given.get(n, Constant(None))) for n in ("xdata", "ydata", "sigma"))
    problem = TupleValue((f, *data, given.get("bounds", Constant(None))))
    if reads_outside(state, f) or not is_differentiated(state, problem):
        return None
    residuals = BoundValue(Constant(solvers.fit_residuals), (f, *data))
    solver = Solver("curve_fit", f, TupleValue(()), given)
    full = bool(solver.option(state, "full_output"))
    solver.run(state, solvers.run_solver)
    popt, pcov = (getitem(state, solver.report, Constant(k)) for k in range(2))
    shape = (_number_of_parameters(state, solver, f),)
    array = state.emit(solvers.require_real, popt, type=Numeric(np.dtype(float), shape, "array"))
    limits = _limits(state, solver, array, solvers.limit_of_pair)
    objective = BoundValue(
        Constant(solvers.half_squares), (residuals, Constant("linear"), Constant(1.0))
    )
    x = solver.solution(state, solvers.minimum_of, array, None, *limits, function=objective)
    both = Numeric(np.dtype(float), shape * 2, "array")
    covariance = solver.solution(
        state,
        solvers.covariance_of,
        state.emit(solvers.require_real, pcov, type=both),
        None,
        Constant(bool(solver.option(state, "absolute_sigma"))),
        at=(x,),
        function=residuals,
    )
    if not full:
        return TupleValue((x, covariance))
    info, *rest = (getitem(state, solver.report, Constant(k)) for k in range(2, 5))
    found = state.emit(np.asarray, getitem(state, info, Constant("fvec")), type=_any_vector())
    at_end = solver.solution(state, solvers.value_at, found, None, at=(x,), function=residuals)
    return TupleValue((x, covariance, _info(info, at_end), *rest))


def _number_of_parameters(state: Machine, solver: Solver, f: AbstractValue) -> Any:
    """Return the number of parameters of a model, from `p0` or, as SciPy does, its signature."""
    start = solver.options.get("p0")
    if not is_none(start):
        assert start is not None
        type_ = state.emit(np.atleast_1d, start).type
        if isinstance(type_, Numeric) and type_.shape is not None:
            return type_.shape[0]
    elif isinstance(f, FunctionValue) and not f.node.args.vararg:
        return constant_extent(len(f.node.args.posonlyargs + f.node.args.args) - 1)
    elif isinstance(f, Constant) and isinstance(f.value, FunctionType):
        code = f.value.__code__
        if not code.co_flags & inspect.CO_VARARGS:
            return constant_extent(code.co_argcount - 1)
    _refuse_option(
        state, solver, "p0", "the number of parameters is not known before the call.",
        "pass the values to begin with:  p0=[1.0, 1.0]",
    )  # fmt: skip


# ---------------------------------------------------------------------------- constraints
_CONSTRAINTS = {
    "LinearConstraint": ("A", "lb", "ub"),
    "NonlinearConstraint": ("fun", "lb", "ub"),
}


def _made(name: str, state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Interpret the construction of bounds or of a constraint with differentiated values."""
    cls = getattr(sys.modules["scipy.optimize"], name)
    try:
        bound = inspect.signature(cls).bind(*args, **kwargs)
    except TypeError:
        return None
    given: dict[str, AbstractValue] = dict(bound.arguments)
    bound.apply_defaults()
    if name != "NonlinearConstraint" and not may_carry(state, *given.values()):
        if name == "Bounds":
            return None
        return state.emit(
            solvers.linear_constraint, *args, kwargs=kwargs, type=Opaque(cls), hint="constraint"
        )
    given = {k: given.get(k, Constant(v)) for k, v in bound.arguments.items()}
    for side in ("lb", "ub"):
        if name != "NonlinearConstraint":
            given[side] = state.emit(np.atleast_1d, given[side])
    if is_none(given.get("hess", Constant(0))):
        given["hess"] = state.emit(solvers.estimated_hessian, type=Opaque(), hint="hess")
    if "A" in given:
        given["A"] = state.emit(np.atleast_2d, given["A"])
    return RecordValue(cls, tuple(given), tuple(given.values()))


for _name in ("Bounds", *_CONSTRAINTS):
    means_in("scipy.optimize", _name)(partial(_made, _name))


def _conditions(state: Machine, solver: Solver) -> list[AbstractValue]:
    """Return the constraints, in the form of `solvers.conditions_at`."""
    box = solver.given.get("constraints")
    if box is None or is_none(box):
        return []
    box = state.box(box) if isinstance(box, Value) else box
    if isinstance(box, Constant) and isinstance(pinned(state, box), list | tuple):
        return [_condition(state, solver, Constant(part)) for part in box.value]
    parts = box.items if isinstance(box, TupleValue | ListValue) else (box,)
    return [_condition(state, solver, part) for part in parts]


def _condition(state: Machine, solver: Solver, box: AbstractValue) -> AbstractValue:
    """Return one constraint: kind, function or matrix, further arguments, lower and upper limit."""
    box = state.box(box) if isinstance(box, Value) else box
    if isinstance(box, DictValue):
        return _condition_of_dict(state, solver, dict(zip(box.keys, box.items, strict=True)))
    if isinstance(box, Constant) and isinstance(box.value, dict):
        fields: dict[Any, AbstractValue] = {k: Constant(v) for k, v in box.value.items()}
        return _condition_of_dict(state, solver, fields)
    cls: Any = type(box.value) if isinstance(box, Constant) else None
    if isinstance(box, RecordValue):
        cls = box.cls
    elif isinstance(box, Value) and isinstance(box.type, Opaque):
        cls = box.type.cls
    name = getattr(cls, "__name__", "")
    if name not in _CONSTRAINTS:
        _refuse_constraint(state, solver)
    function, lower, upper = (attribute(state, box, key) for key in _CONSTRAINTS[name])
    kind = "nonlinear"
    if name == "LinearConstraint":
        kind = "linear"
        if not isinstance(box, RecordValue):
            matrix = _any_matrix()
            side = Numeric(np.dtype(float), (fresh_extent("m"),), "array")
            function = state.emit(solvers.dense_matrix, function, type=matrix, hint="matrix")
            lower = state.emit(np.asarray, lower, type=side)
            upper = state.emit(np.asarray, upper, type=side)
    if isinstance(lower, ListValue | TupleValue):
        lower = state.emit(np.array, lower)
    if isinstance(upper, ListValue | TupleValue):
        upper = state.emit(np.array, upper)
    return TupleValue((Constant(kind), function, TupleValue(()), lower, upper))


def _condition_of_dict(
    state: Machine, solver: Solver, fields: dict[Any, AbstractValue]
) -> AbstractValue:
    kind, function = fields.get("type"), fields.get("fun")
    more = fields.get("args", TupleValue(()))
    if isinstance(more, Constant) and isinstance(more.value, list | tuple):
        more = TupleValue(tuple(map(Constant, more.value)))
    elif isinstance(more, ListValue):
        more = TupleValue(tuple(more.items))
    if not (isinstance(kind, Constant) and function and isinstance(more, TupleValue)):
        _refuse_constraint(state, solver)
    assert function is not None
    kind = Constant(str(kind.value).lower())
    return TupleValue((kind, function, more, Constant(None), Constant(None)))


def _refuse_constraint(state: Machine, solver: Solver) -> NoReturn:
    _refuse_option(
        state,
        solver,
        "constraints",
        "its constraints are not known before the call.",
        'write them out, or pass a tuple:  constraints=({"type": "eq", "fun": lambda x: ...},)',
    )


def _constrained(
    state: Machine,
    solver: Solver,
    array: Value,
    found: Value,
    limits: Limits,
    conditions: list[AbstractValue],
    change: Any,
) -> AbstractValue:
    """Return the result of a minimization under constraints and bounds."""
    if not is_none(limits[0]):
        part = (Constant("bounds"), Constant(None), TupleValue(()), *limits)
        conditions = [*conditions, TupleValue(part)]
    function = solver.function
    if change is not None:
        function = BoundValue(Constant(change), (function,))
    both = BoundValue(Constant(solvers.conditions_at), (TupleValue(tuple(conditions)),))
    problem = TupleValue((function, both))
    x = solver.solution(state, solvers.constrained_of, array, function=problem)
    value = solver.solution(state, solvers.least_under, found, at=(x,), function=problem)
    return solver.result(x=x, fun=value)


# ---------------------------------------------------------------------------- integrals
_TOLERANCES = ("epsabs", "epsrel", "points", "norm", "quadrature")
_WEIGHTED = ("epsabs", "epsrel", "limit", "weight", "wvar", "maxp1", "limlst")


def _integral(
    state: Machine,
    solver: Solver,
    function: AbstractValue,
    limits: tuple[AbstractValue, AbstractValue],
    options: dict[str, AbstractValue],
) -> TupleValue:
    """Return the result of an integration; the estimate of the error has no derivative."""
    is_full = not is_none(solver.given.get("full_output")) and solver.option(state, "full_output")
    if not is_none(options.get("weight")) and state.is_active(*limits):
        _refuse_option(
            state, solver, "weight", "its limits depend on the differentiated arguments.",
            "write the weight into the function:  quad(lambda x: f(x) * np.cos(w * x), a, b)",
        )  # fmt: skip
    found, *rest = (getitem(state, solver.report, Constant(k)) for k in range(3 if is_full else 2))
    if solver.name == "quad_vec":
        place = state.emit(solvers.require_real, limits[0], type=_ANY_FLOAT)
        entry = state.emit(np.asarray, apply(state, function, (place, *solver.more.items), {}))
        shape = entry.type.shape if isinstance(entry.type, Numeric) else None
        type_ = Numeric(np.dtype(float), shape, "array")
        value = state.emit(solvers.require_real, found, type=type_)
        options = {"norm": Constant("2")} | options
    else:
        value = _number(state, found)
        options = {"epsabs": Constant(1.49e-8), "epsrel": Constant(1.49e-8)} | options
    names = _TOLERANCES if is_none(options.get("weight")) else _WEIGHTED
    kept = {name: options[name] for name in names if not is_none(options.get(name))}
    fixed = state.emit(
        solvers.tolerances, kwargs=kept, type=Opaque(solvers.Tolerances), hint="tolerances"
    )
    x = solver.solution(
        state, solvers.integral_of, value, None, fixed, at=limits, function=function
    )
    return TupleValue((x, *rest))


@solves("quad", "quad_vec", module="scipy.integrate")
def quad(state: Machine, solver: Solver) -> AbstractValue:
    """``quad(func, a, b)``, ``quad_vec(f, a, b)``."""
    solver.refuse_active(state, "points", "wvar")
    if solver.is_true("complex_func"):
        _refuse_option(
            state, solver, "complex_func", "the derivative of a complex integral has no rule.",
            "integrate the real and the imaginary part:  quad(lambda x: f(x).real, a, b)",
        )  # fmt: skip
    limits = (solver.given["a"], solver.given["b"])
    return _integral(state, solver, solver.function, limits, solver.options)


@solves("dblquad", "tplquad", module="scipy.integrate")
def dblquad(state: Machine, solver: Solver) -> AbstractValue:
    """``dblquad(func, a, b, gfun, hfun)``, ``tplquad``: an integral of integrals."""
    limits = (solver.given["a"], solver.given["b"])
    names = ("epsabs", "epsrel")
    options = {name: solver.options[name] for name in names if name in solver.options}
    inner: Any = solvers.inner_of_dblquad
    between = [solver.given["gfun"], solver.given["hfun"]]
    if solver.name == "tplquad":
        inner = solvers.inner_of_tplquad
        between += [solver.given["qfun"], solver.given["rfun"]]
    fixed = DictValue(tuple(options), tuple(options.values()))
    function = BoundValue(Constant(inner), (solver.function, *between, fixed))
    return _integral(state, solver, function, limits, options)


@solves("nquad", module="scipy.integrate")
def nquad(state: Machine, solver: Solver) -> AbstractValue:
    """``nquad(func, ranges)``."""
    ranges = _items(state, solver, "ranges")
    opts = solver.options.get("opts", Constant(None))
    if is_none(opts):
        opts = Constant({})
    each: list[AbstractValue] = [opts] * len(ranges)
    if not isinstance(opts, DictValue) and not isinstance(getattr(opts, "value", None), dict):
        each = _items(state, solver, "opts")
    last: Any = each[-1]
    if isinstance(last, Constant) and isinstance(last.value, dict):
        options: dict[str, Any] = {name: Constant(value) for name, value in last.value.items()}
    elif isinstance(last, DictValue):
        options = dict(zip(last.keys, last.items, strict=True))
    else:
        _refuse_option(
            state, solver, "opts", "the options of the outermost integral are no dict.",
            "write them out:  opts={'epsrel': 1e-8}",
        )  # fmt: skip
    ends = apply(state, Constant(solvers.range_at), (ranges[-1], *solver.more.items), {})
    limits = (getitem(state, ends, Constant(0)), getitem(state, ends, Constant(1)))
    function = solver.function
    if len(ranges) > 1:
        rest = (TupleValue(tuple(ranges[:-1])), TupleValue(tuple(each[:-1])))
        function = BoundValue(Constant(solvers.inner_of_nquad), (function, *rest))
    return _integral(state, solver, function, limits, options)


def _items(state: Machine, solver: Solver, name: str) -> list[AbstractValue]:
    """Return the items of an option that is a list or tuple."""
    box = solver.given[name]
    length = apply(state, Constant(len), (box,), {})
    if not isinstance(length, Constant):
        _refuse_option(
            state, solver, name, "its length is not known before the call.", "write it out"
        )
    return [getitem(state, box, Constant(k)) for k in range(length.value)]


@means_in("scipy.integrate", "fixed_quad")
def fixed_quad(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``fixed_quad(func, a, b, n=5)``: a sum over nodes, which is differentiated as it is."""
    problem = TupleValue((*args, *kwargs.values()))
    if not is_differentiated(state, problem):
        return None
    return apply(state, Constant(solvers.fixed_quad), args, kwargs)


@means(solvers.compiled)
def compiled(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``compiled()``: an object without floats."""
    return state.emit(solvers.compiled, type=Opaque(solvers.Compiled), hint="compiled")


@means(solvers.sizes_of)
def sizes_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``sizes_of(leaves)``: an array of one axis."""
    return state.emit(solvers.sizes_of, *args, type=_any_vector(), hint="sizes")


@means(solvers.integrate_slopes)
def integrate_slopes(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Convert the function of an integral in the rule of another one."""
    slopes, a, b, count, options = args
    problem = TupleValue((slopes, TupleValue(())))
    closure, active, others = closure_of(state, problem, "slopes")
    return state.emit(
        solvers.integral_of_slopes,
        *(Constant(closure), a, b, active, others, count, options),
        type=_any_vector(),
        hint="slopes",
    )


# ---------------------------------------------------------------------------- rules of users
@means(cotangents_of_arguments)
def equations_of_users(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Interpret a rule of `srcad.rules.implicit`."""
    lookup(solvers.root_of)  # reads the file with the rules of solvers
    if not _is_of_numbers(args[2]):
        state.refuse(
            errors.RuleError,
            "cannot differentiate this result of a solver by its equations",
            why="it holds something else than numbers and arrays.",
            help=("write the rule with @srcad.rules.adjoint, whose 'y' is the whole result",),
        )
    return apply(state, Constant(Closure.equations), args, kwargs)


@means(checked_residual)
def residual_of_users(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Refuse a residual of another structure than the solution; the call compares shapes."""
    r, x, equations = args
    if not _may_agree(r, x):
        assert isinstance(equations, Constant)
        raise wrong_form(_form(r), _form(x), equations.value)
    return None


def _may_agree(a: AbstractValue, b: AbstractValue) -> bool:
    """Return False if the structure, or the number of axes of a part, is known to differ."""
    if isinstance(a, DictValue) and isinstance(b, DictValue):
        others = dict(zip(b.keys, b.items, strict=True))
        return others.keys() == set(a.keys) and all(
            _may_agree(one, others[key]) for key, one in zip(a.keys, a.items, strict=True)
        )
    sequence = TupleValue | ListValue
    if isinstance(a, sequence) and isinstance(b, sequence):
        pairs = zip(a.items, b.items, strict=False)
        return len(a.items) == len(b.items) and all(_may_agree(one, other) for one, other in pairs)
    if any(isinstance(box, DictValue | TupleValue | ListValue) for box in (a, b)):
        return False
    return None in (_axes(a), _axes(b)) or _axes(a) == _axes(b)


def _axes(box: AbstractValue) -> int | None:
    """Return the number of axes; None if unknown."""
    if isinstance(box, Constant):
        return np.ndim(box.value)
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.shape is not None:
        return len(box.type.shape)
    return None


def _form(box: AbstractValue) -> Any:
    """Return an abstract value in words, in its dicts and tuples."""
    if isinstance(box, DictValue):
        return {key: _form(item) for key, item in zip(box.keys, box.items, strict=True)}
    if isinstance(box, TupleValue | ListValue):
        return tuple(map(_form, box.items))
    return {0: "a number", 1: "a vector", 2: "a matrix"}.get(_axes(box) or 0, "an array")


def _is_of_numbers(box: AbstractValue) -> bool:
    """Return True for a number, an array, or a tuple, list or dict of these."""
    if isinstance(box, TupleValue | ListValue | DictValue):
        return all(map(_is_of_numbers, box.items))
    return isinstance(box, Value) and (isinstance(box.type, Numeric) or box.type == Opaque())
