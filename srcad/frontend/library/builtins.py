"""Builtins that make or consume sequences."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from itertools import takewhile
from types import FunctionType
from typing import Any

from srcad.frontend.domain.predicates import is_index
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    FunctionValue,
    GeneratorValue,
    IteratorValue,
    ListValue,
    TupleValue,
)
from srcad.frontend.functions.inlining import callee_of, inline
from srcad.frontend.functions.lazy_iterables import (
    is_drawn,
    is_lazy,
    prelude_generator,
    refuse_listing,
)
from srcad.frontend.machine.constants import known, of_constant, raises, spread, static_items
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import mappings, sequences
from srcad.frontend.operations.dicts import dict_entries
from srcad.frontend.operations.fields import is_attribute, with_attributes
from srcad.frontend.operations.lists import as_copy
from srcad.frontend.operations.operators import operate
from srcad.frontend.operations.outside_containers import as_data
from srcad.frontend.prelude import builtins, containers, iterators
from srcad.frontend.store.runtime_keys import is_mapping, unless_open
from srcad.ir.core import Value
from srcad.types.numeric import INT, Numeric
from srcad.types.structures import ListOf

_PYTHON = ("python", "number")  # forms of what is, or may be, a number of Python's own
_KINDS = ("f", "i", "b")


def read_prelude(state: Machine, function: Any, *args: AbstractValue) -> AbstractValue:
    """Read a function of the prelude with these arguments."""
    return inline(state, callee_of(state, function, None), args, {})


@means(range)
def range_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``range(...)``."""
    if len(args) == 1:
        args = (Constant(0), args[0])
    if len(args) == 2:
        args = (*args, Constant(1))
    return IteratorValue("range", tuple(_count(state, a) for a in args))


def _count(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return an integer as a bound: the derivative ends here."""
    return state.box(state.emit(operator.index, box, type=INT)) if is_index(box) else box


@means(zip)
def zip_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``zip(...)``; with ``strict`` the lengths of sequences are compared before the first item."""
    strict = kwargs.get("strict", Constant(False))
    sized = [a for a in args if not is_lazy(a)]
    if known(state, strict, "whether 'zip' is strict") and len(sized) > 1:
        read_prelude(state, builtins.equally_long, *(sequences.length(state, a) for a in sized))
    once = [a for a in args if is_lazy(a)]
    if any(a is b for k, a in enumerate(once) for b in once[:k]):
        refuse_listing(state)  # zip(*[iter(items)] * 2): each takes what the other leaves
    return IteratorValue("zip", args)


@means(enumerate)
def enumerate_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``enumerate(items, start)``."""
    start = _count(state, args[1] if len(args) > 1 else kwargs.get("start", Constant(0)))
    if is_lazy(args[0]):
        return prelude_generator(state, iterators.enumerated, args[0], start)
    count = sequences.length(state, args[0])
    stop = (
        count
        if isinstance(start, Constant) and start.value == 0
        else operate(state, operator.add, start, count)
    )
    return IteratorValue("zip", (IteratorValue("range", (start, stop, Constant(1))), args[0]))


@means(reversed)
def reversed_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``reversed(items)``; an object may have a way of its own."""
    if is_drawn(args[0]) and not state.is_active(args[0]):
        return None
    return IteratorValue("reversed", (args[0],))


@means(list)
def list_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    if not args:
        return ListValue(())
    items = few_known_items(state, args[0])
    if items is not None:
        return ListValue(items)
    if isinstance(args[0], Value | Constant) and is_drawn(args[0]):
        return None
    if isinstance(args[0], Value) and isinstance(args[0].type, ListOf):
        return as_copy(state, args[0])
    return read_prelude(state, builtins.listed, args[0])


@means(tuple)
def tuple_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``tuple(items)`` of items that are known one by one."""
    if not args:
        return TupleValue(())
    if is_lazy(args[0]) and not is_drawn(args[0]):
        return TupleValue(spread(state, read_prelude(state, builtins.listed, args[0])))
    items = few_known_items(state, args[0])
    if items is not None:
        return TupleValue(items)
    if state.is_active(args[0]):
        return TupleValue(spread(state, args[0]))
    return None


def few_known_items(state: Machine, box: AbstractValue) -> Args | None:
    """Return the items of what is known one by one, if they are few."""
    if isinstance(box, TupleValue | ListValue):
        return box.items
    if isinstance(box, DictValue):
        return tuple(Constant(k) for k in box.keys)
    if isinstance(box, IteratorValue):
        found = static_items(state, box)
        return found if found is None or len(found) <= 64 else None
    return of_constant(state, box) if isinstance(box, Constant) else None


@means(dict)
def dict_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``dict(pairs, **more)``."""
    args = tuple(as_data(state, arg) for arg in args)
    if any(map(is_mapping, args)):
        return mappings.made_dict(state, args, kwargs)
    entries = unless_open(state, lambda: dict_entries(state, args, kwargs))
    if entries is None:
        return mappings.made_dict(state, args, kwargs)
    return DictValue(tuple(entries), tuple(entries.values()))


@means(dict.fromkeys)
def dict_from_keys(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``dict.fromkeys(keys, value)`` of keys that are known."""
    items = few_known_items(state, args[0])
    if items is None and state.dicts.is_needed(state.builder.where):
        return read_prelude(state, containers.from_keys, args[0], *(args[1:] or (Constant(None),)))
    if items is None or kwargs:
        return None
    value = args[1] if len(args) > 1 else Constant(None)
    keys = dict.fromkeys(known(state, item, "a dict key") for item in items)
    return DictValue(tuple(keys), (value,) * len(keys))


@means(sum)
def sum_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``sum(items, start)``."""
    start = args[1] if len(args) > 1 else kwargs.get("start", Constant(0))
    items = few_known_items(state, args[0])
    more = () if isinstance(start, Constant) and start.value == 0 else (start,)
    if _is_list_of_numbers(args[0], start):
        return state.emit(sum, args[0], *more)
    count = 0 if items is None else _rounded_once(items, start)
    if items is not None and (count or len(items) <= 256):
        result = state.emit(sum, ListValue(tuple(items[:count])), *more) if count else start
        for item in items[count:]:
            result = operate(state, operator.add, result, item)
        return result
    if not state.is_active(args[0], start) and not isinstance(
        args[0], GeneratorValue | IteratorValue
    ):
        return None
    return read_prelude(state, builtins.total, args[0], start)


def _rounded_once(items: Sequence[AbstractValue], start: AbstractValue) -> int:
    """How many numbers Python adds with the care of twice the digits: the first floats, since 3.12.

    The first number that is not Python's own ends that; of some is known only at run time whose
    they are.
    """
    kinds = list(takewhile(_KINDS.__contains__, map(_python_kind, (start, *items))))
    return len(kinds) - 1 if len(kinds) > 2 and "f" in kinds else 0


def _python_kind(box: AbstractValue) -> str | None:
    """Return the kind of a value that is, or may be, a Python number; else None."""
    if isinstance(box, Constant):
        return {int: "i", float: "f"}.get(type(box.value))
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.form in _PYTHON:
        return box.type.kind
    return None


def _is_list_of_numbers(box: AbstractValue, start: AbstractValue) -> bool:
    if not isinstance(box, Value) or not isinstance(box.type, ListOf):
        return False
    item = box.type.item
    is_number = isinstance(item, Numeric) and item.form in (*_PYTHON, "numpy")
    return is_number and _python_kind(start) in _KINDS


def indexed(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return a sequence that can be indexed."""
    if isinstance(box, IteratorValue | GeneratorValue):
        made = list_(state, (box,), {})
        assert made is not None
        return made
    return box


@means(map)
def map_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``map(function, items, ...)``: an item is asked for, then the function is called."""
    if len(args) == 2:
        return prelude_generator(state, iterators.mapped_each, *args)
    return prelude_generator(state, iterators.starmapped, args[0], IteratorValue("zip", args[1:]))


@means(filter)
def filter_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``filter(function, items)``."""
    if isinstance(args[0], Constant) and args[0].value is None:
        args = (Constant(builtins.truthy), args[1])
    return prelude_generator(state, iterators.filtered_each, *args)


@means(functools.reduce)
def reduce_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``functools.reduce(function, items, start)``."""
    items = few_known_items(state, args[1])
    if items == () and len(args) < 3:
        raises(state, TypeError, "reduce() of empty iterable with no initial value")
    if items is not None and len(items) <= 64:
        result = args[2] if len(args) > 2 else items[0]
        for item in items if len(args) > 2 else items[1:]:
            result = apply(state, args[0], (result, item), {})
        return result
    if len(args) > 2:
        return read_prelude(state, builtins.reduced_from, *args)
    return read_prelude(state, builtins.reduced, args[0], indexed(state, args[1]))


@means(functools.partial)
def partial_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``functools.partial(function, ...)``."""
    return BoundValue(args[0], args[1:], kwargs, is_partial=True)


@means(functools.wraps)
def wraps(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``functools.wraps(function)``: it copies names, documents and attributes."""
    copies = len(args) < 3 and "updated" not in kwargs
    return BoundValue(Constant(builtins.wrapped), (args[0] if copies else Constant(None),))


@means(builtins.wrapped)
def wrapped(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``functools.wraps(function)(wrapper)``: a local function gets numbers and texts."""
    function, wrapper = args
    if not isinstance(wrapper, FunctionValue):
        return wrapper
    found = function.attributes if isinstance(function, FunctionValue) else ()
    if isinstance(function, Constant) and isinstance(function.value, FunctionType):
        found = tuple((k, v) for k, v in vars(function.value).items() if is_attribute(v))
        path = function.path
        if path is not None:
            for name, value in found:
                state.guard((*path, ("attr", name)), "is", value)
    return with_attributes(wrapper, found) if found else wrapper
