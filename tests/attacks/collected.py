"""All attacks by name."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from tests.attacks import (
    calls_and_options,
    changing_code,
    containers_and_objects,
    last_digits,
    unread_calls,
    zero_dimensional,
)

_ROOMS = (
    zero_dimensional, unread_calls, changing_code, last_digits, calls_and_options,
    containers_and_objects,
)  # fmt: skip


def _attacks(room: ModuleType) -> dict[str, Callable[[], Any]]:
    short = room.__name__.rpartition(".")[2]
    return {
        f"{short}.{name}": found
        for name, found in vars(room).items()
        if isinstance(found, FunctionType)
        and found.__module__ == room.__name__
        and not name.startswith("_")
    }


ATTACKS = {name: attack for room in _ROOMS for name, attack in _attacks(room).items()}
