"""Iteration over objects of the user's, by their ``__iter__``."""

from __future__ import annotations

from typing import Any

from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import AbstractValue, Constant, Holder, RecordValue, Text
from srcad.frontend.functions import lazy_iterables
from srcad.frontend.machine.constants import as_tuple
from srcad.frontend.machine.dispatch import apply, iterate, iterates
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.attributes import read_attribute
from srcad.frontend.operations.outside_containers import entries
from srcad.frontend.operations.special_methods import special
from srcad.frontend.prelude import iterators
from srcad.frontend.store import runtime_keys
from srcad.frontend.store.structures import is_of_library
from srcad.rules.registry import row_of

iterates(Holder)(entries)


@iterates(RecordValue, Constant, Text)
def through_object(state: Machine, box: RecordValue | Constant) -> AbstractValue:
    """Return the iterable of a loop over an object, as its class defines it."""
    if runtime_keys.is_mapping(box):
        return at_once(state, box)
    made = special(state, box, "__iter__")
    if made is None:
        return as_tuple(box)
    return (
        lazy_iterables.prelude_generator(state, iterators.stepped, made)
        if isinstance(made, RecordValue)
        else made
    )


def at_once(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return a list of the items of an iterable that is consumed before anything else happens.

    The keys of a dict stay the same as long as somebody goes through them.
    """
    return apply(state, read_attribute(state, box, "at_once"), (), {})


def gone_through(
    state: Machine, function: Any, args: tuple[AbstractValue, ...]
) -> tuple[AbstractValue, ...]:
    """Return the arguments, with iterators for the objects that the function goes through."""
    if not any(isinstance(box, RecordValue | Holder) for box in args) or not is_hashable(function):
        return args
    if function is reversed:
        return tuple(iterate(state, b) if isinstance(b, Holder) else as_tuple(b) for b in args)
    row = row_of(function)
    if not row.iterates or (row.law in ("largest", "smallest") and len(args) > 1):
        return args
    places = range(len(args))[slice(*row.iterated)]
    read = iterate if row.iterates == "as needed" else _items_of
    return tuple(read(state, box) if k in places else box for k, box in enumerate(args))


def _items_of(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return the iterable of a function that consumes it before it returns."""
    if isinstance(box, Holder):
        return box
    return at_once(state, box) if is_of_library(box) else iterate(state, box)
