"""Methods of dicts whose keys are known now; where a key is not, see `mappings`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.frontend import containers
from srcad.frontend.aliases import write
from srcad.frontend.boxes import Box, DictBox, Static, TupleBox, view_of
from srcad.frontend.keyed import invoked, unless_open
from srcad.frontend.known import known, raises
from srcad.frontend.scope import Session

Method = Callable[[Session, Any, tuple[Box, ...], dict[str, Box]], Box]


def _by_key(name: str, method: Method) -> Method:
    """A method of dicts that is given a key, or keys: they may be known at the call only."""

    def either(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
        found = unless_open(s, lambda: method(s, receiver, args, kwargs))
        if found is None:
            found = invoked(s, receiver, name, args, kwargs)
        result: Box = found
        return result

    return either


def _dict_get(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    key = known(s, args[0], "a dict key")
    if key in receiver.keys:
        return _at(receiver, key)
    return args[1] if len(args) > 1 else Static(None)


def _at(receiver: DictBox, key: Any) -> Box:
    return receiver.items[receiver.keys.index(key)]


def _keys(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    return TupleBox(tuple(Static(k) for k in receiver.keys))


def _values(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    return view_of(receiver, pairs=False)


def _items(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    return view_of(receiver, pairs=True)


def _dict_copy(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    return DictBox(receiver.keys, receiver.items)


def _update(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    containers.update(s, receiver, args, kwargs)
    return Static(None)


def _dict_pop(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    key = known(s, args[0], "a dict key")
    if key not in receiver.keys and len(args) > 1:
        return args[1]
    return containers.take(s, receiver, key)


def _popitem(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    if not receiver.keys:
        raises(s, KeyError, "popitem(): dictionary is empty")
    key = receiver.keys[-1]
    return TupleBox((Static(key), containers.take(s, receiver, key)))


def _setdefault(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    key = known(s, args[0], "a dict key")
    if key in receiver.keys:
        return _at(receiver, key)
    value = args[1] if len(args) > 1 else Static(None)
    containers.put(s, receiver, key, value)
    return value


def _dict_clear(s: Session, receiver: Any, args: tuple[Box, ...], kwargs: dict[str, Box]) -> Box:
    write(s, receiver, DictBox((), ()))
    return Static(None)


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
