"""Structures as values of their own, and as others may see them."""

from __future__ import annotations

import collections

from srcad import errors
from srcad.frontend.domain.structure import mapped
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    IteratorValue,
    ListValue,
    PlacesValue,
    RecordValue,
    SliceValue,
    Structure,
    TupleValue,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude import containers
from srcad.frontend.prelude.deques import Deque
from srcad.frontend.prelude.distributions import Frozen
from srcad.frontend.store.aliases import mark_untracked
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.ir.traits import calls_operand
from srcad.types.structures import OPAQUE, PlacesOf


def built(state: Machine, box: Structure | SliceValue | IteratorValue | PlacesValue) -> Value:
    """Return the value of a structure, a slice, a range, or of the places of known keys."""
    match box:
        case SliceValue():
            return state.emit(slice, box.start, box.stop, box.step)
        case IteratorValue():
            return state.emit(range, *box.parts)
        case PlacesValue(keys):
            return state.build_places(*map(Const, keys))
    parts = [state.atom(item) for item in box.items]
    if any(
        isinstance(p, Value) and isinstance(p.type, PlacesOf) and p in state.active for p in parts
    ):
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot keep a dict whose keys carry derivatives in a list or another dict",
            why="a key stands for a place, and these depend on the differentiated arguments.",
            help=("keep the numbers in the values:  d[k] = (x, v)",),
        )
    mark_untracked(state, box)
    match box:
        case TupleValue():
            return state.build_tuple(*parts)
        case ListValue():
            return state.build_list(*parts)
        case DictValue(keys):
            return state.build_dict(keys, *parts)
        case RecordValue(cls, keys):
            return state.build_record(cls, keys, *parts)


# ------------------------------------------------------------------------------ outside
def is_of_library(box: AbstractValue) -> bool:
    """Return True if a box is a container of Python's library that is read, or a view of one."""
    return isinstance(box, RecordValue) and issubclass(box.cls, containers.Container)


def is_deque(box: AbstractValue) -> bool:
    """Return True for a `collections.deque` that is read: to NumPy, the list of its items."""
    return isinstance(box, RecordValue) and issubclass(box.cls, Deque)


def without_library_classes(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return a box for who does not know of these classes: Python's own in their place."""

    def change(part: AbstractValue) -> AbstractValue | None:
        if not isinstance(part, RecordValue) or not is_of_library(part):
            return None
        if issubclass(part.cls, Deque):
            entries, maxlen = part.items
            return state.emit(collections.deque, state.atom(entries), maxlen, type=OPAQUE)
        if issubclass(part.cls, Frozen):
            dist, args, kwds = part.items
            assert isinstance(dist, Constant)
            assert isinstance(args, TupleValue)
            assert isinstance(kwds, DictValue)
            named = dict(zip(kwds.keys, kwds.items, strict=True))
            return state.emit(dist.value, *args.items, kwargs=named, type=OPAQUE)
        original = getattr(part.cls, "original", None)
        if original is not None:
            return state.emit(original, Constant(part.cls.stands_for), *part.items, type=OPAQUE)  # type: ignore[attr-defined]
        if issubclass(part.cls, containers.LibraryObject):
            state.refuse(
                errors.UnsupportedTypeError,
                f"cannot return {part.cls.described}, or hand it over",
                why="it is made from values that carry a derivative.",
                help=("return what its methods compute",),
            )
        if issubclass(part.cls, containers.Mapping):
            places, entries, *_ = part.items
            return state.as_dict(places, state.atom(entries), type=OPAQUE)
        view = state.field(without_library_classes(state, part.items[0]), part.cls.__name__.lower())
        return state.apply(view, type=OPAQUE)

    return mapped(box, change)


def is_ours(target: object) -> bool:
    """Return True if an operation is one of the IR's own, and puts into a list what it is given."""
    return primitives.is_primitive(target) and not calls_operand(target)
