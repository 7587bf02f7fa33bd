"""Variables that a function reads from outside, as further arguments: ``grad(f, wrt="w")``.

A function with such a variable is called with it by keyword; what it holds at the call is its
default.  Inside, the variable holds that argument wherever the function reads it, or what it calls.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from srcad.arguments.request import Parameter, anchor_of, name_of
from srcad.arguments.wrt import path_of
from srcad.frontend.source import effects
from srcad.modes import captured_variables
from srcad.types.reading import looked_up, signature
from srcad.types.sources import Unreadable, follow

_NOT_SEARCHED = ("numpy", "scipy", "srcad")


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
        more = [Parameter(name, Parameter.KEYWORD_ONLY, default=_held(self.function, name))
                for name in self.names]  # fmt: skip
        return own.replace(parameters=[*parameters[:at], *more, *parameters[at:]])

    def __srcad_anchor__(self) -> tuple[Any, tuple[Any, ...]]:
        """By what compilations are kept."""
        anchor, how = anchor_of(self.function)
        return anchor, ("captured", self.names, *how)

    def __srcad_called__(self, s: Any, function: Any, args: Any, kwargs: Any) -> Any:
        """Interpret a call inside a function that is read."""
        return captured_variables.called(s, self.names, function, args, kwargs)

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
        held = _held(function, name)
    except Unreadable:
        return False
    if held is None or isinstance(held, ModuleType | type | FunctionType | BuiltinFunctionType):
        return False
    return name in effects.effects_of(function, (), _NOT_SEARCHED).mentioned


def _held(function: Any, name: str) -> Any:
    """Return the current value of a variable."""
    plain = plain_function(function)
    assert plain is not None
    kind = "cell" if name in plain.__code__.co_freevars else "global"
    try:
        return follow(plain, ((kind, name),))
    except (LookupError, ValueError) as error:
        raise Unreadable(((kind, name),)) from error
