"""The parts of a structure of known type: a box for each."""

from __future__ import annotations

from typing import Any

from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.aliases import note_element
from srcad.frontend.store.origins import note_part
from srcad.ir.core import Call, Value
from srcad.ir.traits import is_attribute
from srcad.types.sources import Path, Unreadable, read
from srcad.types.structures import Fixed, Opaque, PlacesOf, TupleOf


def unfolded(s: Machine, value: Value, type_: TupleOf) -> AbstractValue:
    """Return the parts of a structure."""
    fields = type_.keys is not None and type_.cls is not dict
    keys: tuple[Any, ...] = type_.keys if type_.keys is not None else tuple(range(len(type_.items)))
    parts = tuple(
        Constant(t.value, _path_of_part(s, value, fields, key) or s.found_at(t))
        if isinstance(t, Fixed)
        else _part(s, value, type_, k)
        for k, (key, t) in enumerate(zip(keys, type_.items, strict=True))
    )
    if type_.cls is dict:
        return DictValue(keys, parts, value)
    if type_.keys is not None:
        return RecordValue(type_.cls, keys, parts, value)
    return ListValue(parts, value) if type_.cls is list else TupleValue(parts, value)


def _part(s: Machine, value: Value, whole: TupleOf, k: int) -> AbstractValue:
    type_, key = whole.items[k], k if whole.keys is None else whole.keys[k]
    named = isinstance(key, str) and key.isidentifier()
    part = s.builder.part(value, whole, k, type=type_, hint=key if named else None)
    is_active = value in s.active and not isinstance(type_, PlacesOf)  # no key is (`building`)
    if is_active:
        s.active.add(part)
    note_part(s, value, key, part)
    read = s.builder.ops[-1]
    assert isinstance(read, Call)
    note_element(s, read.target, read.args, part)
    path = _path_of_part(s, value, is_attribute(read.target), key)
    if path is None:
        return s.box(part)
    s.paths[part] = path
    if is_active:
        s.active.discard(part)
        s.activate(part)
    return _object(s, part, path) if isinstance(type_, Opaque) else s.box(part)


def _path_of_part(s: Machine, value: Value, fields: bool, key: Any) -> Path | None:
    path = s.paths.get(value)
    return None if path is None else (*path, ("attr" if fields else "item", key))


def _object(s: Machine, part: Value, path: Path) -> AbstractValue:
    """Return an object inside a structure from outside, of a known class, as it is."""
    try:
        found = read(path, s.root, s.arguments)
    except Unreadable:
        return s.box(part)
    return Constant(found, path, atom=part)
