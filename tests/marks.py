"""Marks of tests: `random` for cases that runs take in turn, `slow` for those that cost much.

``pytest -q`` of everything leaves out both.  ``.ci/run`` runs all `slow` ones and a share of the
`random` ones, another share for each turn.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

DRAW = os.environ.get("SRCAD_PROOF", "0")  # a number, or "all": no case is left out
SEED = 0 if DRAW == "all" else int(DRAW)
SLOW = Path(__file__).with_name("slow.txt")
EXPENSIVE = Path(__file__).with_name("expensive.txt")


def some(
    cases: Iterable[Any], is_default: Callable[[int, Any], bool] | int, every: int = 1
) -> list[Any]:
    """The cases of ``parametrize``; those that are not taken by default have the mark `random`.

    By default the first so many are taken, or those of which a function of number and case says so.
    With `every`, one in so many of the others has a test: ``SRCAD_PROOF`` says which.
    """
    count = is_default if isinstance(is_default, int) else 0
    taken = is_default if callable(is_default) else lambda k, _: k < count
    step = 1 if DRAW == "all" else every
    found: list[Any] = []
    left = 0
    for k, case in enumerate(cases):
        if taken(k, case):
            found.append(case)
            continue
        if left % step == SEED % step:
            found.append(pytest.param(case, marks=pytest.mark.random))
        left += 1
    return found


def some_by_name(names: Iterable[str], one_in: int, every: int) -> list[Any]:
    """The cases of ``parametrize`` that have names, of which one in so many is taken by default.

    Names decide, not places: a case that joins the table leaves the draw of the others as it is.
    The others have the mark `random`; of them, one in `every` has a test, as with `some`.  With 0
    for `one_in`, none is taken by default.
    """
    found: list[Any] = []
    step = 1 if DRAW == "all" else every
    for name in names:
        if is_usual(name, one_in):
            found.append(name)
        elif zlib.crc32(name.encode()) // max(one_in, 1) % step == SEED % step:
            found.append(pytest.param(name, marks=pytest.mark.random))
    return found


def is_usual(name: str, one_in: int) -> bool:
    """Return True if `some_by_name` takes a case by default."""
    return one_in > 0 and zlib.crc32(name.encode()) % one_in == 0


def named_some(cases: Iterable[Any], default: Iterable[str]) -> list[Any]:
    """The same for cases with names (functions, or texts): those with other names are marked."""
    names = set(default)
    return some(cases, lambda _, case: getattr(case, "__name__", case) in names)


def named(value: Any) -> str:
    """Return the text of a parameter without addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def slow_ids() -> set[str]:
    """The ids of the tests that have the mark `slow`."""
    return set(SLOW.read_text().splitlines()) if SLOW.exists() else set()


def expensive_ids() -> set[str]:
    """The ids of the tests that take turns, as cases of long tables do, since they cost most."""
    return set(EXPENSIVE.read_text().splitlines())
