"""Lists and their methods; items that are known one by one stay so.

A write at an index that is computed makes a list one of which the items are known at the call only.
"""

from __future__ import annotations

import operator
from typing import Any

from srcad.frontend.domain.predicates import is_list
from srcad.frontend.domain.structure import is_mutable
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    GeneratorValue,
    IteratorValue,
    ListValue,
    RecordValue,
    SliceValue,
    TupleValue,
)
from srcad.frontend.machine.constants import (
    as_list,
    is_settled,
    iterates_user_code,
    of_constant,
    raises,
    spread,
    static_items,
)
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.prelude import builtins
from srcad.frontend.store.aliases import note_container_of, note_repeated, placed
from srcad.frontend.store.object_writes import write
from srcad.frontend.store.origins import note_container
from srcad.ir.core import Value
from srcad.types.numeric import INT
from srcad.types.structures import ListOf, PlacesOf

FILLED = "%items"  # with this begin the names of lists that comprehensions fill


def is_made_lazily(box: AbstractValue) -> bool:
    """Return True if the items of an iterable are made one by one, each when it is asked for."""
    return isinstance(box, GeneratorValue | IteratorValue) and not (
        isinstance(box, IteratorValue) and box.kind == "range"
    )


def as_value(state: Machine, box: AbstractValue, *, resizes: bool = True) -> Value:
    """Return a list as one value, under all its names.

    `resizes` says what is to be done with it.
    """
    if isinstance(box, Value):
        return box
    assert isinstance(box, ListValue)
    names = [n for n, other in state.reachable() if other is box and n.isidentifier()]
    value = placed(state, ListValue(box.items))
    assert isinstance(value, Value)
    value.hint = names[0] if names else None
    for k, item in enumerate(box.items):
        note_container_of(state, item, value, Constant(k))
    write(state, box, value, resizes=resizes)
    return value


def append(state: Machine, box: AbstractValue, value: AbstractValue) -> None:
    resizes = not _is_unfinished(state, box)
    if isinstance(box, ListValue):
        write(state, box, ListValue((*box.items, value)), resizes=resizes)
        return
    assert isinstance(box, Value)
    last = state.emit(len, box) if is_mutable(value) else None
    new = state.append(box, placed(state, value), hint=box.hint)
    note_container_of(state, value, new, last)
    write(state, box, new, resizes=resizes)


def _is_unfinished(state: Machine, box: AbstractValue) -> bool:
    """Return True for a list that a comprehension fills: no loop runs over it before its end."""
    return any(other is box for name, other in state.frame.env.items() if name.startswith(FILLED))


def extend(state: Machine, box: AbstractValue, more: AbstractValue) -> None:
    """``items.extend(more)`` and ``items += more``."""
    if is_made_lazily(more) or iterates_user_code(more):
        state.note_write(box)  # what came before a failure stays in the list
    more = as_list(state, more) if isinstance(more, RecordValue) else more
    items = known_items(state, more)
    if isinstance(box, ListValue) and items is not None:
        write(state, box, ListValue((*box.items, *items)))
        return
    old = as_value(state, box)
    if box is more:
        more = old
    if not is_list(more):
        more = apply(state, Constant(list), (more,), {})
    write(state, old, concatenated(state, old, more))


def concatenated(state: Machine, left: AbstractValue, right: AbstractValue) -> Value:
    """``left + right`` of two lists of which not both are known."""
    parts = [state.atom(left), state.atom(right)]
    result = state.extended(*parts)
    result.hint = left.hint if isinstance(left, Value) else None
    note_container(state, result)
    note_repeated(state, result, *parts)
    return result


def known_items(state: Machine, box: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the items of an iterable, if they are known one by one."""
    if isinstance(box, IteratorValue):
        return static_items(state, box)
    if isinstance(box, Constant):
        return of_constant(state, box)
    return spread(state, box) if isinstance(box, ListValue | TupleValue | DictValue) else None


def insert(state: Machine, box: AbstractValue, index: AbstractValue, value: AbstractValue) -> None:
    if isinstance(box, ListValue) and isinstance(index, Constant):
        items = list(box.items)
        items.insert(index.value, value)
        write(state, box, ListValue(tuple(items)), keeps_places=False)
        return
    old = as_value(state, box)
    new = state.inserted(old, index, placed(state, value), hint=old.hint)
    note_container_of(state, value, new, index if index == Constant(0) else None)
    write(state, old, new, keeps_places=False)


def pop(state: Machine, box: AbstractValue, index: AbstractValue) -> AbstractValue:
    if isinstance(box, ListValue) and isinstance(index, Constant):
        if not -len(box.items) <= index.value < len(box.items):
            empty = "pop from empty list" if not box.items else "pop index out of range"
            raises(state, IndexError, empty)
        items = list(box.items)
        found = items.pop(index.value)
        write(state, box, ListValue(tuple(items)), keeps_places=False)
        return found
    old = as_value(state, box)
    taken = getitem(state, old, index)
    take_out(state, old, index)
    return taken


def take_out(state: Machine, old: Value, index: AbstractValue) -> None:
    """Take the item at an index out of the list or dict."""
    last = isinstance(index, Constant) and index.value == -1
    new = state.without(old, index, hint=old.hint)
    write(state, old, new, keeps_places=last)


def set_slice(state: Machine, box: AbstractValue, index: SliceValue, value: AbstractValue) -> None:
    """``items[start:stop:step] = value``."""
    bounds = (index.start, index.stop, index.step)
    more = known_items(state, value)
    if (
        isinstance(box, ListValue)
        and more is not None
        and all(isinstance(b, Constant) for b in bounds)
    ):
        items = list(box.items)
        where = slice(*(b.value for b in bounds if isinstance(b, Constant)))
        if where.step not in (None, 1) and len(items[where]) != len(more) and more:
            raises(
                state, ValueError, "attempt to assign sequence to extended slice of another size"
            )
        if more or where.step in (None, 1):
            items[where] = more
        else:
            del items[where]
        write(state, box, ListValue(tuple(items)), keeps_places=False)
        return
    old = as_value(state, box)
    if isinstance(index.step, Constant) and index.step.value in (None, 1):
        write(state, old, _spliced(state, old, index, value), keeps_places=False)
        return
    everything = IteratorValue("range", (Constant(0), state.emit(len, old), Constant(1)))
    places = state.emit(operator.getitem, everything, index)
    if isinstance(value, ListValue) and not value.items:
        apply(state, Constant(builtins.remove_at), (old, places), {})
    else:
        apply(state, Constant(builtins.put_at), (old, places, value), {})


def _spliced(state: Machine, old: Value, index: SliceValue, value: AbstractValue) -> Value:
    """``items[:start] + value + items[stop:]``."""
    none = Constant(None)
    if _is_simple(index.start, index.stop):
        start, stop = index.start, index.stop
    else:
        every = IteratorValue("range", (Constant(0), state.emit(len, old), Constant(1)))
        covered = state.emit(operator.getitem, every, index)
        start = state.field(covered, "start", type=INT)
        end = state.field(covered, "stop", type=INT)
        stop = state.emit(max, start, end, type=INT)
    nothing = isinstance(stop, Constant) and stop.value is None
    head = (
        state.emit(operator.getitem, old, SliceValue(none, start, none)) if _begins(start) else None
    )
    tail = None if nothing else state.emit(operator.getitem, old, SliceValue(stop, none, none))
    middle = value if is_list(value) else apply(state, Constant(list), (value,), {})
    if head is None and tail is None:
        return as_copy(state, middle)
    empty = isinstance(middle, ListValue) and not middle.items
    parts: list[AbstractValue] = [
        p for p in (head, None if empty else middle, tail) if p is not None
    ]
    result = state.atom(parts[0])
    for part in parts[1:]:
        result = concatenated(state, state.box(result), part)
    assert isinstance(result, Value)
    result.hint = old.hint
    return result


def as_copy(state: Machine, box: AbstractValue) -> Value:
    """Return a list of its own with the same items."""
    whole = SliceValue(Constant(None), Constant(None), Constant(None))
    source = state.atom(box)
    if isinstance(source, Value) and isinstance(source.type, PlacesOf):
        return state.emit(dict, source, type=source.type, hint=source.hint)
    made = state.emit(operator.getitem, source, whole)
    note_container(state, made)
    return made


def _is_simple(start: AbstractValue, stop: AbstractValue) -> bool:
    """Return True if the end certainly does not stand before the start."""
    if not isinstance(start, Constant) or not isinstance(stop, Constant):
        return False
    a, b = start.value, stop.value
    return a is None or b is None or ((a < 0) == (b < 0) and a <= b)


def _begins(start: AbstractValue) -> bool:
    """Return True if anything may stand before the start."""
    return not (isinstance(start, Constant) and start.value in (None, 0))


def found_in_list(
    state: Machine, question: Any, box: AbstractValue, value: AbstractValue, missing: str = ""
) -> AbstractValue:
    """``items.index(value)`` and ``items.count(value)``."""
    items = box.items if isinstance(box, ListValue | TupleValue) else None
    asked = [i for i in (*(items or ()), value) if isinstance(i, Constant) and is_settled(state, i)]
    if items is not None and len(asked) == len(items) + 1:
        *constants, wanted = [i.value for i in asked]
        if question is operator.indexOf and wanted not in constants:
            in_tuple = "tuple.index(x): x not in tuple" if isinstance(box, TupleValue) else ""
            raises(state, ValueError, missing or in_tuple or f"{wanted!r} is not in list")
        return Constant(question(constants, wanted))
    return state.emit(question, box, value, type=INT)


def remove(state: Machine, box: AbstractValue, value: AbstractValue) -> None:
    missing = "list.remove(x): x not in list"
    pop(state, box, found_in_list(state, operator.indexOf, box, value, missing))


def reverse(state: Machine, box: AbstractValue) -> None:
    if isinstance(box, ListValue):
        write(state, box, ListValue(box.items[::-1]), keeps_places=False, resizes=False)
        return
    backward = SliceValue(Constant(None), Constant(None), Constant(-1))
    rename(state, box, state.emit(operator.getitem, box, backward))


def sort(state: Machine, box: AbstractValue, **kwargs: AbstractValue) -> None:
    """``items.sort(key=..., reverse=...)``."""
    new = apply(state, Constant(sorted), (box,), kwargs)
    if isinstance(new, Value) and not isinstance(new.type, ListOf):
        new = state.emit(list, new, type=as_value(state, box, resizes=False).type)
    rename(state, box, new)


def clear(state: Machine, box: AbstractValue) -> None:
    write(state, box, ListValue(()), keeps_places=False)


def rename(state: Machine, box: AbstractValue, new: AbstractValue) -> None:
    """Give the list these items, in another order."""
    if isinstance(box, Value) and isinstance(new, Value):
        new.hint = box.hint
    write(state, box, new, keeps_places=False, resizes=False)
