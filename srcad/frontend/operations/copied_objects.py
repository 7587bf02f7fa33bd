"""Copies of captured objects, as objects made in the function.

An object whose class leaves copying to Python is copied attribute by attribute.  That it has these
attributes is guarded; what they hold is read at each call.
"""

from __future__ import annotations

import copyreg
import inspect
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from srcad.frontend.domain.predicates import is_of_users, is_plain
from srcad.frontend.domain.values import AbstractValue, Constant, RecordValue
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.construction import is_readable
from srcad.frontend.operations.fields import class_path
from srcad.frontend.store.lookup import value_of_object
from srcad.ir.core import Value
from srcad.types.numeric import Numeric
from srcad.types.reading import namespace
from srcad.types.sources import Path

_ASKED = ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__",
          "__setstate__", "__getnewargs__", "__getnewargs_ex__")  # fmt: skip
_ATOMIC = (FunctionType, BuiltinFunctionType, ModuleType, type, np.ufunc, np.dtype)


def copied_object(state: Machine, box: AbstractValue) -> RecordValue | None:
    """Return ``copy.copy`` of a captured object; None if its class customises copying."""
    return _made(state, box, attributes_in_dict(state, box))


def deeply_copied_object(state: Machine, box: AbstractValue) -> RecordValue | None:
    """Return ``copy.deepcopy`` of an object outside that holds numbers, arrays and such objects.

    No part of it may have two names: it is assumed that none has.
    """
    parts: dict[int, Path] = {}
    made = _deep(state, box, parts)
    if made is not None and len(parts) > 1:
        first, *others = parts.values()
        state.guard(first, "apart", tuple(others))
    return made


def attributes_in_dict(state: Machine, box: AbstractValue) -> dict[str, AbstractValue] | None:
    """Return the attributes in the ``__dict__`` of an object outside.

    None if they are not all that the object has, or were written in this call.
    """
    if not isinstance(box, Constant) or not box.path or not is_of_users(box):
        return None
    cls, held = type(box.value), namespace(box.value)
    if not is_readable(cls) or issubclass(cls, tuple) or type(held) is not dict:
        return None
    if any(getattr(base, "__slots__", ()) for base in cls.__mro__):
        return None
    if any(not isinstance(name, str) or _is_data_descriptor(cls, name) for name in held):
        return None
    if any(key[0] in (id(box.value), id(held)) for key in state.outside.written):
        return None
    state.guard(box.path, "class", cls)
    state.guard((*box.path, ("attr", "__dict__")), "keys", [*held])
    return {
        name: value_of_object(state, value, (*box.path, ("attr", name)))
        for name, value in held.items()
    }


def _is_data_descriptor(cls: type, name: str) -> bool:
    """Return True if an attribute of the class comes before one of the object."""
    return hasattr(type(inspect.getattr_static(cls, name, None)), "__set__") or name in _ASKED


def _made(
    state: Machine, box: AbstractValue, parts: dict[str, AbstractValue] | None
) -> RecordValue | None:
    """Return an object of the same class, unless the class customises its creation."""
    if parts is None or not isinstance(box, Constant):
        return None
    cls = type(box.value)
    if cls in copyreg.dispatch_table:
        return None
    if any(getattr(cls, n, None) is not getattr(object, n, None) for n in _ASKED):
        return None
    state.objects.classes[cls] = class_path(state, box)
    return RecordValue(cls, tuple(parts), tuple(parts.values()))


def _deep(state: Machine, box: AbstractValue, parts: dict[int, Path]) -> RecordValue | None:
    if not isinstance(box, Constant) or box.path is None or not _is_new(box.value, box.path, parts):
        return None
    copied: dict[str, AbstractValue] = {}
    for name, item in (attributes_in_dict(state, box) or {}).items():
        made = _deep_part(
            state, item, namespace(box.value)[name], (*box.path, ("attr", name)), parts
        )
        if made is None:
            return None
        copied[name] = made
    return _made(state, box, copied if copied or not namespace(box.value) else None)


def _deep_part(
    state: Machine, box: AbstractValue, value: Any, path: Path, parts: dict[int, Path]
) -> AbstractValue | None:
    """Return a copy of a number, an array or such an object; None for other attributes."""
    if is_plain(value) or isinstance(value, _ATOMIC):
        return box
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.form == "array":
        return state.emit(np.copy, box) if _is_new(value, path, parts) else None
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.is_scalar:
        return box
    return _deep(state, box, parts)


def _is_new(value: Any, path: Path, parts: dict[int, Path]) -> bool:
    """Return True if a part was not met by another name."""
    return parts.setdefault(id(value), path) == path
