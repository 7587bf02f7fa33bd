"""Resolve `wrt` in a call of a gradient inside a function that is read."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from types import FunctionType

from srcad.arguments.request import Parameter, Request, outward_of, parameters_of
from srcad.arguments.wrt import POSITIONAL, VARIADIC, Seeker
from srcad.errors import WrtError
from srcad.frontend.domain.values import AbstractValue, BoundValue, Constant, FunctionValue
from srcad.frontend.machine.machine import Machine
from srcad.startup.identifiers import printable, shown

Key = int | str
_ANY = (Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD))


def differentiated_arguments(
    state: Machine, request: Request, function: AbstractValue, count: int, keywords: Collection[str]
) -> list[Key]:
    """Return the arguments of a call that are differentiated by: positions or keywords."""
    if request.wrt is None:
        return list(range(count))
    own, outward = _parameters(state, function) or (_ANY, ())
    fixed = sum(p.kind in POSITIONAL for p in own)
    given: dict[str, Collection[Key]] = {
        p.name: range(count - fixed) if p.kind is Parameter.VAR_POSITIONAL else keywords
        for p in own
        if p.kind in VARIADIC
    }
    seeker = Seeker(name_of_box(function), own, outward or own, given)
    return [_key(state, seeker, entry, count, keywords) for entry in request.wrt]


def _key(
    state: Machine, seeker: Seeker, entry: int | str, count: int, keywords: Collection[str]
) -> Key:
    if isinstance(entry, str) and entry in keywords:
        return entry
    try:
        place = seeker.place(entry)
    except WrtError as error:
        state.refuse(WrtError, error.sentence, why=error.why or "", help=error.help)
    assert place is not None
    if place.steps:
        state.refuse(
            WrtError,
            f"cannot differentiate by the part {shown(entry)} here",
            why="of an inner gradient only whole arguments are read.",
            help=("differentiate by the whole, and take a part of the gradient",),
        )
    if isinstance(place.item, str):
        return place.item
    if place.item is not None:
        return place.parameter + place.item
    parameter = seeker.parameters[place.parameter]
    if parameter.name in keywords:
        return parameter.name
    if place.parameter < count and parameter.kind in POSITIONAL:
        return place.parameter
    return state.refuse(
        WrtError,
        f"wrt={shown(entry)} is no argument of this call",
        why="a default, or *args as a whole, is no argument of the call.",
        help=("pass the argument in the call",),
    )


Pair = tuple[Sequence[Parameter], Sequence[Parameter]]


def _parameters(state: Machine, function: AbstractValue) -> Pair | None:
    """Return the parameters of a function and those that it shows.

    None where they are not known.
    """
    match function:
        case FunctionValue(node=node):
            return _of_definition(node.args), ()
        case BoundValue(function=Constant(value=Request()), args=given):
            return _parameters(state, given[0])
        case BoundValue(function=inner, args=given, kwargs=named):
            found = _parameters(state, inner)
            if found is None:
                return None
            return _without(found[0], len(given), named), _without(found[1], len(given), named)
        case Constant(value=value):
            parameters = parameters_of(value)
            if parameters is None:
                return None
            outward = outward_of(value, parameters)
            shows = outward and function.path is not None
            wrapped = getattr(value, "__wrapped__", None) if shows else None
            if function.path is not None and isinstance(wrapped, FunctionType):
                state.guard((*function.path, ("attr", "__wrapped__")), "code", wrapped)
            return parameters, outward
        case _:
            return None


def _of_definition(a: ast.arguments) -> list[Parameter]:
    kinds = (
        (a.posonlyargs, Parameter.POSITIONAL_ONLY),
        (a.args, Parameter.POSITIONAL_OR_KEYWORD),
        ([a.vararg] if a.vararg else [], Parameter.VAR_POSITIONAL),
        (a.kwonlyargs, Parameter.KEYWORD_ONLY),
        ([a.kwarg] if a.kwarg else [], Parameter.VAR_KEYWORD),
    )
    return [Parameter(p.arg, kind) for parts, kind in kinds for p in parts]


def _without(
    parameters: Sequence[Parameter], count: int, named: Collection[str]
) -> list[Parameter]:
    """Return the parameters that are left when some arguments are bound."""
    fixed = sum(p.kind in POSITIONAL for p in parameters)
    return [p for p in parameters[min(count, fixed) :] if p.name not in named]


def name_of_box(function: AbstractValue) -> str:
    match function:
        case FunctionValue():
            return function.name
        case Constant(value=value):
            return printable(getattr(value, "__name__", "f"))
        case BoundValue(function=Constant(value=Request()), args=given):
            return name_of_box(given[0])
        case BoundValue(function=inner):
            return name_of_box(inner)
        case _:
            return "f"
