"""The type of a value that two paths make."""

from __future__ import annotations

import numpy as np

from srcad.types.numeric import (
    ARRAY_CLASSES,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    DType,
    Numeric,
    array_type,
    complex_ones,
    int_type,
    joined_form,
    same_dtype,
)
from srcad.types.sizes import constant_extent, fresh_extent, resolved, same
from srcad.types.structures import (
    OPAQUE,
    UNDEFINED,
    Fixed,
    ListOf,
    Opaque,
    PlacesOf,
    TupleOf,
    Type,
    Undefined,
)


def type_of_constant(value: object) -> Type:
    """Return the type of a constant that is known at compile time."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return int_type(value)
    if isinstance(value, float):
        return FLOAT if type(value) is float else Numeric(np.dtype(type(value)), (), "numpy")
    if isinstance(value, complex):
        return COMPLEX if type(value) is complex else Numeric(np.dtype(type(value)), (), "numpy")
    if isinstance(value, np.generic):
        return Numeric(value.dtype, (), "numpy")
    if isinstance(value, np.ndarray) and type(value) in ARRAY_CLASSES:
        return array_type(value.dtype, tuple(constant_extent(n) for n in value.shape))
    if isinstance(value, tuple):
        return TupleOf(tuple(type_of_constant(v) for v in value))
    if isinstance(value, list):
        item: Type = UNDEFINED
        for v in value:
            item = join(item, type_of_constant(v))
        return ListOf(item)
    return Opaque(type(value))


def join(a: Type, b: Type) -> Type:
    """Return the least that is known of a value that is an `a` on one path and a `b` on another."""
    if a == b:
        return a
    if isinstance(a, Undefined):
        return b
    if isinstance(b, Undefined):
        return a
    if isinstance(a, Numeric) and isinstance(b, Numeric):
        return _join_numeric(a, b)
    if isinstance(a, TupleOf) and isinstance(b, TupleOf):
        if (len(a.items), a.keys, a.cls) != (len(b.items), b.keys, b.cls):
            return OPAQUE
        return a.of(tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True)))
    if isinstance(a, PlacesOf) and isinstance(b, PlacesOf):
        return PlacesOf(INT, join(a.key, b.key))
    if isinstance(a, ListOf) and isinstance(b, ListOf):
        return ListOf(join(a.item, b.item)) if type(a) is type(b) else OPAQUE
    return _common_class(a, b)


def _common_class(a: Type, b: Type) -> Opaque:
    """Return the class of a constant and of an object; OPAQUE if they differ."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Fixed) and isinstance(other, Opaque) and other.cls is type(one.value):
            return other
    return OPAQUE


def is_lost(type_: Type, within: Type) -> bool:
    """Return True if a type that covers this one no longer tells that there is a structure.

    No derivative can be followed into what may be a structure or not.
    """
    if isinstance(within, Opaque):
        return isinstance(type_, ListOf | TupleOf)
    if isinstance(type_, ListOf) and isinstance(within, ListOf):
        return is_lost(type_.item, within.item)
    if isinstance(type_, TupleOf) and isinstance(within, TupleOf):
        return any(is_lost(a, b) for a, b in zip(type_.items, within.items, strict=False))
    return False


def _join_numeric(a: Numeric, b: Numeric) -> Numeric:
    dtype = a.dtype if same_dtype(a.dtype, b.dtype) else None
    joined = _joined_dtypes(a, b) if dtype is None else frozenset[DType]()
    form = joined_form(a.form, b.form)
    value = a.value if a.value is not None and a.value == b.value else None
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return Numeric(dtype, None, form, value, joined=joined)
    shape = tuple(
        m if resolved(m) == resolved(n) else fresh_extent()
        for m, n in zip(a.shape, b.shape, strict=True)
    )
    return Numeric(dtype, shape, form, value, joined=joined)


def _joined_dtypes(a: Numeric, b: Numeric) -> frozenset[DType]:
    """Return the dtypes of two numbers; of those beside an unknown one only the complex ones."""
    found = a.dtypes | b.dtypes
    return found if a.dtypes and b.dtypes else complex_ones(found)


def take_lengths_for_equal(a: Type, b: Type) -> None:
    """Assume equal lengths where two numbers that meet have them in the example.

    A length that is a plain number stays out of it: no size is compiled in.
    """
    shapes = [t.shape for t in (a, b) if isinstance(t, Numeric) and t.shape is not None]
    if len(shapes) == 2 and len(shapes[0]) == len(shapes[1]):
        for m, n in zip(*shapes, strict=True):
            if resolved(m).terms and resolved(n).terms:
                same(m, n)
