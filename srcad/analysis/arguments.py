"""Through which arguments of a call a derivative may flow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from srcad.frontend.source.definition import inert_entries
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Call, Display, Routine
from srcad.ir.operations import operation_of
from srcad.ir.traits import law_of_operator
from srcad.rules.registry import lookup
from srcad.rules.row import Rule
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque, TupleOf, Type


def arguments(call: Call) -> dict[int | str, Arg]:
    """Return the arguments of a call by place: position or keyword."""
    return {**dict(enumerate(call.args)), **dict(call.kwargs)}


def differentiable_arguments(call: Call) -> dict[int | str, Arg]:
    """Return the arguments through which a derivative may flow, by place; also where no rule is.

    So it may through a float of which the rule says nothing, and that is refused.  What makes
    integers of floats (``np.sum(x, dtype=int)``) is constant between its steps.
    """
    target = call.target
    if isinstance(target, Routine):
        return arguments(call)
    structural = _structural_arguments(call)
    if structural is not None:
        return structural
    rule = rule_of(target)
    found = arguments(call)
    if target is np.arange and len(call.args) == 1 and "stop" not in found:
        del found[0]  # the stop, which only counts
    if law_of_operator(target) == "product" and len(call.args) == 2:
        found = {k: a for k, a in found.items() if not _only_counts(a, call.args[1 - int(k)])}
    if rule is None:
        return {k: a for k, a in found.items() if has_float(argument_type(a))}
    if rule.kind == "nondifferentiable" or (rule.steps and not _has_complex(found.values())):
        return {}
    inert = inert_entries(rule.function) if rule.function is not None else frozenset()
    entries = {place: rule.entry(place) for place in found}
    flows = {
        k: found[k]
        for k, entry in entries.items()
        if (has_float(argument_type(found[k])) if entry is None else entry[0] not in inert)
    }
    if rule.shipped and is_of_integers(call.result.type):
        return {k: a for k, a in flows.items() if not _holds_floats(a)}
    return flows


def _only_counts(arg: Arg, other: Arg) -> bool:
    """Return True if an operand of a product says how often a list is repeated."""
    number, items = argument_type(arg), argument_type(other)
    of_list = isinstance(items, ListOf) or (isinstance(other, Display) and other.kind == "list")
    return of_list and isinstance(number, Numeric) and number.is_python and number.kind == "i"


def _has_complex(args: Iterable[Arg]) -> bool:
    """Return True if one of some arguments is made of complex numbers, on some path."""
    types = map(argument_type, args)
    return any(isinstance(type_, Numeric) and type_.has_complex for type_ in types)


def rule_of(target: Any) -> Rule | None:
    """Return the rule of a callee; None for an unhashable one."""
    try:
        return lookup(target)
    except TypeError:
        return None


def _structural_arguments(call: Call) -> dict[int | str, Arg] | None:
    """Return the differentiable arguments of an operation, if its row lists them; else None."""
    row = operation_of(call.target)
    if row is None or row.flows is None:
        return None
    count = len(call.args)
    flows = range(count)[row.flows] if isinstance(row.flows, slice) else row.flows
    return {k: call.args[k] for k in flows}


def is_of_integers(type_: Type) -> bool:
    """Return True if a value is certainly made of integers or flags."""
    return isinstance(type_, Numeric) and type_.kind in "biu"


def _holds_floats(arg: Arg) -> bool:
    """Return True if an array that is made of an argument certainly holds floats."""
    if isinstance(arg, Display):
        return any(map(_holds_floats, arg.items))
    return _is_of_floats(argument_type(arg))


def _is_of_floats(type_: Type) -> bool:
    match type_:
        case Numeric():
            return type_.kind in "fc"
        case TupleOf(items):
            return any(map(_is_of_floats, items))
        case ListOf(item):
            return _is_of_floats(item)
    return False


def has_float(type_: Type) -> bool:
    """Return True if a value is, or may hold, something other than integers and flags."""
    match type_:
        case Numeric():
            return type_.kind not in "biu"
        case TupleOf(items):
            return any(has_float(t) for t in items)
        case ListOf(item):
            return has_float(item)
        case Opaque(cls):
            return cls is None
    return False
