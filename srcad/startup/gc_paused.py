"""The garbage collector waits while much is made that stays, and so do other threads."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from srcad.startup.locks import lock

COMPILING = lock(0)  # the compiler itself is used by one thread at a time


@contextmanager
def loading() -> Iterator[None]:
    """Load modules without going over what they make, not even once: it stays.

    What was just made would be looked through twice, for a fifth of the time that loading takes.
    Instead all that is there counts as old, like after a collection that found nothing.
    """
    with without_collections():
        yield
        if not gc.get_freeze_count():  # otherwise it is the user's to thaw
            gc.freeze()
            gc.unfreeze()


@contextmanager
def without_collections() -> Iterator[None]:
    """Let the collector wait: modules, and what the compiler makes, are mostly still in use."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
