"""``min``, ``max``, ``sorted``, ``any``, ``all``: what chooses by comparing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.frontend import prelude
from srcad.frontend.boxes import (
    Box,
    Code,
    GeneratorBox,
    IterBox,
    ListBox,
    Static,
    Structure,
    TupleBox,
    is_mutable,
)
from srcad.frontend.builtin import indexed, known_items, read
from srcad.frontend.choices import choose
from srcad.frontend.known import truth
from srcad.frontend.meanings import meaning
from srcad.frontend.rooms import sequences
from srcad.frontend.scope import Session
from srcad.ir.core import Value
from srcad.runtime import ascending
from srcad.types.numeric import INT
from srcad.types.structures import ListOf

Args = tuple[Box, ...]
Kwargs = dict[str, Box]
Special = Callable[[Session, Args, Kwargs], Box | None]


def _none(box: Box | None) -> bool:
    return box is None or (isinstance(box, Static) and box.value is None)


def _is_read(s: Session, *boxes: Box) -> bool:
    """Whether a choice has to be read here: by a local function, or among what is active."""
    here = Code | GeneratorBox | IterBox
    return s.is_active(*boxes) or any(isinstance(b, here) for b in boxes)


def _chooses_object(args: Args) -> bool:
    """Whether one of some containers is chosen: it goes by two names then."""
    first = args[0] if args else None
    items = first.items if len(args) == 1 and isinstance(first, Structure) else args
    return any(isinstance(b, Structure) and is_mutable(b) for b in items)


# ------------------------------------------------------------------------------ min, max
def _extreme(many: Any, one: Any, many_by: Any, one_by: Any) -> Special:
    def special(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
        key, default = kwargs.get("key"), kwargs.get("default")
        if not _is_read(s, *args, *kwargs.values()) and not _chooses_object(args):
            return None
        by: Args = () if key is None or _none(key) else (key,)
        several, sequence = (many_by, one_by) if by else (many, one)
        if len(args) > 1:
            return read(s, several, *by, *args)
        items = known_items(s, args[0])
        if items:
            return read(s, several, *by, *items)
        if items is not None and default is not None:
            return default
        whole = indexed(s, args[0])
        if default is None:
            return read(s, sequence, *by, whole)
        count = sequences.length(s, whole)
        empty = truth(s, count) is False
        if isinstance(count, Static):
            return default if empty else read(s, sequence, *by, whole)
        return choose(s, s.atom(count), lambda: read(s, sequence, *by, whole), lambda: default)

    return special


meaning(max)(
    _extreme(prelude.largest, prelude.largest_of, prelude.largest_by, prelude.largest_of_by)
)
meaning(min)(
    _extreme(prelude.smallest, prelude.smallest_of, prelude.smallest_by, prelude.smallest_of_by)
)


# ------------------------------------------------------------------------------ any, all
@meaning(any)
def any_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``any(items)``: asks no further than the first that is true."""
    return _asked(s, prelude.any_of, args[0])


@meaning(all)
def all_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``all(items)``: asks no further than the first that is false."""
    return _asked(s, prelude.all_of, args[0])


def _asked(s: Session, function: Any, box: Box) -> Box | None:
    """None (as it stands) where the items are there already."""
    return read(s, function, box) if isinstance(box, GeneratorBox | IterBox) else None


# ------------------------------------------------------------------------------ sorted
@meaning(sorted)
def sorted_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``sorted(items, key=..., reverse=...)``: in an order that is found once, at the call."""
    known = known_items(s, args[0])
    if not _is_read(s, *args, *kwargs.values()) and known is None:
        return None
    key = kwargs.get("key", Static(None))
    reverse = kwargs.get("reverse", Static(False))
    items = ListBox(known) if known is not None else indexed(s, args[0])
    if known is not None:
        keys = [b if _none(key) else s.invoke(s, key, (b,), {}) for b in known]
        order = _known_order(keys, reverse)
        if order is not None:
            return ListBox(tuple(known[k] for k in order))
        by: Box = ListBox(tuple(keys))
    else:
        by = items if _none(key) else read(s, prelude.mapped, key, items)
    places = s.emit(ascending, by, reverse, type=ListOf(INT))
    s.active.discard(places)
    if isinstance(items, ListBox):
        items = s.box(s.atom(items))
    return read(s, prelude.in_order, items, places)


def _known_order(keys: list[Box], reverse: Box) -> list[int] | None:
    """The order of keys that are known now; of pairs, if their first parts tell them apart."""
    if not isinstance(reverse, Static):
        return None
    heads = [b.items[0] if isinstance(b, TupleBox) and b.items else b for b in keys]
    values = [b.value for b in heads if isinstance(b, Static) and b.atom is None]
    if len(values) < len(keys) or any(isinstance(b, Value | Structure) for b in heads):
        return None
    try:
        distinct = len(set(values)) == len(values)
        if heads != keys and not distinct:
            return None
        return ascending(values, bool(reverse.value))
    except TypeError:
        return None
