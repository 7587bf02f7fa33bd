"""Guards on the captured values of functions without an access path, such as rules.

A rule of the user's is no part of the function that is differentiated, and no path leads to it from
there.  The values that it reads at compile time (globals, variables of functions around it,
defaults, attributes of objects) are constants of the derivative.  Each read is noted as a guard:
its path begins at the object that was read, and where another value is found at a later call, the
derivative is compiled anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import BuiltinMethodType, MethodType, MethodWrapperType
from typing import Any

import numpy as np

from srcad.frontend.domain.guards import Guard, GuardKind
from srcad.startup.identifiers import is_instance
from srcad.startup.records import dataclass, field, is_record, record_fields
from srcad.types.sources import Step

_METHODS = (MethodType, BuiltinMethodType, MethodWrapperType)
_MISSING = object()


@dataclass(frozen=True, eq=False)
class Owner:
    """Root object of a path, compared by identity."""

    value: Any


@dataclass(eq=False)
class Surroundings:
    """The guards on reads of one compilation."""

    guards: list[Guard] = field(default_factory=list)  # without duplicates
    owners: dict[int, Owner] = field(default_factory=dict)  # by identity
    noted: set[Any] = field(default_factory=set)  # identity of the owner, steps and kind

    def add(self, owner: Any, steps: tuple[Step, ...], value: Any) -> None:
        """Assume that the value at these steps from an object stays the same."""
        self._note(owner, steps, "alike", Snapshot, value)

    def add_presence(self, owner: Any, kind: GuardKind, name: str | None) -> None:
        """Assume that an object still has, or still lacks, an attribute, a key or a content."""
        self._note(owner, (), kind, lambda name: name, name)

    def _note(
        self,
        owner: Any,
        steps: tuple[Step, ...],
        kind: GuardKind,
        expected: Callable[[Any], Any],
        value: Any,
    ) -> None:
        key = (id(owner), steps, kind, None if kind == "alike" else value)
        if key not in self.noted:
            self.noted.add(key)
            held = self.owners.setdefault(id(owner), Owner(owner))
            self.guards.append(Guard((("of", held), *steps), kind, expected(value)))


_CURRENT: ContextVar[Surroundings | None] = ContextVar("surroundings", default=None)


def surroundings() -> Surroundings | None:
    """Return the guards of the compilation that is under way, if there is one."""
    return _CURRENT.get()


@contextmanager
def noting_surroundings() -> Iterator[Surroundings]:
    """Collect the guards on reads meanwhile."""
    found = Surroundings()
    token = _CURRENT.set(found)
    try:
        yield found
    finally:
        _CURRENT.reset(token)


# ------------------------------------------------------------------------- values at that time
class Snapshot:
    """A value with the contents of its containers at the time when it was read.

    An array is held, and its entries are read at each call, except for the one of an array of
    length one, which may have been taken as a number or a condition.
    """

    __slots__ = ("contents", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.contents = _contents(value, {})

    def fits(self, found: Any) -> bool:
        """Return True if a value, found there now, is served by the same code."""
        return _is_alike(self.contents, found, set())

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, eq=False)
class _Container:
    """A container or record: its class and the contents of its items."""

    cls: type
    items: list[Any]


@dataclass(frozen=True, eq=False)
class _Array:
    """An array and its layout; the bytes of a single entry."""

    array: np.ndarray
    layout: Any
    entry: bytes | None


def _contents(value: Any, known: dict[int, _Container]) -> Any:
    """Return a value with copies of the containers in it."""
    if is_instance(value, np.ndarray):
        return _Array(value, _layout(value), value.tobytes() if value.size == 1 else None)
    items = _items(value)
    if items is None:
        return value
    if id(value) not in known:
        known[id(value)] = found = _Container(type(value), [])
        found.items.extend(_contents(item, known) for item in items)
    return known[id(value)]


def _layout(array: np.ndarray) -> Any:
    return (type(array), array.dtype, array.shape, array.strides)


def _items(value: Any) -> list[Any] | None:
    """Return the items of a container, keys and values of a dict, fields of a record."""
    if is_instance(value, dict):
        return [*dict.keys(value), *dict.values(value)]
    cls: Any
    for cls in (list, tuple, set, frozenset, deque):
        if is_instance(value, cls):
            return [*cls.__iter__(value)]
    if is_record(type(value)):
        return [getattr(value, name, _MISSING) for name in record_fields(type(value))]
    return None


def _is_alike(expected: Any, found: Any, compared: set[tuple[int, int]]) -> bool:
    if isinstance(expected, _Container):
        return _is_alike_container(expected, found, compared)
    if isinstance(expected, _Array):
        return _is_alike_array(expected, found)
    if expected is found:
        return True
    if type(expected) is not type(found):
        return False
    if is_instance(expected, int | str | bytes) or type(expected) in _METHODS:
        return bool(expected == found)
    if is_instance(expected, float | complex | np.generic):
        return repr(expected) == repr(found)
    return False


def _is_alike_container(expected: _Container, found: Any, compared: set[tuple[int, int]]) -> bool:
    pair = (id(expected), id(found))
    if pair in compared:
        return True
    compared.add(pair)
    if type(found) is not expected.cls:
        return False
    items = _items(found)
    assert items is not None
    return len(items) == len(expected.items) and all(
        _is_alike(a, b, compared) for a, b in zip(expected.items, items, strict=True)
    )


def _is_alike_array(expected: _Array, found: Any) -> bool:
    if not is_instance(found, np.ndarray) or _layout(found) != expected.layout:
        return False
    if expected.entry is not None:
        return bool(found.tobytes() == expected.entry)
    return found is expected.array or bool(found.tobytes() == expected.array.tobytes())
