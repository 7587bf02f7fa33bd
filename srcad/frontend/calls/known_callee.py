"""Calls of constants: functions with handlers, rules, classes, wrappers."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import by_argument
from srcad.frontend.calls import method_call, without_rule
from srcad.frontend.calls.coercion import as_arrays, asked_at_once, items_of_split
from srcad.frontend.control.iteration import gone_through
from srcad.frontend.domain.predicates import is_hashable, is_nondifferentiable
from srcad.frontend.domain.values import AbstractValue, Conflict, Constant
from srcad.frontend.functions.callees import (
    below,
    partial,
    takes_functions,
)
from srcad.frontend.functions.opaque_calls import (
    put_into_objects,
)
from srcad.frontend.functions.result_counts import type_of_several
from srcad.frontend.library import array_writes, caches, getters, random_draws
from srcad.frontend.machine import folding, speculation
from srcad.frontend.machine.constants import pinned, raises
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
    applies,
    apply,
    meaning_of,
    meaning_of_object,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import construction, containers
from srcad.frontend.operations.special_methods import of_call
from srcad.frontend.store import stale
from srcad.frontend.store.lookup import value_of_object
from srcad.frontend.store.parameter_names import by_name
from srcad.ir.core import Const
from srcad.rules import registry
from srcad.rules.row import Rule
from srcad.startup.identifiers import class_label, label
from srcad.types.reading import looked_up
from srcad.types.structures import OPAQUE, Opaque, TupleOf


@applies(Constant)
def call_known(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a constant; arguments may be choices."""
    for box in (*args, *kwargs.values()):
        if isinstance(box, Conflict) and not takes_functions(callee.value):
            stale.refuse_to_hold(s, box)
    if not takes_functions(callee.value):
        found = by_argument(s, args, kwargs, lambda *given: call_known(s, callee, *given))
        if found is not None:
            return found
    return invoke_static(s, callee, args, kwargs)


def invoke_static(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call an object that is known at compile time."""
    function = callee.value
    result = of_call(s, function, args)
    args = gone_through(s, function, args) if result is None else args
    args, kwargs = by_name(function, args, kwargs)
    result = _of_holder(s, callee, args, kwargs) if result is None else result
    special = meaning_of(function)
    if result is None:
        result = (
            special(s, args, kwargs) if special else getters.call_getter(s, callee, args, kwargs)
        )
    if result is not None:
        return result
    args = asked_at_once(s, function, args)
    if isinstance(function, functools.partial | types.MethodType | functools._lru_cache_wrapper):
        return _wrapped(s, callee, args, kwargs)
    made = meaning_of_object(s, callee, args, kwargs)
    if made is not None:
        return made
    instance = _made(s, callee, args, kwargs) if isinstance(function, type) else None
    if instance is not None:
        return instance
    if registry.is_static(function) and folding.all_known(args, kwargs):
        return s.box(Const(folding.result_of(function, args, kwargs)))
    if isinstance(function, type) and issubclass(function, BaseException):
        return s.emit(function, *args, kwargs=kwargs, effect=True, type=Opaque(function))
    if callee.atom is None and not callable(function):
        pinned(s, callee)
        raises(s, TypeError, f"{class_label(type(function))!r} object is not callable")
    rule = registry.lookup(function) if is_hashable(function) else None
    if rule is not None:
        return _ruled(s, function, rule, args, kwargs)
    return without_rule.call_without_rule(s, callee, args, kwargs)


def _of_holder(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return a call that writes into its arguments, or a method of a constant string.

    ``out=``, ``np.add.at``, ``list.append(items, v)``.
    """
    function = callee.value
    if (
        args
        and looked_up(function, "__objclass__") in (list, dict)
        and containers.is_container(args[0])
    ):
        return method_call.invoke_method(s, args[0], function.__name__, args[1:], kwargs)
    if "out" in kwargs or (isinstance(function, np.ufunc) and len(args) > function.nin):
        return array_writes.into(s, callee, args, kwargs)
    holder = looked_up(function, "__self__")
    if isinstance(holder, str):
        given = holder, function.__name__, args, kwargs
        return folding.text_method(*given) or folding.filled_in(s, *given)
    if isinstance(holder, np.ufunc) and function.__name__ == "at":
        return array_writes.at(s, holder, args)
    if random_draws.is_random(function) and function.__name__ == "shuffle" and holder is not None:
        return array_writes.shuffle(s, Constant(holder), args, kwargs)
    return None


def _made(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return an object of a class; None where only the original call can make it."""
    if not construction.is_readable(callee.value):
        return None

    def make() -> AbstractValue:
        return construction.construct(s, callee.value, callee.path, args, kwargs)

    made = speculation.unless_refused(s, make)
    if isinstance(made, errors.SrcadError):
        if s.is_active(*args, *kwargs.values()):
            raise made
        return None
    return made


def _wrapped(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a wrapper of another function: a partial, a bound method, a cache."""
    function, path = callee.value, callee.path
    if isinstance(function, functools.partial):
        return partial(s, callee, args, kwargs)
    if isinstance(function, types.MethodType):
        receiver = value_of_object(s, function.__self__, below(path, ("attr", "__self__")))
        inner = value_of_object(s, function.__func__, below(path, ("attr", "__func__")))
        return apply(s, inner, (receiver, *args), kwargs)
    if not s.is_active(*args, *kwargs.values()):
        return without_rule.opaque_call(
            s, Constant(function), args, kwargs
        )  # what it kept of an earlier call
    inner = Constant(function.__wrapped__, below(path, ("attr", "__wrapped__")))
    return invoke_static(s, Constant(caches.once), (inner, *args), kwargs)


def _ruled(s: Machine, function: Any, rule: Rule, args: Args, kwargs: Kwargs) -> AbstractValue:
    if is_nondifferentiable(function) and folding.all_known(args, kwargs):
        try:
            constant = folding.folded(s, function, args, kwargs)
        except Exception:  # a function of a library may raise anything
            constant = None  # it fails at run time, as in the plain call
        if constant is not None:
            return constant
    put_into_objects(s, function, args, kwargs.get("dtype", args[-1]) if args else Constant(None))
    args, kwargs = as_arrays(s, function, args, kwargs)
    type_ = type_of_several(s, function, args, kwargs)
    if rule.primal is not None and s.is_active(*args, *kwargs.values()):
        pair = TupleOf((type_ or OPAQUE, OPAQUE))
        made = s.emit(rule.primal, *args, kwargs=kwargs, type=pair)
        return s.box(s.item(made, 0, hint=label(function)))
    result = s.box(s.emit(function, *args, kwargs=kwargs, type=type_))
    return items_of_split(s, function, args, result) if s.environment.items_known else result
