"""Differentiate plain NumPy Python by rewriting its source.

>>> import srcad
>>> srcad.grad(lambda x: 3 * x**2 + 2 * x + 1)(2.0)
14.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from srcad import errors, rules, testing
    from srcad.api import (
        differentiate,
        elementwise_grad,
        grad,
        gradient,
        inspect,
        jvp,
        pullback,
        stop_gradient,
        value_and_grad,
        vjp,
    )

__version__ = "0.1.0"

__all__ = [
    "differentiate",
    "elementwise_grad",
    "errors",
    "grad",
    "gradient",
    "inspect",
    "jvp",
    "pullback",
    "rules",
    "stop_gradient",
    "testing",
    "value_and_grad",
    "vjp",
]

_MODULES = frozenset({"errors", "rules", "testing"})


def __getattr__(name: str) -> Any:
    """Load the compiler when the first of its names is used."""
    if name not in __all__:
        raise AttributeError(f"module 'srcad' has no attribute {name!r}")
    if name in _MODULES:
        return importlib.import_module(f"srcad.{name}")
    with importlib.import_module("srcad.startup.gc_paused").loading():
        found = globals()[name] = getattr(importlib.import_module("srcad.api"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
