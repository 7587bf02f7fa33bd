"""Methods of dicts with static keys; see `mappings` for run-time keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.frontend.domain.structure import view_of
from srcad.frontend.domain.values import AbstractValue, Constant, DictValue, TupleValue
from srcad.frontend.machine.constants import known, raises
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import dict_writes
from srcad.frontend.store.object_writes import write
from srcad.frontend.store.runtime_keys import invoked, unless_open

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
    dict_writes.update(s, receiver, args, kwargs)
    return Constant(None)


def _dict_pop(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    key = known(s, args[0], "a dict key")
    if key not in receiver.keys and len(args) > 1:
        return args[1]
    return dict_writes.take(s, receiver, key)


def _popitem(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if not receiver.keys:
        raises(s, KeyError, "popitem(): dictionary is empty")
    key = receiver.keys[-1]
    return TupleValue((Constant(key), dict_writes.take(s, receiver, key)))


def _setdefault(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    key = known(s, args[0], "a dict key")
    if key in receiver.keys:
        return _at(receiver, key)
    value = args[1] if len(args) > 1 else Constant(None)
    dict_writes.put(s, receiver, key, value)
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
