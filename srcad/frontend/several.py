"""How many results a function with a rule of the user's has: its text tells."""

from __future__ import annotations

from contextlib import suppress
from types import FunctionType
from typing import Any

from srcad.errors import SrcadError
from srcad.frontend.boxes import Box, RecordBox, TupleBox
from srcad.frontend.functions import callee_of, inline
from srcad.frontend.names import is_library
from srcad.frontend.refusals import unless_refused
from srcad.frontend.scope import Diverges, NeedsStatic, Session
from srcad.frontend.united import box_type
from srcad.types.structures import (
    TupleOf,
    Type,
)

_being_read: set[FunctionType] = set()


def type_of_several(
    s: Session, function: Any, args: tuple[Box, ...], kwargs: dict[str, Box]
) -> Type | None:
    """The type of what a function of the user's returns, if that is a tuple; else None.

    The function is read as if it had no rule, and then it is as if it had not been read.
    """
    if not isinstance(function, FunctionType) or is_library(function) or function in _being_read:
        return None
    found: list[Box] = []

    def read() -> Box:
        with suppress(Diverges, NeedsStatic):
            found.append(inline(s, callee_of(s, function, None), args, kwargs))
        raise SrcadError("read for its type only")

    _being_read.add(function)
    try:
        unless_refused(s, read)
    finally:
        _being_read.discard(function)
    several = found and isinstance(found[0], TupleBox | RecordBox)
    type_ = box_type(found[0]) if several else None
    return type_ if isinstance(type_, TupleOf) else None
