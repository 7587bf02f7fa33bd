"""Lists, dicts and objects that the function has made and put outside.

What the function reads of them it reads of versions of its own; every write is done to the real
ones, too.
"""

from __future__ import annotations

import operator
from typing import Any

from srcad.frontend.domain.values import (
    AbstractValue,
    DictValue,
    Holder,
    ListValue,
    RecordValue,
    Structure,
    TupleValue,
)
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Arg, Atom, Call, Const, Display, Value
from srcad.ir.traits import appends, is_builder, sets_item
from srcad.types.structures import ListOf, Opaque

REAL = "%real "
EVERYTHING = Display("slice", (Const(None), Const(None), Const(None)))
NOTHING = Const(None).type


def real(s: Machine, name: str, box: AbstractValue) -> Atom:
    """Make a run-time object of a list, dict or object that is stored outside.

    What the function reads of it afterwards it reads of versions of its own; every write is done to
    the real one, too, which the frame at the bottom holds.
    """
    if isinstance(box, Holder):
        return s.captured(box.path, box.value, Opaque(type(box.value)))
    made = _built(s, box, {})
    s.frames[0].env.pop(REAL + name, None)
    if made is not None:
        s.frames[0].env[REAL + name] = made
        return made
    return s.atom(box)


def _built(s: Machine, box: AbstractValue, done: dict[int, Value | None]) -> Value | None:
    """Return a real container of what a box holds; None for what is no container made here."""
    if isinstance(box, Value):
        if not isinstance(box.type, ListOf) or box in s.paths:
            return None
        made = s.emit(list, box, effect=True, type=Opaque(list))
        s.origins.pop(made, None)
        return made
    if not isinstance(box, Structure) or box.source is not None:
        return None
    if id(box) not in done:
        parts = [_part(s, part, done) for part in box.items]
        done[id(box)] = made = _assembled(s, box, parts)
        s.origins.pop(made, None)  # its items are written by `mirror`
    return done[id(box)]


def _part(s: Machine, box: AbstractValue, done: dict[int, Value | None]) -> Atom:
    made = _built(s, box, done)
    if made is None and isinstance(box, Holder):
        return real(s, "", box)
    return s.atom(box) if made is None else made


def _assembled(s: Machine, box: Structure, parts: list[Atom]) -> Value:
    match box:
        case TupleValue():
            return s.build_tuple(*parts, effect=True, type=Opaque(tuple))
        case ListValue():
            return s.build_list(*parts, effect=True, type=Opaque(list))
        case DictValue(keys):
            return s.build_dict(keys, *parts, effect=True, type=Opaque(dict))
        case RecordValue(cls, keys):
            return s.build_record(cls, keys, *parts, effect=True, type=Opaque(cls))


def mirror(s: Machine, name: str, old: AbstractValue, new: AbstractValue) -> bool:
    """Do to the real container what was done to the one that the function reads.

    Whether there is one, and what was done is known.
    """
    there = s.frames[0].env.get(REAL + name)
    if not isinstance(there, Value) or there in s.perhaps_unbound:
        return False
    if isinstance(new, Value):
        return _mirror_version(s, there, new)
    if isinstance(old, ListValue) and isinstance(new, ListValue):
        _mirror_items(s, there, old, new)
        return True
    if isinstance(old, DictValue | RecordValue) and isinstance(new, DictValue | RecordValue):
        _mirror_entries(s, there, old, new)
        return True
    return False


def _mirror_items(s: Machine, there: Value, old: ListValue, new: ListValue) -> None:
    changed = [k for k, (a, b) in enumerate(zip(old.items, new.items, strict=False)) if a is not b]
    if len(old.items) > len(new.items) or len(changed) > 1:
        _write(s, operator.setitem, there, EVERYTHING, new)
        return
    for k in changed:
        _write(s, operator.setitem, there, Const(k), new.items[k])
    for part in new.items[len(old.items) :]:
        _write(s, list.append, there, part)


def _mirror_entries(
    s: Machine, there: Value, old: DictValue | RecordValue, new: DictValue | RecordValue
) -> None:
    is_dict = isinstance(new, DictValue)
    before = dict(zip(old.keys, old.items, strict=True))
    for key in before.keys() - set(new.keys):
        _write(s, operator.delitem if is_dict else delattr, there, Const(key))
    for key, part in zip(new.keys, new.items, strict=True):
        if before.get(key) is not part:
            _write(s, operator.setitem if is_dict else setattr, there, Const(key), part)


def _write(s: Machine, target: Any, there: Value, *given: AbstractValue | Arg) -> None:
    args = [_part(s, g, {}) if not isinstance(g, Const | Display) else g for g in given]
    s.emit(target, there, *args, effect=True, type=NOTHING)


def _mirror_version(s: Machine, real: Value, new: Value) -> bool:
    """Return the same for a list of which each version is a value."""
    op = next((op for op in reversed(s.builder.ops) if new in op.results), None)
    if not isinstance(op, Call):
        return False
    if is_builder(op.target):
        return True  # the same items, held by a value from now on
    if appends(op.target):
        s.emit(list.append, real, op.args[1], effect=True, type=NOTHING)
    elif sets_item(op.target):
        s.emit(operator.setitem, real, op.args[1], op.args[2], effect=True, type=NOTHING)
    else:
        s.emit(operator.setitem, real, EVERYTHING, new, effect=True, type=NOTHING)
    return True
