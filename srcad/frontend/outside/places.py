"""Places outside a function that it writes into: attributes of the user's objects, globals, cells.

A write happens where it stands, once, with the plain value: it is an op with an effect.  What the
place holds from then on is a name of the frame at the bottom (`surroundings`): so paths meet in it,
loops carry it and failures undo it as they do any name.  A place that was not written holds what it
held when the call started, and that carries no derivative.

Places are told apart by the objects that hold them; whether two paths lead to one object is taken
for granted (`guard_paths`).  Where one path only has written a place that is read afterwards,
the function is read once more (`Again`), with what the place holds first known from the start.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.domain.outside_places import Key, OutsidePlace
from srcad.frontend.domain.structure import is_mutable, values_of
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    DictValue,
    Env,
    Frame,
    Holder,
    ListValue,
    RecordValue,
    Stale,
    Structure,
    TupleValue,
    Unbound,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.doubts import Again
from srcad.ir.core import Arg, Atom, Call, Const, Display, Value
from srcad.ir.memory import has_storage
from srcad.ir.traits import appends, is_builder, sets_item
from srcad.startup.records import is_record, record_fields
from srcad.types.sources import Path, Unreadable, read, spelled
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf

# Lists, dicts and objects that the function has made and put outside.
#
# What the function reads of them it reads of versions of its own; every write is done to the real
# ones, too.

REAL = "%real "
NOTHING = Const(None).type
EVERYTHING = Display("slice", (Const(None), Const(None), Const(None)))


def real(state: Machine, name: str, box: AbstractValue) -> Atom:
    """Make a run-time object of a list, dict or object that is stored outside.

    What the function reads of it afterwards it reads of versions of its own; every write is done to
    the real one, too, which the frame at the bottom holds.
    """
    if isinstance(box, Holder):
        return state.captured(box.path, box.value, Opaque(type(box.value)))
    _refuse_work_array(state, box)
    made = _built(state, box, {})
    state.frames[0].env.pop(REAL + name, None)
    if made is not None:
        state.frames[0].env[REAL + name] = made
        return made
    return state.atom(box)


def _refuse_work_array(state: Machine, box: AbstractValue) -> None:
    """Refuse to store a work array: later reads of the stored alias are not tracked."""
    for value in values_of(box) if state.outside.work else ():
        found = state.origins.get(value)
        objects = frozenset({value}) if found is None else found.everything
        for one in objects.union(*(state.began.get(o, frozenset()) for o in objects)):
            if one in state.outside.versions:
                raise state.outside.versions[one].error


def _built(state: Machine, box: AbstractValue, done: dict[int, Value | None]) -> Value | None:
    """Return a real container of what a box holds; None for what is no container made here."""
    if isinstance(box, Value):
        if not isinstance(box.type, ListOf) or box in state.paths:
            return None
        made = state.emit(list, box, effect=True, type=Opaque(list))
        state.origins.pop(made, None)
        return made
    if not isinstance(box, Structure) or box.source is not None:
        return None
    if id(box) not in done:
        parts = [_part(state, part, done) for part in box.items]
        done[id(box)] = made = _assembled(state, box, parts)
        state.origins.pop(made, None)  # its items are written by `mirror`
    return done[id(box)]


def _part(state: Machine, box: AbstractValue, done: dict[int, Value | None]) -> Atom:
    _refuse_work_array(state, box)
    made = _built(state, box, done)
    if made is None and isinstance(box, Holder):
        return real(state, "", box)
    return state.atom(box) if made is None else made


def _assembled(state: Machine, box: Structure, parts: list[Atom]) -> Value:
    match box:
        case TupleValue():
            return state.build_tuple(*parts, effect=True, type=Opaque(tuple))
        case ListValue():
            return state.build_list(*parts, effect=True, type=Opaque(list))
        case DictValue(keys):
            return state.build_dict(keys, *parts, effect=True, type=Opaque(dict))
        case RecordValue(cls, keys):
            return state.build_record(cls, keys, *parts, effect=True, type=Opaque(cls))


def mirror(state: Machine, name: str, old: AbstractValue, new: AbstractValue) -> bool:
    """Do to the real container what was done to the one that the function reads.

    Whether there is one, and what was done is known.
    """
    there = state.frames[0].env.get(REAL + name)
    if not isinstance(there, Value) or there in state.perhaps_unbound:
        return False
    if isinstance(new, Value):
        return _mirror_version(state, there, new)
    if isinstance(old, ListValue) and isinstance(new, ListValue):
        _mirror_items(state, there, old, new)
        return True
    if isinstance(old, DictValue | RecordValue) and isinstance(new, DictValue | RecordValue):
        _mirror_entries(state, there, old, new)
        return True
    return False


def _mirror_items(state: Machine, there: Value, old: ListValue, new: ListValue) -> None:
    changed = [k for k, (a, b) in enumerate(zip(old.items, new.items, strict=False)) if a is not b]
    if len(old.items) > len(new.items) or len(changed) > 1:
        _write(state, operator.setitem, there, EVERYTHING, new)
        return
    for k in changed:
        _write(state, operator.setitem, there, Const(k), new.items[k])
    for part in new.items[len(old.items) :]:
        _write(state, list.append, there, part)


def _mirror_entries(
    state: Machine, there: Value, old: DictValue | RecordValue, new: DictValue | RecordValue
) -> None:
    is_dict = isinstance(new, DictValue)
    before = dict(zip(old.keys, old.items, strict=True))
    for key in before.keys() - set(new.keys):
        _write(state, operator.delitem if is_dict else delattr, there, Const(key))
    for key, part in zip(new.keys, new.items, strict=True):
        if before.get(key) is not part:
            _write(state, operator.setitem if is_dict else setattr, there, Const(key), part)


def _write(state: Machine, target: Any, there: Value, *given: AbstractValue | Arg) -> None:
    args = [_part(state, g, {}) if not isinstance(g, Const | Display) else g for g in given]
    state.emit(target, there, *args, effect=True, type=NOTHING)


def _mirror_version(state: Machine, real: Value, new: Value) -> bool:
    """Return the same for a list of which each version is a value."""
    op = next((op for op in reversed(state.builder.ops) if new in op.results), None)
    if not isinstance(op, Call):
        return False
    if is_builder(op.target):
        return True  # the same items, held by a value from now on
    if appends(op.target):
        state.emit(list.append, real, op.args[1], effect=True, type=NOTHING)
    elif sets_item(op.target):
        state.emit(operator.setitem, real, op.args[1], op.args[2], effect=True, type=NOTHING)
    else:
        state.emit(operator.setitem, real, EVERYTHING, new, effect=True, type=NOTHING)
    return True


PLACE = "%at "


_TOKEN = "%outside"


def outermost_frame(state: Machine) -> Frame:
    """Return the frame at the bottom: what places outside hold."""
    return Frame(name="", file="", globals={}, trusted=True, env={_TOKEN: state.outside.token})


# ------------------------------------------------------------------------------ reading
def content_of(state: Machine, place: OutsidePlace) -> AbstractValue | None:
    """Return the value of a place if it was written in this call, else None."""
    outside = state.outside
    outside.seen.setdefault(place.key, {}).setdefault(place.holder, place)
    name = outside.written.get(place.key)
    if name is None:
        return None
    box = state.frames[0].env.get(name, UNBOUND)
    if isinstance(box, Unbound):
        return None
    if not isinstance(box, Stale):
        return box
    if place.key in outside.first or isinstance(place.name, Value):
        refuse_unknown_place(state, place)
    outside.first[place.key] = place
    raise Again


def content_without_path(state: Machine, owner: Any, kind: str, name: Any) -> AbstractValue | None:
    """Return the value of a location read without an access path; None if it was not written."""
    seen = state.outside.seen.get((id(owner), kind, name))
    return content_of(state, next(iter(seen.values()))) if seen else None


def held_without_path(state: Machine, value: Any) -> Holder | None:
    """Return a list or dict read without an access path, if the function writes into it."""
    if type(value) not in (list, dict) or not is_held(state, value):
        return None
    for key, seen in state.outside.seen.items():
        if key[0] == id(value):
            return Holder(value, next(iter(seen.values())).holder)
    return None


def refuse_unknown_place(state: Machine, place: OutsidePlace) -> NoReturn:
    """Refuse to read a location with unknown contents."""
    state.refuse(
        errors.MutationError,
        f"cannot tell what {_spelled(place)} holds",
        why="one path of the program only has written it, and nothing was there before.",
        help=("give it a value before",),
    )


def is_place(name: str) -> bool:
    """Return True if a name of the frame at the bottom stands for a place."""
    return name.startswith(PLACE)


def _spelled(place: OutsidePlace) -> str:
    """Return a place in the user's words."""
    return "an item" if isinstance(place.name, Value) else repr(place.name)


def begins_empty(state: Machine, name: str) -> bool:
    """Return True if nothing is at a place when the call starts, as is known by now."""
    return any(
        key in state.outside.first for key, known in state.outside.written.items() if known == name
    )


def is_active(state: Machine) -> bool:
    """Return True if a place outside holds something that carries a derivative."""
    return bool(active_places(state))


def active_places(state: Machine) -> set[Key]:
    """Return the locations outside the function that may hold active values."""
    env, found = state.frames[0].env, set[Key]()
    for key, name in state.outside.written.items():
        box = env.get(name, UNBOUND)
        if state.is_active(box.value if isinstance(box, Stale) else box):
            found.add(key)
    return found


# ------------------------------------------------------------------------------ writing
def begin(state: Machine, place: OutsidePlace, box: AbstractValue) -> None:
    """Note what a place holds first."""
    state.outside.seen.setdefault(place.key, {}).setdefault(place.holder, place)
    state.frames[0].env[_name(state, place)] = box


def put(state: Machine, place: OutsidePlace, box: AbstractValue, *, appended: bool = False) -> None:
    """Write a place: now, in the order of what the function does."""
    outside = state.outside
    if not appended and _holds_work_array(state, place, box):
        return
    outside.seen.setdefault(place.key, {}).setdefault(place.holder, place)
    outside.count += 1
    name = _name(state, place)
    if appended:
        state.emit(
            list.append, handle(state, place), real(state, name, box), effect=True, type=NOTHING
        )
    else:
        _emit(state, place, box)
    state.frames[0].env[name] = box
    if state.is_active(box):
        outside.active.add(place.key)
    if any(map(has_storage, values_of(box))):
        outside.arrays.add(name)
    state.note_write(outside.token)


def _holds_work_array(state: Machine, place: OutsidePlace, box: AbstractValue) -> bool:
    """Return True if a location holds the work array `box`, as after ``self.buf += x``."""
    outside, env = state.outside, state.frames[0].env
    return place.key not in outside.written and any(
        place.content in outside.seen.get(key, ()) and env.get(outside.written[key]) is box
        for key in outside.work
    )


def delete_place(state: Machine, place: OutsidePlace) -> None:
    """``del``: nothing is there any more."""
    state.outside.count += 1
    if place.kind == "attr":
        state.emit(delattr, handle(state, place), Const(place.name), effect=True, type=NOTHING)
    else:
        state.emit(
            operator.delitem, handle(state, place), Const(place.name), effect=True, type=NOTHING
        )
    where = state.builder.where
    state.frames[0].env[_name(state, place)] = Stale(UNBOUND, where)
    state.note_write(state.outside.token)


def _name(state: Machine, place: OutsidePlace) -> str:
    return state.outside.written.setdefault(place.key, f"{PLACE}{len(state.outside.written)}")


def _emit(state: Machine, place: OutsidePlace, box: AbstractValue) -> None:
    owner, value = handle(state, place), real(state, _name(state, place), box)
    write = operator.setitem if isinstance(place.by, dict | list) else setattr
    name = "cell_contents" if place.kind == "cell" else place.name
    key = name if isinstance(name, Value) else Const(name)
    state.emit(write, owner, key, value, effect=True, type=NOTHING)


def handle(state: Machine, place: OutsidePlace) -> Atom:
    """Return the object that holds a place, at the call."""
    return state.captured(place.holder, place.by, Opaque(type(place.by)))


def note_array_written(
    state: Machine, before: Env, is_shown: Callable[[AbstractValue], bool]
) -> None:
    """Let the places that hold a written array hold its new version.

    `is_shown` says whether a box may show its memory.
    """
    env, outside = state.frames[0].env, state.outside
    for key, name in outside.written.items():
        if key in outside.work:
            continue
        old, new = before.get(name, UNBOUND), env.get(name, UNBOUND)
        place = next(iter(outside.seen[key].values()))
        if isinstance(old, Stale) and name in outside.arrays and is_shown(old.value):
            if key in outside.first or isinstance(place.name, Value):
                _refuse_opaque_object(state, place)
            outside.first[key] = place
            raise Again
        if old is new:
            continue
        if isinstance(new, Stale) or any(v in state.perhaps_unbound for v in values_of(new)):
            _refuse_opaque_object(state, place)
        if place.key[1:] == ("item", -1) or isinstance(place.name, Value):
            _refuse_opaque_object(state, place)
        if is_mutable(old):
            mirror(state, name, old, new) or _refuse_opaque_object(state, place)
        else:
            _emit(state, place, new)


# ------------------------------------------------------------------------------ holders
def _now(state: Machine, path: Path) -> Any:
    """Return the example value at a path; None without example arguments."""
    try:
        return read(path, state.root, state.arguments)
    except Unreadable:
        return None


def hold(state: Machine, path: Path) -> bool:
    """Never take apart the containers that a path leads through, or to: read once more.

    False where one of them is part of an argument, or is no dict, list or data class.
    """
    if path[0][0] == "param" and len(path) == 1:
        return False
    found: list[Any] = []
    for k in range(1, len(path) + 1):
        value = _now(state, path[:k])
        if type(value) in (list, dict) or (is_record(type(value)) and not isinstance(value, tuple)):
            found.append(value)
        elif isinstance(value, tuple):
            return False
    new = {id(value): value for value in found if id(value) not in state.outside.holders}
    if not new:
        return False
    state.outside.holders.update(new)
    raise Again


def is_argument(state: Machine, path: Path) -> bool:
    """Return True if a path leads into an argument whose parts the function has as its own."""
    if path[0][0] != "param":
        return False
    return len(path) == 1 or not isinstance(state.captured(path[:1], None).type, Opaque | Fixed)


def is_held(state: Machine, value: Any) -> bool:
    """Return True if an object outside is kept whole, because the function writes into it."""
    return id(value) in state.outside.holders


def _refuse_opaque_object(state: Machine, place: OutsidePlace) -> NoReturn:
    state.refuse(
        errors.MutationError,
        f"cannot tell whether {_spelled(place)} holds what is written into here",
        why="it may be, or share memory with, this array, or not.",
        help=("write into a copy:  y = y.copy()",),
    )


def refuse_in_test(state: Machine) -> NoReturn:
    """Refuse the test of a ``while`` that writes something outside."""
    state.refuse(
        errors.MutationError,
        "cannot read a 'while' whose test writes something outside the function",
        why="the test runs once more than the body.",
        help=("write 'while True:' with 'if ...: break'",),
    )


# ------------------------------------------------------------------------------ other names
def guard_paths(state: Machine) -> None:
    """Guard which paths lead to one object, where what it holds is written."""
    _guard_disjoint(state)
    same: dict[int, tuple[Path, ...]] = {}
    apart: set[tuple[Path, ...]] = set()
    wanted = {key[1:] for key in state.outside.written}
    groups: dict[Any, list[tuple[int, tuple[Path, ...]]]] = {}
    for key, places in state.outside.seen.items():
        if key[1:] in wanted:
            groups.setdefault(key[1:], []).append((key[0], tuple(places)))
    for owners in groups.values():
        for owner, paths in owners:
            same[owner] = tuple(dict.fromkeys((*same.get(owner, ()), *paths)))
        apart.add(tuple(paths[0] for _, paths in owners))
    for paths in same.values():
        if len(paths) > 1:
            state.guard(paths[0], "same", paths[1:])
    for paths in apart:
        if len(paths) > 1:
            state.guard(paths[0], "apart", paths[1:])


def _guard_disjoint(state: Machine) -> None:
    """Take for granted that no list or dict that is read as data is one that is written into."""
    held: dict[int, Path] = {}
    for key, places in state.outside.seen.items():
        if key[0] in state.outside.holders:
            held.setdefault(key[0], next(iter(places)))
    if not held:
        return
    for value, path in state.paths.items():
        is_root = len(path) == 1 or any(c.value is value for c in state.captures)
        if not is_root or not isinstance(value.type, ListOf | TupleOf):
            continue
        data = _now(state, path)
        if any(id(part) in held for part in _containers(data)):
            state.refuse(
                errors.MutationError,
                f"cannot write into what {spelled(path)!r} holds, too",
                why="it is read as one thing and written as another.",
                help=("read and write it by one name",),
            )
        if not isinstance(data, tuple):
            for one in held.values():
                state.guard(path, "apart", (one,))


def _containers(value: Any) -> Iterator[Any]:
    """Yield the lists, dicts and objects in something that is read as data."""
    if isinstance(value, list | tuple | dict):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _containers(part)
    elif is_record(type(value)):
        yield value
        for part in (getattr(value, name, None) for name in record_fields(type(value))):
            yield from _containers(part)
