"""Results that are asked for by position: ``np.dot(a, b, c)``, ``a.clip(0, 1, b)``."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from srcad.frontend.boxes import Box, Static

Args = tuple[Box, ...]
Kwargs = dict[str, Box]


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


def named_out(function: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a function of NumPy's, its ``out`` by name; None asks for nothing."""
    if len(args) < 2 or str(getattr(function, "__module__", None)).partition(".")[0] != "numpy":
        return args, kwargs
    if isinstance(function, np.ufunc):
        more = args[function.nin :]
        asks = any(not isinstance(box, Static) or box.value is not None for box in more)
        return (args if asks else args[: function.nin]), kwargs
    names = () if isinstance(function, type) else _names(function)
    place = names.index("out") if "out" in names else len(args)
    if len(args) <= place:
        return args, kwargs
    named = dict(zip(names[place:], args[place:], strict=False))
    if isinstance(named["out"], Static) and named["out"].value is None:
        del named["out"]
    return args[:place], {**named, **kwargs}


def may_ask(name: str, count: int, *, of_array: bool) -> bool:
    """Whether so many arguments of ``np.name``, or of a method of an array, end in an ``out``."""
    function = getattr(np, name, None)
    if isinstance(function, np.ufunc):
        return count > function.nin
    if function is None or isinstance(function, type) or not callable(function):
        return False
    names = _names(function)
    return "out" in names and count + of_array > names.index("out")
