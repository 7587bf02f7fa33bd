"""Calls of functions without a rule: they are read, or run as they stand, or are refused."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import by_argument
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.functions.callees import (
    below,
    closure_is_active,
    makes_functions,
    only_counts,
)
from srcad.frontend.functions.inlining import (
    callee_of,
)
from srcad.frontend.functions.opaque_calls import (
    MOVING,
    call_method_of,
    changes_outside,
    handed_out,
    left_alone,
    looks_into_callers,
    may_write_arrays,
    note_hit,
)
from srcad.frontend.functions.user_call import called_in_place
from srcad.frontend.library.random_draws import draw_type, is_random
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.speculation import unless_refused
from srcad.frontend.outside.places import is_active
from srcad.frontend.store import missing_rules
from srcad.frontend.store.lookup import is_library
from srcad.ir.core import Value
from srcad.startup.identifiers import module_of
from srcad.types.structures import Opaque


def call_without_rule(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a function that has neither a rule nor a meaning of its own."""
    function = callee.value
    python, given = isinstance(function, types.FunctionType), (*args, *kwargs.values())
    active = s.is_active(*given) or closure_is_active(s, args, kwargs)
    if s.frame.trusted and python and not is_library(function):
        return called_in_place(s, callee_of(s, function, callee.path), args, kwargs)
    dunder_call = call_method_of(function)
    writes = dunder_call and (
        may_write_arrays(dunder_call, given) or changes_outside(s, dunder_call, (callee, *given))
    )
    left = not python or is_library(function)
    left = left or not (makes_functions(function) or looks_into_callers(function))
    if not active and left and not writes:
        return _inactive(s, callee, args, kwargs)
    if python and not is_library(function):
        return called_in_place(s, callee_of(s, function, callee.path), args, kwargs)
    if dunder_call is not None:
        path = below(callee.path, ("attr", "__call__"), ("attr", "__func__"))
        if path is not None:
            s.guard(path, "code", dunder_call)
        return called_in_place(s, callee_of(s, dunder_call, path), (callee, *args), kwargs)
    return call_active_without_rule(s, function, args, kwargs)


def _inactive(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Return a call through which no derivative flows.

    A function that may write is read nevertheless.

    So is every one if, left alone, some of them returned what could not be used.
    """
    function, given = callee.value, (*args, *kwargs.values())
    objects = [p for box in given for p in mutable_parts(box)]
    local = [p for p in objects if not isinstance(p, Value) and p.source is None]  # type: ignore[union-attr]
    if is_library(function) or not isinstance(function, types.FunctionType):
        return opaque_call(s, callee, args, kwargs)
    written, outside = may_write_arrays(function, given), changes_outside(s, function, given)
    if not objects and not written and not outside and not s.inactive.are_read:
        s.inactive.left = True
        return opaque_call(s, callee, args, kwargs)
    s.inactive.hit = None
    found = unless_refused(
        s, lambda: called_in_place(s, callee_of(s, function, callee.path), args, kwargs)
    )
    if not isinstance(found, errors.SrcadError):
        return found
    if local or written or (outside and is_active(s)):
        raise found
    note_hit(s, found)
    return opaque_call(s, callee, args, kwargs)


def opaque_call(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Return a call through which no derivative flows: it runs as it stands."""
    found = by_argument(s, args, kwargs, lambda *given: opaque_call(s, callee, *given))
    if found is not None:
        return found
    function = callee.value
    left_alone(s, function, (*args, *kwargs.values()))
    module = module_of(function).partition(".")[0]
    pure = module in ("numpy", "math", "cmath", "_operator", "builtins") and not is_random(function)
    pure = pure and not (is_hashable(function) and function in MOVING)
    if isinstance(function, types.FunctionType) and not function.__closure__:
        s.guard(callee.path, "is", function)
    elif callee.path is not None and not isinstance(function, type):
        callee_value = s.constant(callee)
        if isinstance(callee_value, Value):
            return s.box(s.apply(callee_value, *args, kwargs=kwargs, effect=True))
    type_ = None
    if is_random(function):
        holder = Constant(getattr(function, "__self__", None))
        made = function.__name__ == "default_rng"
        type_ = (Opaque(np.random.Generator) if made
                 else draw_type(s, holder, function.__name__, args, kwargs))  # fmt: skip
    elif isinstance(function, type) and (not pure or function is types.MappingProxyType):
        handed_out(s, function, (*args, *kwargs.values()))
        type_ = Opaque(function)
    result = s.emit(function, *args, kwargs=kwargs, effect=not pure, type=type_)
    if is_library(function):
        s.inactive.unknown.discard(result)
    return s.box(result)


def call_active_without_rule(
    s: Machine, function: Any, args: Args, kwargs: Kwargs
) -> AbstractValue:
    """Refuse a function without a rule that carries a derivative."""
    if only_counts(s, args, kwargs):
        return opaque_call(s, Constant(function), args, kwargs)
    return missing_rules.refuse_without_rule(s, function, args, kwargs)
