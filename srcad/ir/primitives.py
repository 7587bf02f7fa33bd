"""Operations that the IR needs and NumPy has no function for, as plain Python functions.

They are the *meaning* of these operations: the evaluator calls them.  The row above a meaning says
what else is true of it (see `operations`).  All are pure: nothing is changed in place.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from srcad.ir import result_types as types_of
from srcad.ir.core import Call
from srcad.ir.operations import (
    ALL_BUT_LAST,
    ANYTHING,
    EVERY,
    NOTHING,
    Builds,
    Classes,
    Gathers,
    NewVersion,
    Operation,
    PartOf,
    SameAs,
)
from srcad.rules import writes
from srcad.rules.declare import derivative, nondifferentiable
from srcad.types.structures import TupleOf


# ------------------------------------------------------------------------- structures, parts
def _unless_part_exists(op: Call) -> Classes:
    """Return the exceptions of reading a known part: none if the type lists the parts."""
    return NOTHING if isinstance(getattr(op.args[0], "type", None), TupleOf) else ANYTHING


@Operation(
    memory=PartOf(at="key"),
    result=types_of.item,
    raises=_unless_part_exists,
    flows=(0,),
    written="a[b]",
)
def item(container: Any, key: Any) -> Any:
    """Return the part of a tuple or dict at a position or key that is known at compile time."""
    return container[key]


@Operation(
    memory=PartOf(at="name"),
    result=types_of.item,
    raises=_unless_part_exists,
    flows=(0,),
    written="a.b",
)
def field(container: Any, name: str) -> Any:
    """Return the field of a named tuple, dataclass or other object: ``container.name``."""
    return getattr(container, name)


@Operation(
    memory=Builds(first=0),
    result=types_of.tuple_of,
    raises=NOTHING,
    flows=EVERY,
    written="(*a,)",
    called="parts",
)
def build_tuple(*items: Any) -> tuple[Any, ...]:
    """Return a tuple as a value of its own (kept in a list, or returned)."""
    return items


@Operation(
    memory=Builds(first=1),
    result=types_of.dict_of,
    raises=NOTHING,
    flows=slice(1, None),
    written="{a: b}",
    called="parts",
)
def build_dict(keys: tuple[Any, ...], *items: Any) -> dict[Any, Any]:
    """Return a dict as a value of its own."""
    return dict(zip(keys, items, strict=True))


@Operation(
    memory=Builds(first=2),
    result=types_of.record_of,
    raises=NOTHING,
    flows=slice(2, None),
    written="[*c]",
)
def build_record(cls: type, keys: tuple[str, ...], *items: Any) -> Any:
    """Return a named tuple or dataclass, built without running any code of its class.

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


def rebuilt(cls: Any, keys: tuple[Any, ...] | None, items: tuple[Any, ...]) -> Any:
    """Return a tuple, dict or record of these parts."""
    if keys is None:
        return items
    return build_dict(keys, *items) if cls is dict else build_record(cls, keys, *items)


# ------------------------------------------------------------------------------------- lists
@Operation(
    memory=Builds(first=0, is_open=True),
    result=types_of.list_of,
    raises=NOTHING,
    flows=EVERY,
    written="[*a]",
    called="items",
)
def build_list(*items: Any) -> list[Any]:
    """Return a list as a value of its own."""
    return list(items)


@Operation(
    memory=NewVersion(of="list", does="appends"),
    result=types_of.with_item,
    raises=NOTHING,
    flows=EVERY,
    written="[*a, b]",
    stored="a.append(b)",
    called="items",
)
def append(items: list[Any], value: Any) -> list[Any]:
    """Return the list with one more item at its end."""
    return [*items, value]


@Operation(
    memory=NewVersion(of="list", does="extends"),
    result=types_of.of_lists,
    flows=EVERY,
    written="a + b",
    stored="a.extend(b)",
)
def extended(items: list[Any], more: list[Any]) -> list[Any]:
    """Return the list with the items of another one at its end."""
    return [*items, *more]


@Operation(
    memory=NewVersion(of="list", does="inserts"),
    result=types_of.with_item,
    flows=(0, 2),
    stored="a.insert(b, c)",
)
def inserted(items: list[Any], index: Any, value: Any) -> list[Any]:
    """Return the list after ``items.insert(index, value)``."""
    result = list(items)
    result.insert(index, value)
    return result


@Operation(
    memory=NewVersion(of="list", does="removes"),
    result=types_of.like_first,
    flows=(0,),
    written=ALL_BUT_LAST,
    stored="del a[b]",
)
def without(items: Any, index: Any) -> Any:
    """Return the list, or dict, after ``del items[index]``."""
    result = items.copy()
    del result[index]
    return result


@Operation(
    memory=NewVersion(of="list", does="sets"),
    result=types_of.replaced,
    flows=(0, 2),
    special=("__hash__", "__eq__"),
    stored="a[b] = c",
)
def replaced(items: Any, index: Any, value: Any) -> Any:
    """Return the list, or dict, after ``items[index] = value``."""
    result = items.copy()
    result[index] = value
    return result


# ------------------------------------------------------- dicts whose keys only the call knows
@Operation(
    memory=Builds(first=0, is_open=True),
    result=types_of.places,
    flows=(),
    written="{a: 0}",
    called="places",
)
def build_places(*keys: Any) -> dict[Any, int]:
    """Return a dict from keys to the places of their values in a list."""
    return {key: k for k, key in enumerate(keys)}


@Operation(memory=Gathers(0), result=types_of.keys, flows=(), written="list(a)", called="keys")
def keys_of(places: dict[Any, int]) -> list[Any]:
    """Return the keys of a dict, in their order."""
    return list(places)


@Operation(
    memory=Gathers(0),
    result=types_of.positions,
    flows=(),
    written="list(a.values())",
    called="places",
)
def in_order(places: dict[Any, int]) -> list[int]:
    """Return the values of a dict from keys to places, in the order of the keys."""
    return list(places.values())


@Operation(memory=Gathers(1))
def as_dict(places: dict[Any, int], items: list[Any]) -> dict[Any, Any]:
    """Return a dict with values at these places of a list."""
    return {key: items[place] for key, place in places.items()}


# ------------------------------------------------------------------------------------ arrays
@Operation(
    result=types_of.shape, asks_of=0, asks_for="shape", flows=(), written="a.shape", called="shape"
)
def shape(array: Any) -> tuple[int, ...]:
    """``array.shape`` (also of Python numbers)."""
    return np.shape(array)


updated = Operation(
    memory=NewVersion(of="array", does="sets", buffered=True),
    result=types_of.like_first,
    flows=(0, 2),
    stored="a[b] = c",
)(writes.updated)

add_at = Operation(
    memory=NewVersion(of="array", does="adds", buffered=True),
    result=types_of.like_first,
    flows=(0, 2),
    stored="a[b] += c",
)(writes.add_at)

add_at_repeated = Operation(
    memory=NewVersion(of="array", does="adds"),
    result=types_of.like_first,
    flows=(0, 2),
    stored="np.add.at(a, b, c)",
)(writes.add_at_repeated)


# -------------------------------------------------------------------------- values, questions
@Operation(memory=SameAs(), result=types_of.like_first, raises=NOTHING, flows=())
def stop(x: Any) -> Any:
    """Return the value itself; no derivative flows through it."""
    return x


@Operation(memory=SameAs(), result=types_of.like_first, raises=NOTHING, flows=(0,))
def hooked(x: Any, function: Any) -> Any:
    """Return the value itself; its cotangent passes through a function of the user's."""
    return x


@Operation(memory=SameAs(), result=types_of.like_first, raises=NOTHING, flows=(0,), written="a")
def identity(x: Any) -> Any:
    """Return the value itself (a copy of a name, never of the data)."""
    return x


@Operation(result=types_of.flag, answers=True, raises=NOTHING, flows=(), written="a is b")
def is_(a: Any, b: Any) -> bool:
    """Return ``a is b``."""
    return a is b


@Operation(result=types_of.flag, answers=True, raises=NOTHING, flows=(), written="not a")
def not_(a: Any) -> bool:
    """``not a``."""
    return not a


@Operation(
    result=types_of.flag,
    answers=True,
    owed=True,
    pure=False,
    flows=(),
    special=("__contains__", "__iter__", "__getitem__", "__eq__", "__hash__"),
    written="b in a",
)
def contains(container: Any, value: Any) -> bool:
    """``value in container``."""
    return value in container


# ------------------------------------------------------------------------------------- effects
@Operation(result=types_of.unknown, hands_on="callee", owed=True, pure=False, written="a(*b)")
def apply(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a call of a callee that is itself a run-time value: ``function(*args, **kwargs)``."""
    return function(*args, **kwargs)


@Operation(
    result=types_of.unknown,
    hands_on="error",
    owed=True,
    pure=False,
    flows=(),
    stored="raise a from b",
)
def raise_(error: Any, cause: Any = None) -> None:
    """``raise error`` (``from cause``)."""
    if cause is not None:
        raise error from cause
    raise error


# -------------------------------------------------------------------------------- derivatives
derivative(identity, memory="argument", samples=())(lambda x: 1)
nondifferentiable(shape)
nondifferentiable(stop, memory="argument")


def is_primitive(target: object) -> bool:
    """Return True if a callee is one of the operations of this module."""
    return getattr(target, "__module__", None) in (__name__, writes.__name__)
