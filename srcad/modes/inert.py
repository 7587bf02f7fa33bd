"""Refusing to differentiate by an argument through which nothing flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from srcad.arguments.request import Parameter
from srcad.arguments.signature import LARGEST_DICT
from srcad.arguments.wrt import WrtEntry
from srcad.arguments.wrt_paths import spelled_steps, type_at
from srcad.errors import SrcadError, UnsupportedTypeError, WrtError
from srcad.ir.core import Function
from srcad.modes.reverse import gradient_at, is_inert
from srcad.startup.identifiers import label, shown
from srcad.types import objects
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, Fixed, Opaque, Type, numbers_in


def refuse_inert(
    made: Function,
    parameters: Sequence[Parameter],
    places: Sequence[WrtEntry],
    wrt: Sequence[int],
    types: Mapping[str, Type],
) -> None:
    """Refuse an argument that `wrt` names and that carries no derivative."""
    gradients = dict(zip(wrt, made.block.results[1:], strict=True))
    for place in places:
        gradient = gradient_at(made, gradients[place.parameter], place.keys)
        name = parameters[place.parameter].name
        type_ = type_at(types[name], place.keys)
        inert_part = place.keys and not any(numbers_in(type_)) and type_ != OPAQUE
        if gradient is None or inert_part or is_inert(gradient, made.block):
            raise _refusal(made, _described(name, place), type_)


def _described(name: str, place: WrtEntry) -> str:
    """Return an argument, or a part of one, as the user sees it."""
    if isinstance(place.item, int):
        name = str(place.parameter + place.item)
        return spelled_steps(name, place.steps)
    return repr(spelled_steps(place.item or name, place.steps))


def _refusal(made: Function, argument: str, type_: Type) -> SrcadError:
    if isinstance(type_, Opaque) and type_.cls is dict:
        return UnsupportedTypeError(
            f"argument {argument} of {made.name!r} is a dict of more than {LARGEST_DICT} entries",
            where=made.where,
            why="each entry of a dict is a variable of its own.",
            help="join entries in arrays, or in dicts inside the dict",
        )
    if isinstance(type_, Opaque):
        kind = "a " + label(type_.cls) if type_.cls else "an object"
        cls = type_.cls or object
        if cls is np.ndarray:
            kind = "an array of objects, of text or of records"
        closed = objects.why_closed(cls)
        of_user = closed is not None and not objects.is_of_library(cls)
        return UnsupportedTypeError(
            f"argument {argument} of {made.name!r} is {kind}, which has no derivative",
            where=made.where,
            why=f"it is not taken apart into its attributes: {closed}" if of_user
            else "srcad differentiates by numbers, arrays of numbers and what holds these.",
            help="differentiate by its arrays:  def f(W): ...  with the object made of W inside"
            if of_user else "pass its numbers as an array of numbers:  np.asarray(x, float)",
        )  # fmt: skip
    if isinstance(type_, Fixed):
        why = f"it is {shown(type_.value)}, which is no number."
    elif isinstance(type_, Numeric) and type_.kind in "iu":
        why = "it is an integer that is used only as a count, an index or in comparisons."
    else:
        why = "the result is not computed from it by arithmetic."
    return WrtError(
        f"no derivative flows through argument {argument} of {made.name!r}",
        where=made.where,
        why=why,
        help="name another argument in wrt, or use srcad.gradient, which returns None for it",
    )
