"""Writing into lists and dicts: every write is a new version, bound under all names.

A list whose items are known one by one stays so as long as what is done to it is known, too; a
write at an index that is computed makes it a list of which the items are known at the call only.
"""

from __future__ import annotations

import operator
from typing import Any

from srcad.frontend import holders, prelude
from srcad.frontend.aliases import check_owner, detach, held_by, placed, repeat, write
from srcad.frontend.boxes import (
    Box,
    DictBox,
    GeneratorBox,
    IterBox,
    ListBox,
    RecordBox,
    SliceBox,
    Static,
    TupleBox,
    is_mutable,
)
from srcad.frontend.holding import Holder
from srcad.frontend.indexing import getitem
from srcad.frontend.keyed import invoked, key_of
from srcad.frontend.known import (
    as_list,
    asks_its_class,
    is_settled,
    known,
    of_constant,
    raises,
    spread,
    static_items,
)
from srcad.frontend.objects import special
from srcad.frontend.scope import Diverges, Session
from srcad.frontend.storage import note_container
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.types.numeric import INT
from srcad.types.structures import (
    ListOf,
    PlacesOf,
)


def is_list(box: Box) -> bool:
    """Whether a box is a list (of known items or not)."""
    return isinstance(box, ListBox) or (isinstance(box, Value) and isinstance(box.type, ListOf))


def _is_lazy(box: Box) -> bool:
    """Whether the items of an iterable are made one by one, each when it is asked for."""
    return isinstance(box, GeneratorBox | IterBox) and not (
        isinstance(box, IterBox) and box.kind == "range"
    )


def as_value(s: Session, box: Box, *, resizes: bool = True) -> Value:
    """A list as one value, under all its names; `resizes` says what is to be done with it."""
    if isinstance(box, Value):
        return box
    assert isinstance(box, ListBox)
    names = [n for n, other in s.reachable() if other is box and n.isidentifier()]
    value = placed(s, ListBox(box.items))
    assert isinstance(value, Value)
    value.hint = names[0] if names else None
    for k, item in enumerate(box.items):
        held_by(s, item, value, Static(k))
    write(s, box, value, resizes=resizes)
    return value


# ------------------------------------------------------------------------------ lists
def append(s: Session, box: Box, value: Box) -> None:
    """``items.append(value)``."""
    if isinstance(box, ListBox):
        write(s, box, ListBox((*box.items, value)))
        return
    assert isinstance(box, Value)
    last = s.emit(len, box) if is_mutable(value) else None
    new = s.emit(primitives.append, box, placed(s, value), hint=box.hint)
    held_by(s, value, new, last)
    write(s, box, new)


def extend(s: Session, box: Box, more: Box) -> None:
    """``items.extend(more)`` and ``items += more``."""
    if _is_lazy(more) or asks_its_class(more):
        s.note_write(box)  # what came before a failure stays in the list
    more = as_list(s, more) if isinstance(more, RecordBox) else more
    items = known_items(s, more)
    if isinstance(box, ListBox) and items is not None:
        write(s, box, ListBox((*box.items, *items)))
        return
    old = as_value(s, box)
    if box is more:
        more = old
    if not is_list(more):
        more = s.invoke(s, Static(list), (more,), {})
    write(s, old, joined(s, old, more))


def joined(s: Session, left: Box, right: Box) -> Value:
    """``left + right`` of two lists of which not both are known."""
    parts = [s.atom(left), s.atom(right)]
    result = s.emit(primitives.extended, *parts)
    result.hint = left.hint if isinstance(left, Value) else None
    note_container(s, result)
    repeat(s, result, *parts)
    return result


def known_items(s: Session, box: Box) -> tuple[Box, ...] | None:
    """The items of an iterable, if they are known one by one."""
    if isinstance(box, IterBox):
        return static_items(s, box)
    if isinstance(box, Static):
        return of_constant(s, box)
    return spread(s, box) if isinstance(box, ListBox | TupleBox | DictBox) else None


def insert(s: Session, box: Box, index: Box, value: Box) -> None:
    """``items.insert(index, value)``."""
    if isinstance(box, ListBox) and isinstance(index, Static):
        items = list(box.items)
        items.insert(index.value, value)
        write(s, box, ListBox(tuple(items)), keeps_places=False)
        return
    old = as_value(s, box)
    new = s.emit(primitives.inserted, old, index, placed(s, value), hint=old.hint)
    held_by(s, value, new, index if index == Static(0) else None)
    write(s, old, new, keeps_places=False)


def pop(s: Session, box: Box, index: Box) -> Box:
    """``items.pop(index)``."""
    if isinstance(box, ListBox) and isinstance(index, Static):
        if not -len(box.items) <= index.value < len(box.items):
            empty = "pop from empty list" if not box.items else "pop index out of range"
            raises(s, IndexError, empty)
        items = list(box.items)
        found = items.pop(index.value)
        write(s, box, ListBox(tuple(items)), keeps_places=False)
        return found
    old = as_value(s, box)
    taken = getitem(s, old, index)
    take_out(s, old, index)
    return taken


def take_out(s: Session, old: Value, index: Box) -> None:
    """The list, or dict, is without the item at an index."""
    last = isinstance(index, Static) and index.value == -1
    new = s.emit(primitives.without, old, index, hint=old.hint)
    write(s, old, new, keeps_places=last)


def delete_item(s: Session, box: Box, index: Box) -> None:
    """``del items[index]``, also of a dict, a slice or an object."""
    if isinstance(box, RecordBox):
        special(s, box, "__delitem__", index)
        return
    if isinstance(box, Holder):
        holders.delete_item(s, box, index)
        return
    if isinstance(box, DictBox):
        key = key_of(s, index)
        if key is None:
            invoked(s, box, "__delitem__", (index,), {})
        else:
            take(s, box, key.value)
        return
    if isinstance(index, SliceBox):
        set_slice(s, box, index, ListBox(()))
        return
    if isinstance(box, ListBox) and isinstance(index, Static):
        pop(s, box, index)
        return
    old = as_value(s, box)
    s.emit(operator.getitem, old, index)  # raises where there is no such item
    take_out(s, old, index)


def is_container(box: Box) -> bool:
    """Whether a box is a list, a dict, or an object that stores items in a way of its own."""
    own = isinstance(box, RecordBox) and hasattr(box.cls, "__setitem__")
    return own or isinstance(box, Holder | DictBox) or is_list(box)


def set_item(s: Session, box: Box, index: Box, value: Box) -> None:
    """``container[index] = value`` of a list, a dict or an object."""
    if isinstance(box, RecordBox):
        special(s, box, "__setitem__", index, value)
        return
    if isinstance(box, Holder):
        holders.set_item(s, box, index, value)
        return
    if isinstance(box, DictBox):
        check_owner(s, box)
        key = key_of(s, index)
        if key is None:
            invoked(s, box, "__setitem__", (index, value), {})
        else:
            put(s, box, key.value, value)
    elif isinstance(index, SliceBox):
        set_slice(s, box, index, value)
    elif isinstance(box, ListBox) and isinstance(index, Static):
        if not -len(box.items) <= index.value < len(box.items):
            raises(s, IndexError, "list assignment index out of range")
        items = list(box.items)
        items[index.value] = value
        write(s, box, ListBox(tuple(items)), resizes=False)
    else:
        old = as_value(s, box, resizes=False)
        new = s.emit(primitives.replaced, old, index, placed(s, value), hint=old.hint)
        detach(s, old, index)
        held_by(s, value, new, index)
        write(s, old, new, resizes=False)


def set_slice(s: Session, box: Box, index: SliceBox, value: Box) -> None:
    """``items[start:stop:step] = value``."""
    bounds = (index.start, index.stop, index.step)
    more = known_items(s, value)
    if isinstance(box, ListBox) and more is not None and all(isinstance(b, Static) for b in bounds):
        items = list(box.items)
        where = slice(*(b.value for b in bounds if isinstance(b, Static)))
        if where.step not in (None, 1) and len(items[where]) != len(more) and more:
            raises(s, ValueError, "attempt to assign sequence to extended slice of another size")
        if more or where.step in (None, 1):
            items[where] = more
        else:
            del items[where]
        write(s, box, ListBox(tuple(items)), keeps_places=False)
        return
    old = as_value(s, box)
    if isinstance(index.step, Static) and index.step.value in (None, 1):
        write(s, old, _spliced(s, old, index, value), keeps_places=False)
        return
    places = s.emit(operator.getitem, IterBox("range", (Static(0), s.emit(len, old), Static(1))),
                    index)  # fmt: skip
    if isinstance(value, ListBox) and not value.items:
        s.invoke(s, Static(prelude.remove_at), (old, places), {})
    else:
        s.invoke(s, Static(prelude.put_at), (old, places, value), {})


def _spliced(s: Session, old: Value, index: SliceBox, value: Box) -> Value:
    """``items[:start] + value + items[stop:]``."""
    none = Static(None)
    if _is_simple(index.start, index.stop):
        start, stop = index.start, index.stop
    else:
        every = IterBox("range", (Static(0), s.emit(len, old), Static(1)))
        covered = s.emit(operator.getitem, every, index)
        start = s.emit(primitives.field, covered, Const("start"), type=INT)
        end = s.emit(primitives.field, covered, Const("stop"), type=INT)
        stop = s.emit(max, start, end, type=INT)
    nothing = isinstance(stop, Static) and stop.value is None
    head = s.emit(operator.getitem, old, SliceBox(none, start, none)) if _begins(start) else None
    tail = None if nothing else s.emit(operator.getitem, old, SliceBox(stop, none, none))
    middle = value if is_list(value) else s.invoke(s, Static(list), (value,), {})
    if head is None and tail is None:
        return as_copy(s, middle)
    empty = isinstance(middle, ListBox) and not middle.items
    parts: list[Box] = [p for p in (head, None if empty else middle, tail) if p is not None]
    result = s.atom(parts[0])
    for part in parts[1:]:
        result = joined(s, s.box(result), part)
    assert isinstance(result, Value)
    result.hint = old.hint
    return result


def as_copy(s: Session, box: Box) -> Value:
    """A list of its own with the same items."""
    whole = SliceBox(Static(None), Static(None), Static(None))
    source = s.atom(box)
    if isinstance(source, Value) and isinstance(source.type, PlacesOf):
        return s.emit(dict, source, type=source.type, hint=source.hint)
    made = s.emit(operator.getitem, source, whole)
    note_container(s, made)
    return made


def _is_simple(start: Box, stop: Box) -> bool:
    """Whether the end certainly does not stand before the start."""
    if not isinstance(start, Static) or not isinstance(stop, Static):
        return False
    a, b = start.value, stop.value
    return a is None or b is None or ((a < 0) == (b < 0) and a <= b)


def _begins(start: Box) -> bool:
    """Whether anything may stand before the start."""
    return not (isinstance(start, Static) and start.value in (None, 0))


def found(s: Session, question: Any, box: Box, value: Box, missing: str = "") -> Box:
    """``items.index(value)`` and ``items.count(value)``."""
    items = box.items if isinstance(box, ListBox | TupleBox) else None
    asked = [i for i in (*(items or ()), value) if isinstance(i, Static) and is_settled(s, i)]
    if items is not None and len(asked) == len(items) + 1:
        *constants, wanted = [i.value for i in asked]
        if question is operator.indexOf and wanted not in constants:
            raises(s, ValueError, missing or f"{wanted!r} is not in list")
        return Static(question(constants, wanted))
    return s.emit(question, box, value, type=INT)


def remove(s: Session, box: Box, value: Box) -> None:
    """``items.remove(value)``."""
    missing = "list.remove(x): x not in list"
    pop(s, box, found(s, operator.indexOf, box, value, missing))


def reverse(s: Session, box: Box) -> None:
    """``items.reverse()``."""
    if isinstance(box, ListBox):
        write(s, box, ListBox(box.items[::-1]), keeps_places=False, resizes=False)
        return
    backward = SliceBox(Static(None), Static(None), Static(-1))
    rename(s, box, s.emit(operator.getitem, box, backward))


def sort(s: Session, box: Box, **kwargs: Box) -> None:
    """``items.sort(key=..., reverse=...)``."""
    new = s.invoke(s, Static(sorted), (box,), kwargs)
    if isinstance(new, Value) and not isinstance(new.type, ListOf):
        new = s.emit(list, new, type=as_value(s, box, resizes=False).type)
    rename(s, box, new)


def clear(s: Session, box: Box) -> None:
    """``items.clear()``."""
    write(s, box, ListBox(()), keeps_places=False)


def rename(s: Session, box: Box, new: Box) -> None:
    """The list has these items now, in another order."""
    if isinstance(box, Value) and isinstance(new, Value):
        new.hint = box.hint
    write(s, box, new, keeps_places=False, resizes=False)


# ------------------------------------------------------------------------------ dicts
def put(s: Session, box: DictBox, key: Any, value: Box) -> None:
    """``mapping[key] = value``."""
    merge(s, box, {key: value})


def merge(s: Session, box: DictBox, more: dict[Any, Box]) -> None:
    """The dict has these entries, too."""
    entries = {**dict(zip(box.keys, box.items, strict=True)), **more}
    same_keys = len(entries) == len(box.keys)
    write(s, box, DictBox(tuple(entries), tuple(entries.values())), resizes=not same_keys)


def update(s: Session, box: DictBox, args: tuple[Box, ...], kwargs: dict[str, Box]) -> None:
    """``mapping.update(*args, **kwargs)`` and ``mapping |= more``."""
    if any(_is_lazy(more) for more in args):
        s.note_write(box)  # what came before a failure stays in the dict
    merge(s, box, entries_of(s, args, kwargs))


def entries_of(s: Session, args: tuple[Box, ...], kwargs: dict[str, Box]) -> dict[Any, Box]:
    """What ``dict(*args, **kwargs)`` holds."""
    entries: dict[Any, Box] = {}
    for box in args:
        if isinstance(box, DictBox):
            entries.update(zip(box.keys, box.items, strict=True))
            continue
        for pair in spread(s, box):
            key, value = spread(s, pair)
            entries[known(s, key, "a dict key")] = value
    entries.update(kwargs)
    return entries


def take(s: Session, box: DictBox, key: Any) -> Box:
    """``mapping.pop(key)``."""
    if key not in box.keys:
        s.emit(primitives.raise_, s.emit(KeyError, Const(key)), effect=True)
        raise Diverges
    entries = dict(zip(box.keys, box.items, strict=True))
    taken: Box = entries.pop(key)
    write(s, box, DictBox(tuple(entries), tuple(entries.values())))
    return taken
