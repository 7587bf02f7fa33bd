"""Functions through which no derivative flows, but which may write into an array."""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.structure import components, mutable_parts
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.doubts import record_possible_writes, refuse_doubts
from srcad.frontend.outside.places import is_active
from srcad.frontend.outside.unseen_reads import SKIPPED, current_objects
from srcad.frontend.source import written_names
from srcad.frontend.source.code import nested_codes
from srcad.frontend.source.definition import definition
from srcad.frontend.source.effects import Effects, effects_of
from srcad.frontend.store.origins import inner_values, may_be_array, origin
from srcad.ir.core import Value
from srcad.rules.registry import effect_of
from srcad.startup.identifiers import label, module_of
from srcad.types.sources import read

_READERS = (operator.itemgetter, operator.attrgetter, Counter)
_COPYING = frozenset({"builtins", "numpy", "fractions", "decimal", "array"})


def acts_anew(function: Any) -> bool:
    """Return True if equal calls of a builtin must not be merged."""
    return effect_of(function) in ("sets", "deletes", "advances", "reads", "makes")


def call_method_of(function: Any) -> FunctionType | None:
    """Return the ``__call__`` of an object of a user's class."""
    found = None if isinstance(function, type | np.vectorize) else type(function).__call__
    return found if isinstance(found, FunctionType) else None


def may_write_arrays(function: FunctionType, given: Iterable[AbstractValue]) -> bool:
    """Return True if a function's text may write into an array among its arguments."""
    values = (v for box in given for v in inner_values(box))
    if not any(map(may_be_array, values)):
        return False
    try:
        node = definition(function).tree
    except errors.SrcadError:
        return False
    return isinstance(node, ast.FunctionDef | ast.Lambda) and written_names.may_write(node)


def changes_outside(
    state: Machine, function: FunctionType, given: Iterable[AbstractValue] = ()
) -> bool:
    """Return True if a call may write an object outside, or read an active one."""
    if module_of(function).partition(".")[0] in SKIPPED:
        return False
    return is_active(state) or bool(_effects(state, function, given).names)


def _effects(state: Machine, function: Any, given: Iterable[AbstractValue]) -> Effects:
    """Return the state that a call may change, as far as the objects that it reaches tell."""
    objects = [one for box in given for one in current_objects(state, box)]
    return effects_of(function, objects, SKIPPED)


def record_context_effects(state: Machine, cls: type, given: Iterable[AbstractValue]) -> None:
    """Note what an object made here may change of others when a ``with`` enters or leaves it."""
    held = tuple(given)
    for method in (getattr(cls, "__enter__", None), getattr(cls, "__exit__", None)):
        effects = _effects(state, method, held)
        if effects.others:
            record_possible_writes(state, effects, label(cls), unread=cls)


def record_opaque_effects(state: Machine, function: Any, given: Iterable[AbstractValue]) -> None:
    """Note the objects that an opaque call may change; they are not read after it."""
    effects = _effects(state, function, given)
    if effects.names:
        record_possible_writes(state, effects, label(function))


def looks_into_callers(function: FunctionType) -> bool:
    """Return True if a function reads the names of others by their frames."""
    codes = (function.__code__, *nested_codes(function.__code__))
    return any("f_locals" in code.co_names for code in codes)


def note_hit(state: Machine, error: errors.SrcadError) -> None:
    """Refuse a call that writes into an outside array with which something was computed before.

    What is computed after it is that of the original call.  In a loop, what follows runs before,
    too.
    """
    hit = state.inactive.hit
    if hit is None:
        return
    if _is_used(state, hit):
        raise error
    if state.builder is not state.inactive.outermost:
        state.inactive.hits.append((hit, error))


def refuse_hits(state: Machine) -> None:
    """Refuse what a call in a loop writes into if something was computed with it anywhere."""
    for hit, error in state.inactive.hits:
        if _is_used(state, hit):
            raise error
    refuse_doubts(state)


def _is_used(state: Machine, array: Value) -> bool:
    """Return True if something was computed with an array from outside, by whatever name."""
    objects = {one for value in state.inactive.used for one in origin(state, value).everything}
    held = [_array_at(state, one) for one in objects if one in state.paths]
    written = _array_at(state, array)
    return array in objects or any(
        one is not None and written is not None and np.may_share_memory(one, written)
        for one in held
    )


def _array_at(state: Machine, value: Value) -> np.ndarray | None:
    """Return the array that something from outside is now."""
    path = state.paths.get(value)
    held = None if path is None else read(path, state.root, state.arguments)
    return held if isinstance(held, np.ndarray) else None


def refuse_untracked_alias(
    state: Machine, callee: type | None, args: Iterable[AbstractValue]
) -> None:
    """Refuse to give a container that has a name to what may keep it, or write into it, unseen.

    `callee` is the class of what is called, or of what is made, if it is known.
    """
    module = "" if callee is None else module_of(callee).partition(".")[0]
    if callee in _READERS or (module in _COPYING and callee is not MappingProxyType):
        return
    given = [p for box in args for p in mutable_parts(box) if not isinstance(p, Value)]
    what = "what srcad does not read" if callee is None else f"a {label(callee)!r}"
    _refuse_named(state, given, what)


def put_into_objects(
    state: Machine, function: Any, args: Iterable[AbstractValue], dtype: AbstractValue
) -> None:
    """Refuse ``np.array([row, None], dtype=object)`` of a row that has a name, too."""
    if function not in (np.array, np.asarray, np.asanyarray) or not isinstance(dtype, Constant):
        return
    if dtype.value is object or (isinstance(dtype.value, str) and dtype.value in ("O", "object")):
        given = [p for box in args for item in components(box) for p in _objects(item)]
        _refuse_named(state, given, "an array of objects")


def _objects(box: AbstractValue) -> list[AbstractValue]:
    """Return the containers and arrays that a box is or holds."""
    arrays = filter(may_be_array, inner_values(box))
    return [*mutable_parts(box), *arrays]


def _refuse_named(state: Machine, given: Sequence[AbstractValue], what: str) -> None:
    """Refuse to give away what a name shows, or holds somewhere inside."""
    held = {id(p) for _, box in state.reachable() for p in _objects(box)} if given else set()
    if not any(id(p) in held for p in given):
        return
    state.refuse(
        errors.MutationError,
        f"cannot give an array, list, dict or object that has a name to {what}",
        why="srcad does not read its source, and would not see when one of them changes the other.",
        help=("give it a copy:  f(list(items))",),
    )
