"""What calls of some functions mean to the front end itself."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any

from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.machine import Machine

Special = Callable[
    [Machine, tuple[AbstractValue, ...], dict[str, AbstractValue]], AbstractValue | None
]
_KNOWN: dict[Any, Special] = {}
_LATER: dict[str, dict[str, Special]] = {}  # of modules that the user's code may have loaded


def meaning(*targets: Any) -> Callable[[Special], Special]:
    """Register what a call means to the front end; None from it says: go on as usual."""

    def register(special: Special) -> Special:
        for target in targets:
            _KNOWN[target] = special
        return special

    return register


def means_later(room: types.ModuleType, *targets: Any) -> None:
    """Register what the functions of a room give a meaning to, without loading the room."""

    def enter(target: Any) -> Special:
        def special(
            s: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
        ) -> AbstractValue | None:
            import_module(room.__name__)  # which puts its own in the place of this
            return _KNOWN[target](s, args, kwargs)

        return special

    for target in targets:
        _KNOWN.setdefault(target, enter(target))


def meaning_in(module: str, *names: str) -> Callable[[Special], Special]:
    """Register what calls of functions of a module mean, without loading the module."""

    def register(special: Special) -> Special:
        _LATER.setdefault(module, {}).update(dict.fromkeys(names, special))
        return special

    return register


def meaning_of(function: Any) -> Special | None:
    """What a call of a function means; None: what calls usually mean."""
    for module in [name for name in _LATER if name in sys.modules]:
        found = _LATER.pop(module)
        _KNOWN.update({attrgetter(n)(sys.modules[module]): found[n] for n in found})
    return _KNOWN.get(function) if is_hashable(function) else None
