"""Objects of the user's classes as structures: their attributes, and those of which none is known.

An object is its attributes: what its ``__dict__`` and its slots hold.  That is so for a class whose
instances do nothing when an attribute is read; of others srcad knows no more than the class.

>>> attribute_names(types.SimpleNamespace(W=2.0, b=None))
('W', 'b')
"""

from __future__ import annotations

import enum
import inspect
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from srcad.startup.identifiers import is_instance, module_of, plain
from srcad.startup.records import is_record, record_fields
from srcad.types.numeric import number_base

LIBRARIES = sys.stdlib_module_names | {"numpy", "scipy", "srcad"}
MOST_ATTRIBUTES = 256
_ABSENT = object()


def attribute_names(value: Any) -> tuple[str, ...] | None:
    """Return the attributes of an object, those of a data class first.

    None if it is not taken apart.

    What a ``cached_property`` has computed is none: it is computed again.
    """
    cls = type(value)
    if why_closed(cls) is not None:
        return None
    names = dict.fromkeys(record_fields(cls) if is_record(cls) else ())
    names |= dict.fromkeys(name for name in slots_of(cls) if hasattr(value, name))
    held = getattr(value, "__dict__", {})
    if any(not isinstance(name, str) for name in held) or len(held) > MOST_ATTRIBUTES:
        return None
    computed = computed_names(cls)
    names |= dict.fromkeys(name for name in held if name not in computed)
    return tuple(map(plain, names))


def attributes(value: Any) -> tuple[tuple[str, ...], tuple[Any, ...]] | None:
    """Return the names and the values of an object's attributes; None if it is not taken apart."""
    names = attribute_names(value)
    if names is None:
        return None
    found = tuple(getattr(value, name, _ABSENT) for name in names)
    return None if any(one is _ABSENT for one in found) else (names, found)


def why_closed(cls: type) -> str | None:
    """Why the objects of a class are not taken apart; None if they are."""
    if cls is types.SimpleNamespace:
        return None
    if issubclass(cls, enum.Enum) or (is_of_library(cls) and not is_record(cls)):
        return "it belongs to a library."
    for name in ("__getattr__", "__del__"):
        if any(name in vars(base) for base in cls.__mro__):
            return f"its class has a method {name!r}."
    if inspect.getattr_static(cls, "__getattribute__") is not object.__getattribute__:
        return "its class has a method '__getattribute__'."
    for base in cls.__mro__:
        if not is_of_library(base):
            for name, member in vars(base).items():
                if _is_descriptor(member):
                    return f"the descriptor {plain(name)!r} of its class says what an attribute is."
    return None if _is_bare(cls) else "its class is built on one of another library."


def _is_descriptor(member: Any) -> bool:
    """Return True if a class member defines how an attribute is read or written."""
    kind = type(member)
    own = not is_of_library(kind)
    return own and (hasattr(kind, "__get__") or hasattr(kind, "__set__"))


def is_of_library(cls: Any) -> bool:
    """Return True if a class or function is of Python, NumPy, SciPy or this package."""
    return module_of(cls).partition(".")[0] in LIBRARIES


def _is_bare(cls: type) -> bool:
    """Return True if an object of a class is its attributes and no more: it can be made of them."""
    try:
        object.__new__(cls)
    except TypeError:
        return False
    return True


def slots_of(cls: type) -> tuple[str, ...]:
    """Return the names that a class and its bases keep in slots, those of the first base first."""
    return tuple(
        name
        for base in reversed(cls.__mro__)
        if not is_of_library(base)
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    )


def computed_names(cls: type) -> frozenset[str]:
    """Return the names under which an object may hold what its class computes when it is asked."""
    kinds = (property, cached_property)
    members = {n: m for base in reversed(cls.__mro__) for n, m in vars(base).items()}
    return frozenset(name for name, member in members.items() if isinstance(member, kinds))


# ----------------------------------------------------------------------------- what is inside
def inside(value: Any) -> Iterator[Any]:
    """Yield a value and everything in it, each object once; what goes round in circles ends."""
    todo, seen = [value], set[int]()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        todo += parts_of(one)


def parts_of(value: Any) -> tuple[Any, ...]:
    """Return the items of a container, or the attributes of an object."""
    if is_instance(value, np.ndarray | np.generic | str | bytes | float | int):
        return ()
    if is_instance(value, list | tuple):
        return tuple(value)
    if is_instance(value, dict):
        return tuple(value.values())
    held = None if is_instance(value, type) else attributes(value)
    return () if held is None else held[1]


def holds_itself(value: Any) -> bool:
    """Return True if an object stands anywhere inside itself."""
    return any(one is value for part in parts_of(value) for one in inside(part))


def own_numbers(value: Any) -> list[Any]:
    """Return the numbers in a value that are of a subclass of `int`, `float` or `complex`."""
    return [one for one in inside(value) if number_base(one) is not None]


def holds_library_dict(value: Any) -> bool:
    """Return True for a value with an `OrderedDict` or a `defaultdict` in it."""
    return any(type(one) in (OrderedDict, defaultdict) for one in inside(value))


def holds_floats(value: Any) -> bool:
    """Return True if a float stands anywhere in a value."""
    return any(
        is_instance(one, float)
        or (is_instance(one, np.ndarray | np.inexact) and one.dtype.kind in "fc")
        for one in inside(value)
    )
