"""Objects of classes: made inside the function, read and written attribute by attribute.

An object is a record of its attributes.  To make one its ``__init__`` is read like any function,
on a record that has no attributes yet; what a class does beyond plain attributes (``__new__``,
``__getattribute__``, a base class in C) is left to the original call.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from abc import ABCMeta
from collections.abc import Iterator
from typing import Any

from srcad.frontend.domain.frames import SavedBox
from srcad.frontend.domain.values import AbstractValue, BoundValue, Constant, RecordValue
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.dispatch import Args, Kwargs, apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.fields import (
    class_path,
    is_descriptor,
    is_generated,
    method,
    package_of,
    set_field,
)
from srcad.frontend.store.lookup import STABLE_MODULES, value_of_object
from srcad.startup.identifiers import label
from srcad.startup.records import is_record
from srcad.types.sources import Path

_PLAIN = ("__new__", "__getattribute__")
_WRITING = ("__setattr__", "__delattr__")  # these are interpreted if they have a source


def is_readable(cls: type) -> bool:
    """Return True if the objects of a class are their attributes, and no more."""
    if (
        type(cls) not in (type, ABCMeta)
        or package_of(cls) in STABLE_MODULES | sys.stdlib_module_names
    ):
        return False
    if "_fields" in vars(cls) or _fields_of_tuple(cls) is not None:
        return _fields_of_tuple(cls) is not None
    if any(map(is_descriptor, _members(cls))):
        return False
    plain = all(_found(cls, name) is vars(object)[name] for name in _PLAIN)
    written = all(
        isinstance(_found(cls, name), types.FunctionType)
        or _found(cls, name) is getattr(object, name)
        for name in _WRITING
    )
    return plain and written and not hasattr(cls, "__getattr__")


def _members(cls: type) -> Iterator[Any]:
    """Yield the namespaces of the bases of a class, except for Python's own."""
    for base in cls.__mro__:
        if package_of(base) not in sys.stdlib_module_names:
            yield from vars(base).values()


def _found(cls: type, name: str) -> Any:
    return inspect.getattr_static(cls, name)


def _fields_of_tuple(cls: type) -> tuple[str, ...] | None:
    """Return the fields of a named tuple that is made as `collections.namedtuple` does it."""
    made_by = next((c for c in cls.__mro__ if "__new__" in vars(c)), object)
    named = issubclass(cls, tuple) and "_field_defaults" in vars(made_by)
    return made_by._fields if named else None  # type: ignore[attr-defined]


def construct(
    state: Machine, cls: type, path: Path | None, args: Args, kwargs: Kwargs
) -> AbstractValue:
    state.objects.classes[cls] = path
    fields = _fields_of_tuple(cls)
    if fields is not None:
        defaults = getattr(cls, "_field_defaults", {})
        entries = _bound(state, cls, fields, args, kwargs, defaults)
        return RecordValue(cls, fields, tuple(entries[n] for n in fields))
    init = _found(cls, "__init__")
    made = RecordValue(cls, (), ())
    with state.kept(made) as kept:
        if is_record(cls) and is_generated(init):
            _fill(state, cls, path, kept, args, kwargs)
        elif isinstance(init, types.FunctionType):
            apply(state, BoundValue(method(state, cls, "__init__", init), (made,)), args, kwargs)
        elif args or kwargs:
            raises(state, TypeError, f"{label(cls)}() takes no arguments")
        return kept.box


def _bound(
    state: Machine, cls: type, names: tuple[str, ...], args: Args, kwargs: Kwargs, defaults: Any
) -> Kwargs:
    """Return the fields by name, as the generated ``__init__`` binds them."""
    entries = dict(zip(names, args, strict=False))
    wrong = [n for n in kwargs if n not in names or n in entries]
    entries.update(kwargs)
    missing = [n for n in names if n not in entries and n not in defaults]
    if wrong or missing or len(args) > len(names):
        about = wrong or missing or ["too many"]
        raises(state, TypeError, f"{label(cls)}() got wrong or missing arguments: {about[0]!r}")
    return {n: entries[n] if n in entries else Constant(defaults[n]) for n in names}


def _fill(
    state: Machine, cls: Any, path: Path | None, kept: SavedBox, args: Args, kwargs: Kwargs
) -> None:
    """Interpret the generated ``__init__`` of a data class."""
    every = [f for f in cls.__dataclass_fields__.values() if _kind(f) != "_FIELD_CLASSVAR"]
    given = [f for f in every if f.init]
    names = [f.name for f in given if not f.kw_only] + [f.name for f in given if f.kw_only]
    plain = sum(not f.kw_only for f in given)
    if len(args) > plain:
        raises(state, TypeError, f"{label(cls)}() takes {plain} positional arguments")
    optional = {f.name: None for f in given if _has_default(f)}
    entries = _bound(state, cls, tuple(names), args, kwargs, optional)
    explicit = {*names[: len(args)], *kwargs}
    only_init: list[AbstractValue] = []
    for f in every:
        if f.init or _has_default(f):
            value = entries[f.name] if f.name in explicit else _default(state, f, path)
            if _kind(f) == "_FIELD_INITVAR":
                only_init.append(value)
            else:
                set_field(state, kept.box, f.name, value)
    after = inspect.getattr_static(cls, "__post_init__", None)
    if isinstance(after, types.FunctionType):
        bound = BoundValue(method(state, cls, "__post_init__", after), (kept.box,))
        apply(state, bound, tuple(only_init), {})


def _kind(f: Any) -> str:
    return str(f._field_type.name)


def _has_default(f: Any) -> bool:
    missing = dataclasses.MISSING
    return f.default is not missing or f.default_factory is not missing


def _default(state: Machine, f: Any, path: Path | None) -> AbstractValue:
    where = None if path is None else (*path, ("attr", "__dataclass_fields__"), ("item", f.name))
    name = "default" if f.default is not dataclasses.MISSING else "default_factory"
    here = None if where is None else (*where, ("attr", name))
    found = value_of_object(state, getattr(f, name), here)
    return found if name == "default" else apply(state, found, (), {})


def replace(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``dataclasses.replace(record, **changes)``."""
    (box,) = args
    if not isinstance(box, RecordValue) or not is_record(box.cls):
        return None
    entries = dict(zip(box.keys, box.items, strict=True))
    for f in dataclasses.fields(box.cls):
        if f.init and f.name in entries:
            kwargs.setdefault(f.name, entries[f.name])
    return construct(state, box.cls, class_path(state, box), (), kwargs)
