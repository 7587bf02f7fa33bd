"""Random numbers: draws and their types."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.library import introspection
from srcad.frontend.machine.machine import Machine
from srcad.ir.inference.probe import by_running
from srcad.startup.identifiers import module_of
from srcad.types.reading import looked_up
from srcad.types.structures import Type


def is_random(function: Any) -> bool:
    """Return True if a function draws random numbers."""
    holder = looked_up(function, "__self__")
    return "random" in module_of(function) or (
        "random" in type(holder).__module__ if holder is not None else False
    )


def draw_type(
    state: Machine,
    receiver: AbstractValue,
    name: str,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> Type | None:
    """Return the type of a random draw, asked of another generator than the user's."""
    cls = introspection.class_of(receiver)
    if cls is None or not any("random" in base.__module__ for base in cls.__mro__):
        return None
    for kind, fresh in (
        (np.random.Generator, np.random.default_rng),
        (np.random.RandomState, np.random.RandomState),
    ):
        if issubclass(cls, kind) and hasattr(kind, name):
            keywords = tuple((k, state.arg(b)) for k, b in kwargs.items())
            return by_running(getattr(fresh(0), name), tuple(state.arg(a) for a in args), keywords)
    return None
