"""Conditions that check the type of a value: one function per kind of type."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from srcad.arguments.signature import is_number
from srcad.calling.assumptions import take_assumptions_of_items
from srcad.calling.conditions import Conditions
from srcad.calling.guards import equals
from srcad.startup.identifiers import quoted
from srcad.types import objects
from srcad.types.numeric import Numeric
from srcad.types.sources import EACH, Path
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf, Type, Undefined

_PYTHON_KINDS = {"f": float, "i": int, "c": complex, "b": bool}


def check(c: Conditions, type_: Type, expression: str, path: Path) -> None:
    """Write the conditions for what is at a path to have a type; afterwards it has a name."""
    if expression.isidentifier():
        first = name = expression
    else:
        name = c.fresh("v")
        first = f"({name} := {expression})"
    c.names[path] = name
    _CHECKS[type(type_)](c, type_, first, name, path)


def _is_python_number(value: Any) -> bool:
    return type(value) in (int, float, complex)


def _is_numpy_number(value: Any) -> bool:
    return isinstance(value, np.generic) and is_number(value)


def _is_scalar_number(value: Any) -> bool:
    return is_number(value) and not isinstance(value, np.ndarray)


_LOOSE: dict[str, Callable[[Any], bool]] = {
    "any": is_number,
    "number": _is_scalar_number,
    "python": _is_python_number,
    "numpy": _is_numpy_number,
}


def _numeric(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    if type_.form == "array":
        _array(c, type_, first, name, path)
    elif type_.form in ("any", "number") or type_.dtype is None:
        c.add(f"{c.constant(_LOOSE[type_.form])}({first})")
    elif type_.form == "numpy":
        c.is_class(first, c.constant(type_.dtype.type))
    else:
        c.is_class(first, c.class_name(type_.cls or _PYTHON_KINDS[type_.kind]))


def _array(c: Conditions, type_: Numeric, first: str, name: str, path: Path) -> None:
    p = c.prefix
    exact = f"{p}type({first}) is {p}ndarray"
    c.add(f"({exact} or {p}type({name}) is {p}memmap)", quick=exact)
    if type_.dtype is None:
        c.add(f"{c.constant(is_number)}({name})")
    else:
        dtype = c.constant(type_.dtype)
        exact = f"{name}.dtype is {dtype}"
        c.add(f"({exact} or {name}.dtype == {dtype})", quick=exact)
    rank = None if type_.shape is None else len(type_.shape)
    if path[0] in c.ordered and (rank is None or rank > 1):
        c.add(f"{name}.flags.c_contiguous")
    if type_.shape is not None:
        c.add_shape(name, path, len(type_.shape))


def _structure(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    cls = type_.cls
    c.is_class(first, c.class_name(cls))
    if cls is dict:
        c.add(f"[*{name}] == {c.constant(list(type_.keys))}")
    elif type_.keys is None:
        c.add(f"{c.prefix}len({name}) == {len(type_.items)}")
    fields = type_.keys is not None and cls is not dict
    if fields and not issubclass(cls, tuple):
        _no_more_attributes(c, cls, type_.keys, name)
    keys = type_.keys if type_.keys is not None else range(len(type_.items))
    for position, (key, item) in enumerate(zip(keys, type_.items, strict=True)):
        if fields and not issubclass(cls, tuple):
            c.risky = True
            expression = c.attribute(name, key)
        else:
            index = quoted(key) if type(key) is str else c.constant(key)
            expression = f"{name}[{position if fields else index}]"
        check(c, item, expression, (*path, ("attr" if fields else "item", key)))


def _no_more_attributes(c: Conditions, cls: type, keys: tuple[str, ...], name: str) -> None:
    """Add the condition that an object has no further attribute, which could hide its class's."""
    slots = objects.slots_of(cls)
    for slot in slots:
        if slot not in keys:
            c.add(f"not {c.constant(hasattr)}({name}, {quoted(slot)})")
    if cls.__dictoffset__:
        known = frozenset(keys) | objects.computed_names(cls)
        c.add(f"{c.constant(known)}.issuperset({name}.__dict__)")


def _list(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    c.is_class(first, f"{c.prefix}list")
    if isinstance(type_.item, Undefined):
        c.add(f"not {name}")
        return
    c.risky = True
    items, item = c.inner(), f"{c.prefix}item"
    check(items, type_.item, item, (*path, EACH))
    take_assumptions_of_items(c, items, (*path, EACH))
    c.add_each(items, item, name)


def _fixed(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    if path in c.by_code:
        c.add(f"{c.prefix}type({first}) is {c.constant(type(type_.value))}")
    else:
        equals(c, first, name, type_.value)
    if isinstance(type_.value, FunctionType):
        c.known_codes[path] = type_.value.__code__


def _opaque(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    if type_.cls is not None:
        c.is_class(first, c.class_name(type_.cls))
        if type_.cls is np.ndarray:
            c.add(f"not {c.constant(is_number)}({name})")
    elif first != name:
        c.add(f"({first}, True)[1]")


def _undefined(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    c.add("False")


_CHECKS: dict[type, Callable[[Conditions, Any, str, str, Path], None]] = {
    Numeric: _numeric,
    TupleOf: _structure,
    ListOf: _list,
    Fixed: _fixed,
    Opaque: _opaque,
    Undefined: _undefined,
}
