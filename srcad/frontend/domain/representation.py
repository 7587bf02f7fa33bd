"""Representation of a box as one run-time value, and the type of that."""

from __future__ import annotations

from types import FunctionType

import numpy as np

from srcad.frontend.domain.values import (
    AbstractValue,
    AttributesValue,
    Constant,
    DictValue,
    ListValue,
    PlacesValue,
    RecordValue,
    Text,
    TupleValue,
    ViewValue,
)
from srcad.ir import result_types
from srcad.ir.core import Const, Value
from srcad.ir.inference.builder import atom_type
from srcad.types.join import join
from srcad.types.numeric import Numeric
from srcad.types.structures import TEXT, ListOf, TupleOf, Type, Undefined, field_type


def is_representable(box: AbstractValue) -> bool:
    """Return True if a box can be held by one value."""
    if isinstance(box, Text):
        return True
    if isinstance(box, Constant):
        simple = box.value is None or isinstance(box.value, bool | int | float | complex | str)
        return simple or box.atom is not None or not callable(box.value)
    if isinstance(box, ViewValue | AttributesValue):
        return False
    if isinstance(box, RecordValue) and not issubclass(box.cls, tuple):
        return all(is_representable(item) or _is_function(item) for item in box.items)
    if isinstance(box, TupleValue | ListValue | DictValue | RecordValue):
        return all(is_representable(item) for item in box.items)
    return isinstance(box, Value | PlacesValue)


def _is_function(box: AbstractValue) -> bool:
    """Return True if a box is a constant function, as all objects of a list may have it."""
    if isinstance(box, Text) or not isinstance(box, Constant):
        return False
    return isinstance(box.value, FunctionType | np.ufunc)


def _field_type(box: AbstractValue) -> Type:
    if isinstance(box, Constant) and not isinstance(box, Text):
        return field_type(representing_type(box), box.value)
    return representing_type(box)


def without_value(type_: Type) -> Type:
    """Return the type of an integer without the value it has now."""
    if isinstance(type_, Numeric) and type_.value is not None:
        return type_.of_shape(type_.shape, type_.form)
    return type_


def representing_type(box: AbstractValue) -> Type:
    """Return the type of the one value that would hold a box."""
    match box:
        case Value():
            return without_value(box.type)
        case Text():
            return TEXT
        case Constant():
            return without_value(atom_type(Const(box.value)))
        case ListValue(items):
            result: Type = Undefined()
            for item in items:
                result = join(result, representing_type(item))
            return ListOf(result)
        case RecordValue(cls, names, items):
            return TupleOf(tuple(_field_type(i) for i in items), names, cls)
        case TupleValue(items):
            return TupleOf(tuple(representing_type(i) for i in items))
        case PlacesValue(keys):
            return result_types.places(tuple(map(Const, keys)))
        case DictValue(keys, items):
            return TupleOf(tuple(representing_type(i) for i in items), keys, dict)
        case _:
            return Undefined()
