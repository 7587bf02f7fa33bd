"""Methods of lists, dicts and records; which methods a value has."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from srcad.frontend.domain.predicates import is_list
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.library.array_methods import ARRAY
from srcad.frontend.machine.folding import text_method
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import lists
from srcad.frontend.operations.dicts import DICT, Method
from srcad.ir.core import Value
from srcad.types.numeric import Numeric


def _writes_list(write: Callable[..., object]) -> Method:
    """Return a method of lists that returns None."""

    def method(
        s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
    ) -> AbstractValue:
        write(s, receiver, *args, **kwargs)
        return Constant(None)

    return method


def _pop(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return lists.pop(s, receiver, args[0] if args else Constant(-1))


def _list_copy(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if isinstance(receiver, ListValue):
        return ListValue(receiver.items)
    return lists.as_copy(s, receiver)


def _index(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return lists.found_in_list(s, operator.indexOf, receiver, args[0])


def _count(
    s: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return lists.found_in_list(s, operator.countOf, receiver, args[0])


LIST: dict[str, Method] = {
    "append": _writes_list(lists.append),
    "extend": _writes_list(lists.extend),
    "insert": _writes_list(lists.insert),
    "remove": _writes_list(lists.remove),
    "reverse": _writes_list(lists.reverse),
    "clear": _writes_list(lists.clear),
    "sort": _writes_list(lists.sort),
    "pop": _pop,
    "copy": _list_copy,
    "index": _index,
    "count": _count,
}


# --------------------------------------------------------------------------- records
def _replace(
    s: Machine,
    receiver: RecordValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    arrays = {**dict(zip(receiver.keys, receiver.items, strict=True)), **kwargs}
    return RecordValue(receiver.cls, receiver.keys, tuple(arrays[k] for k in receiver.keys))


RECORD: dict[str, Method] = {
    "_replace": _replace,
    "_asdict": lambda s, r, a, k: DictValue(r.keys, r.items),
}


def is_number_or_array(box: AbstractValue) -> bool:
    """Return True if a box is a number or an array."""
    return isinstance(box, Value) and isinstance(box.type, Numeric)


METHODS: tuple[tuple[Callable[[AbstractValue], bool], dict[str, Method]], ...] = (
    (is_number_or_array, ARRAY),
    (is_list, LIST),
    (lambda box: isinstance(box, TupleValue), {"index": _index, "count": _count}),
    (lambda box: isinstance(box, DictValue), DICT),
    (lambda box: isinstance(box, RecordValue), RECORD),
)


def read_method(
    s: Machine,
    receiver: AbstractValue,
    name: str,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue | None:
    """``receiver.name(*args)`` of an array, a container or a text that is known; else None."""
    if isinstance(receiver, Constant) and receiver.atom is None:
        return text_method(receiver.value, name, args, kwargs)
    for kind, known_here in METHODS:
        if kind(receiver) and name in known_here:
            return known_here[name](s, receiver, args, kwargs)
    return None
