"""Writes into dicts with keys that are known at compile time."""

from __future__ import annotations

from typing import Any

from srcad.frontend.domain.frames import Unreachable
from srcad.frontend.domain.values import AbstractValue, DictValue
from srcad.frontend.machine.constants import known, spread
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.lists import is_made_lazily
from srcad.frontend.store.object_writes import write
from srcad.ir.core import Const


def put(s: Machine, box: DictValue, key: Any, value: AbstractValue) -> None:
    """``mapping[key] = value``."""
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
    """Return the entries of ``dict(*args, **kwargs)``."""
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
