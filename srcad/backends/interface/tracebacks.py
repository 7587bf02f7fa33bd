"""Errors in generated code say which line of the user's they come from."""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

from srcad.errors import place_of
from srcad.ir.core import Location

_MAPS: dict[str, tuple[weakref.ref[CodeType], Mapping[int, Location]]] = {}


def register(function: FunctionType, line_map: Mapping[int, Location]) -> None:
    """Remember where the lines of a generated function come from, as long as it lives."""
    file = function.__code__.co_filename

    def forget(dead: weakref.ref[CodeType], maps: Any = _MAPS) -> None:
        if file in maps and maps[file][0] is dead:
            del maps[file]

    _MAPS[file] = (weakref.ref(function.__code__, forget), line_map)


def line_map_of(function: FunctionType) -> Mapping[int, Location]:
    """Return where the lines of a generated function come from."""
    known = _MAPS.get(function.__code__.co_filename)
    return {} if known is None else known[1]


def add_note(error: BaseException) -> None:
    """Add the user's file and line to an error that passed through generated code."""
    where = users_place(error)
    if where is None or not where.file:
        return
    text = linecache.getline(where.file, where.line).strip()
    function = f" in {where.function!r}" if where.function else ""
    note = f"srcad: this comes from {place_of(where.file, where.line)}{function}:  {text}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


class noted:  # noqa: N801 - reads like contextlib's own
    """Add the user's line to an error of the generated code that is run meanwhile.

    A class, because a generator would stand between the user and the error as one more frame.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            add_note(error)


def users_place(error: BaseException) -> Location | None:
    """Return the user's place of the innermost generated line that an error passed through."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        known = _MAPS.get(trace.tb_frame.f_code.co_filename)
        if known is not None:
            found = known[1].get(trace.tb_lineno, found)
        trace = trace.tb_next
    return found
