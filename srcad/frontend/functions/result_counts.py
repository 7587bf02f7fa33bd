"""How many results a function with a rule of the user's has: its text tells."""

from __future__ import annotations

from contextlib import suppress
from types import FunctionType
from typing import Any

from srcad.errors import SrcadError
from srcad.frontend.domain import representation
from srcad.frontend.domain.frames import NotConstant, Unreachable
from srcad.frontend.domain.values import AbstractValue, RecordValue, TupleValue
from srcad.frontend.functions.inlining import callee_of, inline
from srcad.frontend.machine import speculation
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.lookup import is_library
from srcad.types.structures import TupleOf, Type

_being_read: set[FunctionType] = set()


def type_of_several(
    s: Machine, function: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> Type | None:
    """Return the type of the result of a user's function, if it is a tuple; else None.

    The function is read as if it had no rule, and then it is as if it had not been read.
    """
    if not isinstance(function, FunctionType) or is_library(function) or function in _being_read:
        return None
    found: list[AbstractValue] = []

    def read() -> AbstractValue:
        with suppress(Unreachable, NotConstant):
            found.append(inline(s, callee_of(s, function, None), args, kwargs))
        raise SrcadError("read for its type only")

    _being_read.add(function)
    try:
        speculation.unless_refused(s, read)
    finally:
        _being_read.discard(function)
    several = found and isinstance(found[0], TupleValue | RecordValue)
    type_ = representation.representing_type(found[0]) if several else None
    return type_ if isinstance(type_, TupleOf) else None
