"""Calls: decide what is called, and read it, emit it, or refuse it.

In order: what srcad itself gives a meaning (`meanings`), functions with a rule, calls through which
no derivative flows (they run as they stand), classes with known fields, the user's own functions.
"""

from __future__ import annotations

import ast
import functools
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import by_argument, by_case
from srcad.frontend.calls.coercion import as_arrays, asked_at_once, items_of_split
from srcad.frontend.control.generator_expressions import parts_in_order
from srcad.frontend.control.iteration import gone_through
from srcad.frontend.domain.predicates import described_value, is_hashable, is_nondifferentiable
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Choice,
    Conflict,
    Constant,
    FunctionValue,
    Holder,
    MethodValue,
    RecordValue,
)
from srcad.frontend.functions.callees import (
    below,
    call_value,
    closure_is_active,
    makes_functions,
    only_counts,
    partial,
    takes_functions,
)
from srcad.frontend.functions.inlining import (
    bind_parameters,
    callee_of,
    callee_of_value,
    inline,
    is_recursive,
    reading,
)
from srcad.frontend.functions.lazy_iterables import made
from srcad.frontend.functions.opaque_calls import (
    MOVING,
    call_method_of,
    changes_outside,
    handed_out,
    left_alone,
    looks_into_callers,
    may_write_arrays,
    note_hit,
    put_into_objects,
)
from srcad.frontend.functions.result_counts import type_of_several
from srcad.frontend.library import getters
from srcad.frontend.library.caches import once
from srcad.frontend.library.random_draws import draw_type, is_random
from srcad.frontend.machine.constants import raises, spread, spread_mapping
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
    applies,
    apply,
    evaluates,
    meaning_of,
    meaning_of_object,
)
from srcad.frontend.machine.folding import all_known, called, filled_in, folded, text_method
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import evaluate_each
from srcad.frontend.machine.speculation import unless_refused
from srcad.frontend.operations import outside_containers
from srcad.frontend.operations.attributes import attribute
from srcad.frontend.operations.construction import construct, is_readable
from srcad.frontend.operations.containers import is_container
from srcad.frontend.operations.special_methods import of_call
from srcad.frontend.outside.places import is_active
from srcad.frontend.source.syntax import is_generator
from srcad.frontend.store.cells import surrounded
from srcad.frontend.store.lookup import is_library, value_of_object
from srcad.frontend.store.missing_rules import refuse_without_rule
from srcad.frontend.store.parameter_names import by_name
from srcad.frontend.store.stale import refuse_to_hold
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.rules import registry
from srcad.startup.identifiers import module_of
from srcad.startup.lazy import Later
from srcad.types.structures import Opaque

if TYPE_CHECKING:
    from srcad.frontend.functions import recursion
    from srcad.frontend.library import array_writes, methods
else:
    array_writes = Later("srcad.frontend.library.array_writes")
    methods = Later("srcad.frontend.library.methods")
    recursion = Later("srcad.frontend.functions.recursion")


@evaluates(ast.Call)
def call(s: Machine, node: ast.Call) -> AbstractValue:
    """``callee(*args, **kwargs)``."""
    read = evaluate_each(s, parts_in_order(node))
    callee, args = read[0], list[AbstractValue]()
    for arg, box in zip(node.args, read[1:], strict=False):
        args.extend(spread(s, box, arg) if isinstance(arg, ast.Starred) else (box,))
    kwargs: dict[str, AbstractValue] = {}
    for keyword, box in zip(node.keywords, read[1 + len(node.args) :], strict=True):
        if keyword.arg is not None:
            kwargs[keyword.arg] = box
            continue
        kwargs.update(spread_mapping(s, outside_containers.as_data(s, box), keyword.value))
    with s.at(node):
        return apply(s, callee, tuple(args), kwargs)


@applies(BoundValue)
def call_bound(s: Machine, callee: BoundValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a function whose first arguments are given."""
    return apply(s, callee.function, (*callee.args, *args), {**callee.kwargs, **kwargs})


@applies(FunctionValue)
def call_local(s: Machine, callee: FunctionValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a function that the function being read has made."""
    local = callee_of_value(s, callee)
    with surrounded(s, local.around):
        return _inline(s, local, args, kwargs)


@applies(RecordValue)
def call_instance(s: Machine, callee: RecordValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call an object of a class by its ``__call__``."""
    return apply(s, attribute(s, callee, "__call__"), args, kwargs)


@applies(Choice)
def call_either(s: Machine, callee: Choice, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call what is one function where a test holds and another where not."""
    return by_case(s, callee, lambda part: apply(s, part, args, kwargs))


@applies(Conflict)
def call_conflict(s: Machine, callee: Conflict, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Refuse a call of what is one thing on one path and another on the other."""
    return refuse_to_hold(s, callee)


@applies(object)
def call_other(s: Machine, callee: AbstractValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Refuse a call of what is no function."""
    return s.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot call {described_value(callee)}",
        why="it is not a function.",
        help=("call a function",),
    )


applies(Value)(call_value)


def _inline(s: Machine, callee: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    if is_generator(callee.node):
        return made(s, callee, args, kwargs)
    if is_recursive(s, callee):
        bound = bind_parameters(s, callee, args, kwargs)
        found = recursion.called(s, callee, bound)
        if found is not None:
            return found
    with reading(s, callee.key, (*callee.parts, *args, *kwargs.values())):
        return inline(s, callee, args, kwargs)


@applies(Constant)
def call_known(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call an object that is known now, with things some of which may be one or the other."""
    for box in (*args, *kwargs.values()):
        if isinstance(box, Conflict) and not takes_functions(callee.value):
            refuse_to_hold(s, box)
    if callee.value is None:
        raises(s, TypeError, "'NoneType' object is not callable")
    if not takes_functions(callee.value):
        found = by_argument(s, args, kwargs, lambda *given: call_known(s, callee, *given))
        if found is not None:
            return found
    return invoke_static(s, callee, args, kwargs)


def invoke_static(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call an object that is known now."""
    function = callee.value
    result = of_call(s, function, args)
    args = gone_through(s, function, args) if result is None else args
    args, kwargs = by_name(function, args, kwargs)
    result = _of_holder(s, callee, args, kwargs) if result is None else result
    special = meaning_of(function)
    if result is None:
        result = special(s, args, kwargs) if special else getters.called(s, callee, args, kwargs)
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
    if registry.is_static(function) and all_known(args, kwargs):
        return s.box(Const(called(function, args, kwargs)))
    if isinstance(function, type) and issubclass(function, BaseException):
        return s.emit(function, *args, kwargs=kwargs, effect=True, type=Opaque(function))
    rule = registry.lookup(function) if is_hashable(function) else None
    if rule is not None:
        return _ruled(s, function, args, kwargs)
    return _without_rule(s, callee, args, kwargs)


def _of_holder(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """A call that writes into what it is given, or a method of a known text.

    ``out=``, ``np.add.at``, ``list.append(items, v)``.
    """
    function = callee.value
    if args and getattr(function, "__objclass__", None) in (list, dict) and is_container(args[0]):
        return invoke_method(s, args[0], function.__name__, args[1:], kwargs)
    if "out" in kwargs or (isinstance(function, np.ufunc) and len(args) > function.nin):
        return array_writes.into(s, callee, args, kwargs)
    holder = getattr(function, "__self__", None)
    if isinstance(holder, str):
        given = holder, function.__name__, args, kwargs
        return text_method(*given) or filled_in(s, *given)
    if isinstance(holder, np.ufunc) and function.__name__ == "at":
        return array_writes.at(s, holder, args)
    if is_random(function) and function.__name__ == "shuffle" and holder is not None:
        return array_writes.shuffle(s, Constant(holder), args, kwargs)
    return None


def _made(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """An object of a class; None where only the plain call can make it."""
    if not is_readable(callee.value):
        return None

    def make() -> AbstractValue:
        return construct(s, callee.value, callee.path, args, kwargs)

    made = unless_refused(s, make)
    if isinstance(made, errors.SrcadError):
        if s.is_active(*args, *kwargs.values()):
            raise made
        return None
    return made


def _wrapped(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call what holds another function: a partial, a bound method, a cache."""
    function, path = callee.value, callee.path
    if isinstance(function, functools.partial):
        return partial(s, callee, args, kwargs)
    if isinstance(function, types.MethodType):
        receiver = value_of_object(s, function.__self__, below(path, ("attr", "__self__")))
        inner = value_of_object(s, function.__func__, below(path, ("attr", "__func__")))
        return apply(s, inner, (receiver, *args), kwargs)
    if not s.is_active(*args, *kwargs.values()):
        return opaque_call(s, Constant(function), args, kwargs)  # what it kept of an earlier call
    inner = Constant(function.__wrapped__, below(path, ("attr", "__wrapped__")))
    return invoke_static(s, Constant(once), (inner, *args), kwargs)


def _ruled(s: Machine, function: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    if is_nondifferentiable(function) and all_known(args, kwargs):
        try:
            constant = folded(s, function, args, kwargs)
        except Exception:
            constant = None  # it fails at run time, as in the plain call
        if constant is not None:
            return constant
    put_into_objects(s, function, args, kwargs.get("dtype", args[-1]) if args else Constant(None))
    args, kwargs = as_arrays(s, function, args, kwargs)
    type_ = type_of_several(s, function, args, kwargs)
    result = s.box(s.emit(function, *args, kwargs=kwargs, type=type_))
    return items_of_split(s, function, args, result) if s.facts.items_known else result


def _without_rule(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    function = callee.value
    python, given = isinstance(function, types.FunctionType), (*args, *kwargs.values())
    active = s.is_active(*given) or closure_is_active(s, args, kwargs)
    if s.frame.trusted and python and not is_library(function):
        return _inline(s, callee_of(s, function, callee.path), args, kwargs)
    dunder_call = call_method_of(function)
    writes = dunder_call and (
        may_write_arrays(dunder_call, given) or changes_outside(s, dunder_call, (callee, *given))
    )
    left = not python or is_library(function)
    left = left or not (makes_functions(function) or looks_into_callers(function))
    if not active and left and not writes:
        return _inactive(s, callee, args, kwargs)
    if python and not is_library(function):
        return _inline(s, callee_of(s, function, callee.path), args, kwargs)
    if dunder_call is not None:
        path = below(callee.path, ("attr", "__call__"), ("attr", "__func__"))
        if path is not None:
            s.guard(path, "code", dunder_call)
        return _inline(s, callee_of(s, dunder_call, path), (callee, *args), kwargs)
    return missing_rule(s, function, args, kwargs)


def _inactive(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """A call through which no derivative flows; a function that may write is read nevertheless.

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
    found = unless_refused(s, lambda: _inline(s, callee_of(s, function, callee.path), args, kwargs))
    if not isinstance(found, errors.SrcadError):
        return found
    if local or written or (outside and is_active(s)):
        raise found
    note_hit(s, found)
    return opaque_call(s, callee, args, kwargs)


def opaque_call(s: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """A call through which no derivative flows: it runs as it stands."""
    found = by_argument(s, args, kwargs, lambda *given: opaque_call(s, callee, *given))
    if found is not None:
        return found
    function = callee.value
    left_alone(s, function, (*args, *kwargs.values()))
    module = module_of(function).partition(".")[0]
    pure = module in ("numpy", "math", "_operator", "builtins") and not is_random(function)
    pure = pure and not (is_hashable(function) and function in MOVING)
    if isinstance(function, types.FunctionType) and not function.__closure__:
        s.guard(callee.path, "is", function)
    elif callee.path is not None and not isinstance(function, type):
        callee_value = s.constant(callee)
        if isinstance(callee_value, Value):
            return s.box(s.emit(primitives.apply, callee_value, *args, kwargs=kwargs, effect=True))
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


def missing_rule(s: Machine, function: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Refuse a function without a rule that carries a derivative."""
    if only_counts(s, args, kwargs):
        return opaque_call(s, Constant(function), args, kwargs)
    return refuse_without_rule(s, function, args, kwargs)


# ---------------------------------------------------------------------- methods
@applies(MethodValue)
def call_method(s: Machine, method: MethodValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call ``receiver.name(...)``, whose receiver may be one thing or the other."""
    receiver, name = method.receiver, method.name
    if isinstance(receiver, Choice):
        return by_case(s, receiver, lambda part: apply(s, MethodValue(part, name), args, kwargs))
    found = None
    if isinstance(receiver, Value | Constant):
        found = by_argument(s, args, kwargs, lambda *given: apply(s, method, *given))
    return invoke_method(s, receiver, name, args, kwargs) if found is None else found


def invoke_method(
    s: Machine, receiver: AbstractValue, name: str, args: Args, kwargs: Kwargs
) -> AbstractValue:
    """Call ``receiver.name(...)``."""
    if isinstance(receiver, BoundValue) and name == "__property__":
        return apply(s, receiver, (), {})
    if isinstance(receiver, FunctionValue | BoundValue):
        inner = attribute(s, receiver.function, name) if isinstance(receiver, BoundValue) else None
        if inner is not None:
            return apply(s, inner, args, kwargs)
    if isinstance(receiver, Holder):
        return outside_containers.called(s, receiver, name, args, kwargs)
    found = methods.called(s, receiver, name, args, kwargs)
    if found is not None:
        return found
    if name == "shuffle" and args:
        return array_writes.shuffle(s, receiver, args, kwargs)
    if isinstance(receiver, Value | Constant) and not s.is_active(
        receiver, *args, *kwargs.values()
    ):
        if isinstance(receiver, Value) and isinstance(receiver.type, Opaque):
            handed_out(s, receiver.type.cls, (*args, *kwargs.values()))
        holder = s.atom(receiver)
        method = s.emit(primitives.field, holder, Const(name), type=Opaque())
        type_ = draw_type(s, receiver, name, args, kwargs)
        return s.box(
            s.emit(primitives.apply, method, *args, kwargs=kwargs, effect=True, type=type_)
        )
    if isinstance(receiver, Value | Constant) and only_counts(s, (receiver, *args), kwargs):
        method = s.emit(primitives.field, s.atom(receiver), Const(name), type=Opaque())
        return s.box(s.emit(primitives.apply, method, *args, kwargs=kwargs, effect=True))
    return s.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot call the method {name!r} of {described_value(receiver)}",
        why="srcad has no rule for it.",
        help=("use the NumPy function instead",),
    )
