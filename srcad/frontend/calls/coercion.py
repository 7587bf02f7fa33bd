"""Arguments that NumPy and Python turn into something else before they use them."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    GeneratorValue,
    ListValue,
    TupleValue,
)
from srcad.frontend.machine.constants import as_list, as_tuple
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.definition import inert_entries
from srcad.frontend.store.structures import is_deque
from srcad.ir.core import Const, Value
from srcad.rules.registry import lookup
from srcad.startup.identifiers import module_of
from srcad.types.reading import looked_up
from srcad.types.structures import ListOf, TupleOf

_ASK_AT_ONCE = frozenset({set, frozenset, math.prod, math.fsum})
_BY_LENGTH = frozenset({np.split, np.array_split})
_SPLITS = _BY_LENGTH | {np.hsplit, np.vsplit, np.dsplit}


def asked_at_once(
    s: Machine, function: Any, args: tuple[AbstractValue, ...]
) -> tuple[AbstractValue, ...]:
    """Return lists for generators, if the function does nothing else while it asks them."""
    joins = isinstance(looked_up(function, "__self__"), str)
    if not joins and not (is_hashable(function) and function in _ASK_AT_ONCE):
        return args
    return tuple(as_list(s, a) if isinstance(a, GeneratorValue) else a for a in args)


def as_arrays(
    s: Machine, function: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> tuple[tuple[AbstractValue, ...], dict[str, AbstractValue]]:
    """Arrays in place of lists where a derivative may flow: a rule adds and multiplies what it has.

    ``2 * x`` and ``x[1:] + x[:-1]`` mean something else of a list.
    """
    module = module_of(function)
    if not (isinstance(function, np.ufunc) or module.startswith("numpy")):
        return args, kwargs
    if not s.is_active(*args, *kwargs.values()):
        return args, kwargs
    args = tuple(a.items[0] if is_deque(a) else a for a in args)  # type: ignore[union-attr]
    args, kwargs = tuple(map(as_tuple, args)), {k: as_tuple(b) for k, b in kwargs.items()}
    rule = lookup(function)
    if rule is not None and rule.takes_lists:
        return args, kwargs
    if function in _BY_LENGTH and _is_list(args[0]) and (len(args) > 2 or kwargs.get("axis")):
        s.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot read 'np.{function.__name__}' of a list along an axis",
            why="it takes the length of the list for that of the axis, whichever axis it is.",
            help=("make it an array first:  np.array(...)",),
        )
    inert = inert_entries(rule.function) if rule is not None and rule.function else frozenset()

    def as_array(place: int | str, box: AbstractValue) -> AbstractValue:
        if not _is_list(box):
            return box
        entry = rule.entry(place) if rule is not None else None
        is_operand = entry is not None and entry[0] not in inert
        return s.emit(np.array, box) if is_operand or s.is_active(box) else box

    positional = tuple(as_array(k, box) for k, box in enumerate(args))
    return positional, {name: as_array(name, box) for name, box in kwargs.items()}


def items_of_split(
    s: Machine, function: Any, args: tuple[AbstractValue, ...], result: AbstractValue
) -> AbstractValue:
    """Return the parts of an array that is split in a number of parts that is known, one by one."""
    if function not in _SPLITS or len(args) < 2 or not isinstance(result, Value):
        return result
    parts = args[1]
    if isinstance(parts, TupleValue | ListValue):
        count = len(parts.items) + 1
    elif isinstance(parts, Constant) and isinstance(parts.value, int | list | tuple):
        count = parts.value if isinstance(parts.value, int) else len(parts.value) + 1
    else:
        return result
    return ListValue(tuple(s.box(s.emit(operator.getitem, result, Const(k))) for k in range(count)))


def _is_list(box: AbstractValue) -> bool:
    listed = isinstance(box, Value) and isinstance(box.type, ListOf | TupleOf)
    return listed or isinstance(box, ListValue | TupleValue)
