"""Names: local, enclosing, global, builtin, and the objects of the user behind them."""

from __future__ import annotations

import builtins
import enum
import functools
import types
from abc import ABCMeta
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.arguments.signature import holds_its_code
from srcad.frontend.domain.frames import Unreachable
from srcad.frontend.domain.outside_places import OutsidePlace
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.surroundings import Surroundings
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    BoundValue,
    Constant,
    Frame,
    Holder,
    Stale,
    Text,
    Unbound,
)
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside import places, work_arrays
from srcad.frontend.outside.doubts import note_read
from srcad.frontend.store import stale
from srcad.ir.core import Const, Value
from srcad.startup.identifiers import is_instance, module_of
from srcad.startup.records import is_record
from srcad.types.sources import Path

STABLE_MODULES = frozenset(
    {"numpy", "math", "cmath", "operator", "scipy", "builtins", "functools", "itertools", "srcad"}
)
_OF_NUMPY = (np.ndarray, np.generic, np.dtype, np.ufunc)
# Functions of these modules that are read as a user's are: their text calls functions with rules.
_READ = frozenset({("scipy.spatial._procrustes", "procrustes")})


def value_of_name(state: Machine, name: str) -> AbstractValue:
    """Return the box of a name, found as Python finds it."""
    frame: Frame | None = state.frame
    while frame is not None:
        box = frame.env.get(name, UNBOUND)
        if isinstance(box, Stale):
            stale.refuse_stale(state, box)
        if not isinstance(box, Unbound):
            return box
        if name in frame.local:
            frame.missed.add(name)
            unbound(state, name, local=frame is state.frame)
        if frame.declared.get(name) == "global":
            break
        if name in frame.closure:
            return _of_cell(state, frame, name)
        if frame.outer is None:
            break
        if name in frame.borrowed and name not in frame.outer.hidden:
            _refuse_ended(state, name)
        frame = frame.outer
    assert frame is not None
    return global_name(state, frame, name)


def _of_cell(state: Machine, frame: Frame, name: str) -> AbstractValue:
    """Return a name of a function around that one which has returned."""
    written = _written(state, cell_place(frame, name), (frame.closure[name], "cell", name))
    if written is not None:
        return written
    if name in frame.unfilled:
        _unfilled(state, frame, name)
    path = None if frame.path is None else (*frame.path, ("cell", name))
    if path is None and (noted := reads_noted(state, frame)) is not None:
        cell = frame.closure[name]
        noted.add(cell, (("attr", "cell_contents"),), frame.cells[name])
    return value_of_object(state, frame.cells[name], path)


def global_place(frame: Frame, name: str) -> OutsidePlace | None:
    """Return a name of the module, as a place that may be written."""
    path = frame.path
    if path is None:
        return None
    return OutsidePlace(
        frame.globals,
        "global",
        name,
        (*path, ("attr", "__globals__")),
        (*path, ("global", name)),
        frame.globals,
    )


def cell_place(frame: Frame, name: str) -> OutsidePlace | None:
    """Return a name of a returned function around this one, as a place that may be written."""
    path = frame.path
    if path is None:
        return None
    holder = (*path, ("attr", "__closure__"), ("item", list(frame.closure).index(name)))
    cell = frame.closure[name]
    return OutsidePlace(cell, "cell", name, holder, (*path, ("cell", name)), cell)


def first_content(state: Machine, place: OutsidePlace) -> AbstractValue | None:
    """Return the value of a place when the call starts; None if there is none."""
    held = vars(place.by) if place.kind == "global" and place.by is not place.owner else place.by
    if isinstance(held, dict) and place.kind == "global":
        if place.name in held:
            return value_of_object(state, held[place.name], place.content)
        state.guard(place.holder, "unset" if held is place.by else "lacks", place.name)
        return None
    if place.kind == "item":
        return _first_item(state, place)
    if place.kind == "cell":
        return value_of_object(state, place.by.cell_contents, place.content)
    if hasattr(place.by, place.name):
        return value_of_object(state, getattr(place.by, place.name), place.content)
    state.guard(place.holder, "lacks", place.name)
    return None


def _first_item(state: Machine, place: OutsidePlace) -> AbstractValue | None:
    try:
        return value_of_object(state, place.by[place.name], place.content)
    except LookupError:
        if isinstance(place.by, dict):
            state.guard(place.holder, "unset", place.name)
            return None
        places.refuse_unknown_place(state, place)


def _written(
    state: Machine, place: OutsidePlace | None, names: tuple[Any, str, str]
) -> AbstractValue | None:
    if place is None:
        return places.content_without_path(state, *names)
    return places.content_of(state, place)


def _unfilled(state: Machine, frame: Frame, name: str) -> NoReturn:
    """Raise, as the original call does until the function around has bound the name."""
    if frame.path is not None:
        cell = ("attr", "__closure__"), ("item", frame.unfilled[name])
        state.guard((*frame.path, *cell), "empty", None)
    elif (noted := reads_noted(state, frame)) is not None:
        noted.add_presence(frame.closure[name], "empty", None)
    message = (
        f"cannot access free variable {name!r} "
        "where it is not associated with a value in enclosing scope"
    )
    raises(state, NameError, message)


def _refuse_ended(state: Machine, name: str) -> NoReturn:
    """Refuse to read a name that has ended with its comprehension."""
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot read {name!r}, which a comprehension has bound",
        why="the function that reads it was made there, and is called after it.",
        help=(f"give the function its own:  lambda ..., {name}={name}: ...",),
    )


def global_name(state: Machine, frame: Frame, name: str) -> AbstractValue:
    """Return a name of the module, or a builtin."""
    path = None if frame.path is None else (*frame.path, ("global", name))
    written = _written(state, global_place(frame, name), (frame.globals, "global", name))
    if written is not None:
        return written
    if path is None and (noted := reads_noted(state, frame)) is not None:
        if name in frame.globals:
            noted.add(frame.globals, (("item", name),), frame.globals[name])
        else:
            noted.add_presence(frame.globals, "unset", name)
    if name in frame.globals:
        return value_of_object(state, frame.globals[name], path)
    if hasattr(builtins, name):
        return value_of_object(state, getattr(builtins, name), path)
    if frame.path is not None:
        state.guard((*frame.path, ("attr", "__globals__")), "unset", name)
    return unbound(state, name, local=False)


def unbound(state: Machine, name: str, *, local: bool) -> NoReturn:
    """Raise, as the original call does here."""
    kind = UnboundLocalError if local else NameError
    message = (
        f"cannot access local variable {name!r} where it is not associated with a value"
        if local
        else f"name {name!r} is not defined"
    )
    state.raise_(state.emit(kind, Const(message)))
    raise Unreachable


def reads_noted(state: Machine, frame: Frame) -> Surroundings | None:
    """Return the recorder of the reads of a function without a path; None for srcad's own."""
    return None if frame.trusted else state.surroundings


def note_attribute(state: Machine, owner: Any, name: str) -> None:
    """Assume that an attribute of an object without a path stays as it is now."""
    noted = reads_noted(state, state.frame)
    kinds = (types.ModuleType, type, types.FunctionType)
    is_plain = type(owner).__module__ == "builtins" or is_instance(owner, _OF_NUMPY)
    if noted is None or is_stable(owner) or (is_plain and not is_instance(owner, kinds)):
        return
    missing = object()
    found = getattr(owner, name, missing)
    if found is missing:
        noted.add_presence(owner, "lacks", name)
    else:
        noted.add(owner, (("attr", name),), found)


def below(path: Path | None, *steps: tuple[Any, ...]) -> Path | None:
    """Return the path of a part of the object at `path`."""
    return None if path is None else (*path, *steps)


def with_first_arguments(
    state: Machine,
    function: functools.partial[Any] | functools.partialmethod[Any],
    path: Path | None,
) -> BoundValue:
    """Return the function of a partial function or method, with the arguments that it holds."""
    state.guard(below(path, ("attr", "args")), "length", len(function.args))
    state.guard(below(path, ("attr", "keywords")), "keys", [*function.keywords])
    inner = value_of_object(state, function.func, below(path, ("attr", "func")))
    first = tuple(
        value_of_object(state, a, below(path, ("attr", "args"), ("item", k)))
        for k, a in enumerate(function.args)
    )
    named = {
        k: value_of_object(state, a, below(path, ("attr", "keywords"), ("item", k)))
        for k, a in function.keywords.items()
    }
    return BoundValue(inner, first, named, is_partial=True)


def value_of_object(state: Machine, value: Any, path: Path | None) -> AbstractValue:
    """Return the box of a user's object at `path` (None: it never changes)."""
    if path is None:
        return places.held_without_path(state, value) or Constant(value)
    note_read(state, path, value)
    if state.outside.work:
        found = work_arrays.version_of(state, path, value)
        if found is not None:
            return found
    if value is None or is_instance(value, bool | str | bytes):
        state.guard(path, "equals", value)
        return Constant(value)
    if is_instance(value, types.FunctionType):
        state.guard(path, "is" if is_stable(value) else "code", value)
        return Constant(value, None if is_stable(value) else path)
    if is_constant_object(value):
        state.guard(path, "is", value)
        kinds = (types.ModuleType, type, functools._lru_cache_wrapper)
        has_members = is_instance(value, kinds) and not is_stable(value)
        return Constant(value, path if has_members else None)
    if state.outside.holders and places.is_held(state, value):
        state.guard(path, "class", type(value))
        is_item = type(value) in (list, dict)
        return Holder(value, path) if is_item else Constant(value, path)
    if is_data(value):
        return state.box(state.captured(path, value))
    state.guard(path, "class", type(value))
    return Constant(value, path)


def is_stable(value: Any) -> bool:
    """Return True if an object belongs to a module whose attributes are taken as constant."""
    return module_of(value).partition(".")[0] in STABLE_MODULES


def has_default_attributes(value: Any) -> bool:
    """Return True if an object is a class of the user's whose members are found as usual."""
    return type(value) in (type, ABCMeta) and not is_stable(value)


def is_library(value: Any) -> bool:
    """Return True if a function belongs to a library: it is not read, only called."""
    module = module_of(value)
    root = module.partition(".")[0]
    if root not in STABLE_MODULES or root == "srcad":
        return False
    return (module, getattr(value, "__name__", None)) not in _READ


def is_constant_object(value: Any) -> bool:
    """Return True if an object is code or a description: compared by identity."""
    return is_instance(
        value,
        types.ModuleType
        | types.BuiltinFunctionType
        | type
        | np.ufunc
        | np.dtype
        | functools._lru_cache_wrapper
        | types.MethodDescriptorType
        | enum.Enum,
    ) or (type(value).__module__ == "numpy" and callable(value) and is_hashable(value))


def is_data(value: Any) -> bool:
    """Return True if an object is a number, an array, or a container of such."""
    if is_instance(value, int | float | complex | np.generic | np.ndarray):
        return True
    if type(value) in (list, tuple, dict):
        return True
    named = is_instance(value, tuple) and hasattr(type(value), "_fields")
    return named or is_record(type(value))


def object_at(state: Machine, path: Path, found: Any, value: Value) -> Constant:
    """Return the box of an object in the arguments, which `value` holds at the call.

    What can be called is code: where a test selects it there are two functions, and no value.
    """
    if type(found) is str:
        return text_at(state, path, found)
    return Constant(found, path, atom=None if holds_its_code(found) else value)


def text_at(state: Machine, path: Path, found: str) -> Text:
    """Return the box of a string in the arguments."""
    return Text(
        found,
        lambda: state.guard(path, "equals", found),
        lambda: state.captured(path, found),
        path,
    )
