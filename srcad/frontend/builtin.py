"""What Python's builtins that make or consume sequences mean to the front end."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from srcad.frontend import library, prelude
from srcad.frontend.boxes import (
    BoundBox,
    Box,
    DictBox,
    GeneratorBox,
    IterBox,
    ListBox,
    Static,
    TupleBox,
)
from srcad.frontend.containers import as_copy, entries_of
from srcad.frontend.functions import callee_of, inline
from srcad.frontend.generators import is_drawn, is_lazy, prelude_generator, refuse_listing
from srcad.frontend.holders import as_data
from srcad.frontend.keyed import is_mapping, unless_open
from srcad.frontend.known import known, of_constant, raises, spread, static_items
from srcad.frontend.meanings import meaning
from srcad.frontend.operators import operate
from srcad.frontend.questions import is_index
from srcad.frontend.rooms import mappings, sequences
from srcad.frontend.scope import Session
from srcad.ir.core import Value
from srcad.types.numeric import (
    INT,
    Numeric,
)
from srcad.types.structures import ListOf

Args = tuple[Box, ...]
Kwargs = dict[str, Box]
_PYTHON = ("python", "number")  # forms of what is, or may be, a number of Python's own
_KINDS = ("f", "i", "b")


def read(s: Session, function: Any, *args: Box) -> Box:
    """Read a function of the prelude with these arguments."""
    return inline(s, callee_of(s, function, None), args, {})


@meaning(range)
def range_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``range(...)``."""
    if len(args) == 1:
        args = (Static(0), args[0])
    if len(args) == 2:
        args = (*args, Static(1))
    return IterBox("range", tuple(_count(s, a) for a in args))


def _count(s: Session, box: Box) -> Box:
    """An integer as a bound: the derivative ends here."""
    return s.box(s.emit(operator.index, box, type=INT)) if is_index(box) else box


@meaning(zip)
def zip_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``zip(...)``; with ``strict`` the lengths of sequences are compared before the first item."""
    strict = kwargs.get("strict", Static(False))
    sized = [a for a in args if not is_lazy(a)]
    if known(s, strict, "whether 'zip' is strict") and len(sized) > 1:
        read(s, prelude.equally_long, *(sequences.length(s, a) for a in sized))
    once = [a for a in args if is_lazy(a)]
    if any(a is b for k, a in enumerate(once) for b in once[:k]):
        refuse_listing(s)  # zip(*[iter(items)] * 2): each takes what the other leaves
    return IterBox("zip", args)


@meaning(enumerate)
def enumerate_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``enumerate(items, start)``."""
    start = _count(s, args[1] if len(args) > 1 else kwargs.get("start", Static(0)))
    if is_lazy(args[0]):
        return prelude_generator(s, prelude.enumerated, args[0], start)
    count = sequences.length(s, args[0])
    stop = (
        count
        if isinstance(start, Static) and start.value == 0
        else operate(s, operator.add, start, count)
    )
    return IterBox("zip", (IterBox("range", (start, stop, Static(1))), args[0]))


@meaning(reversed)
def reversed_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``reversed(items)``; an object may have a way of its own."""
    if is_drawn(args[0]) and not s.is_active(args[0]):
        return None
    return IterBox("reversed", (args[0],))


@meaning(list)
def list_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``list(items)``."""
    if not args:
        return ListBox(())
    items = known_items(s, args[0])
    if items is not None:
        return ListBox(items)
    if isinstance(args[0], Value | Static) and is_drawn(args[0]):
        return None
    if isinstance(args[0], Value) and isinstance(args[0].type, ListOf):
        return as_copy(s, args[0])
    return read(s, prelude.listed, args[0])


@meaning(tuple)
def tuple_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``tuple(items)`` of items that are known one by one."""
    if not args:
        return TupleBox(())
    if is_lazy(args[0]) and not is_drawn(args[0]):
        return TupleBox(spread(s, read(s, prelude.listed, args[0])))
    items = known_items(s, args[0])
    if items is not None:
        return TupleBox(items)
    if s.is_active(args[0]):
        return TupleBox(spread(s, args[0]))
    return None


def known_items(s: Session, box: Box) -> Args | None:
    """The items of what is known one by one, if they are few."""
    if isinstance(box, TupleBox | ListBox):
        return box.items
    if isinstance(box, DictBox):
        return tuple(Static(k) for k in box.keys)
    if isinstance(box, IterBox):
        found = static_items(s, box)
        return found if found is None or len(found) <= 64 else None
    return of_constant(s, box) if isinstance(box, Static) else None


@meaning(dict)
def dict_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``dict(pairs, **more)``."""
    args = tuple(as_data(s, arg) for arg in args)
    if any(map(is_mapping, args)):
        return mappings.made(s, args, kwargs)
    entries = unless_open(s, lambda: entries_of(s, args, kwargs))
    if entries is None:
        return mappings.made(s, args, kwargs)
    return DictBox(tuple(entries), tuple(entries.values()))


@meaning(dict.fromkeys)
def dict_from_keys(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``dict.fromkeys(keys, value)`` of keys that are known."""
    items = known_items(s, args[0])
    if items is None and s.dicts.is_needed(s.builder.where):
        return read(s, library.from_keys, args[0], *(args[1:] or (Static(None),)))
    if items is None or kwargs:
        return None
    value = args[1] if len(args) > 1 else Static(None)
    keys = dict.fromkeys(known(s, item, "a dict key") for item in items)
    return DictBox(tuple(keys), (value,) * len(keys))


@meaning(sum)
def sum_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``sum(items, start)``."""
    start = args[1] if len(args) > 1 else kwargs.get("start", Static(0))
    items = known_items(s, args[0])
    more = () if isinstance(start, Static) and start.value == 0 else (start,)
    if _is_list_of_numbers(args[0], start):
        return s.emit(sum, args[0], *more)
    count = 0 if items is None else _rounded_once(items, start)
    if items is not None and (count or len(items) <= 256):
        result = s.emit(sum, ListBox(tuple(items[:count])), *more) if count else start
        for item in items[count:]:
            result = operate(s, operator.add, result, item)
        return result
    if not s.is_active(args[0], start) and not isinstance(args[0], GeneratorBox | IterBox):
        return None
    return read(s, prelude.total, args[0], start)


def _rounded_once(items: Sequence[Box], start: Box) -> int:
    """How many numbers Python adds with the care of twice the digits: the first floats, since 3.12.

    The first number that is not Python's own ends that; of some only the call knows whose they are.
    """
    kinds = list(takewhile(_KINDS.__contains__, map(_python_kind, (start, *items))))
    return len(kinds) - 1 if len(kinds) > 2 and "f" in kinds else 0


def _python_kind(box: Box) -> str | None:
    """The kind of what is, or may be, a Python number; None of anything else."""
    if isinstance(box, Static):
        return {int: "i", float: "f"}.get(type(box.value))
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.form in _PYTHON:
        return box.type.kind
    return None


def _is_list_of_numbers(box: Box, start: Box) -> bool:
    if not isinstance(box, Value) or not isinstance(box.type, ListOf):
        return False
    item = box.type.item
    is_number = isinstance(item, Numeric) and item.form in (*_PYTHON, "numpy")
    return is_number and _python_kind(start) in _KINDS


def indexed(s: Session, box: Box) -> Box:
    """A sequence that can be indexed."""
    if isinstance(box, IterBox | GeneratorBox):
        made = list_(s, (box,), {})
        assert made is not None
        return made
    return box


@meaning(map)
def map_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``map(function, items, ...)``: an item is asked for, then the function is called."""
    if len(args) == 2:
        return prelude_generator(s, prelude.mapped_each, *args)
    return prelude_generator(s, prelude.starmapped, args[0], IterBox("zip", args[1:]))


@meaning(filter)
def filter_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``filter(function, items)``."""
    if isinstance(args[0], Static) and args[0].value is None:
        args = (Static(prelude.truthy), args[1])
    return prelude_generator(s, prelude.filtered_each, *args)


@meaning(functools.reduce)
def reduce_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``functools.reduce(function, items, start)``."""
    items = known_items(s, args[1])
    if items == () and len(args) < 3:
        raises(s, TypeError, "reduce() of empty iterable with no initial value")
    if items is not None and len(items) <= 64:
        result = args[2] if len(args) > 2 else items[0]
        for item in items if len(args) > 2 else items[1:]:
            result = s.invoke(s, args[0], (result, item), {})
        return result
    if len(args) > 2:
        return read(s, prelude.reduced_from, *args)
    return read(s, prelude.reduced, args[0], indexed(s, args[1]))


@meaning(functools.partial)
def partial_(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``functools.partial(function, ...)``."""
    return BoundBox(args[0], args[1:], kwargs)


@meaning(functools.wraps)
def wraps(s: Session, args: Args, kwargs: Kwargs) -> Box | None:
    """``functools.wraps(function)``: names and documents, and changes nothing."""
    return Static(prelude.unchanged)
