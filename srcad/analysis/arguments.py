"""Through which arguments of a call a derivative may flow."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad import runtime
from srcad.frontend.source.definition import inert_entries
from srcad.ir import primitives
from srcad.ir.core import Arg, Call, Display, Routine
from srcad.ir.inference.probe import argument_type
from srcad.rules.registry import lookup
from srcad.rules.row import Rule
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque, TupleOf, Type

_NO_PATH = frozenset({len, primitives.shape, primitives.is_, primitives.not_, primitives.contains,
                      primitives.raise_, operator.not_, operator.is_, operator.is_not,
                      operator.contains, runtime.zeros_like, primitives.build_places,
                      primitives.keys_of, primitives.in_order})  # fmt: skip
_FIRST_ONLY = frozenset({operator.getitem, runtime.unbroadcast, runtime.like, runtime.or_zeros,
                         runtime.fitting, runtime.taken_in})  # fmt: skip


def arguments(call: Call) -> dict[int | str, Arg]:
    """The arguments of a call by place: position or keyword."""
    return {**dict(enumerate(call.args)), **dict(call.kwargs)}


def differentiable_arguments(call: Call) -> dict[int | str, Arg]:
    """The arguments through which a derivative may flow, by place; also where no rule is.

    So it may through a float of which the rule says nothing, and that is refused.  What makes
    integers of floats (``np.sum(x, dtype=int)``) is constant between its steps.
    """
    target = call.target
    if isinstance(target, Routine):
        return arguments(call)
    structural = _structural_arguments(call) if _hashable(target) else None
    if structural is not None:
        return structural
    rule = rule_of(target)
    found = arguments(call)
    if target is np.arange and len(call.args) == 1 and "stop" not in found:
        del found[0]  # the stop, which only counts
    if rule is None:
        return {k: a for k, a in found.items() if has_float(argument_type(a))}
    if rule.kind == "nondifferentiable":
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


def rule_of(target: Any) -> Rule | None:
    """The rule of a callee; None for what cannot be looked up."""
    try:
        return lookup(target)
    except TypeError:
        return None


def _hashable(target: object) -> bool:
    try:
        hash(target)
    except TypeError:
        return False
    return True


def _structural_arguments(call: Call) -> dict[int | str, Arg] | None:
    target, args = call.target, call.args
    if target in (primitives.build_tuple, primitives.build_list):
        return arguments(call)
    if target is primitives.build_dict:
        return {k: a for k, a in enumerate(args) if k >= 1}
    if target is primitives.build_record:
        return {k: a for k, a in enumerate(args) if k >= 2}
    if target in (primitives.item, primitives.field, primitives.identity, primitives.without):
        return {0: args[0]}
    if target in (primitives.append, primitives.extended):
        return arguments(call)
    if target in (primitives.replaced, primitives.inserted):
        return {0: args[0], 2: args[2]}
    if target in (primitives.updated, primitives.add_at, primitives.add_at_repeated):
        return {0: args[0], 2: args[2]}
    if target in _FIRST_ONLY:
        return {0: args[0]}
    if target is runtime.plus:
        return arguments(call)
    return {} if target in _NO_PATH else None


def is_of_integers(type_: Type) -> bool:
    """Whether a value is certainly made of integers or flags."""
    return isinstance(type_, Numeric) and type_.kind in "biu"


def _holds_floats(arg: Arg) -> bool:
    """Whether an array that is made of an argument certainly holds floats."""
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
    """Whether a value is, or may hold, something other than integers and flags."""
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
