"""Calls: the syntax, and dispatch on the kind of callee.

Functions that are known before the call are `known_callee`'s, methods `method_call`'s.
"""

from __future__ import annotations

import ast

from srcad import errors
from srcad.frontend.branches.choices import by_case
from srcad.frontend.control.comprehensions import parts_in_order
from srcad.frontend.domain.predicates import described_value
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Choice,
    Conflict,
    FunctionValue,
    RecordValue,
)
from srcad.frontend.functions import callees
from srcad.frontend.functions.callees import call_value
from srcad.frontend.functions.inlining import callee_of_value
from srcad.frontend.library.introspection import class_of
from srcad.frontend.machine.constants import raises, spread, spread_mapping
from srcad.frontend.machine.dispatch import Args, Kwargs, applies, apply, attribute, evaluates
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import evaluate_each
from srcad.frontend.operations import outside_containers
from srcad.frontend.store import stale
from srcad.frontend.store.cells import surrounded
from srcad.ir.core import Value
from srcad.startup.identifiers import class_label


@evaluates(ast.Call)
def call(state: Machine, node: ast.Call) -> AbstractValue:
    """``callee(*args, **kwargs)``."""
    read = evaluate_each(state, parts_in_order(node))
    callee, args = read[0], list[AbstractValue]()
    for arg, box in zip(node.args, read[1:], strict=False):
        args.extend(spread(state, box, arg) if isinstance(arg, ast.Starred) else (box,))
    kwargs: dict[str, AbstractValue] = {}
    for keyword, box in zip(node.keywords, read[1 + len(node.args) :], strict=True):
        if keyword.arg is not None:
            kwargs[keyword.arg] = box
            continue
        kwargs.update(spread_mapping(state, outside_containers.as_data(state, box), keyword.value))
    with state.at(node):
        return apply(state, callee, tuple(args), kwargs)


@applies(BoundValue)
def call_bound(state: Machine, callee: BoundValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a function with its first arguments bound."""
    return apply(state, callee.function, (*callee.args, *args), {**callee.kwargs, **kwargs})


@applies(FunctionValue)
def call_local(state: Machine, callee: FunctionValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a function that the function being read has made."""
    local = callee_of_value(state, callee)
    with surrounded(state, local.around):
        return callees.called_in_place(state, local, args, kwargs)


@applies(RecordValue)
def call_instance(state: Machine, callee: RecordValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call an object of a class by its ``__call__``."""
    if not has_call(callee.cls):
        raises(state, TypeError, f"{class_label(callee.cls)!r} object is not callable")
    return apply(state, attribute(state, callee, "__call__"), args, kwargs)


@applies(Choice)
def call_either(state: Machine, callee: Choice, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a function that depends on a test."""
    return by_case(state, callee, lambda part: apply(state, part, args, kwargs))


@applies(Conflict)
def call_conflict(state: Machine, callee: Conflict, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Refuse a call of a value that differs between two paths."""
    return stale.refuse_to_hold(state, callee)


@applies(object)
def call_other(state: Machine, callee: AbstractValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Raise the error of Python for a callee that is not callable."""
    cls = class_of(callee)
    if cls is not None and not has_call(cls):
        raises(state, TypeError, f"{class_label(cls)!r} object is not callable")
    return state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot call {described_value(callee)}",
        why="it is not a function.",
        help=("call a function",),
    )


def has_call(cls: type) -> bool:
    """Return True if the objects of a class can be called."""
    return any("__call__" in vars(base) for base in cls.__mro__)


applies(Value)(call_value)
