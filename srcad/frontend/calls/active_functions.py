"""Calls of solvers with a rule that takes functions: their captured values become operands."""

from __future__ import annotations

import functools
import operator
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    FunctionValue,
    MethodValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.closures import closure_of
from srcad.frontend.operations.reified_closures import reads_active, reads_outside
from srcad.ir.core import Value
from srcad.rules.functions import (
    ActiveFunction,
    cotangents_of,
    given_cotangents_of,
    name_of_solver,
    with_captured,
)
from srcad.rules.row import Rule
from srcad.types.structures import Type

_TARGETS: dict[Any, tuple[Rule, Any]] = {}  # by rule and form of the call


def call_with_functions(
    state: Machine, rule: Rule, args: Args, kwargs: Kwargs, type_: Type | None
) -> Value | None:
    """Emit a call of a solver with function arguments; None if its rule has no entries for them."""
    given = {**dict(zip(rule.parameters, args, strict=False)), **kwargs}
    functions = [p for p, box in given.items() if p in rule.active and _is_function(box)]
    if rule.kind != "adjoint" or not rule.has_entries_of_users or not functions:
        return None
    if any(reads_outside(state, given[name]) for name in functions):
        return None  # refused as any other call
    usual = rule.active[: rule.required] == rule.parameters[: rule.required]
    if usual and not any(_is_active(state, given[name]) for name in functions):
        return None  # the rule may ask which function it has
    if rule.primal is not None:
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot differentiate this solver by its argument {functions[0]!r}",
            why="its rule has a primal of its own, which is not given functions.",
            help=("register the rule without 'primal'",),
        )
    solver = name_of_solver(rule.target)
    form = (id(rule), tuple(functions), len(args), tuple(kwargs))
    if form not in _TARGETS or _TARGETS[form][0] is not rule:
        _TARGETS[form] = rule, with_captured(rule, functions, len(args), tuple(kwargs))
    positional: list[AbstractValue] = []
    named: dict[str, AbstractValue] = {}
    for name, box in given.items():
        parts: dict[str, AbstractValue] = {name: box}
        if name in functions:
            closure, active, others = closure_of(state, box, f"{name}_of_{solver}")
            parts = {name: Constant(closure), f"{name}_values": active, f"{name}_others": others}
        if name in kwargs:
            named |= parts
        else:
            positional += parts.values()
    positional += args[len(rule.parameters) :]
    return state.emit(_TARGETS[form][1], *positional, kwargs=named, type=type_)


_FUNCTIONS = (BuiltinFunctionType, FunctionType, MethodType, functools.partial, np.ufunc)


def _is_active(state: Machine, box: AbstractValue) -> bool:
    """Return True if a function captures active values, or may where a rule is differentiated."""
    if state.stops_all:
        return bool(closure_of(state, box, "function")[1].items)
    return reads_active(state, box)


def _is_function(box: AbstractValue) -> bool:
    """Return True for a function, a method or a partial.

    An object that can be called is an operand as it is, with the cotangents of its fields.
    """
    if isinstance(box, Constant):
        return isinstance(box.value, _FUNCTIONS)
    return isinstance(box, BoundValue | FunctionValue | MethodValue)


@means(operator.call)
def called(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``operator.call(f, *args)``."""
    return apply(state, args[0], args[1:], kwargs) if args else None


@means(given_cotangents_of)
def given_cotangents(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Refuse None as the entry of a function that captures active values."""
    entry, values = args
    is_none = isinstance(entry, Constant) and entry.value is None
    if is_none and isinstance(values, TupleValue) and values.items:
        state.refuse(
            errors.RuleError,
            "the rule of a solver has no cotangent for what its function captures",
            why="it returns None for the function, which reads differentiated values.",
            help=(
                "return that of  srcad.pullback(operator.call, fun, x)",
                "or hold what it captures constant:  srcad.stop_gradient(fun)",
            ),
        )
    return apply(state, Constant(cotangents_of), args, kwargs)


@means(ActiveFunction)
def active_function(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``ActiveFunction(closure, values, others)``."""
    return RecordValue(ActiveFunction, ("closure", "values", "others"), args)
