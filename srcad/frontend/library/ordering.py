"""Builtins that choose by comparing: ``min``, ``max``, ``sorted``, ``any``, ``all``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.frontend.branches.choices import choose
from srcad.frontend.domain.predicates import is_of_users
from srcad.frontend.domain.structure import is_mutable
from srcad.frontend.domain.values import (
    AbstractValue,
    Code,
    Constant,
    GeneratorValue,
    IteratorValue,
    ListValue,
    Structure,
    TupleValue,
)
from srcad.frontend.library.builtins import few_known_items, indexed, read_prelude
from srcad.frontend.machine.constants import truth
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import sequences
from srcad.frontend.prelude import builtins
from srcad.ir.core import Value
from srcad.runtime import sorted_positions
from srcad.types.numeric import INT
from srcad.types.structures import ListOf

Special = Callable[[Machine, Args, Kwargs], AbstractValue | None]


def _none(box: AbstractValue | None) -> bool:
    return box is None or (isinstance(box, Constant) and box.value is None)


def _is_read(state: Machine, *boxes: AbstractValue) -> bool:
    """Return True if a choice has to be read here: by a local function, or among what is active."""
    here = Code | GeneratorValue | IteratorValue
    return state.is_active(*boxes) or any(isinstance(b, here) for b in boxes)


def _chooses_object(args: Args) -> bool:
    """Return True if one of some containers is chosen: it goes by two names then."""
    first = args[0] if args else None
    items = first.items if len(args) == 1 and isinstance(first, Structure) else args
    return any(isinstance(b, Structure) and is_mutable(b) for b in items)


# ------------------------------------------------------------------------------ min, max
def _extreme(many: Any, one: Any, many_by: Any, one_by: Any) -> Special:
    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        key, default = kwargs.get("key"), kwargs.get("default")
        if not _is_read(state, *args, *kwargs.values()) and not _chooses_object(args):
            return None
        by: Args = () if key is None or _none(key) else (key,)
        several, sequence = (many_by, one_by) if by else (many, one)
        if len(args) > 1:
            return read_prelude(state, several, *by, *args)
        items = few_known_items(state, args[0])
        if items:
            return read_prelude(state, several, *by, *items)
        if items is not None and default is not None:
            return default
        whole = indexed(state, args[0])
        if default is None:
            return read_prelude(state, sequence, *by, whole)
        count = sequences.length(state, whole)
        empty = truth(state, count) is False
        if isinstance(count, Constant):
            return default if empty else read_prelude(state, sequence, *by, whole)
        return choose(
            state,
            state.atom(count),
            lambda: read_prelude(state, sequence, *by, whole),
            lambda: default,
        )

    return special


means(max)(
    _extreme(builtins.largest, builtins.largest_of, builtins.largest_by, builtins.largest_of_by)
)
means(min)(
    _extreme(builtins.smallest, builtins.smallest_of, builtins.smallest_by, builtins.smallest_of_by)
)


# ------------------------------------------------------------------------------ any, all
@means(any)
def any_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``any(items)``: asks no further than the first that is true."""
    return _compared_at_run_time(state, builtins.any_of, args[0])


@means(all)
def all_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``all(items)``: asks no further than the first that is false."""
    return _compared_at_run_time(state, builtins.all_of, args[0])


def _compared_at_run_time(
    state: Machine, function: Any, box: AbstractValue
) -> AbstractValue | None:
    """None (as it stands) where the items are there already."""
    return (
        read_prelude(state, function, box)
        if isinstance(box, GeneratorValue | IteratorValue)
        else None
    )


# ------------------------------------------------------------------------------ sorted
@means(sorted)
def sorted_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``sorted(items, key=..., reverse=...)``: in an order that is found once, at the call."""
    known = few_known_items(state, args[0])
    if not _is_read(state, *args, *kwargs.values()) and known is None:
        return None
    key = kwargs.get("key", Constant(None))
    reverse = kwargs.get("reverse", Constant(False))
    items = ListValue(known) if known is not None else indexed(state, args[0])
    if known is not None:
        keys = [b if _none(key) else apply(state, key, (b,), {}) for b in known]
        order = _known_order(keys, reverse)
        if order is not None:
            return ListValue(tuple(known[k] for k in order))
        by: AbstractValue = ListValue(tuple(keys))
    else:
        by = items if _none(key) else read_prelude(state, builtins.mapped, key, items)
    places = state.emit(sorted_positions, by, reverse, type=ListOf(INT))
    state.active.discard(places)
    if isinstance(items, ListValue):
        items = state.box(state.atom(items))
    return read_prelude(state, builtins.in_order, items, places)


def _known_order(keys: list[AbstractValue], reverse: AbstractValue) -> list[int] | None:
    """Return the order of constant keys; of pairs, if their first parts differ."""
    heads = [b.items[0] if isinstance(b, TupleValue) and b.items else b for b in keys]
    if not isinstance(reverse, Constant) or any(
        isinstance(b, Constant) and is_of_users(b) for b in heads
    ):
        return None
    values = [b.value for b in heads if isinstance(b, Constant) and b.atom is None]
    if len(values) < len(keys) or any(isinstance(b, Value | Structure) for b in heads):
        return None
    try:
        distinct = len(set(values)) == len(values)
        if heads != keys and not distinct:
            return None
        return sorted_positions(values, bool(reverse.value))
    except TypeError:
        return None
