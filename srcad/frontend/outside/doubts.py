"""Opaque calls, and the outside state that they may have changed.

A place is read when the compiled function is called, or holds what this function has put there.
Where a call may change it that srcad does not read, neither is true afterwards, so reading it is
refused: in a loop also earlier in the text.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.domain.outside_places import OpaqueEffect
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.effects import Effects
from srcad.frontend.source.written_names import ANYTHING, ITEMS
from srcad.startup.identifiers import is_instance
from srcad.types.sources import Path, Unreadable, read


class Again(Exception):  # noqa: N818 - control flow of the reader, not an error
    """More is known at compile time of what the function writes: read it once more."""


def resolve_doubt(state: Machine, one: OpaqueEffect) -> NoReturn:
    """Read what was left by a call that is in doubt, or refuse it."""
    if one.unread is None or one.unread in state.outside.unread:
        raise one.error
    state.outside.unread.add(one.unread)
    raise Again


def record_possible_writes(state: Machine, effects: Effects, name: str, unread: Any = None) -> None:
    """Note what a call may change that is not read: what it may have changed is read no more."""
    found = OpaqueEffect(
        effects, _error_of(state, name), state.builder is not state.inactive.outermost, unread
    )
    if any(_may_change(state, found, path) for path in _paths_written(state)):
        resolve_doubt(state, found)
    state.outside.doubts.append(found)


def note_read(state: Machine, path: Path, value: Any) -> None:
    """Refuse to read state that an opaque call may have changed."""
    if is_instance(value, FunctionType | ModuleType | type):
        return
    if state.builder is not state.inactive.outermost:
        state.outside.inner.add(path)
    for one in state.outside.doubts:
        if _may_change(state, one, path):
            resolve_doubt(state, one)


def refuse_doubts(state: Machine) -> None:
    """Refuse what a call in a loop may change that was read, or written, by another iteration."""
    for one in state.outside.doubts:
        paths = [*state.outside.inner, *_paths_written(state)] if one.in_loop else []
        if any(_may_change(state, one, path) for path in paths):
            resolve_doubt(state, one)


def _paths_written(state: Machine) -> list[Path]:
    """Return the ways to the places outside that the function itself has written."""
    outside = state.outside
    return [next(iter(outside.seen[key].values())).content for key in outside.written]


def _may_change(state: Machine, one: OpaqueEffect, path: Path) -> bool:
    """Return True if a call may change one of the steps to a place."""
    names = one.effects.names
    for k, (kind, name, *_) in enumerate(path):
        if kind in ("global", "cell") and name in names:
            return True
        known = ITEMS if kind == "item" else name
        special = isinstance(name, str) and name[:2] == "__"
        if kind in ("item", "attr") and (known in names or (ANYTHING in names and not special)):
            try:
                owner = read(path[:k], state.root, state.arguments) if k else state.root
            except Unreadable:
                return True
            if one.effects.reaches(owner):
                return True
    return False


def _error_of(state: Machine, name: str) -> errors.SrcadError:
    try:
        state.refuse(
            errors.MutationError,
            f"cannot tell what the call of {name!r} leaves in the objects that it may write into",
            why="srcad does not interpret it, and it may change state that is used here, too.",
            help=("return the new values, and assign them here",),
        )
    except errors.SrcadError as error:
        return error
