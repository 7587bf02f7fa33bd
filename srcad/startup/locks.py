"""Locks that a fork leaves usable.

A child process has one thread, the one that forked.  A lock that another thread held would never be
released in it, and what that lock protects may be half done.  So a fork waits until the locks that
are held for long are free, and holds them during the fork; what it could not wait for is made anew
in the child.

Python itself has a lock for every module that is being imported.  A fork waits until no thread
imports one of srcad's, too, and none begins meanwhile: `importing` says so.  That is no lock, for
threads that import one module of each other would wait for each other.
"""

from __future__ import annotations

import os
import time
import weakref
from _thread import RLock, get_ident
from typing import Any

PATIENCE = 60.0  # seconds that a fork waits for another thread to finish what it compiles

_ALL: weakref.WeakSet[Any] = weakref.WeakSet()
_AWAITED: dict[int, Any] = {}
_HELD: dict[int, list[Any]] = {}  # by the threads that are forking
_IMPORTING: dict[int, int] = {}  # how many imports each thread is in
_FORKING: set[int] = set()
_MOMENT = 0.001
_SHORT = 1.0  # seconds that an import waits for a fork, which may be waiting for it


def lock(place: int | None = None) -> Any:
    """Make a lock that its holder may take again; a fork waits for it if it has a `place`.

    Whoever holds one may wait for those at later places only.
    """
    made = RLock()
    _ALL.add(made)
    if place is not None:
        _AWAITED[place] = made
    return made


COMPILING = lock(0)  # the compiler itself is used by one thread at a time


class _Importing:
    """Modules of srcad are imported by this thread."""

    def __enter__(self) -> None:
        me, end = get_ident(), time.monotonic() + _SHORT
        depth = _IMPORTING.get(me, 0)
        _IMPORTING[me] = depth + 1
        while not depth and _FORKING - {me} and time.monotonic() < end:
            del _IMPORTING[me]
            time.sleep(_MOMENT)
            _IMPORTING[me] = 1

    def __exit__(self, *_: object) -> None:
        me = get_ident()
        _IMPORTING[me] -= 1
        if not _IMPORTING[me]:
            del _IMPORTING[me]


importing = _Importing()


def _before() -> None:
    """Wait until no other thread imports, and take the locks; all of it within `PATIENCE`.

    An import may need one of the locks.  So none is held while the fork waits for an import: if one
    has begun before all of them were taken, they are released and the fork waits again.
    """
    me, end = get_ident(), time.monotonic() + PATIENCE
    awaited = [one for _, one in sorted(_AWAITED.items())]
    while True:
        while _is_imported_by_others(me) and time.monotonic() < end:
            time.sleep(_MOMENT)
        held = [one for one in awaited if one.acquire(timeout=max(0.0, end - time.monotonic()))]
        _FORKING.add(me)
        if not _is_imported_by_others(me) or time.monotonic() >= end:
            break
        _FORKING.discard(me)
        _release(held)
        time.sleep(_MOMENT)
    _HELD[me] = held


def _is_imported_by_others(me: int) -> bool:
    return any(one != me for one in list(_IMPORTING))


def _release(held: list[Any]) -> None:
    for one in reversed(held):
        one.release()


def _in_parent() -> None:
    _FORKING.discard(get_ident())
    _release(_HELD.pop(get_ident(), []))


def _in_child() -> None:
    _in_parent()
    _FORKING.clear()
    for other in [one for one in _IMPORTING if one != get_ident()]:
        del _IMPORTING[other]
    for one in list(_ALL):
        if one.acquire(blocking=False):
            one.release()
        else:
            one._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
