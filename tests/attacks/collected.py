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

_MODULES = (
    zero_dimensional, unread_calls, changing_code, last_digits, calls_and_options,
    containers_and_objects,
)  # fmt: skip


def _attacks(module: ModuleType) -> dict[str, Callable[[], Any]]:
    short = module.__name__.rpartition(".")[2]
    return {
        f"{short}.{name}": found
        for name, found in vars(module).items()
        if isinstance(found, FunctionType)
        and found.__module__ == module.__name__
        and not name.startswith("_")
    }


ATTACKS = {name: attack for module in _MODULES for name, attack in _attacks(module).items()}
