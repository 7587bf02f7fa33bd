"""How NumPy and `warnings` are set: whether what is no number is passed on in silence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import umath

from srcad.startup.records import dataclass

_LOUD = ("raise", "call", "print", "log")
# Where NumPy keeps what `np.geterr` tells; were it elsewhere, that would be asked at each call.
_handling: Callable[[], Any] = getattr(getattr(umath, "_extobj_contextvar", None), "get", object)


@dataclass
class _Known:
    """How NumPy and `warnings` were set when they were last found to be calm."""

    handling: Any = None
    filter: Any = None


_known = _Known()


def errors_are_ignored() -> bool:
    """Return True if no infinity or nan of an operation becomes an exception or a call."""
    filters = warnings.filters
    if _handling() is _known.handling and filters and filters[0] is _known.filter:
        return True
    return _looked()


def _looked() -> bool:
    """Return the same, after looking at all settings; remembered while they stay."""
    states = np.geterr()
    if states["under"] != "ignore" or any(state in _LOUD for state in states.values()):
        return False
    if "warn" in states.values() and _warnings_raise():
        return False
    _known.handling = _handling()
    _known.filter = warnings.filters[0] if warnings.filters else None
    return True


def _warnings_raise() -> bool:
    """Return True if a RuntimeWarning may be raised."""
    for action, message, category, module, _ in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None:
                return False
    return False


def numpy_raises() -> bool:
    """Return True if NumPy is told to raise."""
    return "raise" in np.geterr().values()
