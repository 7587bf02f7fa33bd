"""The types of the results of our own operations and of what Python reads, joins and counts.

One function per operation, of its operands; None where the operation is run on stand-ins.
"""

from __future__ import annotations

import numpy as np

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Const, Display
from srcad.types.join import join
from srcad.types.numeric import BOOL, INT, Numeric, int_type
from srcad.types.sizes import fresh_extent
from srcad.types.structures import OPAQUE, UNDEFINED, ListOf, PlacesOf, TupleOf, Type, field_type

Args = tuple[Arg, ...]


def unknown(args: Args) -> Type | None:
    return OPAQUE


def flag(args: Args) -> Type | None:
    """Type of a yes or no: `bool`."""
    return BOOL


def like_first(args: Args) -> Type | None:
    """Type of the first operand, or of a new version of it."""
    return argument_type(args[0])


# ------------------------------------------------------------------------- structures, parts
def item(args: Args) -> Type | None:
    """Type of a part at a known position, key or name."""
    container, position = argument_type(args[0]), args[1]
    found: Type = OPAQUE
    if isinstance(container, TupleOf) and isinstance(position, Const):
        if container.keys is not None and position.value in container.keys:
            found = container.items[container.keys.index(position.value)]
        else:
            found = container.items[position.value]
    elif isinstance(container, ListOf):
        found = container.item
    elif isinstance(container, Numeric):
        found = _row(container)
    return found


def _row(array: Numeric) -> Numeric:
    """Return the type of a row of an array, which stands for a list or tuple of cotangents."""
    if not array.shape:
        return Numeric(array.dtype)
    rest = array.shape[1:]
    return array.of_shape(rest, "array" if rest else "numpy")


def tuple_of(args: Args) -> Type | None:
    return TupleOf(tuple(argument_type(a) for a in args))


def dict_of(args: Args) -> Type | None:
    """Type of a dict with the keys that are given first."""
    keys = args[0]
    assert isinstance(keys, Const)
    return TupleOf(tuple(argument_type(a) for a in args[1:]), tuple(keys.value), dict)


def record_of(args: Args) -> Type | None:
    """Type of an object of the class, with the fields, that are given first."""
    cls, keys = args[0], args[1]
    assert isinstance(cls, Const)
    assert isinstance(keys, Const)
    if cls.value is list:
        return TupleOf(tuple(argument_type(a) for a in args[2:]), None, list)
    parts = ((argument_type(a), a) for a in args[2:])
    fields = (field_type(t, a.value) if isinstance(a, Const) else t for t, a in parts)
    return TupleOf(tuple(fields), tuple(keys.value), cls.value)


# ------------------------------------------------------------------------------------- lists
def list_of(args: Args) -> Type | None:
    return argument_type(Display("list", args))


def with_item(args: Args) -> Type | None:
    """Type of a list into which the last operand is put."""
    items = argument_type(args[0])
    known = items.item if isinstance(items, ListOf) else OPAQUE
    return ListOf(join(known, argument_type(args[-1])))


def replaced(args: Args) -> Type | None:
    """Type of a list or dict after an item was set."""
    items = argument_type(args[0])
    return places((args[1],), items.key) if isinstance(items, PlacesOf) else with_item(args)


def of_lists(args: Args) -> Type | None:
    """Type of ``items * count`` and ``items + more``."""
    types = [argument_type(a) for a in args]
    lists = [t for t in types if isinstance(t, ListOf)]
    if not lists or any(isinstance(t, Numeric) and not t.is_scalar for t in types):
        return None
    return join(lists[0], lists[-1])


# ------------------------------------------------------- dicts whose keys only the call knows
def places(keys: Args, known: Type = UNDEFINED) -> Type:
    """Type of a dict with further keys."""
    for key in keys:
        known = join(known, _of_any_value(argument_type(key)))
    return PlacesOf(INT, known)


def _of_any_value(type_: Type) -> Type:
    """Return the type of a key, whatever integers it is made of."""
    if isinstance(type_, TupleOf):
        return type_.of(tuple(map(_of_any_value, type_.items)))
    has_value = isinstance(type_, Numeric) and type_.value is not None
    return Numeric(type_.dtype, type_.shape, type_.form) if has_value else type_  # type: ignore


def keys(args: Args) -> Type | None:
    """Type of the list of a dict's keys."""
    found = argument_type(args[0])
    return ListOf(found.key if isinstance(found, PlacesOf) else OPAQUE)


def positions(args: Args) -> Type | None:
    return ListOf(INT)


def copied_places(args: Args) -> Type | None:
    """Type of ``dict(d)``."""
    found = argument_type(args[0]) if len(args) == 1 else None
    return found if isinstance(found, PlacesOf) else None


# ------------------------------------------------------------------------------------ arrays
def shape(args: Args) -> Type | None:
    type_ = argument_type(args[0])
    if isinstance(type_, Numeric) and type_.shape is not None:
        return TupleOf(tuple(int_type(e) for e in type_.shape))
    return OPAQUE


def length(args: Args) -> Type | None:
    """Type of ``len(x)``."""
    type_ = argument_type(args[0])
    if isinstance(type_, Numeric) and type_.shape:
        return int_type(type_.shape[0])
    return int_type(len(type_.items)) if isinstance(type_, TupleOf) else INT


def unbroadcast(args: Args) -> Type | None:
    """Type of a cotangent summed over the axes along which a value, or a shape, was broadcast."""
    wide, narrow = argument_type(args[0]), argument_type(args[1])
    if isinstance(narrow, TupleOf):
        lengths = [t.value if isinstance(t, Numeric) else None for t in narrow.items]
        shape = tuple(fresh_extent() if length is None else length for length in lengths)
        narrow = Numeric(None, shape, "array")
    if not isinstance(wide, Numeric) or not isinstance(narrow, Numeric):
        return None
    return wide.of_shape(narrow.shape, "array" if narrow.shape else "any")


def list_of_cotangents(args: Args) -> Type | None:
    """Type of a cotangent of lists, from two lists that may be None when the code runs."""
    first, second = map(argument_type, args[:2])
    if not isinstance(first, ListOf) or not isinstance(second, ListOf):
        return None
    return first if first == second else ListOf(join(first.item, second.item))


def python_float(args: Args) -> Type | None:
    """Type of a helper that returns a Python number."""
    return Numeric(np.dtype(float), (), "python")
