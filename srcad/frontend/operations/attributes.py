"""``value.name``: of arrays, of structures, of modules, of the user's objects."""

from __future__ import annotations

import enum
import inspect
import operator
import types
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import by_case
from srcad.frontend.domain.structure import attributes_of_record
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    AttributesValue,
    BoundValue,
    Choice,
    Conflict,
    Constant,
    DictValue,
    FunctionValue,
    Holder,
    ListValue,
    MethodValue,
    RecordValue,
    Stale,
    Super,
    Text,
    TupleValue,
    ViewValue,
)
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.dispatch import apply, attribute, attributes_of
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.construction import is_readable
from srcad.frontend.operations.fields import class_path, is_generated, written_attribute
from srcad.frontend.operations.members import (
    attribute_at_run_time,
    attribute_or_raise,
    is_own,
    member,
    of_bases,
    of_class,
    of_class_object,
)
from srcad.frontend.prelude.containers import LibraryObject
from srcad.frontend.store import foreign_operands, stale
from srcad.frontend.store.lookup import (
    STABLE_MODULES,
    has_default_attributes,
    note_attribute,
    value_of_object,
)
from srcad.frontend.store.memory_effects import flat
from srcad.ir.core import Call, Value
from srcad.rules import registry
from srcad.rules.registry import index_of_field
from srcad.startup.identifiers import is_instance, label
from srcad.startup.records import is_record
from srcad.types.numeric import Numeric
from srcad.types.objects import computed_names, slots_of
from srcad.types.reading import may_ask, reader
from srcad.types.structures import ListOf, Opaque

TUPLE_METHODS = frozenset({"_replace", "_asdict", "index", "count"})


REFUSED_ATTRIBUTES = {"base": "", "data": "", "ctypes": "", "strides": ""}


_CHANGING = frozenset(vars(set)) - frozenset(vars(frozenset))  # ``add``, ``update`` and the like


attributes_of(Super)(of_bases)


@attributes_of(BoundValue, Holder)
def of_callable(state: Machine, box: BoundValue | Holder, name: str) -> AbstractValue:
    """Return a method, looked up when it is called."""
    return MethodValue(box, name)


@attributes_of(Choice)
def of_choice(state: Machine, box: Choice, name: str) -> AbstractValue:
    """Return an attribute of a value that depends on a test."""
    return by_case(state, box, lambda part: attribute(state, part, name))


@attributes_of(object)
def of_other(state: Machine, box: AbstractValue, name: str) -> NoReturn:
    """Refuse to read an attribute of a value without attributes, or of an unknown one."""
    if isinstance(box, Stale):
        stale.refuse_stale(state, box)
    if isinstance(box, Conflict):
        stale.refuse_to_hold(state, box)
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot read the attribute {name!r} of this",
        why="it is not an array, a structure or an object.",
        help=("read it before the differentiated function",),
    )


def read_attribute(state: Machine, box: AbstractValue, name: str) -> AbstractValue:
    """``box.name``, properties called."""
    if isinstance(box, Choice):
        return by_case(state, box, lambda part: read_attribute(state, part, name))
    found = attribute(state, box, name)
    if isinstance(found, MethodValue) and found.name == "__property__":
        return apply(state, found.receiver, (), {})
    return found


@attributes_of(TupleValue, ViewValue, ListValue, DictValue, AttributesValue, FunctionValue)
def of_sequence(state: Machine, box: AbstractValue, name: str) -> AbstractValue:
    """Return a method, or a field of a named tuple that a function has returned."""
    if isinstance(box, TupleValue):
        index = index_of_field(name, len(box.items))
        if index is not None:
            return box.items[index]
    if isinstance(box, FunctionValue) and name in dict(box.attributes):
        return Constant(dict(box.attributes)[name])
    cls = dict if isinstance(box, DictValue) else tuple if type(box) is TupleValue else list
    if isinstance(box, TupleValue) and not hasattr(cls, name):
        _refuse_attribute_of_result(state, box, name)
    if not isinstance(box, FunctionValue | ViewValue) and not hasattr(cls, name):
        raises(state, AttributeError, f"{cls.__name__!r} object has no attribute {name!r}")
    return MethodValue(box, name)


def _refuse_attribute_of_result(state: Machine, box: TupleValue, name: str) -> None:
    """Refuse an attribute of a library result that is not one of its items."""
    calls = (op for op in state.builder.ops if isinstance(op, Call))
    target = next((op.target for op in calls if op.result is box.source), None)
    rule = registry.lookup(target)
    if rule is None or not rule.shipped or rule.result is None or not rule.result.fields:
        return
    fields = ", ".join(map(repr, rule.result.fields))
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot read {name!r} of a result of {registry.qualified_name(target)}",
        why=f"the derivatives of its items are known, and these are {fields}.",
        help=("compute it from these and the arguments",),
    )


@attributes_of(Value)
def of_value(state: Machine, box: Value, name: str) -> AbstractValue:
    """Return an attribute of a value that is only known at run time."""
    if isinstance(box.type, Numeric):
        return of_number(state, box, name)
    if isinstance(box.type, ListOf):
        return of_sequence(state, box, name)
    cls = box.type.cls if isinstance(box.type, Opaque) else None
    draws = cls is not None and cls.__module__.startswith("numpy.random")
    draws = draws and callable(getattr(cls, name, None))
    array = None if draws else foreign_operands.as_number(state, box, name)
    if array is not None:
        return attribute(state, array, name)
    if draws or name == "shuffle" or box in state.active:
        return MethodValue(box, name)
    return state.field(box, name, effect=cls is not None and may_ask(cls, name))


def of_number(state: Machine, box: Value, name: str) -> AbstractValue:
    """Return an attribute of a number or an array."""
    assert isinstance(box.type, Numeric)
    if box.type.cls is not None and not any(hasattr(c, name) for c in _classes_of(box.type)):
        return _of_own_class(state, box, box.type.cls, name)
    _check_attribute(state, box.type, name)
    rank = None if box.type.shape is None else len(box.type.shape)
    match name:
        case "shape":
            return state.box(state.shape(box))
        case "ndim":
            return Constant(rank) if rank is not None else state.emit(np.ndim, box)
        case "size":
            return state.box(state.emit(np.size, box))
        case "dtype":
            return (
                Constant(box.type.dtype)
                if box.type.dtype is not None
                else state.field(box, name, type=Opaque(np.dtype))
            )
        case "T":
            return state.emit(np.transpose, box)
        case "mT":
            return state.emit(np.matrix_transpose, box)
        case "real" | "imag" | "flat":
            return _part_of_number(state, box, name)
        case "itemsize" | "nbytes":
            return _bytes_of(state, box, name)
        case _:
            return MethodValue(box, name)


def _of_own_class(state: Machine, box: Value, cls: type, name: str) -> AbstractValue:
    """Return an attribute of a number of a subclass of `int`, `float` or `complex`."""
    if issubclass(cls, enum.Enum) and name in ("name", "_name_"):
        return state.field(box, name, type=Opaque(str))
    if issubclass(cls, enum.Enum) and name in ("value", "_value_"):
        return state.emit(operator.pos, box)
    return state.refuse(
        errors.UnsupportedTypeError,
        f"cannot read the attribute {name!r} of a {label(cls)!r}",
        why="the number is differentiated by, as one of its base class.",
        help=("pass the value of the attribute as an argument of its own",),
    )


def _check_attribute(state: Machine, type_: Numeric, name: str) -> None:
    """Refuse what shows an array's memory; a Python number has no attributes of arrays."""
    if name in REFUSED_ATTRIBUTES:
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot differentiate through '.{name}'",
            why="it shows the memory of the array, not its value.",
            help=(REFUSED_ATTRIBUTES[name] or "compute it outside the function",),
        )
    if state.frame.trusted:
        return
    classes = _classes_of(type_)
    if not any(hasattr(cls, name) for cls in classes):
        if not state.arguments:  # read without example: it may be an object of any class
            of_other(state, UNBOUND, name)
        own = classes[0]
        full = own.__name__ if own.__module__ == "builtins" else f"numpy.{own.__name__}"
        raises(state, AttributeError, f"{full!r} object has no attribute {name!r}")


def _classes_of(type_: Numeric) -> tuple[type, ...]:
    """Return the classes that a number or array may be of."""
    python = {"i": int, "b": bool, "c": complex}.get(type_.kind, float)
    scalar = np.generic if type_.dtype is None else type_.dtype.type
    return {
        "python": (python, int) if type_.kind == "?" else (python,),
        "numpy": (scalar,),
        "array": (np.ndarray,),
    }.get(type_.form, (np.ndarray, scalar, python))


def _bytes_of(state: Machine, box: Value, name: str) -> AbstractValue:
    """How much memory an array takes: a count, which carries no derivative."""
    dtype = box.type.dtype if isinstance(box.type, Numeric) else None
    if dtype is None:
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot tell the {name!r} of this",
            why="its dtype is not known before the call.",
            help=("compute it outside the function",),
        )
    width = Constant(dtype.itemsize)
    return (
        width
        if name == "itemsize"
        else state.box(state.emit(operator.mul, state.emit(np.size, box), width))
    )


def _part_of_number(state: Machine, box: Value, name: str) -> AbstractValue:
    if name == "flat":
        return flat(state, box)
    return state.emit(np.real if name == "real" else np.imag, box)


@attributes_of(RecordValue)
def of_record(state: Machine, box: RecordValue, name: str) -> AbstractValue:
    """Return an attribute of an object that the function has made."""
    if name in box.keys:
        return box.items[box.keys.index(name)]
    if name == "__class__":
        return Constant(box.cls, class_path(state, box))
    if name == "__dict__" and has_dict_of_attributes(box):
        return attributes_of_record(box)
    if name == "__dict__":
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot differentiate through '__dict__'",
            why="the attributes of an object made here are read and written by name.",
            help=("name the attribute, or use getattr and setattr",),
        )
    if issubclass(box.cls, tuple) and name in TUPLE_METHODS:
        return MethodValue(box, name)
    path, missing = class_path(state, box), object()
    found = inspect.getattr_static(box.cls, name, missing)
    if found is missing and issubclass(box.cls, LibraryObject):
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot differentiate through '.{name}' of {box.cls.described}",
            why="it is made from values that carry a derivative, and this attribute has no rule.",
            help=(
                "compute it from what its other methods return",
                "or, if no derivative is to flow through it, make a second object from "
                "srcad.stop_gradient(...) of these values",
            ),
        )
    if found is missing or isinstance(found, types.MemberDescriptorType):  # an empty slot
        raises(state, AttributeError, f"{label(box.cls)!r} object has no attribute {name!r}")
    if path is None:
        note_attribute(state, box.cls, name)
    return member(state, box, found, None if path is None else (*path, ("attr", name)))


def has_dict_of_attributes(box: RecordValue) -> bool:
    """Return True if the ``__dict__`` of an object is known to be its attributes."""
    cls = box.cls
    if cls is types.SimpleNamespace:
        return True
    if issubclass(cls, tuple | LibraryObject) or not is_readable(cls) or slots_of(cls):
        return False
    if box.source is not None and computed_names(cls):  # it may hold what these have computed
        return False
    if not is_record(cls):
        return True
    # The order of the fields is that of the assignments of the generated `__init__`.
    fields = cls.__dataclass_fields__.values()  # type: ignore[attr-defined]
    return is_generated(inspect.getattr_static(cls, "__init__")) and all(f.init for f in fields)


_OF_NUMBERS = frozenset({"value", "_value_", "real", "imag", "numerator", "conjugate", "__index__"})


@attributes_of(Constant, Text)
def of_object(state: Machine, box: Constant, name: str) -> AbstractValue:
    """Return an attribute of an object that is known at compile time."""
    value = box.value
    state.use_as_number(*([box] if name in _OF_NUMBERS else []))
    if is_instance(value, types.ModuleType):
        return _of_module(state, box, name)
    is_plain = box.path is None and box.atom is None
    written = written_attribute(state, box, name) if state.outside.seen or not is_plain else None
    if written is not None:
        return written
    if is_plain:
        return _of_plain(state, value, name)
    asked = reader(value, name)
    if asked is not None:
        return attribute_at_run_time(state, box, name, asked)
    if box.path is not None and has_default_attributes(value):
        return of_class_object(state, box, name)
    defined = of_class(state, box, name)
    if defined is not None:
        return defined
    path = (*(box.path or ()), ("attr", name))
    found = attribute_or_raise(state, box, name)
    is_method = isinstance(found, types.BuiltinFunctionType | types.MethodType)
    if is_method and not is_own(value, name) and not isinstance(found.__self__, types.ModuleType):
        return MethodValue(box, name)
    return value_of_object(state, found, path)


def _of_module(state: Machine, box: Constant, name: str) -> AbstractValue:
    """Return an attribute of a module; those of the usual libraries are constants."""
    value = box.value
    written = written_attribute(state, box, name)
    if written is not None:
        return written
    if value.__name__.partition(".")[0] not in STABLE_MODULES:
        asked = reader(value, name)
        if asked is not None:
            return attribute_at_run_time(state, box, name, asked)
        found = attribute_or_raise(state, box, name)
        return value_of_object(
            state, found, None if box.path is None else (*box.path, ("attr", name))
        )
    found = attribute_or_raise(state, box, name)
    if isinstance(found, int | float | complex) and not isinstance(found, bool):
        return Constant(found, spelling=f"{_alias(value)}.{name}")
    return Constant(found)


def _of_plain(state: Machine, value: Any, name: str) -> AbstractValue:
    if isinstance(value, frozenset) and name in _CHANGING:
        state.refuse(
            errors.MutationError,
            "cannot change a set",
            why="the sets of a differentiated function are constants.",
            help=("make another one:  s = s | {item}", "or use a dict or a list"),
        )
    if isinstance(value, inspect.Signature) and name == "parameters":
        found = value.parameters
        return DictValue(tuple(found), tuple(map(Constant, found.values())))
    defined = inspect.getattr_static(type(value), name, None)
    if isinstance(defined, property) and isinstance(defined.fget, types.FunctionType):
        note_attribute(state, type(value), name)
        return MethodValue(BoundValue(Constant(defined.fget), (Constant(value),)), "__property__")
    found = attribute_or_raise(state, Constant(value), name)
    if isinstance(value, type) and isinstance(
        inspect.getattr_static(value, name, None), classmethod
    ):
        return BoundValue(Constant(found.__func__), (Constant(value),))
    return Constant(found)


def _alias(module: types.ModuleType) -> str:
    return "np" if module is np else module.__name__
