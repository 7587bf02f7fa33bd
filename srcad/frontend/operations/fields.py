"""Attributes: of objects that the function has made, and of those outside that it writes into.

What is made in the function is a record, of which a write makes a new version; an attribute of an
object outside is a place (`outside`).
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from typing import Any

from srcad import errors
from srcad.frontend.domain.outside_places import OutsidePlace
from srcad.frontend.domain.values import AbstractValue, Constant, FunctionValue, RecordValue
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.definite_assignment import may_be_unbound, require_bound
from srcad.frontend.outside import places
from srcad.frontend.store import object_writes
from srcad.frontend.store.lookup import (
    STABLE_MODULES,
    below,
    has_default_attributes,
    is_data,
    is_stable,
    value_of_object,
)
from srcad.startup.identifiers import is_instance, label, module_of
from srcad.startup.records import is_record, replace
from srcad.types.reading import namespace
from srcad.types.sources import Path


def is_descriptor(member: Any) -> bool:
    """Return True if reading or writing an attribute would run code of a class of the user's."""
    kind = type(member)
    own = package_of(kind) not in STABLE_MODULES | sys.stdlib_module_names
    return own and (hasattr(kind, "__get__") or hasattr(kind, "__set__"))


def package_of(cls: type) -> str:
    """Return the package that a class belongs to."""
    return module_of(cls).partition(".")[0]


def is_generated(init: Any) -> bool:
    """Return True if a method is one that a data class writes for itself."""
    return isinstance(init, types.FunctionType) and init.__code__.co_filename == "<string>"


def class_path(state: Machine, box: AbstractValue) -> Path | None:
    """How the class of an object is reached at the call."""
    if isinstance(box, Constant) and box.path is not None:
        return (*box.path, ("attr", "__class__"))
    if not isinstance(box, RecordValue):
        return None
    path = state.paths.get(box.source) if box.source is not None else None
    return (
        (*path, ("attr", "__class__")) if path is not None else state.objects.classes.get(box.cls)
    )


def method(
    state: Machine, cls: type, name: str, function: Any, path: Path | None = None
) -> AbstractValue:
    """Return a function of a class, which may be another one at the next call."""
    path = state.objects.classes.get(cls) if path is None else path
    return value_of_object(state, function, None if path is None else (*path, ("attr", name)))


def has_attributes(box: AbstractValue) -> bool:
    """Return True if a box is an object whose attributes can be written."""
    if not isinstance(box, Constant) or box.path is None:
        return isinstance(box, RecordValue)
    value = box.value
    if isinstance(value, types.ModuleType | types.FunctionType):
        return not is_stable(value)
    if isinstance(value, type):
        return has_default_attributes(value)
    return is_record(type(value)) or not is_data(value)


def attribute_place(box: Constant, name: str) -> OutsidePlace | None:
    """Return an attribute of an object outside, as a place that may be written."""
    path, value = box.path, box.value
    if path is None:
        return None
    path = path or (("attr", "__call__"), ("attr", "__self__"))  # the function is the object
    content = (*path, ("attr", name))
    if is_instance(value, types.ModuleType):
        return OutsidePlace(vars(value), "global", name, path, content, value)
    return OutsidePlace(value, "attr", name, path, content, value)


def _content(state: Machine, box: Constant, name: str) -> AbstractValue | None:
    """Return the value of an attribute of an object outside if this call has written it."""
    place = attribute_place(box, name)
    if place is not None:
        return places.content_of(state, place)
    if is_instance(box.value, types.ModuleType):
        return places.content_without_path(state, vars(box.value), "global", name)
    return places.content_without_path(state, box.value, "attr", name)


def written_attribute(state: Machine, box: Constant, name: str) -> AbstractValue | None:
    """Return the value that this call has written to an attribute of an object, or of its class."""
    found = _content(state, box, name)
    if found is None and state.outside.written and not isinstance(box.value, types.ModuleType):
        _refuse_whole_dict(state, box, name)
        found = _written_to_class(state, box, name)
    if found is not None:
        message = f"{label(type(box.value))!r} object has no attribute {name!r}"
        require_bound(state, name, found, lambda: raises(state, AttributeError, message))
    return found


def _written_to_class(state: Machine, box: Constant, name: str) -> AbstractValue | None:
    if name in namespace(box.value):
        return None
    is_class = isinstance(box.value, type)
    cls = box.value if is_class else type(box.value)
    path = box.path if is_class else below(box.path, ("attr", "__class__"))
    for k, one in enumerate(cls.__mro__):
        if (id(one), "attr", name) in state.outside.written:
            at = below(path, ("attr", "__mro__"), ("item", k)) if k else path
            found = _content(state, Constant(one, at), name)
            if found is not None:
                return found
    return None


def _refuse_whole_dict(state: Machine, box: Constant, name: str) -> None:
    """Refuse to read ``__dict__`` of an object some of whose attributes were written."""
    if state.outside.holders and id(namespace(box.value)) in state.outside.holders:
        return
    if name == "__dict__" and any(key[0] == id(box.value) for key in state.outside.written):
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot read the '__dict__' of an object that was written into",
            why="its attributes are read by name.",
            help=("name the attribute, or use getattr and setattr",),
        )


def has_written(state: Machine, box: Constant, name: str) -> bool:
    """Return True if this call has certainly written an attribute of an object outside."""
    place, found = attribute_place(box, name), _content(state, box, name)
    if place is not None and found is not None and may_be_unbound(state, found):
        places.refuse_unknown_place(state, place)
    return found is not None


def set_attribute(
    state: Machine, box: AbstractValue, name: str, value: AbstractValue, *, frozen: bool = True
) -> None:
    """``box.name = value``; without `frozen` it bypasses ``__setattr__`` of the class."""
    if name in ("__dict__", "__class__"):
        state.refuse(
            errors.MutationError,
            f"cannot set the {name!r} of an object",
            why="its class says what it is, and its attributes are written one by one.",
            help=("write into the dict it has:  vars(x).update(...)", "or make another object"),
        )
    if isinstance(box, Constant):
        _set_outside(state, box, name, value, frozen=frozen)
        return
    assert isinstance(box, RecordValue)
    found = inspect.getattr_static(box.cls, name, None)
    parameters = getattr(box.cls, "__dataclass_params__", None)
    if frozen and parameters is not None and parameters.frozen:
        raises(state, dataclasses.FrozenInstanceError, f"cannot assign to field {name!r}")
    if frozen and _has_own(box.cls, "__setattr__"):
        apply(state, _own_method(state, box, "__setattr__"), (box, Constant(name), value), {})
        return
    if issubclass(box.cls, tuple) or (isinstance(found, property) and found.fset is None):
        raises(state, AttributeError, "can't set attribute")
    if isinstance(found, property):
        apply(state, _accessor(state, box, name, "fset", found.fset), (box, value), {})
        return
    if frozen:
        _refuse_custom_setattr(state, box.cls, "__setattr__")
    set_field(state, box, name, value)


def set_attribute_of_function(
    state: Machine, box: FunctionValue, name: str, value: AbstractValue
) -> bool:
    """Set an attribute of a local function, a number or a text; return False for other values."""
    if not isinstance(value, Constant) or not is_attribute(value.value):
        return False
    new = with_attributes(box, ((name, value.value),))
    object_writes.write(state, box, new, resizes=False)
    return True


def is_attribute(value: Any) -> bool:
    """Return True for a value that an attribute of a local function may have."""
    return type(value) in (bool, int, float, str)


def with_attributes(box: FunctionValue, found: tuple[tuple[str, Any], ...]) -> FunctionValue:
    """Return a local function with further attributes."""
    new = replace(box, attributes=tuple((dict(box.attributes) | dict(found)).items()))
    box.frame.functions.append(new)
    return new


def _has_own(cls: type, name: str) -> bool:
    """Return True if ``__setattr__`` or ``__delattr__`` of a class is a function of Python."""
    return isinstance(inspect.getattr_static(cls, name), types.FunctionType)


def _own_method(state: Machine, box: RecordValue, name: str) -> AbstractValue:
    found = inspect.getattr_static(box.cls, name)
    return method(state, box.cls, name, found, class_path(state, box))


def _refuse_custom_setattr(state: Machine, cls: type, name: str) -> None:
    """Refuse an attribute write if the class has a ``__setattr__`` without Python source."""
    own = inspect.getattr_static(cls, name)
    parameters = getattr(cls, "__dataclass_params__", None)
    plain = own is vars(object)[name] or cls is types.SimpleNamespace
    if not plain and not (parameters is not None and parameters.frozen):
        state.refuse(
            errors.MutationError,
            f"cannot write or delete an attribute of a {label(cls)!r}",
            why=f"its class has a {name!r} of its own, and srcad does not read it.",
            help=("write it before or after the differentiated function",),
        )


def _set_outside(
    state: Machine, box: Constant, name: str, value: AbstractValue, *, frozen: bool
) -> None:
    """``box.name = value`` of an object outside."""
    cls = type(box.value)
    of_class = (*(box.path or ()), ("attr", "__class__"))
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, property):
        if found.fset is None:
            raises(state, AttributeError, "can't set attribute")
        setter = value_of_object(state, found.fset, (*of_class, ("attr", name), ("attr", "fset")))
        apply(state, setter, (box, value), {})
        return
    own = inspect.getattr_static(cls, "__setattr__")
    parameters = getattr(cls, "__dataclass_params__", None)
    if frozen and parameters is not None and parameters.frozen:
        raises(state, dataclasses.FrozenInstanceError, f"cannot assign to field {name!r}")
    if frozen and isinstance(own, types.FunctionType):
        setter = value_of_object(state, own, (*of_class, ("attr", "__setattr__")))
        apply(state, setter, (box, Constant(name), value), {})
        return
    place = attribute_place(box, name)
    plain = any(own is one for one in _PLAIN)
    plain = plain or isinstance(box.value, type | types.ModuleType) or not frozen
    if place is None or not plain or (is_descriptor(found) and hasattr(type(found), "__set__")):
        state.refuse(
            errors.MutationError,
            f"cannot write the attribute {name!r} of a {label(cls)!r}",
            why="its class defines that, and srcad does not interpret it.",
            help=("write it before or after the differentiated function",),
        )
    places.put(state, place, value)


# Up to Python 3.12 the class of namespaces has one of its own, which does the same.
_PLAIN = (object.__setattr__, inspect.getattr_static(types.SimpleNamespace, "__setattr__"))


def set_field(state: Machine, box: AbstractValue, name: str, value: AbstractValue) -> None:
    """Set the attribute itself, without asking the class."""
    assert isinstance(box, RecordValue)
    entries = {**dict(zip(box.keys, box.items, strict=True)), name: value}
    object_writes.write(
        state, box, RecordValue(box.cls, tuple(entries), tuple(entries.values())), resizes=False
    )


def _accessor(
    state: Machine, box: RecordValue, name: str, kind: str, function: Any
) -> AbstractValue:
    """Return the getter of a property, which may be another function at the next call."""
    path = class_path(state, box)
    return value_of_object(
        state, function, None if path is None else (*path, ("attr", name), ("attr", kind))
    )


def delete_attribute(state: Machine, box: AbstractValue, name: str, *, frozen: bool = True) -> None:
    """``del box.name``; without `frozen` it bypasses ``__delattr__`` of the class."""
    if isinstance(box, Constant):
        _delete_outside(state, box, name)
        return
    assert isinstance(box, RecordValue)
    parameters = getattr(box.cls, "__dataclass_params__", None)
    if frozen and parameters is not None and parameters.frozen:
        raises(state, dataclasses.FrozenInstanceError, f"cannot delete field {name!r}")
    if frozen and _has_own(box.cls, "__delattr__"):
        apply(state, _own_method(state, box, "__delattr__"), (box, Constant(name)), {})
        return
    found = inspect.getattr_static(box.cls, name, None)
    if isinstance(found, property) and found.fdel is not None:
        apply(state, _accessor(state, box, name, "fdel", found.fdel), (box,), {})
        return
    if frozen:
        _refuse_custom_setattr(state, box.cls, "__delattr__")
    entries = dict(zip(box.keys, box.items, strict=True))
    if name not in entries:
        raises(state, AttributeError, name)
    del entries[name]
    object_writes.write(state, box, RecordValue(box.cls, tuple(entries), tuple(entries.values())))


def _delete_outside(state: Machine, box: Constant, name: str) -> None:
    """``del box.name`` of an object outside."""
    place = attribute_place(box, name)
    plain = inspect.getattr_static(type(box.value), "__delattr__") is object.__delattr__
    if place is None or not plain or isinstance(vars(type(box.value)).get(name), property):
        state.refuse(
            errors.MutationError,
            f"cannot delete the attribute {name!r}",
            why="its class defines that.",
            help=("set it to None",),
        )
    places.delete_place(state, place)
