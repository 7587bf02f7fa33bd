"""Calls whose rule says nothing of an argument, or that have no rule."""

from __future__ import annotations

import inspect
from typing import Any

from srcad.analysis.arguments import (
    arguments,
    differentiable_arguments,
    has_float,
    is_of_integers,
)
from srcad.errors import MissingRuleError, NotDifferentiableError, UnsupportedTypeError
from srcad.identifiers import dotted
from srcad.ir.core import Arg, Call, Const
from srcad.ir.standins import argument_type
from srcad.ir.text import target_name
from srcad.rules.registry import NoPartial, Rule, qualified_name
from srcad.rules.stubs import stub
from srcad.transforms.cotangents import Scope


def refuse_what_is_missing(scope: Scope, op: Call, rule: Rule) -> None:
    """A rule says of every argument of a call what it is."""
    _refuse_unknown_arguments(op, rule)
    _refuse_missing_entries(scope, op, rule)
    _refuse_perhaps_steps(scope, op, rule)


def _refuse_unknown_arguments(op: Call, rule: Rule) -> None:
    for name, arg in op.kwargs:
        known = name in rule.parameters or name in rule.keywords
        if not known and not _is_default(op.target, name, arg):
            raise MissingRuleError(
                f"the rule of {qualified_name(op.target)} says nothing of the keyword {name!r}",
                where=op.where,
                help=("leave the keyword out, or write a rule that has it:  @srcad.rules.adjoint",),
            )
    if len(op.args) > len(rule.parameters) and not rule.has_rest:
        raise MissingRuleError(
            f"the rule of {qualified_name(op.target)} says nothing of argument {len(op.args)}",
            where=op.where,
            help=("leave the argument out, or write a rule that has it:  @srcad.rules.adjoint",),
        )


def _is_default(target: Any, name: str, arg: Arg) -> bool:
    """Whether an argument asks for nothing: None, or what the parameter is without it."""
    if not isinstance(arg, Const):
        return False
    try:
        default = inspect.signature(target).parameters[name].default
    except (TypeError, ValueError, KeyError):
        default = None
    return arg.value is None or (type(arg.value) is type(default) and arg.value == default)


def _refuse_missing_entries(scope: Scope, op: Call, rule: Rule) -> None:
    """A rule says of every argument that a derivative may flow through what it is."""
    for place, arg in arguments(op).items():
        if rule.entry(place) is not None or scope.sweep.facts.of(arg) is False:
            continue
        if has_float(argument_type(arg)):
            name = repr(place) if isinstance(place, str) else f"{place + 1}"
            raise MissingRuleError(
                f"the rule of {qualified_name(op.target)} has no derivative for argument {name}",
                where=op.where,
                why="it depends on a differentiated argument.",
                help=(
                    "treat it as a constant:  srcad.stop_gradient(...)",
                    "or write a rule that has it:  @srcad.rules.adjoint(..., override=True)",
                ),
            )


def _refuse_perhaps_steps(scope: Scope, op: Call, rule: Rule) -> None:
    """``np.sum(x, dtype=int)`` is linear in integers and constant between steps in floats."""
    if not rule.shipped or not is_of_integers(op.result.type):
        return
    for arg in differentiable_arguments(op).values():
        if scope.sweep.facts.of(arg) is not False and has_float(argument_type(arg)):
            raise UnsupportedTypeError(
                f"{qualified_name(op.target)} makes integers of what may be floats or integers",
                where=op.where,
                why="floats are cut off there, and integers are not: the derivatives differ.",
                help=("convert the argument first, with float(x) or x.astype(float)",),
            )


def refuse_no_partial(op: Call, place: int | str, partial: Any) -> None:
    """A partial that no formula is known for is an error where it is needed."""
    marker = partial.value if isinstance(partial, Const) else partial
    if isinstance(marker, NoPartial):
        raise NotDifferentiableError(
            f"{qualified_name(op.target)} is not differentiable wrt argument {place}",
            where=op.where,
            why=marker.reason or "no formula is known for this partial derivative.",
            help=("treat the argument as a constant:  srcad.stop_gradient(...)",),
        )


def missing_rule(scope: Scope, op: Call) -> MissingRuleError:
    """The error for an active call to a function that has neither a rule nor a source."""
    name = qualified_name(op.target)
    active = [a for a in op.operands if scope.sweep.facts.active(a) is not False]
    through = next((a.hint for a in active if a.hint), None)
    function = op.where.function if op.where else ""
    depends = f" through {through!r}" if through else ""
    result = f"{op.result.hint!r}" if op.result.hint else "its result"
    short = target_name(op.target)
    given = arguments(op).items()
    quantities = [place for place, arg in given if not is_of_integers(argument_type(arg))]
    constant = f"or treat it as a constant:  srcad.stop_gradient({dotted(short)}(...))"
    own = (
        ()
        if isinstance(op.target, type)
        else (
            "write one, with a cotangent in the place of each '...':\n"
            + stub(op.target, len(op.args), [key for key, _ in op.kwargs], quantities),
        )
    )
    return MissingRuleError(
        f"no derivative rule for {name}" + (f", called in {function!r}" if function else ""),
        where=op.where,
        why=f"{result} depends on a differentiated argument{depends}.",
        help=(*own, constant) if own else constant.removeprefix("or "),
    )
