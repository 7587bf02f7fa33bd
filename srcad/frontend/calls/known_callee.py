"""Calls of constants: functions with handlers, rules, classes, wrappers."""

from __future__ import annotations

import functools
import inspect
import operator
import types
from contextlib import suppress
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.arguments.signature import holds_its_code
from srcad.errors import SrcadError
from srcad.frontend.branches.choices import by_argument
from srcad.frontend.calls import method_call
from srcad.frontend.calls.active_functions import call_with_functions
from srcad.frontend.control.iteration import gone_through
from srcad.frontend.domain import representation
from srcad.frontend.domain.frames import NotConstant, Unreachable
from srcad.frontend.domain.predicates import is_hashable, is_nondifferentiable
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import (
    AbstractValue,
    Conflict,
    Constant,
    DictValue,
    GeneratorValue,
    ListValue,
    RecordValue,
    Text,
    TupleValue,
)
from srcad.frontend.functions import calls_on_copies
from srcad.frontend.functions.callees import (
    called_in_place,
    closure_is_active,
    makes_functions,
    only_counts,
    partial,
    takes_functions,
)
from srcad.frontend.functions.inlining import TRUSTED_PREFIX, callee_of, inline
from srcad.frontend.functions.opaque_calls import (
    acts_anew,
    call_method_of,
    changes_outside,
    looks_into_callers,
    may_write_arrays,
    note_hit,
    put_into_objects,
    record_opaque_effects,
    refuse_untracked_alias,
)
from srcad.frontend.library import array_writes, caches, distributions, getters, random_draws
from srcad.frontend.library.builtins import read_prelude
from srcad.frontend.library.options import require_known
from srcad.frontend.library.random_draws import draw_type, is_random
from srcad.frontend.machine import dispatch, folding
from srcad.frontend.machine.constants import as_list, as_tuple, pinned, raises
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
    applies,
    apply,
    meaning_of,
    meaning_of_object,
    unless_refused,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import construction, containers
from srcad.frontend.operations.members import is_decorated_function
from srcad.frontend.operations.special_methods import of_call
from srcad.frontend.outside.places import is_active
from srcad.frontend.prelude import builtins as prelude
from srcad.frontend.source.definition import inert_entries
from srcad.frontend.store import missing_rules, stale
from srcad.frontend.store.lookup import below, is_library, value_of_object
from srcad.frontend.store.parameter_names import by_name
from srcad.frontend.store.structures import is_deque
from srcad.ir.core import Atom, Const, Value
from srcad.rules import registry
from srcad.rules.registry import declared_result, lookup, row_of
from srcad.rules.row import Rule
from srcad.startup.identifiers import class_label, label, module_of
from srcad.types.numeric import Numeric
from srcad.types.reading import looked_up
from srcad.types.structures import OPAQUE, ListOf, Opaque, TupleOf, Type

# Calls of functions without a rule: they are read, or run as they stand, or are refused.


def call_without_rule(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue:
    """Call a function that has neither a rule nor a meaning of its own."""
    function = callee.value
    python, given = isinstance(function, types.FunctionType), (*args, *kwargs.values())
    active = state.is_active(*given) or closure_is_active(state, args, kwargs)
    own = callee.path is None and module_of(function).startswith(TRUSTED_PREFIX)
    if (state.frame.trusted or own) and python and not is_library(function):
        return called_in_place(state, callee_of(state, function, callee.path), args, kwargs)
    dunder_call = call_method_of(function)
    writes = dunder_call and (
        may_write_arrays(dunder_call, given)
        or changes_outside(state, dunder_call, (callee, *given))
    )
    left = not python or is_library(function)
    left = left or not (makes_functions(function) or looks_into_callers(function))
    if not active and left and not writes:
        return _inactive(state, callee, args, kwargs)
    if missing_rules.is_foreign(function):
        return call_active_without_rule(state, callee, args, kwargs)
    if python and not is_library(function):

        def read() -> AbstractValue:
            return called_in_place(state, callee_of(state, function, callee.path), args, kwargs)

        return calls_on_copies.unless_library_refuses(state, callee, args, kwargs, read)
    decorated = inspect.getattr_static(type(function), "__call__", None)
    if is_decorated_function(decorated):
        method = value_of_object(
            state, decorated, below(callee.path, ("attr", "__class__"), ("attr", "__call__"))
        )
        return apply(state, method, (callee, *args), kwargs)
    if dunder_call is not None:
        path = below(callee.path, ("attr", "__call__"), ("attr", "__func__"))
        if path is not None:
            state.guard(path, "code", dunder_call)
        return called_in_place(state, callee_of(state, dunder_call, path), (callee, *args), kwargs)
    return call_active_without_rule(state, callee, args, kwargs)


def _inactive(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Return a call through which no derivative flows.

    A function that may write is read nevertheless.

    So is every one if, left alone, some of them returned what could not be used.
    """
    function, given = callee.value, (*args, *kwargs.values())
    objects = [p for box in given for p in mutable_parts(box)]
    local = [p for p in objects if not isinstance(p, Value) and p.source is None]  # type: ignore[union-attr]
    if is_library(function) or not isinstance(function, types.FunctionType):
        return opaque_call(state, callee, args, kwargs)
    written, outside = may_write_arrays(function, given), changes_outside(state, function, given)
    if not objects and not written and not outside and not state.inactive.are_read:
        state.inactive.left = True
        return opaque_call(state, callee, args, kwargs)
    state.inactive.hit = None
    found = unless_refused(
        state, lambda: called_in_place(state, callee_of(state, function, callee.path), args, kwargs)
    )
    if not isinstance(found, errors.SrcadError):
        return found
    if local or written or (outside and is_active(state)):
        raise found
    note_hit(state, found)
    return opaque_call(state, callee, args, kwargs)


def opaque_call(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Return a call through which no derivative flows: it runs as it stands."""
    found = by_argument(state, args, kwargs, lambda *given: opaque_call(state, callee, *given))
    if found is not None:
        return found
    function = callee.value
    record_opaque_effects(state, function, (*args, *kwargs.values()))
    module = module_of(function).partition(".")[0]
    pure = module in ("numpy", "math", "cmath", "_operator", "builtins") and not is_random(function)
    pure = pure and not acts_anew(function)
    applied = _callee_as_operand(state, callee)
    if applied is not None:
        return state.box(state.apply(applied, *args, kwargs=kwargs, effect=True))
    type_: Type | None = None
    if is_random(function):
        holder = Constant(getattr(function, "__self__", None))
        if function.__name__ == "default_rng":
            type_ = Opaque(np.random.Generator)
        elif isinstance(function, type):
            type_ = Opaque(function)
        else:
            type_ = draw_type(state, holder, function.__name__, args, kwargs)
    elif isinstance(function, type) and (not pure or function is types.MappingProxyType):
        refuse_untracked_alias(state, function, (*args, *kwargs.values()))
        type_ = Opaque(function)
    result = state.emit(function, *args, kwargs=kwargs, effect=not pure, type=type_)
    if is_library(function):
        state.inactive.unknown.discard(result)
    return state.box(result)


def _callee_as_operand(state: Machine, callee: Constant) -> Atom | None:
    """Return a dynamic or unhashable callee as an operand; None for others."""
    function = callee.value
    if isinstance(function, types.FunctionType) and not function.__closure__:
        state.guard(callee.path, "is", function)
    elif callee.path is not None and not isinstance(function, type):
        found = state.constant(callee)
        if isinstance(found, Value):
            return found
    return None if is_hashable(function) else Const(function)


def call_active_without_rule(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue:
    """Call a function without a rule that a derivative flows into, or refuse it."""
    if only_counts(state, args, kwargs):
        return opaque_call(state, callee, args, kwargs)
    return calls_on_copies.call_on_copies(
        state,
        callee,
        args,
        kwargs,
        lambda: missing_rules.refuse_without_rule(state, callee.value, args, kwargs),
    )


# How many results a function with a rule of the user's has: its text tells.

_being_read: set[FunctionType] = set()


def type_of_several(
    state: Machine, function: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> Type | None:
    """Return the type of the result of a user's function, if it is a tuple or dict; else None.

    The function is read as if it had no rule, and then it is as if it had not been read.
    """
    if not isinstance(function, FunctionType) or is_library(function) or function in _being_read:
        return None
    found: list[AbstractValue] = []

    def read() -> AbstractValue:
        with suppress(Unreachable, NotConstant):
            found.append(inline(state, callee_of(state, function, None), args, kwargs))
        raise SrcadError("read for its type only")

    _being_read.add(function)
    try:
        dispatch.unless_refused(state, read)
    finally:
        _being_read.discard(function)
    several = found and isinstance(found[0], DictValue | TupleValue | RecordValue)
    type_ = representation.representing_type(found[0]) if several else None
    return type_ if isinstance(type_, TupleOf) else None


# Arguments that NumPy and Python turn into something else before they use them.

_OF_ARRAYS = ("numpy.", "scipy.", "srcad.rules.scipy.")  # modules whose functions convert lists


def generators_as_lists(
    state: Machine, function: Any, args: tuple[AbstractValue, ...]
) -> tuple[AbstractValue, ...]:
    """Return lists for generators, if the function does nothing else while it asks them."""
    if not any(isinstance(a, GeneratorValue) for a in args):
        return args
    joins = isinstance(looked_up(function, "__self__"), str)
    if not joins and row_of(function).iterates != "at once":
        return args
    return tuple(as_list(state, a) if isinstance(a, GeneratorValue) else a for a in args)


def as_arrays(
    state: Machine, function: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> tuple[tuple[AbstractValue, ...], dict[str, AbstractValue]]:
    """Arrays in place of lists where a derivative may flow: a rule adds and multiplies what it has.

    ``2 * x`` and ``x[1:] + x[:-1]`` mean something else of a list.
    """
    if not (isinstance(function, np.ufunc) or f"{module_of(function)}.".startswith(_OF_ARRAYS)):
        return args, kwargs
    if not state.is_active(*args, *kwargs.values()):
        return args, kwargs
    args = tuple(a.items[0] if is_deque(a) else a for a in args)  # type: ignore[union-attr]
    args, kwargs = tuple(map(as_tuple, args)), {k: as_tuple(b) for k, b in kwargs.items()}
    rule = lookup(function)
    if rule is not None and rule.takes_lists:
        return args, kwargs
    if rule is not None and rule.lists:
        return _with_lists_of_arrays(state, rule, args, kwargs)
    cuts = bool(declared_result(function).parts) and "axis" in row_of(function).parameters
    if cuts and _is_list(args[0]) and (len(args) > 2 or kwargs.get("axis")):
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot read 'np.{function.__name__}' of a list along an axis",
            why="it takes the length of the list for that of the axis, whichever axis it is.",
            help=("make it an array first:  np.array(...)",),
        )
    inert = inert_entries(rule.function) if rule is not None and rule.function else frozenset()

    def as_array(place: int | str, box: AbstractValue) -> AbstractValue:
        if not _is_list(box):
            return box
        entry = rule.entry(place) if rule is not None else None
        is_operand = entry is not None and entry[0] not in inert
        return state.emit(np.array, box) if is_operand or state.is_active(box) else box

    positional = tuple(as_array(k, box) for k, box in enumerate(args))
    return positional, {name: as_array(name, box) for name, box in kwargs.items()}


def _with_lists_of_arrays(
    state: Machine, rule: Rule, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> tuple[tuple[AbstractValue, ...], dict[str, AbstractValue]]:
    """Arrays in place of lists among the items of lists of arrays, and for any other operand."""

    def as_operand(place: int | str, box: AbstractValue) -> AbstractValue:
        at = rule.parameters.index(place) if place in rule.parameters else place
        known = isinstance(at, int) and at < len(rule.parameters)
        name = rule.parameters[at] if known and isinstance(at, int) else place
        if name in rule.lists:
            return _list_of_arrays(state, box)
        is_operand = (isinstance(at, int) and at < rule.required) or state.is_active(box)
        return state.emit(np.array, box) if is_operand and _is_list(box) else box

    positional = tuple(as_operand(k, box) for k, box in enumerate(args))
    return positional, {name: as_operand(name, box) for name, box in kwargs.items()}


def _list_of_arrays(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return a list or tuple with arrays in place of those of its items that are lists."""
    if isinstance(box, ListValue | TupleValue):
        items = [as_tuple(item) for item in box.items]
        if not any(map(_is_list, items)):
            return box
        arrays = tuple(state.emit(np.array, i) if _is_list(i) else i for i in items)
        return ListValue(arrays) if isinstance(box, ListValue) else TupleValue(arrays)
    if isinstance(box, Constant) and isinstance(box.value, list | tuple):
        return box
    type_ = box.type if isinstance(box, Value) else None
    if isinstance(type_, TupleOf) and any(isinstance(t, ListOf | TupleOf) for t in type_.items):
        items = [state.box(state.item(box, k)) for k in range(len(type_.items))]
        return _list_of_arrays(state, ListValue(tuple(items)))
    if isinstance(type_, ListOf) and isinstance(type_.item, ListOf | TupleOf):
        return read_prelude(state, prelude.each_as_array, box)
    return box


def items_of_split(
    state: Machine, function: Any, args: tuple[AbstractValue, ...], result: AbstractValue
) -> AbstractValue:
    """Return the parts of an array that is split in a number of parts that is known, one by one."""
    name = declared_result(function).parts
    names = row_of(function).parameters
    place = names.index(name) if name in names else len(args)
    if place >= len(args) or not isinstance(result, Value):
        return result
    parts = args[place]
    if isinstance(parts, TupleValue | ListValue):
        count = len(parts.items) + 1
    elif isinstance(parts, Constant) and isinstance(parts.value, int | list | tuple):
        count = parts.value if isinstance(parts.value, int) else len(parts.value) + 1
    else:
        return result
    return ListValue(
        tuple(state.box(state.emit(operator.getitem, result, Const(k))) for k in range(count))
    )


def _is_list(box: AbstractValue) -> bool:
    listed = isinstance(box, Value) and isinstance(box.type, ListOf | TupleOf)
    return listed or isinstance(box, ListValue | TupleValue)


@applies(Constant, Text)
def call_known(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a constant; arguments may be choices."""
    for box in (*args, *kwargs.values()):
        if isinstance(box, Conflict) and not takes_functions(callee.value):
            stale.refuse_to_hold(state, box)
    if not takes_functions(callee.value):
        found = by_argument(state, args, kwargs, lambda *given: call_known(state, callee, *given))
        if found is not None:
            return found
    return invoke_static(state, callee, args, kwargs)


def invoke_static(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call an object that is known at compile time."""
    function = callee.value
    _guard_rule(state, callee)
    result = of_call(state, function, args, kwargs)
    args = gone_through(state, function, args) if result is None else args
    args, kwargs = by_name(function, args, kwargs)
    result = _of_holder(state, callee, args, kwargs) if result is None else result
    special = meaning_of(function)
    if result is None:
        result = (
            special(state, args, kwargs)
            if special
            else getters.call_getter(state, callee, args, kwargs)
        )
    if result is not None:
        return result
    args = generators_as_lists(state, function, args)
    if isinstance(function, functools.partial | types.MethodType | functools._lru_cache_wrapper):
        return _wrapped(state, callee, args, kwargs)
    made = meaning_of_object(state, callee, args, kwargs)
    if made is not None:
        return made
    instance = _made(state, callee, args, kwargs) if isinstance(function, type) else None
    if instance is not None:
        return instance
    if registry.is_static(function) and folding.all_known(args, kwargs):
        return state.box(Const(folding.result_of(function, args, kwargs)))
    if isinstance(function, type) and issubclass(function, BaseException):
        return state.emit(function, *args, kwargs=kwargs, effect=True, type=Opaque(function))
    if callee.atom is None and not callable(function):
        pinned(state, callee)
        raises(state, TypeError, f"{class_label(type(function))!r} object is not callable")
    rule = registry.lookup(function) if is_hashable(function) else None
    if rule is not None:
        return _ruled(state, function, rule, args, kwargs)
    return call_without_rule(state, callee, args, kwargs)


def _of_holder(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Return a call that writes into its arguments, or a method of a constant string.

    ``out=``, ``np.add.at``, ``list.append(items, v)``.
    """
    function = callee.value
    if (
        args
        and looked_up(function, "__objclass__") in (list, dict)
        and containers.is_container(args[0])
    ):
        return method_call.invoke_method(state, args[0], function.__name__, args[1:], kwargs)
    writes = isinstance(function, np.ufunc) and ("where" in kwargs or len(args) > function.nin)
    if writes or ("out" in kwargs and not _is_own_code(function)):
        return array_writes.into(state, callee, args, kwargs)
    holder = looked_up(function, "__self__")
    if isinstance(holder, str):
        given = holder, function.__name__, args, kwargs
        return folding.text_method(*given) or folding.filled_in(state, *given)
    if isinstance(holder, np.ufunc) and function.__name__ == "at":
        return array_writes.at(state, holder, args)
    if random_draws.is_random(function) and function.__name__ == "shuffle" and holder is not None:
        return array_writes.shuffle(state, Constant(holder), args, kwargs)
    return None


def _is_own_code(function: Any) -> bool:
    """Return True for user code, in which ``out`` is an ordinary parameter."""
    if isinstance(function, types.FunctionType | types.MethodType):
        return not is_library(function)
    wraps = isinstance(function, type | functools.partial | functools._lru_cache_wrapper)
    is_derivative = module_of(type(function)).startswith("srcad.")
    return wraps or is_derivative or call_method_of(function) is not None


def _made(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return an object of a class; None where only the original call can make it."""
    if not construction.is_readable(callee.value):
        return None

    def make() -> AbstractValue:
        return construction.construct(state, callee.value, callee.path, args, kwargs)

    made = dispatch.unless_refused(state, make)
    if isinstance(made, errors.SrcadError):
        if not state.is_active(*args, *kwargs.values()):
            return None
        refused = made

        def refuse() -> NoReturn:
            raise refused

        if is_library(callee.value):
            return calls_on_copies.call_on_copies(state, callee, args, kwargs, refuse)
        raise made
    return made


def _wrapped(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a wrapper of another function: a partial, a bound method, a cache."""
    function, path = callee.value, callee.path
    if isinstance(function, functools.partial):
        return partial(state, callee, args, kwargs)
    if isinstance(function, types.MethodType):
        rule = registry.lookup(function)
        if rule is not None:  # a rule for the method of one object
            _refuse_complex(state, function, (*args, *kwargs.values()))
            args, kwargs = distributions.with_shapes_by_position(function, rule, args, kwargs)
            return _ruled(state, function, rule, args, kwargs)
        if random_draws.is_of_module(function):
            module = Constant(np.random, spelling="np.random")
            return method_call.invoke_method(state, module, function.__name__, args, kwargs)
        receiver = value_of_object(state, function.__self__, below(path, ("attr", "__self__")))
        inner = value_of_object(state, function.__func__, below(path, ("attr", "__func__")))
        return apply(state, inner, (receiver, *args), kwargs)
    if not state.is_active(*args, *kwargs.values()):
        return opaque_call(
            state, Constant(function), args, kwargs
        )  # what it kept of an earlier call
    inner = Constant(function.__wrapped__, below(path, ("attr", "__wrapped__")))
    return invoke_static(state, Constant(caches.once), (inner, *args), kwargs)


def _guard_rule(state: Machine, callee: Constant) -> None:
    """Assume that an object has its own rule, or none, if others that may replace it have one."""
    function = callee.value
    if callee.path is None or not holds_its_code(function):
        return
    if not isinstance(function, types.MethodType):
        if registry.knows_like(function):
            pinned(state, callee)
    elif is_library(function) or registry.knows_like(function):
        for name in ("__self__", "__func__"):  # each access makes another method
            state.guard(below(callee.path, ("attr", name)), "is", getattr(function, name))


def _refuse_complex(state: Machine, method: Any, boxes: Args) -> None:
    """Refuse complex operands of a distribution: SciPy discards their imaginary parts."""
    types_ = [box.type for box in boxes if isinstance(box, Value)]
    if any(isinstance(type_, Numeric) and type_.kind == "c" for type_ in types_):
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot differentiate {registry.qualified_name(method)} of complex numbers",
            why="it is a function of real numbers; SciPy discards imaginary parts.",
            help=("pass the real part:  np.real(x)",),
        )


def _ruled(state: Machine, function: Any, rule: Rule, args: Args, kwargs: Kwargs) -> AbstractValue:
    if is_nondifferentiable(function) and folding.all_known(args, kwargs):
        try:
            constant = folding.folded(state, function, args, kwargs)
        except Exception:  # a function of a library may raise anything
            constant = None  # it fails at run time, as in the plain call
        if constant is not None:
            return constant
    if state.is_active(*args, *kwargs.values()):
        require_known(state, rule, args, kwargs)
    put_into_objects(
        state, function, args, kwargs.get("dtype", args[-1]) if args else Constant(None)
    )
    args, kwargs = as_arrays(state, function, args, kwargs)
    type_ = type_of_several(state, function, args, kwargs)
    with_functions = call_with_functions(state, rule, args, kwargs, type_)
    if with_functions is not None:
        return state.box(with_functions)
    if rule.primal is not None and state.is_active(*args, *kwargs.values()):
        pair = TupleOf((type_ or OPAQUE, OPAQUE))
        made = state.emit(rule.primal, *args, kwargs=kwargs, type=pair)
        return state.box(state.item(made, 0, hint=label(function)))
    result = state.box(state.emit(function, *args, kwargs=kwargs, type=type_))
    return (
        items_of_split(state, function, args, result) if state.environment.items_known else result
    )
