"""Tangents in the structure, shapes and dtypes of the arguments that they are given for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcad.arguments.wrt import WrtEntry
from srcad.errors import SeedError
from srcad.modes.seeds import mold_of, seed_like, zeros_of


def by_parameter(
    places: Sequence[WrtEntry], tangents: Sequence[Any], arguments: Sequence[Any], name: str
) -> list[Any]:
    """One tangent for each parameter that has some, zeros for other arguments in its ``*args``."""
    found: dict[int, Any] = {}
    for place, dot in zip(places, tangents, strict=True):
        argument, item = arguments[place.parameter], place.item
        if type(dot) is type(argument) and item is None and _is_such(dot, argument):
            found[place.parameter] = dot.copy() if type(dot) is np.ndarray else dot
            continue
        if not isinstance(item, int):
            found[place.parameter] = _fitting(dot, argument, place.parameter, name)
            continue
        zeros = [zeros_of(mold_of(one)) for one in argument]
        items = found.setdefault(place.parameter, zeros)
        items[item] = _fitting(dot, argument[item], place.parameter + item, name)
    if all(place.item is None for place in places):
        return list(found.values())
    return [tuple(dot) if _is_several(k, places) else dot for k, dot in found.items()]


def _is_several(parameter: int, places: Sequence[WrtEntry]) -> bool:
    """Return True if a parameter takes up several arguments."""
    return any(p.parameter == parameter and p.item is not None for p in places)


def _is_such(dot: Any, argument: Any) -> bool:
    """Return True if a tangent is one as it stands: a float, or an array of the same floats."""
    if type(dot) is float:
        return True
    return (
        type(dot) is np.ndarray
        and dot.shape == argument.shape
        and dot.dtype == argument.dtype
        and dot.dtype.kind == "f"
    )


def _fitting(dot: Any, argument: Any, place: int, name: str) -> Any:
    """Return a tangent in the structure, shapes and dtypes of its argument.

    Raises
    ------
    SeedError
        It has another structure or shape, or the argument is no number.
    """
    mold = mold_of(argument)
    if mold is None:
        raise SeedError(
            f"argument {place + 1} of {name!r} is a {type(argument).__name__}: it has no tangent",
            help="pass None in its place",
        )
    try:
        return seed_like(
            dot, mold, name, what=f"the tangent of argument {place + 1}", broadcast=False
        )
    except TypeError as error:
        if isinstance(error, SeedError):
            raise
        raise SeedError(
            f"the tangent of argument {place + 1} of {name!r} does not have its structure",
            why="a tangent has the structure and the shape of the argument that it belongs to.",
            help="pass the same structure with a direction in the place of each number",
        ) from None
