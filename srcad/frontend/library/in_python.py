"""Functions of libraries written in Python; they are interpreted in place of the originals.

A function is written under its own signature, so that a call binds to it as it does to the
original.  A call through which no derivative flows runs as it stands.

>>> nlargest(2, [1.0, 3.0, 2.0])
[3.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar

from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means_in
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.reified_closures import reads_active

Written = TypeVar("Written", bound=Callable[..., Any])


def written_for(module: str, *names: str) -> Callable[[Written], Written]:
    """Register what functions of a module mean, as a function of Python."""

    def register(function: Written) -> Written:
        assert isinstance(function, FunctionType)

        def read(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
            given = (*args, *kwargs.values())
            if not state.is_active(*given) and not any(reads_active(state, box) for box in given):
                return None
            return apply(state, Constant(function), args, kwargs)

        means_in(module, *names)(read)
        return function

    return register


@written_for("heapq", "nlargest")
def nlargest(n: int, iterable: Iterable[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    """Return the largest items, largest first; which ones these are among nan only a heap knows."""
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    if any(one != one for one in keys):
        raise ValueError("heapq.nlargest of nan is not differentiated: leave nan out before")
    places = sorted(range(len(items)), key=lambda k: keys[k], reverse=True)
    return [items[k] for k in places[: max(n, 0)]]


@written_for("heapq", "nsmallest")
def nsmallest(
    n: int, iterable: Iterable[Any], key: Callable[[Any], Any] | None = None
) -> list[Any]:
    """Return the smallest items, smallest first.

    Which ones these are among nan only a heap knows.
    """
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    if any(one != one for one in keys):
        raise ValueError("heapq.nsmallest of nan is not differentiated: leave nan out before")
    places = sorted(range(len(items)), key=lambda k: keys[k])
    return [items[k] for k in places[: max(n, 0)]]
