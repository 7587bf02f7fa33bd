"""Functions with a meaning for derivatives that do nothing in the original call."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Generic, NoReturn

from srcad import errors
from srcad.api.asking import T
from srcad.frontend.control.with_statement import rest_of
from srcad.frontend.domain.memory import Origin
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    FunctionValue,
    Holder,
    MethodValue,
)
from srcad.frontend.machine.dispatch import evaluate, manages
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.expressions import function_box
from srcad.frontend.operations.reified_closures import stopped_function
from srcad.frontend.source.syntax import bound_names, own_nodes
from srcad.frontend.store.binding import bind
from srcad.frontend.store.origins import origin
from srcad.frontend.store.stopped import constant_of
from srcad.ir.core import Atom, Value
from srcad.modes import nested
from srcad.modes.nested import Given
from srcad.types.structures import OPAQUE

# Handlers of ``hook(x, f)`` and ``with cotangent(x)`` inside a differentiated function.


def hooked(state: Machine, given: Given) -> AbstractValue:
    """``hook(x, f)``: the same parts as new values; their cotangents go through `f`."""
    x, function = _two(state, given)
    _refuse_in_rule(state, "hook")
    return _through(state, x, function) if state.is_active(x) else x


def _refuse_in_rule(state: Machine, name: str) -> None:
    """Refuse `hook` and `cotangent` in a rule, where they would see second derivatives."""
    if state.stops_all:
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot read {name!r} inside a rule",
            why="it is called when the rule itself is differentiated, and that is not supported.",
            help=(f"call {name!r} in the function that uses the rule",),
        )


def _through(state: Machine, x: AbstractValue, function: AbstractValue) -> AbstractValue:
    """Return the same as new values; their cotangents go through a function."""
    called = _called(state, function)
    value = state.atom(x)
    assert isinstance(value, Value)
    result = state.builder.hooked(value, called, type=value.type, hint=value.hint)
    state.active.add(result)
    state.origins[result] = Origin(origin(state, value).everything, None)
    box = state.box(result)
    _take_the_place(state, x, box)
    return box


def _take_the_place(state: Machine, old: AbstractValue, new: AbstractValue) -> None:
    """Let all names of a mutable object mean the new box."""
    for before, after in zip(mutable_parts(old), mutable_parts(new), strict=True):
        state.replace_everywhere(before, after)


def _two(state: Machine, given: Given) -> Sequence[AbstractValue]:
    """Return the two arguments, by position or by name."""
    found = dict(zip(("x", "fn"), given.args, strict=False), **given.kwargs)
    if len(given.args) + len(given.kwargs) != 2 or set(found) != {"x", "fn"}:
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot read this call of 'hook'",
            why="it takes a value and a function.",
            help=("srcad.hook(x, print)",),
        )
    return found["x"], found["fn"]


def _called(state: Machine, box: AbstractValue) -> Atom:
    """Return the function as a value of the call: it runs as it stands."""
    match box:
        case FunctionValue():
            return stopped_function(state, box)
        case MethodValue(receiver=Value() as held, name=name) if held in state.paths:
            return state.captured((*state.paths[held], ("attr", name)), None, OPAQUE)
        case MethodValue(receiver=Holder(path=path), name=name):
            return state.captured((*path, ("attr", name)), None, OPAQUE)
        case BoundValue(function, args, kwargs):
            stopped = [constant_of(state, arg) for arg in args]
            named = {key: constant_of(state, arg) for key, arg in kwargs.items()}
            return state.emit(
                partial, _called(state, function), *stopped, kwargs=named, effect=True, type=OPAQUE
            )
    return state.atom(box)


# ------------------------------------------------------------------- statements of the sweep
def in_reverse(state: Machine, node: ast.With, k: int) -> bool:
    """``with cotangent(x) as x_bar: ...``: a hook of `x` with the body as its function."""
    _refuse_in_rule(state, "cotangent")
    variable, target = _names(state, node.items[k])
    body = rest_of(node, k)
    made = ast.FunctionDef("at_cotangent", _one_argument(target), [*body, _returned(target)], [])
    if "type_params" in made._fields:
        setattr(made, "type_params", [])  # noqa: B010 - a field since Python 3.12
    ast.copy_location(made, node)
    ast.fix_missing_locations(made)
    _refuse_effects(state, made, target.id)
    x = evaluate(state, variable)
    if state.is_active(x):
        bind(state, variable.id, _through(state, x, function_box(state, made)))
    return True


def refuse_cotangent_outside_with(state: Machine, given: Given) -> NoReturn:
    """Refuse a call of ``cotangent`` outside a ``with`` statement."""
    _refuse_form(state, None, "the statements inside are about the cotangent.")


def _names(state: Machine, item: ast.withitem) -> tuple[ast.Name, ast.Name]:
    """Return the variable, and what its cotangent is called."""
    call, target = item.context_expr, item.optional_vars
    assert isinstance(call, ast.Call)
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "x")]
    count = len(call.args) + len(call.keywords)
    if len(given) != 1 or count != 1 or not isinstance(target, ast.Name):
        return _refuse_form(state, call, "the cotangent of one variable has a name inside.")
    if not isinstance(given[0], ast.Name):
        return _refuse_form(state, call, "only uses of a variable after this line count.")
    return given[0], target


def _refuse_form(state: Machine, node: ast.expr | None, why: str) -> NoReturn:
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot read this use of 'cotangent'",
        node=node,
        why=why,
        help=("give the value a name, and its cotangent:\n    with srcad.cotangent(x) as x_bar:",),
    )


def _one_argument(target: ast.Name) -> ast.arguments:
    return ast.arguments([], [ast.arg(target.id)], None, [], [], None, [])


def _returned(target: ast.Name) -> ast.stmt:
    return ast.Return(ast.Name(target.id, ast.Load()))


_LEAVING = {ast.Return: "return", ast.Yield: "yield", ast.YieldFrom: "yield from",
            ast.Await: "await"}  # fmt: skip


def _refuse_effects(state: Machine, made: ast.FunctionDef, target: str) -> None:
    """Refuse a body that leaves the block or binds a name read there: it runs long after it."""
    taken = (bound_names(made) - {target}) & (set(state.frame.env) | set(state.frame.declared))
    for inner in own_nodes(made):
        if isinstance(inner, ast.withitem) and _is_cotangent(inner.context_expr):
            _refuse_late(
                state,
                inner.context_expr,
                "read 'cotangent'",
                "let one 'with' follow the other",
                "or take them together:  pair = (a, b)",
            )
        word = _LEAVING.get(type(inner))
        if isinstance(inner, ast.Break | ast.Continue) and not _is_in_own_loop(made, inner):
            word = type(inner).__name__.lower()
        if word is not None and inner is not made.body[-1]:
            _refuse_late(state, inner, f"{word!r} from", "let the statements run to the end")
        bound = isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)
        if bound and inner.id in taken:  # type: ignore[attr-defined]
            name = inner.id  # type: ignore[attr-defined]
            _refuse_late(
                state,
                inner,
                f"bind the variable {name!r}",
                f"use another name than {name!r}",
                "collect the values in a list:  seen.append(x_bar)",
            )


def _is_cotangent(node: ast.expr) -> bool:
    """Return True for a call of ``cotangent`` outside ``with``, which would not run its body."""
    called = node.func if isinstance(node, ast.Call) else None
    name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
    return name == "cotangent"


def _refuse_late(state: Machine, node: ast.AST, what: str, *remedies: str) -> None:
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot {what} inside 'cotangent'",
        node=node,
        why="the statements inside run in the reverse sweep, when the function has returned.",
        help=remedies,
    )


def _is_in_own_loop(made: ast.FunctionDef, node: ast.AST) -> bool:
    """Return True if a ``break`` or ``continue`` is one of a loop in a function."""
    loops = (n for n in own_nodes(made) if isinstance(n, ast.For | ast.While))
    return any(inner is node for loop in loops for inner in ast.walk(loop) if inner is not loop)


def stop_gradient(x: T) -> T:
    """Return `x` itself; no derivative flows through it.

    Parameters
    ----------
    x : object
        A number, array or structure of these.

    Returns
    -------
    object
        `x`, which a derivative takes as a constant.

    Examples
    --------
    >>> from srcad import grad
    >>> grad(lambda x: stop_gradient(x) * x)(3.0)
    3.0
    """
    return x


def hook(x: T, fn: Callable[[Any], Any]) -> T:
    """Return `x` itself; its cotangent passes through `fn` on the way back.

    Parameters
    ----------
    x : number, array or structure of these
        What to look at.
    fn : callable
        ``fn(x_bar)`` is called once in each derivative that passes `x`, with the whole cotangent
        of what `hook` returns: a copy, in the structure, shape and dtype of `x`.  What it returns
        takes its place; None leaves it as it is, also as one part of a structure.  In a loop it is
        called once per iteration, the last one first.  It runs as it stands: print, record, clip.

    Returns
    -------
    object
        `x`.  Only what is made of this result counts for the cotangent, and `fn` is not called
        where no derivative passes.

    Raises
    ------
    SeedError
        What `fn` returns does not have the structure and shape of `x`.
    NotDifferentiableError
        A gradient that has passed through `fn` is differentiated again.

    Examples
    --------
    >>> from srcad import grad
    >>> def f(x):
    ...     y = hook(x * x, lambda y_bar: min(y_bar, 1.0))
    ...     return 5 * y
    >>> f(3.0), grad(f)(3.0)
    (45.0, 6.0)
    """
    return x


class _Skipped(BaseException):
    """Nobody sees it: it leaves the body of a ``with`` before its first statement."""


class Cotangent(Generic[T]):
    """The context manager of `srcad.cotangent`; its body is code of the derivative.

    Python enters the body of every ``with``.  An exception that a trace function raises before the
    first instruction behind ``__enter__`` leaves it at once, and ``__exit__`` keeps it.  Whoever
    traces the thread (a debugger, a profile of covered lines) traces it again from there on.
    """

    __slots__ = ("_before", "_frame", "_local", "_opcodes")

    def __enter__(self) -> T:
        """Arrange that nothing of the body runs."""
        frame = self._frame = sys._getframe(1)
        self._before = sys.gettrace()
        self._local, self._opcodes = frame.f_trace, frame.f_trace_opcodes
        frame.f_trace_opcodes = True
        frame.f_trace = _leave
        sys.settrace(_not_traced)
        return None  # type: ignore[return-value]  # nobody gets it

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Let the thread be traced as it was."""
        sys.settrace(self._before)
        self._frame.f_trace, self._frame.f_trace_opcodes = self._local, self._opcodes
        del self._frame, self._before, self._local
        return kind is _Skipped


def _not_traced(frame: FrameType, event: str, argument: Any) -> None:
    """No function that is called meanwhile is traced."""


def _leave(frame: FrameType, event: str, argument: Any) -> Any:
    """Leave the frame's ``with`` before its next instruction."""
    if event == "opcode":
        raise _Skipped
    return _leave


def cotangent(x: T) -> Cotangent[T]:
    """Say what is done to the cotangent of a variable: ``with cotangent(x) as x_bar: ...``.

    The body runs in the reverse pass of a derivative, when the cotangent of `x` at this place is
    complete: all that is made of `x` from here on has been gone through.  It may look at it, write
    into it (``x_bar[:] = ...``), or put another in its place (``x_bar = ...``); what `x_bar` is at
    the end goes on.  The body never runs in the original call, in `jvp`, or where no derivative
    passes.

    Parameters
    ----------
    x : number, array or structure of these
        A variable of the function.

    Returns
    -------
    Cotangent
        A context manager.  Its target is a copy of the cotangent, in the structure, shape and
        dtype of `x`.

    Raises
    ------
    SeedError
        What is put in the place of the cotangent does not have the structure and shape of `x`.
    UnsupportedSyntaxError
        `x` or the target is not a name; the body leaves (``return``), or binds a variable of the
        function.
    NotDifferentiableError
        A gradient that has passed through it is differentiated again.

    Examples
    --------
    >>> import srcad
    >>> def f(x):
    ...     y = x * x
    ...     with srcad.cotangent(y) as y_bar:
    ...         y_bar = min(y_bar, 1.0)
    ...     return 5 * y
    >>> f(3.0), srcad.grad(f)(3.0)
    (45.0, 6.0)
    """
    return Cotangent()


# ------------------------------------------------------------- inside a differentiated function
nested.means_inside(stop_gradient)(nested.nested_stop_gradient)
nested.means_inside(hook)(hooked)
nested.means_inside(cotangent)(refuse_cotangent_outside_with)
manages(cotangent)(in_reverse)
