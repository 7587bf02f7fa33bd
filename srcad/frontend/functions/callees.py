"""Questions about what is called, and calls of what holds a function."""

from __future__ import annotations

import types
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.structure import values_of
from srcad.frontend.domain.values import AbstractValue, Choice, Constant, FunctionValue
from srcad.frontend.functions import (
    calls_on_copies,
    kept_functions,
    lazy_iterables,
    opaque_calls,
    recursion,
)
from srcad.frontend.functions.inlining import bind_parameters, is_recursive, read_body, reading
from srcad.frontend.machine.constants import number_class, raises
from srcad.frontend.machine.dispatch import Args, Kwargs, apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import construction, unknown_memory
from srcad.frontend.source.syntax import is_generator
from srcad.frontend.store import missing_rules
from srcad.frontend.store.lookup import is_library, with_first_arguments
from srcad.ir.core import Value
from srcad.rules.registry import row_of
from srcad.startup.identifiers import class_label, module_of
from srcad.types.numeric import Numeric
from srcad.types.structures import Opaque


def takes_functions(function: Any) -> bool:
    """Return True if a function is read with whatever it is given: one of the user's."""
    if is_hashable(function) and row_of(function).calls:
        return True
    if isinstance(function, type):
        return construction.is_readable(function)
    module = module_of(function)
    own = module.startswith("srcad.") and not module.startswith("srcad.frontend.")
    return isinstance(function, types.FunctionType) and not own and not is_library(function)


def closure_is_active(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> bool:
    """Return True if a local function among the arguments may carry a derivative in its closure."""
    return any(isinstance(b, FunctionValue | Choice) for b in (*args, *kwargs.values()))


def makes_functions(function: types.FunctionType) -> bool:
    """Return True if a function holds functions: it may return one that is then called here."""
    return any(isinstance(c, types.CodeType) for c in function.__code__.co_consts)


def only_counts(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> bool:
    """Return True if the only active inputs are Python integers: counts, not quantities."""
    values = [v for b in (*args, *kwargs.values()) for v in values_of(b) if v in state.active]
    return all(
        isinstance(v.type, Numeric) and v.type.kind in "iub" and v.type.is_scalar for v in values
    )


def partial(
    state: Machine,
    callee: Constant,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call a `functools.partial` of the user's."""
    bound = with_first_arguments(state, callee.value, callee.path)
    return apply(state, bound.function, (*bound.args, *args), {**bound.kwargs, **kwargs})


def call_value(
    state: Machine, callee: Value, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Call a function that is only known at run time."""
    if isinstance(callee.type, Opaque) and not state.is_active(*args, *kwargs.values()):
        opaque_calls.refuse_untracked_alias(state, callee.type.cls, (*args, *kwargs.values()))
        unknown_memory.before_method(state, callee)
        return state.box(state.apply(callee, *args, kwargs=kwargs, effect=True))
    if isinstance(callee.type, Numeric) and callee.type.dtype and callee.type.kind not in "OV":
        cls = number_class(callee.type)
        what = "a number or array" if cls is None else f"{class_label(cls)!r} object"
        raises(state, TypeError, f"{what} is not callable")
    if isinstance(callee.type, Opaque) and callee.type.cls is np.ufunc:
        missing_rules.refuse_entry_by_entry(state)
    if isinstance(callee.type, Opaque):
        return calls_on_copies.call_on_copies(
            state, callee, args, kwargs, lambda: _refuse_unknown(state, callee)
        )
    return _refuse_unknown(state, callee)


def _refuse_unknown(state: Machine, callee: Value) -> NoReturn:
    """Refuse a dynamic callee."""
    what = f", an object of class {str(callee.type)!r}," if isinstance(callee.type, Opaque) else ""
    called = f"{callee.hint!r} is, called" if callee.hint else "is called"
    state.refuse(
        errors.MissingRuleError,
        f"cannot tell which function {called}",
        why=f"what is called{what} is known at the call only, and the derivative needs its source.",
        help=("pass the function as an argument of its own", "or name it:  f = np.sin"),
    )


# A call of a function of the user: read in place, or as a routine or generator.


def called_in_place(state: Machine, callee: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a function of the user."""
    if is_generator(callee.node):
        kept_functions.note_call(state, callee, "it is a generator")
        return lazy_iterables.generator_of_call(state, callee, args, kwargs)
    bound = bind_parameters(state, callee, args, kwargs)
    kept_functions.note_call(state, callee)
    if is_recursive(state, callee):
        kept_functions.refuse_recursion(state, callee)
        found = recursion.call_recursive(state, callee, bound)
    else:
        found = kept_functions.call_helper(state, callee, bound)
    if found is not None:
        return found
    with reading(state, callee.key, (*callee.parts, *args, *kwargs.values())):
        callee.frame.env = dict(bound)
        return read_body(state, callee.node, callee.frame)
