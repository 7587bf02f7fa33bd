"""Operations that the IR needs and NumPy has no function for, as plain Python functions.

They are the *meaning* of these operations: the evaluator calls them.  The writer prints them in
Python's own syntax (``u[i] = v``, ``items.append(v)``).  All are pure: nothing is changed in place.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


def item(container: Any, key: Any) -> Any:
    """The part of a tuple or dict at a position or key that is known now."""
    return container[key]


def field(container: Any, name: str) -> Any:
    """The field of a named tuple, dataclass or other object: ``container.name``."""
    return getattr(container, name)


def build_dict(keys: tuple[Any, ...], *items: Any) -> dict[Any, Any]:
    """A dict as a value of its own."""
    return dict(zip(keys, items, strict=True))


def build_record(cls: type, keys: tuple[str, ...], *items: Any) -> Any:
    """A named tuple or dataclass, built without running any code of its class.

    A list whose items have types of their own has no keys.
    """
    if cls is list:
        return list(items)
    if issubclass(cls, tuple):
        return tuple.__new__(cls, items)
    result = cls() if cls is SimpleNamespace else object.__new__(cls)
    for key, value in zip(keys, items, strict=True):
        object.__setattr__(result, key, value)
    return result


def build_tuple(*items: Any) -> tuple[Any, ...]:
    """A tuple as a value of its own (kept in a list, or returned)."""
    return items


def build_list(*items: Any) -> list[Any]:
    """A list as a value of its own."""
    return list(items)


def build_places(*keys: Any) -> dict[Any, int]:
    """A dict from keys to the places of their values in a list."""
    return {key: k for k, key in enumerate(keys)}


def keys_of(places: dict[Any, int]) -> list[Any]:
    """The keys of a dict, in their order."""
    return list(places)


def in_order(places: dict[Any, int]) -> list[int]:
    """What a dict from keys to places holds, in the order of the keys."""
    return list(places.values())


def as_dict(places: dict[Any, int], items: list[Any]) -> dict[Any, Any]:
    """The dict whose values stand at these places of a list."""
    return {key: items[place] for key, place in places.items()}


def append(items: list[Any], value: Any) -> list[Any]:
    """The list with one more item at its end."""
    return [*items, value]


def extended(items: list[Any], more: list[Any]) -> list[Any]:
    """The list with the items of another one at its end."""
    return [*items, *more]


def inserted(items: list[Any], index: Any, value: Any) -> list[Any]:
    """The list after ``items.insert(index, value)``."""
    result = list(items)
    result.insert(index, value)
    return result


def without(items: Any, index: Any) -> Any:
    """The list, or dict, after ``del items[index]``."""
    result = items.copy()
    del result[index]
    return result


def replaced(items: Any, index: Any, value: Any) -> Any:
    """The list, or dict, after ``items[index] = value``."""
    result = items.copy()
    result[index] = value
    return result


def shape(array: Any) -> tuple[int, ...]:
    """``array.shape`` (also of Python numbers)."""
    return np.shape(array)


def updated(array: Any, index: Any, value: Any) -> Any:
    """The array after ``array[index] = value``."""
    result = np.copy(array)
    result[index] = value
    return result


def add_at(array: Any, index: Any, value: Any) -> Any:
    """The array after ``array[index] += value`` where no place is named twice."""
    result = np.copy(array)
    result[index] += value
    return result


def add_at_repeated(array: Any, index: Any, value: Any) -> Any:
    """The array after ``np.add.at(array, index, value)``: places may be named twice."""
    result = np.copy(array)
    np.add.at(result, index, value)
    return result


def stop(x: Any) -> Any:
    """The value itself; no derivative flows through it."""
    return x


def identity(x: Any) -> Any:
    """The value itself (a copy of a name, never of the data)."""
    return x


def apply(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a callee that is itself a run-time value: ``function(*args, **kwargs)``."""
    return function(*args, **kwargs)


def raise_(error: Any, cause: Any = None) -> None:
    """``raise error`` (``from cause``)."""
    if cause is not None:
        raise error from cause
    raise error


def is_(a: Any, b: Any) -> bool:
    """``a is b``."""
    return a is b


def not_(a: Any) -> bool:
    """``not a``."""
    return not a


def contains(container: Any, value: Any) -> bool:
    """``value in container``."""
    return value in container
