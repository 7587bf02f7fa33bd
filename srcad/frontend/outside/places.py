"""Places outside a function that it writes into: attributes of the user's objects, globals, cells.

A write happens where it stands, once, with the plain value: it is an op with an effect.  What the
place holds from then on is a name of the frame at the bottom (`surroundings`): so paths meet in it,
loops carry it and failures undo it as they do any name.  A place that was not written holds what it
held when the call started, and that carries no derivative.

Places are told apart by the objects that hold them; whether two paths lead to one object is taken
for granted (`take_for_granted`).  Where one path only has written a place that is read afterwards,
the function is read once more (`Again`), with what the place holds first known from the start.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.domain.outside_places import OutsidePlace
from srcad.frontend.domain.structure import is_mutable, values_of
from srcad.frontend.domain.values import UNBOUND, AbstractValue, Env, Frame, Stale, Unbound
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside import objects
from srcad.frontend.outside.doubts import Again
from srcad.ir.core import Atom, Const, Value
from srcad.ir.memory import has_storage
from srcad.startup.records import is_record, record_fields
from srcad.types.sources import Path, Unreadable, read, spelled
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf

PLACE = "%at "


_TOKEN = "%outside"


NOTHING = Const(None).type


def surroundings(s: Machine) -> Frame:
    """Return the frame at the bottom: what places outside hold."""
    return Frame(name="", file="", globals={}, trusted=True, env={_TOKEN: s.outside.token})


# ------------------------------------------------------------------------------ reading
def content_of(s: Machine, place: OutsidePlace) -> AbstractValue | None:
    """Return the value of a place if it was written in this call, else None."""
    outside = s.outside
    outside.seen.setdefault(place.key, {}).setdefault(place.holder, place)
    name = outside.written.get(place.key)
    if name is None:
        return None
    box = s.frames[0].env.get(name, UNBOUND)
    if isinstance(box, Unbound):
        return None
    if not isinstance(box, Stale):
        return box
    if place.key in outside.first or isinstance(place.name, Value):
        refuse_unknown_place(s, place)
    outside.first[place.key] = place
    raise Again


def refuse_unknown_place(s: Machine, place: OutsidePlace) -> NoReturn:
    """Refuse to read a location with unknown contents."""
    s.refuse(
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


def begins_empty(s: Machine, name: str) -> bool:
    """Return True if nothing is at a place when the call starts, as is known by now."""
    return any(key in s.outside.first for key, known in s.outside.written.items() if known == name)


def is_active(s: Machine) -> bool:
    """Return True if a place outside holds something that carries a derivative."""
    env = s.frames[0].env if s.outside.written else {}
    return any(s.is_active(box) for name, box in env.items() if is_place(name))


# ------------------------------------------------------------------------------ writing
def begin(s: Machine, place: OutsidePlace, box: AbstractValue) -> None:
    """Note what a place holds first."""
    s.outside.seen.setdefault(place.key, {}).setdefault(place.holder, place)
    s.frames[0].env[_name(s, place)] = box


def put(s: Machine, place: OutsidePlace, box: AbstractValue, *, appended: bool = False) -> None:
    """Write a place: now, in the order of what the function does."""
    outside = s.outside
    outside.seen.setdefault(place.key, {}).setdefault(place.holder, place)
    outside.count += 1
    name = _name(s, place)
    if appended:
        s.emit(list.append, handle(s, place), objects.real(s, name, box), effect=True, type=NOTHING)
    else:
        _emit(s, place, box)
    s.frames[0].env[name] = box
    if any(map(has_storage, values_of(box))):
        outside.arrays.add(name)
    s.note_write(outside.token)


def delete_place(s: Machine, place: OutsidePlace) -> None:
    """``del``: nothing is there any more."""
    s.outside.count += 1
    if place.kind == "attr":
        s.emit(delattr, handle(s, place), Const(place.name), effect=True, type=NOTHING)
    else:
        s.emit(operator.delitem, handle(s, place), Const(place.name), effect=True, type=NOTHING)
    where = s.builder.where
    s.frames[0].env[_name(s, place)] = Stale(UNBOUND, where)
    s.note_write(s.outside.token)


def _name(s: Machine, place: OutsidePlace) -> str:
    return s.outside.written.setdefault(place.key, f"{PLACE}{len(s.outside.written)}")


def _emit(s: Machine, place: OutsidePlace, box: AbstractValue) -> None:
    owner, value = handle(s, place), objects.real(s, _name(s, place), box)
    write = operator.setitem if isinstance(place.by, dict | list) else setattr
    name = "cell_contents" if place.kind == "cell" else place.name
    key = name if isinstance(name, Value) else Const(name)
    s.emit(write, owner, key, value, effect=True, type=NOTHING)


def handle(s: Machine, place: OutsidePlace) -> Atom:
    """Return the object that holds a place, at the call."""
    return s.captured(place.holder, place.by, Opaque(type(place.by)))


def note_array_written(s: Machine, before: Env, is_shown: Callable[[AbstractValue], bool]) -> None:
    """Let the places that hold a written array hold its new version.

    `is_shown` says whether a box may show its memory.
    """
    env, outside = s.frames[0].env, s.outside
    for key, name in outside.written.items():
        old, new = before.get(name, UNBOUND), env.get(name, UNBOUND)
        place = next(iter(outside.seen[key].values()))
        if isinstance(old, Stale) and name in outside.arrays and is_shown(old.value):
            if key in outside.first or isinstance(place.name, Value):
                _refuse_held(s, place)
            outside.first[key] = place
            raise Again
        if old is new:
            continue
        if isinstance(new, Stale) or any(v in s.perhaps_unbound for v in values_of(new)):
            _refuse_held(s, place)
        if place.key[1:] == ("item", -1) or isinstance(place.name, Value):
            _refuse_held(s, place)
        if is_mutable(old):
            objects.mirror(s, name, old, new) or _refuse_held(s, place)
        else:
            _emit(s, place, new)


# ------------------------------------------------------------------------------ holders
def _now(s: Machine, path: Path) -> Any:
    """Return the example value at a path; None without example arguments."""
    try:
        return read(path, s.root, s.arguments)
    except Unreadable:
        return None


def hold(s: Machine, path: Path) -> bool:
    """Never take apart the containers that a path leads through, or to: read once more.

    False where one of them is part of an argument, or is no dict, list or data class.
    """
    if path[0][0] == "param" and len(path) == 1:
        return False
    found: list[Any] = []
    for k in range(1, len(path) + 1):
        value = _now(s, path[:k])
        if type(value) in (list, dict) or (is_record(type(value)) and not isinstance(value, tuple)):
            found.append(value)
        elif isinstance(value, tuple):
            return False
    new = {id(value): value for value in found if id(value) not in s.outside.holders}
    if not new:
        return False
    s.outside.holders.update(new)
    raise Again


def is_argument(s: Machine, path: Path) -> bool:
    """Return True if a path leads into an argument whose parts the function has as its own."""
    if path[0][0] != "param":
        return False
    return len(path) == 1 or not isinstance(s.captured(path[:1], None).type, Opaque | Fixed)


def is_held(s: Machine, value: Any) -> bool:
    """Return True if an object outside is kept whole, because the function writes into it."""
    return id(value) in s.outside.holders


def _refuse_held(s: Machine, place: OutsidePlace) -> NoReturn:
    s.refuse(
        errors.MutationError,
        f"cannot tell whether {_spelled(place)} holds what is written into here",
        why="it may be, or share memory with, this array, or not.",
        help=("write into a copy:  y = y.copy()",),
    )


def refuse_in_test(s: Machine) -> NoReturn:
    """Refuse the test of a ``while`` that writes something outside."""
    s.refuse(
        errors.MutationError,
        "cannot read a 'while' whose test writes something outside the function",
        why="the test runs once more than the body.",
        help=("write 'while True:' with 'if ...: break'",),
    )


# ------------------------------------------------------------------------------ other names
def take_for_granted(s: Machine) -> None:
    """Guard which paths lead to one object, where what it holds is written."""
    _keep_apart(s)
    same: dict[int, tuple[Path, ...]] = {}
    apart: set[tuple[Path, ...]] = set()
    wanted = {key[1:] for key in s.outside.written}
    groups: dict[Any, list[tuple[int, tuple[Path, ...]]]] = {}
    for key, places in s.outside.seen.items():
        if key[1:] in wanted:
            groups.setdefault(key[1:], []).append((key[0], tuple(places)))
    for owners in groups.values():
        for owner, paths in owners:
            same[owner] = tuple(dict.fromkeys((*same.get(owner, ()), *paths)))
        apart.add(tuple(paths[0] for _, paths in owners))
    for paths in same.values():
        if len(paths) > 1:
            s.guard(paths[0], "same", paths[1:])
    for paths in apart:
        if len(paths) > 1:
            s.guard(paths[0], "apart", paths[1:])


def _keep_apart(s: Machine) -> None:
    """Take for granted that no list or dict that is read as data is one that is written into."""
    held: dict[int, Path] = {}
    for key, places in s.outside.seen.items():
        if key[0] in s.outside.holders:
            held.setdefault(key[0], next(iter(places)))
    if not held:
        return
    for value, path in s.paths.items():
        is_root = len(path) == 1 or any(c.value is value for c in s.captures)
        if not is_root or not isinstance(value.type, ListOf | TupleOf):
            continue
        data = _now(s, path)
        if any(id(part) in held for part in _containers(data)):
            s.refuse(
                errors.MutationError,
                f"cannot write into what {spelled(path)!r} holds, too",
                why="it is read as one thing and written as another.",
                help=("read and write it by one name",),
            )
        if not isinstance(data, tuple):
            for one in held.values():
                s.guard(path, "apart", (one,))


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
