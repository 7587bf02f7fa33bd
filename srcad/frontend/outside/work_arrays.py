"""Work arrays: captured arrays that the function initialises before it reads them.

They are interpreted as local, uninitialised arrays: a name of the outermost frame (`places`) holds
the current version.  Each store is repeated on the captured array, at the same point and with the
primal value, so that it has the contents which the original call leaves, also after an exception.
`initialised_entries` proves afterwards that no entry is read before it is written.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from srcad import errors, runtime
from srcad.arguments.aliasing import argument_memory
from srcad.frontend.domain.outside_places import OutsidePlace, WorkArray
from srcad.frontend.domain.values import UNBOUND, AbstractValue, Env
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.places import NOTHING, PLACE
from srcad.ir import primitives
from srcad.ir.core import Arg, Block, Call, Const, Display, Location, Op, Value, walk
from srcad.ir.inference.builder import Builder
from srcad.ir.memory import has_storage, stores_outside
from srcad.startup.identifiers import is_instance, module_of
from srcad.types.objects import is_of_library
from srcad.types.sources import Path, Unreadable, read
from srcad.types.structures import Fixed, Opaque

_PLAIN = (ModuleType, FunctionType, MethodType, SimpleNamespace)
# Callables that hold no array.  A recursive function is none of these: what it reads is not seen.
_FUNCTIONS = (
    FunctionType
    | BuiltinFunctionType
    | MethodDescriptorType
    | WrapperDescriptorType
    | type
    | np.ufunc
)


# ------------------------------------------------------------------------------ which
def note_refused(state: Machine, array: Value, error: errors.SrcadError) -> None:
    """Record a refused write into an array that may be a work array."""
    path = next((c.path for c in state.captures if c.value is array), None)
    if path is None:
        return
    with suppress(Unreadable):
        held = read(path, state.root, state.arguments)
        if _is_plain_array(held) and _is_reached_plainly(state, path):
            state.outside.refused.append(WorkArray(_place(path, held), error))


def _is_plain_array(held: Any) -> bool:
    return (
        type(held) is np.ndarray
        and held.ndim > 0
        and held.dtype.kind in "biufc"
        and bool(held.flags.c_contiguous)
        and argument_memory(held) == "own"
    )


def _is_reached_plainly(state: Machine, path: Path) -> bool:
    """Return True if a path goes through modules, functions and user objects only.

    An object of a library may use its array in ways of its own.
    """
    for k in range(1, len(path)):
        held = read(path[:k], state.root, state.arguments)
        if not is_instance(held, _PLAIN) and is_of_library(type(held)):
            return False
    return True


def _place(path: Path, held: np.ndarray) -> OutsidePlace:
    return OutsidePlace(held, "entries", "", path, (*path, ("item", None)), held)


# ------------------------------------------------------------------------------ versions
def begin(state: Machine) -> None:
    """Bind the initial versions of the work arrays."""
    outside = state.outside
    for key, array in outside.work.items():
        place = array.place
        real = _real(state, place)
        state.guard(place.holder, "contiguous", True)
        state.guard(place.holder, "memory", "own")
        first = state.emit(np.zeros_like, real, hint=real.hint)
        state.compact.add(first)
        outside.seen.setdefault(key, {})[place.holder] = place
        outside.written[key] = name = f"{PLACE}{len(outside.written)}"
        outside.versions[first] = array
        state.frames[0].env[name] = first


def _real(state: Machine, place: OutsidePlace) -> Value:
    return state.captured(place.holder, place.owner)


def version_of(state: Machine, path: Path, value: Any) -> AbstractValue | None:
    """Return the current version of a captured work array; None for other values."""
    outside = state.outside
    if not isinstance(value, np.ndarray):
        _refuse_method_of_array(state, value)
        return None
    key = id(value), "entries", ""
    if key not in outside.work:
        return None
    outside.seen[key].setdefault(path, _place(path, value))
    box = state.frames[0].env.get(outside.written[key], UNBOUND)
    if not isinstance(box, Value):
        raise outside.work[key].error
    return box


def _refuse_method_of_array(state: Machine, value: Any) -> None:
    """Refuse captured callables that may alias a work array."""
    is_method = isinstance(value, BuiltinFunctionType) and not is_instance(
        value.__self__, ModuleType | type(None)
    )
    is_object = module_of(type(value)) == "numpy" and callable(value)
    if is_method or (is_object and not is_instance(value, np.ufunc | type)):
        raise next(iter(state.outside.work.values())).error


# ------------------------------------------------------------------------------ writes
def changed(state: Machine, before: Env) -> Iterator[tuple[Value, Value]]:
    """Yield each captured array that has a new version, and the version."""
    env, outside = state.frames[0].env, state.outside
    for key, array in outside.work.items():
        old, new = (e.get(outside.written[key], UNBOUND) for e in (before, env))
        if old is new:
            continue
        if not isinstance(new, Value) or new in state.perhaps_unbound:
            raise array.error
        yield _real(state, array.place), new


def write(state: Machine, array: Value, index: Arg, value: Value) -> None:
    """Emit a store into a captured array."""
    state.outside.count += 1
    state.emit(operator.setitem, array, index, value, effect=True, type=NOTHING)
    state.note_write(state.outside.token)


# ------------------------------------------------------------------------------ other names
def checked(state: Machine, params: Sequence[Value]) -> list[Op]:
    """Prepend checks that no other argument or capture shares memory with a work array."""
    ops = state.builder.ops
    for array in state.outside.work.values():
        real = _real(state, array.place)
        others = [v for v in _used(state, params) if v is not real]
        unknown = any(isinstance(v.type, Opaque) and not _is_generator(v.type) for v in others)
        if unknown or any(map(_may_call, _calls(state))):
            raise array.error
        where = array.error.where
        checks = Builder(where=where if isinstance(where, Location) else None)
        checks.call(runtime.check_separate_memory, real, *others, effect=True, type=NOTHING)
        ops = [*checks.ops, *ops] if others else ops
    return list(ops)


def _used(state: Machine, params: Sequence[Value]) -> list[Value]:
    """Return the used arguments and captures that may contain an array."""
    given = {*params, *(c.value for c in state.captures)}
    used: dict[Value, None] = {}
    for op in walk(Block((), tuple(state.builder.ops), ())):
        operands = op.operands
        if isinstance(op, Call) and op.effect and stores_outside(op.target):
            operands = tuple(v for v in operands if v is not op.args[0])
        used.update((v, None) for v in operands if v in given and has_storage(v))
    return list(used)


def _calls(state: Machine) -> Iterator[Call]:
    ops = walk(Block((), tuple(state.builder.ops), ()))
    return (op for op in ops if isinstance(op, Call))


def _may_call(op: Call) -> bool:
    """Return True if a call may read a work array through an object or a callback."""
    is_function = is_instance(op.target, _FUNCTIONS) or type(op.target) is type(np.sum)
    operands = (*op.args, *(arg for _, arg in op.kwargs))
    return not is_function or op.target is primitives.apply or any(map(_is_callback, operands))


def _is_callback(arg: Arg) -> bool:
    """Return True if an argument is or contains a user function."""
    if isinstance(arg, Display):
        return any(map(_is_callback, arg.items))
    value = arg.value if isinstance(arg, Const) else None
    if isinstance(arg, Value) and isinstance(arg.type, Fixed):
        value = arg.type.value
    is_code = callable(value) and not is_instance(value, type | np.ufunc | BuiltinFunctionType)
    return is_code and not is_of_library(value)


def _is_generator(type_: Opaque) -> bool:
    return type_.cls in (np.random.Generator, np.random.RandomState)
