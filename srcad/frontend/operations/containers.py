"""``container[index] = value`` and ``del container[index]`` of all kinds of containers."""

from __future__ import annotations

import operator

from srcad.frontend.domain.predicates import is_list
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    Holder,
    ListValue,
    RecordValue,
    SliceValue,
)
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import outside_containers
from srcad.frontend.operations.dicts import put, take
from srcad.frontend.operations.indexing import with_slice_bounds
from srcad.frontend.operations.lists import as_value, pop, set_slice, take_out
from srcad.frontend.operations.special_methods import special
from srcad.frontend.store.aliases import detach, note_container_of, placed
from srcad.frontend.store.object_writes import check_container_owner, write
from srcad.frontend.store.runtime_keys import invoked, key_of


def delete_item(state: Machine, box: AbstractValue, index: AbstractValue) -> None:
    """``del items[index]``, also of a dict, a slice or an object."""
    if isinstance(box, RecordValue):
        special(state, box, "__delitem__", index)
        return
    if isinstance(box, Holder):
        outside_containers.delete_item(state, box, index)
        return
    if isinstance(box, DictValue):
        key = key_of(state, index)
        if key is None:
            invoked(state, box, "__delitem__", (index,), {})
        else:
            take(state, box, key.value)
        return
    index = with_slice_bounds(state, index)
    if isinstance(index, SliceValue):
        set_slice(state, box, index, ListValue(()))
        return
    if isinstance(box, ListValue) and isinstance(index, Constant):
        pop(state, box, index)
        return
    old = as_value(state, box)
    state.emit(operator.getitem, old, index)  # raises where there is no such item
    take_out(state, old, index)


def is_container(box: AbstractValue) -> bool:
    """Return True if a box is a list, a dict, or an object that stores items itself."""
    own = isinstance(box, RecordValue) and hasattr(box.cls, "__setitem__")
    return own or isinstance(box, Holder | DictValue) or is_list(box)


def set_item(
    state: Machine, box: AbstractValue, index: AbstractValue, value: AbstractValue
) -> None:
    """``container[index] = value`` of a list, a dict or an object."""
    if isinstance(box, RecordValue):
        special(state, box, "__setitem__", index, value)
        return
    if isinstance(box, Holder):
        outside_containers.set_item(state, box, index, value)
        return
    if isinstance(box, DictValue):
        check_container_owner(state, box)
        key = key_of(state, index)
        if key is None:
            invoked(state, box, "__setitem__", (index, value), {})
        else:
            put(state, box, key.value, value)
        return
    index = with_slice_bounds(state, index)
    if isinstance(index, SliceValue):
        set_slice(state, box, index, value)
    elif isinstance(box, ListValue) and isinstance(index, Constant):
        if not -len(box.items) <= index.value < len(box.items):
            raises(state, IndexError, "list assignment index out of range")
        items = list(box.items)
        items[index.value] = value
        write(state, box, ListValue(tuple(items)), resizes=False)
    else:
        old = as_value(state, box, resizes=False)
        new = state.replaced(old, index, placed(state, value), hint=old.hint)
        detach(state, old, index)
        note_container_of(state, value, new, index)
        write(state, old, new, resizes=False)
