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


def put(state: Machine, box: DictValue, key: Any, value: AbstractValue) -> None:
    merge(state, box, {key: value})


def merge(state: Machine, box: DictValue, more: dict[Any, AbstractValue]) -> None:
    """Add entries to the dict."""
    entries = {**dict(zip(box.keys, box.items, strict=True)), **more}
    same_keys = len(entries) == len(box.keys)
    write(state, box, DictValue(tuple(entries), tuple(entries.values())), resizes=not same_keys)


def update(
    state: Machine,
    box: DictValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> None:
    """``mapping.update(*args, **kwargs)`` and ``mapping |= more``."""
    if any(is_made_lazily(more) for more in args):
        state.note_write(box)  # what came before a failure stays in the dict
    merge(state, box, dict_entries(state, args, kwargs))


def dict_entries(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> dict[Any, AbstractValue]:
    entries: dict[Any, AbstractValue] = {}
    for box in args:
        if isinstance(box, DictValue):
            entries.update(zip(box.keys, box.items, strict=True))
            continue
        for pair in spread(state, box):
            key, value = spread(state, pair)
            entries[known(state, key, "a dict key")] = value
    entries.update(kwargs)
    return entries


def take(state: Machine, box: DictValue, key: Any) -> AbstractValue:
    """``mapping.pop(key)``."""
    if key not in box.keys:
        state.raise_(state.emit(KeyError, Const(key)))
        raise Unreachable
    entries = dict(zip(box.keys, box.items, strict=True))
    taken: AbstractValue = entries.pop(key)
    write(state, box, DictValue(tuple(entries), tuple(entries.values())))
    return taken


Method = Callable[
    [Machine, Any, tuple[AbstractValue, ...], dict[str, AbstractValue]], AbstractValue
]


def _by_key(name: str, method: Method) -> Method:
    """Return a method of dicts that is given a key, or keys: they may be known at the call only."""

    def either(
        state: Machine,
        receiver: Any,
        args: tuple[AbstractValue, ...],
        kwargs: dict[str, AbstractValue],
    ) -> AbstractValue:
        found = unless_open(state, lambda: method(state, receiver, args, kwargs))
        if found is None:
            found = invoked(state, receiver, name, args, kwargs)
        result: AbstractValue = found
        return result

    return either


def _dict_get(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    key = known(state, args[0], "a dict key")
    if key in receiver.keys:
        return _at(receiver, key)
    return args[1] if len(args) > 1 else Constant(None)


def _at(receiver: DictValue, key: Any) -> AbstractValue:
    return receiver.items[receiver.keys.index(key)]


def _keys(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return TupleValue(tuple(Constant(k) for k in receiver.keys))


def _values(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return view_of(receiver, pairs=False)


def _items(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return view_of(receiver, pairs=True)


def _dict_copy(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return DictValue(receiver.keys, receiver.items)


def _update(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    update(state, receiver, args, kwargs)
    return Constant(None)


def _dict_pop(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    key = known(state, args[0], "a dict key")
    if key not in receiver.keys and len(args) > 1:
        return args[1]
    return take(state, receiver, key)


def _popitem(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if not receiver.keys:
        raises(state, KeyError, "popitem(): dictionary is empty")
    key = receiver.keys[-1]
    return TupleValue((Constant(key), take(state, receiver, key)))


def _setdefault(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    key = known(state, args[0], "a dict key")
    if key in receiver.keys:
        return _at(receiver, key)
    value = args[1] if len(args) > 1 else Constant(None)
    put(state, receiver, key, value)
    return value


def _dict_clear(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    write(state, receiver, DictValue((), ()))
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
