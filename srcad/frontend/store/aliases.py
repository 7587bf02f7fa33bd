"""Aliases of lists, dicts and objects, and the effects of writes on them.

An object is a box, and its identity is the object's: a write binds the new box wherever the old
one is reachable.  That is not enough for an object that is held by a *value*, a list whose items
are known at the call only: such an `Element` also knows which list holds it, and at which index if
that is known.  A write through it makes a new version of the list; what else may show an item
of the same list becomes `Stale`.  Where the path is not known the write is refused, at both places.
"""

from __future__ import annotations

from typing import Any

from srcad.frontend.domain.memory import Element
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import AbstractValue, Constant, Structure
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Arg, Atom, Const, Value
from srcad.ir.traits import (
    is_indexed,
    is_part,
    is_store,
)
from srcad.types.structures import ListOf, TupleOf, Type


def holds_objects(type_: Type) -> bool:
    """Return True if the items of a list are objects that can be written into."""
    if isinstance(type_, TupleOf):
        named = type_.cls if type_.keys is not None or type_.cls is list else tuple
        return not issubclass(named, tuple) or any(holds_objects(t) for t in type_.items)
    return isinstance(type_, ListOf)


def note_element(state: Machine, target: Any, args: tuple[Arg, ...], result: Value) -> None:
    """Note that a value was read out of a list, or is a new version of one."""
    first = args[0] if args else None
    if not isinstance(first, Value):
        return
    if is_store(target, "list"):
        state.objects.families.join(first, result)
    if not is_part(target) or not holds_objects(result.type):
        return
    where = state.builder.where
    if isinstance(first.type, ListOf):
        whole = is_indexed(target) and not isinstance(args[1], Value | Const)
        if whole:
            note_repeated(state, result, first)
        else:
            index = args[1] if isinstance(args[1], Value) else state.box(args[1])  # type: ignore[arg-type]
            state.objects.elements[result] = Element(first, index, where)
    elif first in state.objects.elements or is_indexed(target):
        known = state.objects.elements.get(first)
        container = None if known is None else known.container
        inner = not is_indexed(target) and container is not None
        state.objects.elements[result] = Element(container, None, where, inner)


def element_of(state: Machine, box: AbstractValue) -> Element | None:
    """Where a list holds an object, if one does."""
    found = state.objects.elements.get(box)
    source = getattr(box, "source", None)
    return state.objects.elements.get(source) if found is None and source is not None else found


def mark_untracked(state: Machine, holder: Structure) -> None:
    """Note that a value holds the objects in a structure, so that writes cannot be followed."""
    for part in holder.items:
        for inner in mutable_parts(part):
            state.objects.elements.setdefault(inner, Element(None, None, state.builder.where))


def placed(state: Machine, box: AbstractValue) -> Atom:
    """Return the value of an object put in a list, which becomes its place if it had none."""
    free = [part for part in mutable_parts(box) if element_of(state, part) is None]
    atom = state.atom(box)
    for part in free:
        state.objects.elements.pop(part, None)
    return atom


def note_container_of(
    state: Machine, box: AbstractValue, container: Value, index: AbstractValue | None
) -> None:
    """Note that an object went into a list; if another one holds it, it has two places."""
    for inner in mutable_parts(box):
        before = element_of(state, inner)
        if before is not None:
            note_repeated(
                state, container, *([] if before.container is None else [before.container])
            )
        known = index if inner is box and before is None else None
        state.objects.elements[inner] = Element(container, known, state.builder.where)


def note_repeated(state: Machine, result: Value, *lists: Any) -> None:
    """Note that the same objects may be items of several lists, or of one several times."""
    for other in lists:
        if isinstance(other, Value):
            state.objects.families.join(result, other)
    if isinstance(result.type, ListOf) and holds_objects(result.type.item):
        state.objects.repeated.append(result)


def detach(state: Machine, items: Value, index: AbstractValue) -> None:
    """Note that an item of a list was replaced: what was read there before has left it."""
    root = state.objects.families.find(items)
    for _, box in state.reachable():
        for part in mutable_parts(box):
            element = element_of(state, part)
            if element is None or element.container is None or element.index is None:
                continue
            if state.objects.families.find(element.container) is root and not indices_differ(
                element.index, index
            ):
                state.objects.elements[part] = Element(element.container, None, element.where)


def doubtful(state: Machine, box: AbstractValue) -> None:
    """Note an object whose names are not known: writing into it is refused."""
    for inner in mutable_parts(box):
        state.objects.elements[inner] = Element(None, None, state.builder.where)


def indices_differ(a: AbstractValue | None, b: AbstractValue) -> bool:
    """Return True if two indices certainly are those of two items."""
    if not isinstance(a, Constant) or not isinstance(b, Constant):
        return False
    return bool(a.value != b.value and (a.value < 0) == (b.value < 0))
