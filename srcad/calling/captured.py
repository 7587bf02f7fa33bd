"""Variables that a function reads from outside, as further arguments: ``grad(f, wrt="w")``.

A function with such a variable is called with it by keyword; what it holds at the call is its
default.  Inside, the variable holds that argument wherever the function reads it, or what it calls.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from srcad import errors
from srcad.arguments.request import Parameter, anchor_of, name_of
from srcad.arguments.wrt import path_of
from srcad.frontend.domain.outside_places import OutsidePlace
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.places import begin, content_of
from srcad.frontend.source import effects
from srcad.frontend.source.code import nested_codes
from srcad.frontend.source.effects import Effects
from srcad.frontend.store.written_arguments import written_parameters
from srcad.ir.core import Block, Call, Const, Op, Routine, walk
from srcad.types.numeric import Numeric
from srcad.types.reading import looked_up, signature
from srcad.types.sources import Path, Unreadable, follow, read

# Derivatives by captured variables: while a call runs, they hold its arguments.


def called(
    state: Machine,
    names: tuple[str, ...],
    function: AbstractValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call a function while variables of these names hold given values."""
    assert isinstance(function, Constant)
    plain, path = _function_and_path(function.value, function.path or ())
    places = {name: _place(plain, path, name) for name in names}
    for name, place in places.items():
        begin(state, place, kwargs[name])
    given = {name: box for name, box in kwargs.items() if name not in names}
    start = len(state.builder.ops)
    result = apply(state, function, args, given)
    written = set(written_parameters(state))
    for name, place in places.items():
        if name in written or content_of(state, place) is not kwargs[name]:
            state.refuse(
                errors.MutationError,
                f"cannot differentiate by {name!r}, which is written here",
                why="it is a variable outside the function.",
                help=(f"make it a parameter:  def {plain.__name__}(..., {name}): ...",),
            )
        _refuse_unread(state, name, place, state.builder.ops[start:])
    return result


def _function_and_path(function: Any, path: Path) -> tuple[FunctionType, Path]:
    """Return the function of Python behind a method or a partial, and the way there."""
    while isinstance(function, MethodType | functools.partial):
        step = "__func__" if isinstance(function, MethodType) else "func"
        function, path = getattr(function, step), (*path, ("attr", step))
    return function, path


def _place(function: FunctionType, path: Path, name: str) -> OutsidePlace:
    """Where the variable of a name is."""
    names = function.__code__.co_freevars
    if name not in names:
        space = function.__globals__
        return OutsidePlace(
            space,
            "global",
            name,
            (*path, ("attr", "__globals__")),
            (*path, ("global", name)),
            space,
        )
    k = names.index(name)
    assert function.__closure__ is not None
    cell = function.__closure__[k]
    holder = (*path, ("attr", "__closure__"), ("item", k))
    return OutsidePlace(cell, "cell", name, holder, (*path, ("cell", name)), cell)


# ----------------------------------------------------------------------- what is not read
_NOT_SEARCHED = ("numpy", "scipy", "srcad")


def _refuse_unread(state: Machine, name: str, place: OutsidePlace, ops: Sequence[Op]) -> None:
    """Refuse calls that run as they stand and may read a variable: nothing is known of the way."""
    found = Effects(_NOT_SEARCHED)
    for one in _objects_in(state, ops, found.mentioned):
        found.see(one)
    found.search()
    reader = next((f for f in found.functions if _reads(f, name, place)), None)
    if reader is None and not found.cut:
        return
    by = "" if reader is None else f", which {reader.__name__!r} may read in a call"
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot differentiate by the variable {name!r}{by} that srcad does not read",
        why="the derivative would miss its effect on the variable.",
        help=(f"make it a parameter:  def f(..., {name}): ...",),
    )


def _objects_in(state: Machine, ops: Sequence[Op], names: set[str]) -> Iterator[Any]:
    """Yield the functions and objects of the user's that operations call or read.

    Texts are `names`.
    """
    pending, seen = [Block((), tuple(ops), ())], set[Routine]()
    while pending:
        for op in walk(pending.pop()):
            if isinstance(op, Call):
                if not isinstance(op.target, Routine):
                    yield op.target
                known = [a.value for a in op.args if isinstance(a, Const)]
                names.update(value for value in known if isinstance(value, str))
                yield from known
            if isinstance(op, Call) and isinstance(op.target, Routine) and op.target not in seen:
                seen.add(op.target)
                if op.target.function is not None:
                    pending.append(op.target.function.block)
            for value in op.operands:
                if value in state.paths and not isinstance(value.type, Numeric):
                    with suppress(Unreadable):
                        yield read(state.paths[value], state.root, state.arguments)


def _reads(function: FunctionType, name: str, place: OutsidePlace) -> bool:
    """Return True if the code of a function, or of one inside it, reads a variable."""
    codes = (function.__code__, *nested_codes(function.__code__))
    if place.kind == "cell":
        return any(cell is place.owner for cell in function.__closure__ or ())
    named = any(name in code.co_names for code in codes)
    space = function.__globals__
    if not named:
        return False
    return space is place.owner or any(
        isinstance(space.get(n), ModuleType) and vars(space[n]) is place.owner
        for code in codes
        for n in code.co_names
    )


class WithCaptured:
    """A function with some of its captured variables as further parameters.

    Attributes
    ----------
    function : callable
        A function, a method or a partial.
    names : tuple of str
        The variables: globals of its module, or names of a function around it.
    """

    def __init__(self, function: Any, names: tuple[str, ...]) -> None:
        self.function = function
        self.names = names
        self.__name__ = name_of(function)
        self.__module__ = looked_up(function, "__module__") or ""

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function, with present values of the variables as defaults."""
        own = signature(self.function)
        parameters = list(own.parameters.values())
        last = bool(parameters) and parameters[-1].kind is Parameter.VAR_KEYWORD
        at = len(parameters) - last
        more = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=_current_value(self.function, name))
            for name in self.names
        ]
        return own.replace(parameters=[*parameters[:at], *more, *parameters[at:]])

    def __srcad_anchor__(self) -> tuple[Any, tuple[Any, ...]]:
        """By what compilations are kept."""
        anchor, how = anchor_of(self.function)
        return anchor, ("captured", self.names, *how)

    def __srcad_called__(self, state: Any, function: Any, args: Any, kwargs: Any) -> Any:
        """Interpret a call inside a function that is read."""
        return called(state, self.names, function, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)


def with_captured(function: Any, wrt: Iterable[int | str] | None) -> Any:
    """Return the function with captured variables that `wrt` names as parameters, or itself.

    Others than functions, methods and partials of these have no such variables.
    """
    wanted = [entry for entry in wrt or () if isinstance(entry, str)]
    if not wanted or hasattr(function, "__wrapped__") or isinstance(function, WithCaptured):
        return function
    plain = plain_function(function)
    if plain is None:
        return function
    shown = signature(function).parameters
    found: dict[str, None] = {}
    for entry in wanted:
        path = path_of(entry)
        name = entry if path is None else path[0]
        if name not in shown and _is_variable(function, plain, name):
            found[name] = None
    return WithCaptured(function, tuple(found)) if found else function


def plain_function(function: Any) -> FunctionType | None:
    """Return the function of Python behind a method or a partial."""
    while isinstance(function, MethodType | functools.partial):
        function = function.__func__ if isinstance(function, MethodType) else function.func
    return function if isinstance(function, FunctionType) else None


def _is_variable(function: Any, plain: FunctionType, name: str) -> bool:
    """Return True if a variable of this name holds data, which a call may read."""
    if name not in plain.__code__.co_freevars and name not in plain.__globals__:
        return False
    try:
        held = _current_value(function, name)
    except Unreadable:
        return False
    if held is None or isinstance(held, ModuleType | type | FunctionType | BuiltinFunctionType):
        return False
    return name in effects.effects_of(function, (), _NOT_SEARCHED).mentioned


def _current_value(function: Any, name: str) -> Any:
    """Return the current value of a variable."""
    plain = plain_function(function)
    assert plain is not None
    kind = "cell" if name in plain.__code__.co_freevars else "global"
    try:
        return follow(plain, ((kind, name),))
    except (LookupError, ValueError) as error:
        raise Unreadable(((kind, name),)) from error
