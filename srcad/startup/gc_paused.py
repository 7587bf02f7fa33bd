"""The garbage collector waits while much is made that stays, and so do other threads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from srcad.startup.locks import COMPILING


@contextmanager
def loading() -> Iterator[None]:
    """Load modules without going over what they make, not even once: it stays.

    What was just made would be looked through twice, for a fifth of the time that loading takes.
    Instead all that is there counts as old, like after a collection that found nothing.
    """
    with without_collections():
        yield
        _count_as_old()


@contextmanager
def compiling() -> Iterator[None]:
    """Compile; the first compilations load most of the compiler."""
    loaded = len(sys.modules)
    with COMPILING, without_collections():
        yield
        if len(sys.modules) > loaded:
            _count_as_old()


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


def _count_as_old() -> None:
    """All that is there counts as old, unless it is the user's to thaw."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
