"""Members of classes: methods, properties, and ``super()``."""

from __future__ import annotations

import inspect
import types
from functools import _lru_cache_wrapper, cached_property
from typing import Any

from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    MethodValue,
    RecordValue,
    Super,
)
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.fields import class_path, set_field
from srcad.frontend.outside.doubts import doubt
from srcad.frontend.source.effects import effects_of
from srcad.frontend.store.lookup import value_of_object
from srcad.startup.identifiers import label
from srcad.types.reading import Reader, namespace
from srcad.types.sources import Path
from srcad.types.structures import Opaque


def of_bases(s: Machine, box: Super, name: str) -> AbstractValue:
    """Return a member of the classes behind the one that a method belongs to."""
    owner = box.box
    cls, start = _class_of(s, owner)
    order = cls.__mro__
    for k, base in enumerate(order[order.index(box.cls) + 1 :] if box.cls in order else ()):
        if name in vars(base):
            place = ("item", order.index(box.cls) + 1 + k)
            path = None if start is None else (*start, ("attr", "__mro__"), place, ("attr", name))
            found = vars(base)[name]
            if found is object.__init__:
                return Constant(found)
            if found is object.__getattribute__:
                return BoundValue(Constant(found), (owner,))
            return member(s, owner, found, path)
    return raises(s, AttributeError, f"'super' object has no attribute {name!r}")


def _class_of(s: Machine, owner: AbstractValue) -> tuple[type, Path | None]:
    """Return the class of an object, or the class that a class method got.

    And how it is reached.
    """
    if isinstance(owner, RecordValue):
        return owner.cls, class_path(s, owner)
    if not isinstance(owner, Constant):
        return object, None
    if isinstance(owner.value, type):
        return owner.value, owner.path
    return type(owner.value), class_path(s, owner)


def member(s: Machine, box: AbstractValue, found: Any, path: Path | None) -> AbstractValue:
    """Return a member of a class, read through an object; `path` leads to it at the call."""
    is_class = isinstance(box, Constant) and isinstance(box.value, type)
    if isinstance(found, property):
        getter = value_of_object(s, found.fget, None if path is None else (*path, ("attr", "fget")))
        return MethodValue(BoundValue(getter, (box,)), "__property__")
    if isinstance(found, types.FunctionType):
        function = value_of_object(s, found, path)
        return function if is_class else BoundValue(function, (box,))
    if isinstance(found, _lru_cache_wrapper) and not is_class:
        return BoundValue(value_of_object(s, found, path), (box,))
    if isinstance(found, cached_property):
        return _computed_once(s, box, found, path)
    if isinstance(found, staticmethod):
        return value_of_object(s, found.__func__, path)
    if isinstance(found, classmethod):
        here = None if path is None else (*path, ("attr", "__func__"))
        return BoundValue(value_of_object(s, found.__func__, here), (Constant(*_class_of(s, box)),))
    return value_of_object(s, found, path)


def _computed_once(s: Machine, box: AbstractValue, found: Any, path: Path | None) -> AbstractValue:
    here = None if path is None else (*path, ("attr", "func"))
    with s.kept(box) as kept:
        value = apply(s, value_of_object(s, found.func, here), (box,), {})
    set_field(s, kept.box, found.attrname, value)
    return value


def of_class_object(s: Machine, box: Constant, name: str) -> AbstractValue:
    """Return a member of a class of the user's, read through the class itself."""
    path = (*(box.path or ()), ("attr", name))
    held_under(s, box, name)
    found = inspect.getattr_static(box.value, name)
    if isinstance(found, types.GetSetDescriptorType | types.MemberDescriptorType):
        found = getattr(box.value, name)  # what every class has, as __name__ and __mro__
    if isinstance(found, classmethod):
        function = value_of_object(s, found.__func__, (*path, ("attr", "__func__")))
        return BoundValue(function, (box,))
    if isinstance(found, staticmethod | types.FunctionType):
        return value_of_object(s, getattr(box.value, name), path)
    return value_of_object(s, getattr(box.value, name) if callable(found) else found, path)


def of_class(s: Machine, box: Constant, name: str) -> AbstractValue | None:
    """Return a method or property that the class of an object defines in Python.

    None where the object itself has an attribute of this name that goes first.
    """
    value, path = box.value, box.path or ()
    found_static = inspect.getattr_static(type(value), name, None)
    if is_own(value, name) and not isinstance(found_static, property):
        return None
    if isinstance(found_static, types.FunctionType):
        function_path = (*path, ("attr", name), ("attr", "__func__"))
        s.guard(function_path, "code", found_static)
        return BoundValue(Constant(found_static, function_path), (box,))
    cls_path = (*path, ("attr", "__class__"))
    if isinstance(found_static, classmethod):
        function = value_of_object(
            s, found_static.__func__, (*path, ("attr", name), ("attr", "__func__"))
        )
        return BoundValue(function, (Constant(type(value), cls_path),))
    if isinstance(found_static, staticmethod):
        return value_of_object(s, found_static.__func__, (*path, ("attr", name)))
    if isinstance(found_static, property) and isinstance(found_static.fget, types.FunctionType):
        getter = value_of_object(
            s, found_static.fget, (*cls_path, ("attr", name), ("attr", "fget"))
        )
        return MethodValue(BoundValue(getter, (box,)), "__property__")
    return None


def held_under(s: Machine, box: Constant, name: str) -> Any:
    """Return an attribute of an object; a missing one raises at run time as in Python."""
    try:
        return getattr(box.value, name)
    except AttributeError as error:
        s.guard(box.path, "lacks", name)
        raises(s, AttributeError, str(error))


def is_own(value: Any, name: str) -> bool:
    """Return True if an attribute is the object's own, not one of its class."""
    return name in namespace(value)


def _note_effects(s: Machine, function: Any, box: Constant) -> None:
    """Note what a function that is not read may change."""
    effects = effects_of(function, (box.value,), ("numpy", "scipy", "srcad"))
    if effects.names:
        doubt(s, effects, label(function))


def asked_at_call(s: Machine, box: Constant, name: str, what: Reader) -> AbstractValue:
    """Return an attribute that a user's code makes, asked at the call as often as there.

    A function of Python is read instead where the use of what it returns needs that.
    """
    if what.function is None or not s.inactive.are_read:
        s.inactive.left = True
        if what.function is not None:
            _note_effects(s, what.function, box)
        return s.box(s.field(s.atom(box), name, type=Opaque(), effect=True))
    path = box.path
    if path is not None and not what.of_module:
        path = (*path, ("attr", "__class__"))
    if path is not None:
        s.guard(box.path, "absent", name)
    function = value_of_object(
        s, what.function, None if path is None else (*path, ("attr", what.name))
    )
    return apply(s, function, (Constant(name),) if what.of_module else (box, Constant(name)), {})
