"""Positions that are read by name: ``np.dot(a, b, c)``, ``np.sort(x, -1, "stable")``."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.rules import registry
from srcad.startup.identifiers import module_of

Args = tuple[AbstractValue, ...]
Kwargs = dict[str, AbstractValue]


@functools.cache
def _names(function: Any) -> tuple[str, ...]:
    """The parameters of a function that can be given by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    )


def by_name(function: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a function of NumPy's: by name ``out``, and what its rule has no place for.

    An ``out`` that is None asks for nothing.
    """
    if len(args) < 2 or module_of(function).partition(".")[0] != "numpy":
        return args, kwargs
    if isinstance(function, np.ufunc):
        more = args[function.nin :]
        asks = any(not isinstance(box, Constant) or box.value is not None for box in more)
        return (args if asks else args[: function.nin]), kwargs
    names = () if isinstance(function, type) else _names(function)
    place = _places(function, names)
    if not place < len(args) <= len(names):
        return args, kwargs
    found = dict(zip(names[place:], args[place:], strict=False))
    out = found.get("out")
    if isinstance(out, Constant) and out.value is None:
        del found["out"]
    return args[:place], {**found, **kwargs}


def _places(function: Any, names: tuple[str, ...]) -> int:
    """How many arguments of a function are read by position."""
    place = names.index("out") if "out" in names else len(names)
    rule = registry.lookup(function)
    if rule is None or rule.kind == "nondifferentiable" or rule.has_rest:
        return place
    return min(place, len(rule.parameters))


def may_ask(name: str, count: int, *, of_array: bool) -> bool:
    """Whether so many arguments of ``np.name``, or of a method of an array, end in an ``out``."""
    function = getattr(np, name, None)
    if isinstance(function, np.ufunc):
        return count > function.nin
    if function is None or isinstance(function, type) or not callable(function):
        return False
    names = _names(function)
    return "out" in names and count + of_array > names.index("out")
