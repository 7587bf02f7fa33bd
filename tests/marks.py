"""Which cases of a test the newcomer's run takes, and which only `.ci/run random` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], is_default: Callable[[int, Any], bool] | int) -> list[Any]:
    """The cases of ``parametrize``; those that are not taken by default have the mark `random`.

    By default the first so many are taken, or those of which a function of number and case says so.
    """
    count = is_default if isinstance(is_default, int) else 0
    taken = is_default if callable(is_default) else lambda k, _: k < count
    return [
        case if taken(k, case) else pytest.param(case, marks=pytest.mark.random)
        for k, case in enumerate(cases)
    ]


def named_some(cases: Iterable[Any], default: Iterable[str]) -> list[Any]:
    """The same for cases with names (functions, or texts): those with other names are marked."""
    names = set(default)
    return some(cases, lambda _, case: getattr(case, "__name__", case) in names)
