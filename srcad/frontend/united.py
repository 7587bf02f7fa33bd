"""What a box is as one value: whether one value can hold it, and of which type that is."""

from __future__ import annotations

from types import FunctionType

import numpy as np

from srcad.frontend.boxes import (
    Box,
    DictBox,
    ListBox,
    PlacesBox,
    RecordBox,
    Static,
    TupleBox,
    ViewBox,
)
from srcad.ir.builder import atom_type
from srcad.ir.core import Const, Value
from srcad.ir.infer import places_type
from srcad.types.join import join
from srcad.types.numeric import Numeric
from srcad.types.structures import (
    ListOf,
    TupleOf,
    Type,
    Undefined,
    field_type,
)


def can_be_atom(box: Box) -> bool:
    """Whether a box can be held by one value."""
    if isinstance(box, Static):
        simple = box.value is None or isinstance(box.value, bool | int | float | complex | str)
        return simple or box.atom is not None or not callable(box.value)
    if isinstance(box, ViewBox):
        return False
    if isinstance(box, RecordBox) and not issubclass(box.cls, tuple):
        return all(can_be_atom(item) or _is_function(item) for item in box.items)
    if isinstance(box, TupleBox | ListBox | DictBox | RecordBox):
        return all(can_be_atom(item) for item in box.items)
    return isinstance(box, Value | PlacesBox)


def _is_function(box: Box) -> bool:
    """Whether a box is a function that is known now: all objects of a list may have it."""
    return isinstance(box, Static) and isinstance(box.value, FunctionType | np.ufunc)


def _field_type(box: Box) -> Type:
    if isinstance(box, Static):
        return field_type(box_type(box), box.value)
    return box_type(box)


def without_value(type_: Type) -> Type:
    """The type of an integer without the value it has now."""
    if isinstance(type_, Numeric) and type_.value is not None:
        return Numeric(type_.dtype, type_.shape, type_.form)
    return type_


def box_type(box: Box) -> Type:
    """The type of the one value that would hold a box."""
    match box:
        case Value():
            return without_value(box.type)
        case Static():
            return without_value(atom_type(Const(box.value)))
        case ListBox(items):
            result: Type = Undefined()
            for item in items:
                result = join(result, box_type(item))
            return ListOf(result)
        case RecordBox(cls, names, items):
            return TupleOf(tuple(_field_type(i) for i in items), names, cls)
        case TupleBox(items):
            return TupleOf(tuple(box_type(i) for i in items))
        case PlacesBox(keys):
            return places_type(tuple(map(Const, keys)))
        case DictBox(keys, items):
            return TupleOf(tuple(box_type(i) for i in items), keys, dict)
        case _:
            return Undefined()
