"""Questions about an object: its class, whether it has an attribute, whether it can be called."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.predicates import has_user_protocol
from srcad.frontend.domain.structure import is_mutable
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    FunctionValue,
    ListValue,
    MethodValue,
    RecordValue,
    Structure,
    TupleValue,
)
from srcad.frontend.machine.constants import attribute_name, known, raises
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means, means_object
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.attributes import read_attribute
from srcad.frontend.operations.fields import class_path, has_written
from srcad.frontend.operations.members import is_own, member
from srcad.frontend.source.syntax import are_locals_unread
from srcad.frontend.store.lookup import below, is_stable, note_attribute, value_of_object
from srcad.frontend.store.runtime_keys import class_of_record
from srcad.ir.core import Value
from srcad.types.numeric import BOOL, Numeric
from srcad.types.reading import checks_instances, reader
from srcad.types.sources import Path
from srcad.types.structures import ListOf, Opaque


@means(isinstance)
def isinstance_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Evaluate ``isinstance(x, kinds)`` by the abstract value of `x`."""
    box, kinds = args
    wanted = known(state, kinds, "a class")
    found = class_of(box)
    if found is not None and not checks_instances(wanted):
        try:
            return Constant(issubclass(found, wanted))
        except TypeError as error:
            raises(state, TypeError, str(error))
    if state.frame.trusted:
        return Constant(False)  # a rule's general path holds for every kind
    return state.emit(isinstance, box, Constant(wanted), type=BOOL)


def class_of(box: AbstractValue) -> type | None:
    """Return the class of the object of a box, where it is known."""
    match box:
        case Constant():
            return box.cls
        case TupleValue():
            return tuple
        case ListValue() | Value(type=ListOf()):
            return list
        case DictValue():
            return dict
        case RecordValue():
            return class_of_record(box)
        case FunctionValue() | BoundValue():
            return type(class_of)
        case Value(type=Numeric() as type_):
            return _class_of_number(type_)
        case Value(type=Opaque() as type_):
            return type_.cls
        case _:
            return None


def _class_of_number(type_: Numeric) -> type | None:
    if type_.form == "array":
        return np.ndarray
    if type_.dtype is None:
        return None
    if type_.form == "numpy":
        return type_.dtype.type
    return (type_.cls or _python_class(type_)) if type_.form == "python" else None


def _python_class(type_: Numeric) -> type | None:
    return {"f": float, "i": int, "b": bool, "c": complex}.get(type_.kind)


_DISPATCHING = functools.singledispatch(lambda _: None).__code__  # type: ignore[attr-defined]


@means_object
def dispatched(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Call the function that ``functools.singledispatch`` chooses by the class of an argument."""
    function = callee.value
    is_function = isinstance(function, types.FunctionType)
    if not is_function or function.__code__ is not _DISPATCHING or not args:
        return None
    found, path = implementation(state, function, callee.path, args[0])
    return apply(state, value_of_object(state, found, path), args, kwargs)


@means_object
def dispatched_method(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Call the method that ``functools.singledispatchmethod`` chooses by the class of an argument.

    The first of `args` is the object, or the class, that the method was read through.
    """
    if not isinstance(callee.value, functools.singledispatchmethod):
        return None
    owner, *given = args
    if not given:
        name = getattr(callee.value.func, "__name__", "singledispatchmethod method")
        raises(state, TypeError, f"{name} requires at least 1 positional argument")
    # What the class has under its name is a function, and its `register` is bound to this object.
    path = below(callee.path, ("attr", "register"), ("attr", "__self__"), ("attr", "dispatcher"))
    found, path = implementation(state, callee.value.dispatcher, path, given[0])
    return apply(state, member(state, owner, found, path), tuple(given), kwargs)


def implementation(
    state: Machine, function: Any, path: Path | None, box: AbstractValue
) -> tuple[Any, Path | None]:
    """Return the function that is registered for the class of an argument, and its path."""
    cls = class_of(box)
    if cls is None:
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot tell which function {function.__name__!r} dispatches to",
            why="the class of its first argument is known at the call only.",
            help=("call the function for the class by its name", "or convert it:  float(x)"),
        )
    found, registered = function.dispatch(cls), function.registry
    registry = below(path, ("attr", "registry"))
    if registry is not None:
        state.guard(registry, "keys", [*registered])
    key = next(key for key, one in registered.items() if one is found)
    return found, below(registry, ("item", key))


@means(type)
def type_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``type(x)``, or ``type(name, bases, members)``, which makes a class."""
    if len(args) > 1 and state.is_active(*args, *kwargs.values()):
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot make a class that holds a differentiated value",
            why="its objects would share the value, and no derivative flows through a class.",
            help=("keep it in an object:  types.SimpleNamespace(k=x)",),
        )
    found = class_of(args[0]) if len(args) == 1 else None
    if found is None:
        return None
    path = None if is_stable(found) else class_path(state, args[0])
    return Constant(found, path)


@means(vars)
def vars_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``vars(x)`` is ``x.__dict__``; without argument it is ``locals()``."""
    return read_attribute(state, args[0], "__dict__") if args else looks_inside(state, args, kwargs)


@means(inspect.signature)
def signature(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``inspect.signature(f)`` of a function or class outside, also of a bound method."""
    function = args[0].function if args and isinstance(args[0], BoundValue) else args[0]
    if len(args) != 1 or kwargs or not isinstance(function, Constant):
        return None
    described = function.value
    if isinstance(args[0], BoundValue):
        if args[0].kwargs or not isinstance(described, types.FunctionType):
            return None
        if len(args[0].args) != 1:
            return None
        described = described.__get__(object())  # its first parameter is left out
    state.guard(function.path, "is", function.value)
    try:
        return Constant(inspect.signature(described))
    except (TypeError, ValueError) as error:
        return raises(state, type(error), str(error))


@means(locals)
def locals_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``locals()`` that is not read, as debuggers leave it behind."""
    node = state.frame.node
    if node is None or not are_locals_unread(node):
        return looks_inside(state, args, kwargs)
    return Constant(None)


@means(
    globals,
    eval,
    exec,
    compile,
    dir,
    sys._getframe,
    inspect.currentframe,
    inspect.stack,
    inspect.trace,
    sys._current_frames,
)
def looks_inside(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Refuse functions that read or run a program by its text or its names."""
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot differentiate through a builtin that looks at the program itself",
        why="it reads names or runs text that the compiler cannot see.",
        help=("name the values that it needs",),
    )


@means(id)
def id_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Refuse the identity of a list, dict or object that is made anew where it is needed."""
    box = args[0] if args else None
    if not isinstance(box, Structure) or not is_mutable(box) or box.source is not None:
        return None
    return state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot tell the identity of a list, dict or object that the function has made",
        why="the derivative makes it where it is needed, so it has no one address.",
        help=("use a number or a text as the key",),
    )


@means(callable)
def callable_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    box = args[0]
    if isinstance(box, Constant):
        return Constant(callable(box.value))
    if isinstance(box, RecordValue):
        return Constant(any("__call__" in vars(cls) for cls in box.cls.__mro__))
    if has_user_protocol(box):
        return None
    return Constant(isinstance(box, FunctionValue | BoundValue))


@means(getattr)
def getattr_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``getattr(x, name, default)``."""
    name = attribute_name(state, args[1])
    if len(args) > 2:
        found = hasattr_(state, args[:2], kwargs)
        if not isinstance(found, Constant):
            return None
        if not found.value:
            return args[2]
    return read_attribute(state, args[0], name)


@means(hasattr)
def hasattr_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``hasattr(x, name)``."""
    name = attribute_name(state, args[1])
    box = args[0]
    if isinstance(box, Constant):
        if state.outside.written and has_written(state, box, name):
            return Constant(True)
        if reader(box.value, name) is not None:
            state.inactive.left = True
            return None
        found = hasattr(box.value, name)
        if box.path is None and box.atom is None:
            note_attribute(state, box.value, name)
        state.guard(box.path, "has" if found else "lacks", name)
        return Constant(found)
    if isinstance(box, RecordValue) and name in box.keys:
        return Constant(True)
    if isinstance(box, FunctionValue) and name in dict(box.attributes):
        return Constant(True)
    answers = {hasattr(cls, name) and not _is_slot(cls, name) for cls in _classes_of(box)}
    if len(answers) != 1:
        return None
    found = answers.pop()
    if not found and has_user_protocol(box):
        return None  # the object may have what its class has not
    if isinstance(box, RecordValue):
        state.guard(class_path(state, box), "has" if found else "lacks", name)
    return Constant(found)


@means(object.__getattribute__)
def found_without_user_code(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``object.__getattribute__(x, name)``: a member of the class; other attributes at the call."""
    if len(args) != 2 or not isinstance(args[0], Constant):
        return None
    box, name = args[0], attribute_name(state, args[1])
    if is_own(box.value, name):
        return None
    found = inspect.getattr_static(type(box.value), name, None)
    if not isinstance(found, types.FunctionType | property | staticmethod | classmethod):
        return None
    path = class_path(state, box)
    held = member(state, box, found, None if path is None else (*path, ("attr", name)))
    is_property = isinstance(held, MethodValue) and held.name == "__property__"
    return apply(state, held, (), {}) if is_property else held


def _is_slot(cls: type, name: str) -> bool:
    """Return True if a class only keeps a place for an attribute: ``__slots__``."""
    return isinstance(inspect.getattr_static(cls, name, None), types.MemberDescriptorType)


def _classes_of(box: AbstractValue) -> tuple[type, ...]:
    """Return the classes that what a box stands for may have; none where they are not known."""
    cls = class_of(box)
    if cls is not None:
        return (cls,)
    if not isinstance(box, Value) or not isinstance(box.type, Numeric):
        return ()
    if box.type.dtype is None:
        return (bool, int, float, complex, np.bool, np.int64, np.float64, np.ndarray)
    own = _python_class(box.type)
    numbers = (own, box.type.dtype.type) if own is not None else (box.type.dtype.type,)
    return numbers if box.type.form == "number" else (*numbers, np.ndarray)
