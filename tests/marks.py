"""Which cases of a test the newcomer's run takes, and which only `.ci/run random` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

SEED = int(os.environ.get("SRCAD_PROOF", "0"))


def some(
    cases: Iterable[Any], is_default: Callable[[int, Any], bool] | int, every: int = 1
) -> list[Any]:
    """The cases of ``parametrize``; those that are not taken by default have the mark `random`.

    By default the first so many are taken, or those of which a function of number and case says so.
    With `every`, one in so many of the others has a test: ``SRCAD_PROOF`` says which.
    """
    count = is_default if isinstance(is_default, int) else 0
    taken = is_default if callable(is_default) else lambda k, _: k < count
    found: list[Any] = []
    left = 0
    for k, case in enumerate(cases):
        if taken(k, case):
            found.append(case)
            continue
        if left % every == SEED % every:
            found.append(pytest.param(case, marks=pytest.mark.random))
        left += 1
    return found


def named_some(cases: Iterable[Any], default: Iterable[str]) -> list[Any]:
    """The same for cases with names (functions, or texts): those with other names are marked."""
    names = set(default)
    return some(cases, lambda _, case: getattr(case, "__name__", case) in names)
