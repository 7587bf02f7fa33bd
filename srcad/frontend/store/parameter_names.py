"""Positions that are read by name: ``np.dot(a, b, c)``, ``np.sort(x, -1, "stable")``."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import Constant
from srcad.frontend.machine.dispatch import Args, Kwargs
from srcad.frontend.source import written_names
from srcad.rules import registry
from srcad.startup.identifiers import module_of


def by_name(function: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Return the arguments of a NumPy function; ``out`` and others without a position by name.

    What has no default value is given by position (``np.sum(a=x)``).  An ``out`` that is None asks
    for nothing.
    """
    if kwargs:
        args, kwargs = _without_names(function, args, kwargs)
    is_ufunc = isinstance(function, np.ufunc)  # without a module before NumPy 2.1
    module = module_of(function) or ("numpy" if is_ufunc else "")
    if len(args) < 2 or module.partition(".")[0] != "numpy":
        return args, kwargs
    if is_ufunc:
        more = args[function.nin :]
        asks = any(not isinstance(box, Constant) or box.value is not None for box in more)
        return (args if asks else args[: function.nin]), kwargs
    names = () if isinstance(function, type) else written_names.positional_names(function)
    place = _places(function, names)
    if not place < len(args) <= len(names):
        return args, kwargs
    found = dict(zip(names[place:], args[place:], strict=False))
    out = found.get("out")
    if isinstance(out, Constant) and out.value is None:
        del found["out"]
    return args[:place], {**found, **kwargs}


def _without_names(function: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Return the arguments, without names where its rule has no default value."""
    rule = registry.lookup(function) if is_hashable(function) else None
    if rule is None or not rule.shipped or isinstance(function, type):
        return args, kwargs
    names = rule.parameters[: rule.required]
    if not any(name in kwargs for name in names[len(args) :]):
        return args, kwargs
    if written_names.positional_names(function)[: len(names)] != names:
        return args, kwargs
    given, by_name = dict(kwargs), written_names.positional_names(function, or_by_name=True)
    while len(args) < len(names) and names[len(args)] in {*given}.intersection(by_name):
        args = (*args, given.pop(names[len(args)]))
    return args, given


def _places(function: Any, names: tuple[str, ...]) -> int:
    """How many arguments of a function are read by position."""
    place = names.index("out") if "out" in names else len(names)
    rule = registry.lookup(function)
    if rule is None or rule.kind == "nondifferentiable" or rule.has_rest:
        return place
    return min(place, len(rule.parameters))
