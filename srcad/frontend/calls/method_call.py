"""Calls of ``receiver.name(...)``."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import by_argument, by_case
from srcad.frontend.domain.predicates import described_value
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Choice,
    Constant,
    FunctionValue,
    Holder,
    MethodValue,
)
from srcad.frontend.functions import calls_on_copies
from srcad.frontend.functions.callees import only_counts
from srcad.frontend.functions.opaque_calls import refuse_untracked_alias
from srcad.frontend.library import array_writes, methods
from srcad.frontend.library.random_draws import draw, draw_type
from srcad.frontend.machine.dispatch import Args, Kwargs, applies, apply, attribute
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import outside_containers
from srcad.ir.core import Value
from srcad.types.structures import Opaque


# ---------------------------------------------------------------------- methods
@applies(MethodValue)
def call_method(state: Machine, method: MethodValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call ``receiver.name(...)``; the receiver may be a choice of two."""
    receiver, name = method.receiver, method.name
    if isinstance(receiver, Choice):
        return by_case(
            state, receiver, lambda part: apply(state, MethodValue(part, name), args, kwargs)
        )
    found = None
    if isinstance(receiver, Value | Constant):
        found = by_argument(state, args, kwargs, lambda *given: apply(state, method, *given))
    return invoke_method(state, receiver, name, args, kwargs) if found is None else found


def invoke_method(
    state: Machine, receiver: AbstractValue, name: str, args: Args, kwargs: Kwargs
) -> AbstractValue:
    if isinstance(receiver, BoundValue) and name == "__property__":
        return apply(state, receiver, (), {})
    if isinstance(receiver, FunctionValue | BoundValue):
        inner = (
            attribute(state, receiver.function, name) if isinstance(receiver, BoundValue) else None
        )
        if isinstance(inner, Constant) and hasattr(type(inner.value), "__srcad_of__"):
            _refuse_derivative_of_method(state, name)
        if inner is not None:
            return apply(state, inner, args, kwargs)
    if isinstance(receiver, Holder):
        return outside_containers.call_method(state, receiver, name, args, kwargs)
    found = methods.read_method(state, receiver, name, args, kwargs)
    if found is not None:
        return found
    if name == "shuffle" and args:
        return array_writes.shuffle(state, receiver, args, kwargs)
    if isinstance(receiver, Value | Constant):
        found = _as_it_stands(state, receiver, name, args, kwargs)
    return _unknown(state, receiver, name, args, kwargs) if found is None else found


def _refuse_derivative_of_method(state: Machine, name: str) -> NoReturn:
    """Refuse ``spring.energy.grad(x)`` of an object that is made or differentiated here."""
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot read the attribute {name!r} of a method of this object",
        why="the object is made here, or differentiated by.",
        help=(f"make the derivative here:  srcad.{name}(self.method)(x)",),
    )


def _unknown(
    state: Machine, receiver: AbstractValue, name: str, args: Args, kwargs: Kwargs
) -> AbstractValue:
    """Emit a method call on copies, or refuse a method without a meaning."""

    def refuse() -> NoReturn:
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot call the method {name!r} of {described_value(receiver)}",
            why="srcad has no rule for it.",
            help=("use the NumPy function instead",),
        )

    if isinstance(receiver, Value) and hasattr(np.ndarray, name):
        return calls_on_copies.call_method_on_copies(state, receiver, name, args, kwargs, refuse)
    return refuse()


def _as_it_stands(
    state: Machine, receiver: Value | Constant, name: str, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Return the call of a method that is not read, if srcad knows its derivative, or has none."""
    if not state.is_active(receiver, *args, *kwargs.values()):
        if isinstance(receiver, Value) and isinstance(receiver.type, Opaque):
            refuse_untracked_alias(state, receiver.type.cls, (*args, *kwargs.values()))
        holder = state.atom(receiver)
        method = state.field(holder, name, type=Opaque())
        type_ = draw_type(state, receiver, name, args, kwargs)
        made = state.apply(method, *args, kwargs=kwargs, effect=True, type=type_, hint=name)
        return state.box(made)
    if only_counts(state, (receiver, *args), kwargs):
        method = state.field(state.atom(receiver), name, type=Opaque())
        return state.box(state.apply(method, *args, kwargs=kwargs, effect=True))
    return draw(state, receiver, name, args, kwargs)
