"""Methods of dicts with static keys; see `mappings` for run-time keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.frontend.domain.frames import Unreachable
from srcad.frontend.domain.structure import view_of
from srcad.frontend.domain.values import AbstractValue, Constant, DictValue, TupleValue
from srcad.frontend.machine.constants import known, raises, spread
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.lists import is_made_lazily
from srcad.frontend.store.object_writes import write
from srcad.frontend.store.runtime_keys import invoked, unless_open
from srcad.ir.core import Const

# Writes into dicts with keys that are known at compile time.


def put(s: Machine, box: DictValue, key: Any, value: AbstractValue) -> None:
    merge(s, box, {key: value})


def merge(s: Machine, box: DictValue, more: dict[Any, AbstractValue]) -> None:
    """Add entries to the dict."""
    entries = {**dict(zip(box.keys, box.items, strict=True)), **more}
    same_keys = len(entries) == len(box.keys)
    write(s, box, DictValue(tuple(entries), tuple(entries.values())), resizes=not same_keys)


def update(
    s: Machine, box: DictValue, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> None:
    """``mapping.update(*args, **kwargs)`` and ``mapping |= more``."""
    if any(is_made_lazily(more) for more in args):
        s.note_write(box)  # what came before a failure stays in the dict
    merge(s, box, dict_entries(s, args, kwargs))


def dict_entries(
    s: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> dict[Any, AbstractValue]:
    entries: dict[Any, AbstractValue] = {}
    for box in args:
        if isinstance(box, DictValue):
            entries.update(zip(box.keys, box.items, strict=True))
            continue
        for pair in spread(s, box):
            key, value = spread(s, pair)
            entries[known(s, key, "a dict key")] = value
    entries.update(kwargs)
    return entries


def take(s: Machine, box: DictValue, key: Any) -> AbstractValue:
    """``mapping.pop(key)``."""
    if key not in box.keys:
        s.raise_(s.emit(KeyError, Const(key)))
        raise Unreachable
    entries = dict(zip(box.keys, box.items, strict=True))
    taken: AbstractValue = entries.pop(key)
    write(s, box, DictValue(tuple(entries), tuple(entries.values())))
    return taken


Method = Callable[
    [Machine, Any, tuple[AbstractValue, ...], dict[str, AbstractValue]], AbstractValue
]


def _by_key(name: str, method: Method) -> Method:
    """Return a method of dicts that is given a key, or keys: they may be known at the call only."""

    def either(
        s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
    ) -> AbstractValue:
        found = unless_open(s, lambda: method(s, receiver, args, kwargs))
        if found is None:
            found = invoked(s, receiver, name, args, kwargs)
        result: AbstractValue = found
        return result

    return either


def _dict_get(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    key = known(s, args[0], "a dict key")
    if key in receiver.keys:
        return _at(receiver, key)
    return args[1] if len(args) > 1 else Constant(None)


def _at(receiver: DictValue, key: Any) -> AbstractValue:
    return receiver.items[receiver.keys.index(key)]


def _keys(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return TupleValue(tuple(Constant(k) for k in receiver.keys))


def _values(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return view_of(receiver, pairs=False)


def _items(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return view_of(receiver, pairs=True)


def _dict_copy(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return DictValue(receiver.keys, receiver.items)


def _update(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    update(s, receiver, args, kwargs)
    return Constant(None)


def _dict_pop(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    key = known(s, args[0], "a dict key")
    if key not in receiver.keys and len(args) > 1:
        return args[1]
    return take(s, receiver, key)


def _popitem(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if not receiver.keys:
        raises(s, KeyError, "popitem(): dictionary is empty")
    key = receiver.keys[-1]
    return TupleValue((Constant(key), take(s, receiver, key)))


def _setdefault(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    key = known(s, args[0], "a dict key")
    if key in receiver.keys:
        return _at(receiver, key)
    value = args[1] if len(args) > 1 else Constant(None)
    put(s, receiver, key, value)
    return value


def _dict_clear(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    write(s, receiver, DictValue((), ()))
    return Constant(None)


DICT: dict[str, Method] = {
    "get": _by_key("get", _dict_get),
    "keys": _keys,
    "values": _values,
    "items": _items,
    "copy": _dict_copy,
    "update": _by_key("update", _update),
    "pop": _by_key("pop", _dict_pop),
    "popitem": _popitem,
    "setdefault": _by_key("setdefault", _setdefault),
    "clear": _dict_clear,
}
