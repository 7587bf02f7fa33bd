"""Where the programs of the corpus are differentiated: their arguments, beside each function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
POINTS: dict[Function, list[tuple[Any, ...]]] = {}


def at(*args: Any) -> Callable[[Function], Function]:
    """Differentiate a function by all of these arguments; one more point each time it is used."""
    return at_each(args)


def at_each(*points: tuple[Any, ...]) -> Callable[[Function], Function]:
    """The same for several points."""

    def register(function: Function) -> Function:
        POINTS.setdefault(function, []).extend(points)
        return function

    return register
