"""Locks that a fork leaves usable.

A child process has one thread, the one that forked.  A lock that another thread held would never be
released in it, and what that lock protects may be half done.  So a fork waits until the locks that
are held for long are free, and holds them meanwhile; what it could not wait for is made anew in the
child.
"""

from __future__ import annotations

import os
import weakref
from _thread import RLock, get_ident
from typing import Any

PATIENCE = 60.0  # seconds that a fork waits for another thread to finish what it compiles

_ALL: weakref.WeakSet[Any] = weakref.WeakSet()
_AWAITED: dict[int, Any] = {}
_HELD: dict[int, list[Any]] = {}  # by the threads that are forking


def lock(place: int | None = None) -> Any:
    """Make a lock that its holder may take again; a fork waits for it if it has a `place`.

    Whoever holds one may wait for those at later places only.
    """
    made = RLock()
    _ALL.add(made)
    if place is not None:
        _AWAITED[place] = made
    return made


def _before() -> None:
    awaited = [one for _, one in sorted(_AWAITED.items())]
    _HELD[get_ident()] = [one for one in awaited if one.acquire(timeout=PATIENCE)]


def _in_parent() -> None:
    for one in reversed(_HELD.pop(get_ident(), [])):
        one.release()


def _in_child() -> None:
    _in_parent()
    for one in list(_ALL):
        if one.acquire(blocking=False):
            one.release()
        else:
            one._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
