"""How calls of our own operations are written: one vocabulary for everything that builds code.

>>> from srcad.ir.inference.builder import Builder
>>> from srcad.ir.core import Value
>>> from srcad.types.numeric import FLOAT
>>> b = Builder()
>>> pair = b.build_tuple(Value(FLOAT), Value(FLOAT))
>>> print(pair.type, b.item(pair, 0).type)
(float, float) float
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from srcad.ir import primitives
from srcad.ir.core import Const
from srcad.types.structures import TupleOf

Given = TypeVar("Given")  # what the builder takes as an operand
Made = TypeVar("Made")  # what it returns for a result


class Constructors(Generic[Given, Made]):
    """The operations as methods; further options are those of the builder's own call."""

    def _construct(self, target: Any, *args: Any, **how: Any) -> Made:
        """Write a call with these operands."""
        raise NotImplementedError

    # --------------------------------------------------------------------- structures, parts
    def item(self, container: Given, key: Any, **how: Any) -> Made:
        """``container[key]`` of a tuple or dict; the key is known at compile time."""
        return self._construct(primitives.item, container, Const(key), **how)

    def field(self, container: Given, name: str, **how: Any) -> Made:
        """``container.name``."""
        return self._construct(primitives.field, container, Const(name), **how)

    def build_tuple(self, *items: Given, **how: Any) -> Made:
        """Build ``(a, b)``."""
        return self._construct(primitives.build_tuple, *items, **how)

    def build_dict(self, keys: tuple[Any, ...], *items: Given, **how: Any) -> Made:
        """``{key: a, ...}``; the keys are known at compile time."""
        return self._construct(primitives.build_dict, Const(keys), *items, **how)

    def build_record(self, cls: type, keys: tuple[str, ...], *items: Given, **how: Any) -> Made:
        """Build an object of a class with these fields, or a list of items of several types."""
        return self._construct(primitives.build_record, Const(cls), Const(keys), *items, **how)

    def part(self, container: Given, type_: TupleOf, k: int, **how: Any) -> Made:
        """Part `k` of a structure of a type."""
        if type_.keys is None:
            return self.item(container, k, **how)
        read = self.item if type_.cls is dict else self.field
        return read(container, type_.keys[k], **how)

    def build_like(self, type_: TupleOf, parts: Iterable[Given], **how: Any) -> Made:
        """Return a structure of the sort of a type, of other parts."""
        if type_.cls is list:
            return self.build_record(list, (), *parts, **how)
        if type_.keys is None:
            return self.build_tuple(*parts, **how)
        keys = tuple(type_.keys)
        if type_.cls is dict:
            return self.build_dict(keys, *parts, **how)
        return self.build_record(type_.cls, keys, *parts, **how)

    # --------------------------------------------------------------------------------- lists
    def build_list(self, *items: Given, **how: Any) -> Made:
        """Build ``[a, b]``."""
        return self._construct(primitives.build_list, *items, **how)

    def append(self, items: Given, value: Given, **how: Any) -> Made:
        """``[*items, value]``."""
        return self._construct(primitives.append, items, value, **how)

    def extended(self, items: Given, more: Given, **how: Any) -> Made:
        """``[*items, *more]``."""
        return self._construct(primitives.extended, items, more, **how)

    def inserted(self, items: Given, index: Given, value: Given, **how: Any) -> Made:
        """Return the list after ``items.insert(index, value)``."""
        return self._construct(primitives.inserted, items, index, value, **how)

    def without(self, items: Given, index: Given, **how: Any) -> Made:
        """Return the list, or dict, after ``del items[index]``."""
        return self._construct(primitives.without, items, index, **how)

    def replaced(self, items: Given, index: Given, value: Given, **how: Any) -> Made:
        """Return the list, or dict, after ``items[index] = value``."""
        return self._construct(primitives.replaced, items, index, value, **how)

    # --------------------------------------------------- dicts whose keys only the call knows
    def build_places(self, *keys: Given, **how: Any) -> Made:
        """Return a dict from keys to the places of their values in a list."""
        return self._construct(primitives.build_places, *keys, **how)

    def keys_of(self, places: Given, **how: Any) -> Made:
        """``list(places)``."""
        return self._construct(primitives.keys_of, places, **how)

    def in_order(self, places: Given, **how: Any) -> Made:
        """``list(places.values())``."""
        return self._construct(primitives.in_order, places, **how)

    def as_dict(self, places: Given, items: Given, **how: Any) -> Made:
        """Return a dict with values at these places of a list."""
        return self._construct(primitives.as_dict, places, items, **how)

    # -------------------------------------------------------------------------------- arrays
    def shape(self, array: Given, **how: Any) -> Made:
        """``array.shape``."""
        return self._construct(primitives.shape, array, **how)

    def updated(self, array: Given, index: Given, value: Given, **how: Any) -> Made:
        """Return the array after ``array[index] = value``."""
        return self._construct(primitives.updated, array, index, value, **how)

    def add_at(
        self, array: Given, index: Given, value: Given, *, repeated: bool = False, **how: Any
    ) -> Made:
        """Return the array after ``array[index] += value``.

        `repeated` where a place is named twice.
        """
        target = primitives.add_at_repeated if repeated else primitives.add_at
        return self._construct(target, array, index, value, **how)

    # ---------------------------------------------------------------------- values, questions
    def stop(self, x: Given, **how: Any) -> Made:
        """Return the value itself; no derivative flows through it."""
        return self._construct(primitives.stop, x, **how)

    def hooked(self, x: Given, function: Given, **how: Any) -> Made:
        """Return the value itself; its cotangent passes through a function of the user's."""
        return self._construct(primitives.hooked, x, function, **how)

    def identity(self, x: Given, **how: Any) -> Made:
        """Return the value itself, by another name."""
        return self._construct(primitives.identity, x, **how)

    def is_(self, a: Given, b: Given, **how: Any) -> Made:
        """Build ``a is b``."""
        return self._construct(primitives.is_, a, b, **how)

    def not_(self, a: Given, **how: Any) -> Made:
        """``not a``."""
        return self._construct(primitives.not_, a, **how)

    def contains(self, container: Given, value: Given, **how: Any) -> Made:
        """``value in container``."""
        return self._construct(primitives.contains, container, value, **how)

    # -------------------------------------------------------------------------------- effects
    def apply(self, function: Given, *args: Given, **how: Any) -> Made:
        """``function(*args)`` of a callee that is itself a run-time value."""
        return self._construct(primitives.apply, function, *args, **how)

    def raise_(self, error: Given, *cause: Given) -> Made:
        """``raise error from cause``."""
        return self._construct(primitives.raise_, error, *cause, effect=True)
