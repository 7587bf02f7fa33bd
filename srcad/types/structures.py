"""Static types of numbers, and of structures that hold them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from srcad.startup.identifiers import key_text, label
from srcad.startup.records import dataclass, replace
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, Symbol, resolved
from srcad.types.sources import Path


@dataclass(frozen=True)
class TupleOf:
    """A structure of known parts: a tuple, or, with `keys`, a dict, named tuple or dataclass.

    `keys` are the dict's keys in order, or the names of the fields; None for a plain tuple.
    """

    items: tuple[Type, ...]
    keys: tuple[Any, ...] | None = None
    cls: type = tuple

    def __str__(self) -> str:
        if self.keys is None:
            return f"({', '.join(map(str, self.items))})"
        pairs = zip(self.keys, self.items, strict=True)
        return f"{label(self.cls)}({', '.join(f'{key_text(k)}: {t}' for k, t in pairs)})"

    def of(self, items: tuple[Type, ...]) -> TupleOf:
        """Return the same structure around other parts."""
        return TupleOf(items, self.keys, self.cls)


@dataclass(frozen=True)
class Fixed:
    """A part that is known before the call (None, a flag, a string, a callable): see `guards`.

    `path` is where one like it is found at the call.
    """

    value: Any
    path: Path | None = None

    def __str__(self) -> str:
        if isinstance(self.value, np.dtype):
            return f"={self.value}"
        return f"={label(self.value) if callable(self.value) else key_text(self.value)}"

    def __hash__(self) -> int:
        return hash(type(self.value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fixed):
            return NotImplemented
        if self.value is other.value:
            return True
        simple = isinstance(self.value, bool | str | bytes)
        return simple and type(self.value) is type(other.value) and self.value == other.value


@dataclass(frozen=True)
class ListOf:
    """A list with items of one type; its length is not part of the type."""

    item: Type

    def __str__(self) -> str:
        return f"list[{self.item}]"


@dataclass(frozen=True)
class PlacesOf(ListOf):
    """A dict from keys, all of one type, to places in a list."""

    key: Type

    def __str__(self) -> str:
        return f"dict[{self.key}, int]"


@dataclass(frozen=True)
class Opaque:
    """An object of which only the class, at best, is known."""

    cls: type | None = None

    def __str__(self) -> str:
        return label(self.cls) if self.cls else "object"


@dataclass(frozen=True)
class Undefined:
    """No value at all: a name that no path has bound."""

    def __str__(self) -> str:
        return "undefined"


Type = Numeric | TupleOf | ListOf | Opaque | Fixed | Undefined


OPAQUE = Opaque()


UNDEFINED = Undefined()


TEXT = Opaque(str)


def field_type(type_: Type, value: object) -> Type:
    """Return the type of a field that holds a constant: which one, if it is code or None."""
    return Fixed(value) if value is None or callable(value) else type_


def numbers_in(type_: Type) -> Iterator[Numeric]:
    """Yield the numbers inside a type."""
    if isinstance(type_, Numeric):
        yield type_
    elif isinstance(type_, TupleOf):
        for item in type_.items:
            yield from numbers_in(item)
    elif isinstance(type_, ListOf):
        yield from numbers_in(type_.item)


def freshened(type_: Type, *, keep_examples: bool = False) -> Type:
    """Return the type with local lengths renamed, so that two items of a list differ.

    With `keep_examples`, lengths that are known for every item of an argument keep their example
    (for items of one list that are taken in step with it).
    """
    names: dict[Symbol, Symbol] = {}

    def extent(old: Extent) -> Extent:
        old = resolved(old)
        result = Extent((), old.constant)
        for symbol, k in old.terms:
            result = result + Extent(((_renamed(symbol, names, keep_examples), k),), 0)
        return result

    def number(t: Numeric) -> Numeric:
        shape = None if t.shape is None else tuple(extent(e) for e in t.shape)
        value = None if t.value is None or t.value.terms else t.value
        return Numeric(t.dtype, shape, t.form, value, joined=t.joined)

    return with_numbers(type_, number)


def with_numbers(type_: Type, change: Callable[[Numeric], Numeric]) -> Type:
    """Return a type with the numbers in it replaced."""
    match type_:
        case Numeric():
            return change(type_)
        case TupleOf():
            return type_.of(tuple(with_numbers(item, change) for item in type_.items))
        case PlacesOf(item, key):
            return PlacesOf(item, with_numbers(key, change))
        case ListOf(item):
            return ListOf(with_numbers(item, change))
    return type_


def with_extents(type_: Type, change: Callable[[Extent], Extent]) -> Type:
    """Return a type with the lengths and known integers in it replaced."""

    def number(t: Numeric) -> Numeric:
        if not t.shape and t.value is None:
            return t
        shape = None if t.shape is None else tuple(map(change, t.shape))
        return replace(t, shape=shape, value=None if t.value is None else change(t.value))

    return with_numbers(type_, number)


def _renamed(symbol: Symbol, names: dict[Symbol, Symbol], keep_examples: bool) -> Symbol:
    per_item = isinstance(symbol.example, tuple)
    if symbol.example is not None and not per_item:
        return symbol
    if symbol not in names:
        names[symbol] = symbol if per_item and keep_examples else Symbol(symbol.name)
    return names[symbol]


_HOLDERS = (list, tuple, dict, set, frozenset, np.ndarray, np.generic, numbers.Number)


def is_holder(type_: Type) -> bool:
    """Return True for an object of a class that holds numbers, or is one."""
    return isinstance(type_, Opaque) and issubclass(type_.cls or object, _HOLDERS)


def holds_holders(type_: Type) -> bool:
    """Return True for a list in which such objects stand."""
    if isinstance(type_, TupleOf):
        return any(is_holder(item) or holds_holders(item) for item in type_.items)
    return isinstance(type_, ListOf) and (is_holder(type_.item) or holds_holders(type_.item))


def is_text(type_: Type) -> bool:
    """Return True if a value certainly is a text or a row of bytes."""
    return isinstance(type_, Opaque) and type_.cls in (str, bytes, bytearray)
