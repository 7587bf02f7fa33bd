"""Members of classes: methods, properties, and ``super()``."""

from __future__ import annotations

import inspect
import types
from functools import _lru_cache_wrapper, cached_property, partialmethod, singledispatchmethod
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
from srcad.frontend.outside.doubts import record_possible_writes
from srcad.frontend.source.effects import effects_of
from srcad.frontend.store.lookup import below, note_attribute, value_of_object, with_first_arguments
from srcad.startup.identifiers import label
from srcad.types.reading import Reader, namespace
from srcad.types.sources import Path
from srcad.types.structures import Opaque

_OF_OBJECT = ("__getattribute__", "__setattr__", "__delattr__")


def of_bases(state: Machine, box: Super, name: str) -> AbstractValue:
    """Return a member of the classes behind the one that a method belongs to."""
    owner = box.box
    cls, start = _class_of(state, owner)
    order = cls.__mro__
    for k, base in enumerate(order[order.index(box.cls) + 1 :] if box.cls in order else ()):
        if name in vars(base):
            place = ("item", order.index(box.cls) + 1 + k)
            path = None if start is None else (*start, ("attr", "__mro__"), place, ("attr", name))
            found = vars(base)[name]
            if path is None:
                note_attribute(state, base, name)
            if found is object.__init__:
                return Constant(found)
            if any(found is vars(object)[name] for name in _OF_OBJECT):
                return BoundValue(Constant(found), (owner,))
            return member(state, owner, found, path)
    return raises(state, AttributeError, f"'super' object has no attribute {name!r}")


def _class_of(state: Machine, owner: AbstractValue) -> tuple[type, Path | None]:
    """Return the class of an object, or the class that a class method got.

    And how it is reached.
    """
    if isinstance(owner, RecordValue):
        return owner.cls, class_path(state, owner)
    if not isinstance(owner, Constant):
        return object, None
    if isinstance(owner.value, type):
        return owner.value, owner.path
    return type(owner.value), class_path(state, owner)


def member(state: Machine, box: AbstractValue, found: Any, path: Path | None) -> AbstractValue:
    """Return a member of a class, read through an object; `path` leads to it at the call."""
    is_class = isinstance(box, Constant) and isinstance(box.value, type)
    if isinstance(found, property):
        getter = value_of_object(
            state, found.fget, None if path is None else (*path, ("attr", "fget"))
        )
        return MethodValue(BoundValue(getter, (box,)), "__property__")
    if isinstance(found, types.FunctionType):
        function = value_of_object(state, found, path)
        return function if is_class else BoundValue(function, (box,))
    binds = isinstance(found, _lru_cache_wrapper) or is_decorated_function(found)
    if binds and not is_class:
        return BoundValue(value_of_object(state, found, path), (box,))
    if isinstance(found, cached_property):
        return _computed_once(state, box, found, path)
    if isinstance(found, partialmethod):
        return _partial_method(state, box, found, path)
    if isinstance(found, singledispatchmethod):
        return BoundValue(Constant(found, path), (box,))  # chosen when it is called
    if isinstance(found, staticmethod):
        return value_of_object(state, found.__func__, path)
    if isinstance(found, classmethod):
        here = None if path is None else (*path, ("attr", "__func__"))
        return BoundValue(
            value_of_object(state, found.__func__, here), (Constant(*_class_of(state, box)),)
        )
    return value_of_object(state, found, path)


def is_decorated_function(found: Any) -> bool:
    """Return True for a function under a decorator of srcad, which binds to objects as it does."""
    cls = type(found)
    calls = hasattr(cls, "__srcad_called__") or hasattr(cls, "__srcad_primal__")
    return calls and hasattr(cls, "__get__") and isinstance(found.__wrapped__, types.FunctionType)


def _computed_once(
    state: Machine, box: AbstractValue, found: Any, path: Path | None
) -> AbstractValue:
    here = None if path is None else (*path, ("attr", "func"))
    with state.kept(box) as kept:
        value = apply(state, value_of_object(state, found.func, here), (box,), {})
    set_field(state, kept.box, found.attrname, value)
    return value


def _partial_method(
    state: Machine, box: AbstractValue, found: partialmethod[Any], path: Path | None
) -> AbstractValue:
    """Return a method with its first arguments; one of a class method is a partial function."""
    cls, _ = _class_of(state, box)
    function = found.__get__(None, cls)
    is_class = isinstance(box, Constant) and isinstance(box.value, type)
    if is_class or not isinstance(function, types.FunctionType):
        return value_of_object(state, function, path)
    name = "__partialmethod__" if hasattr(function, "__partialmethod__") else "_partialmethod"
    held = with_first_arguments(state, found, below(path, ("attr", name)))
    return BoundValue(held.function, (box, *held.args), held.kwargs)


def of_class_object(state: Machine, box: Constant, name: str) -> AbstractValue:
    """Return a member of a class of the user's, read through the class itself."""
    path = (*(box.path or ()), ("attr", name))
    attribute_or_raise(state, box, name)
    found = inspect.getattr_static(box.value, name)
    if isinstance(found, types.GetSetDescriptorType | types.MemberDescriptorType):
        found = getattr(box.value, name)  # what every class has, as __name__ and __mro__
    if isinstance(found, classmethod):
        function = value_of_object(state, found.__func__, (*path, ("attr", "__func__")))
        return BoundValue(function, (box,))
    if isinstance(found, staticmethod | types.FunctionType):
        return value_of_object(state, getattr(box.value, name), path)
    if isinstance(found, singledispatchmethod):
        return member(state, box, found, path)
    by_class = callable(found) or isinstance(found, partialmethod)
    return value_of_object(state, getattr(box.value, name) if by_class else found, path)


def of_class(state: Machine, box: Constant, name: str) -> AbstractValue | None:
    """Return a method or property that the class of an object defines in Python.

    None where the object itself has an attribute of this name that goes first.
    """
    value, path = box.value, box.path or ()
    found_static = inspect.getattr_static(type(value), name, None)
    if is_own(value, name) and not isinstance(found_static, property):
        return None
    if isinstance(found_static, types.FunctionType):
        function_path = (*path, ("attr", name), ("attr", "__func__"))
        state.guard(function_path, "code", found_static)
        return BoundValue(Constant(found_static, function_path), (box,))
    cls_path = (*path, ("attr", "__class__"))
    if isinstance(found_static, classmethod):
        function = value_of_object(
            state, found_static.__func__, (*path, ("attr", name), ("attr", "__func__"))
        )
        return BoundValue(function, (Constant(type(value), cls_path),))
    if isinstance(found_static, singledispatchmethod):
        return member(state, box, found_static, (*cls_path, ("attr", name)))
    if isinstance(found_static, staticmethod):
        return value_of_object(state, found_static.__func__, (*path, ("attr", name)))
    if isinstance(found_static, property) and isinstance(found_static.fget, types.FunctionType):
        getter = value_of_object(
            state, found_static.fget, (*cls_path, ("attr", name), ("attr", "fget"))
        )
        return MethodValue(BoundValue(getter, (box,)), "__property__")
    return None


def attribute_or_raise(state: Machine, box: Constant, name: str) -> Any:
    """Return an attribute of an object; a missing one raises at run time as in Python."""
    if box.path is None and box.atom is None:
        note_attribute(state, box.value, name)
    try:
        return getattr(box.value, name)
    except AttributeError as error:
        state.guard(box.path, "lacks", name)
        raises(state, AttributeError, str(error))


def is_own(value: Any, name: str) -> bool:
    """Return True if an attribute is the object's own, not one of its class."""
    return name in namespace(value)


def _note_effects(state: Machine, function: Any, box: Constant) -> None:
    """Note what a function that is not read may change."""
    effects = effects_of(function, (box.value,), ("numpy", "scipy", "srcad"))
    if effects.names:
        record_possible_writes(state, effects, label(function))


def attribute_at_run_time(state: Machine, box: Constant, name: str, what: Reader) -> AbstractValue:
    """Return an attribute that a user's code makes, asked at the call as often as there.

    A function of Python is read instead where the use of what it returns needs that.
    """
    if what.function is None or not state.inactive.are_read:
        state.inactive.left = True
        if what.function is not None:
            _note_effects(state, what.function, box)
        return state.box(state.field(state.atom(box), name, type=Opaque(), effect=True))
    path = box.path
    if path is not None and not what.of_module:
        path = (*path, ("attr", "__class__"))
    if path is not None:
        state.guard(box.path, "absent", name)
    function = value_of_object(
        state, what.function, None if path is None else (*path, ("attr", what.name))
    )
    return apply(
        state, function, (Constant(name),) if what.of_module else (box, Constant(name)), {}
    )
