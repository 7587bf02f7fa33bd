"""Refusing to differentiate by an argument through which nothing flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srcad.arguments.request import Parameter
from srcad.arguments.signature import LARGEST_DICT
from srcad.arguments.wrt import WrtEntry
from srcad.errors import SrcadError, UnsupportedTypeError, WrtError
from srcad.ir.core import Function
from srcad.modes.reverse import is_inert, part_of
from srcad.startup.identifiers import label, shown
from srcad.types.numeric import Numeric
from srcad.types.structures import Fixed, Opaque, TupleOf, Type


def refuse_inert(
    made: Function,
    parameters: Sequence[Parameter],
    places: Sequence[WrtEntry],
    wrt: Sequence[int],
    types: Mapping[str, Type],
) -> None:
    """An argument that `wrt` names must carry a derivative."""
    gradients = dict(zip(wrt, made.block.results[1:], strict=True))
    for place in places:
        gradient = part_of(made.block.ops, gradients[place.parameter], place.item)
        if gradient is None or is_inert(gradient, made.block):
            raise _refusal(made, *_described(parameters[place.parameter].name, place, types))


def _described(name: str, place: WrtEntry, types: Mapping[str, Type]) -> tuple[str, Type]:
    """An argument as the user sees it, and its type."""
    type_ = types[name]
    if place.item is None or not isinstance(type_, TupleOf):
        return repr(name), type_
    if type_.keys is not None:
        return repr(place.item), type_.items[type_.keys.index(place.item)]
    assert isinstance(place.item, int)
    return str(place.parameter + place.item), type_.items[place.item]


def _refusal(made: Function, argument: str, type_: Type) -> SrcadError:
    if isinstance(type_, Opaque) and type_.cls is dict:
        return UnsupportedTypeError(
            f"argument {argument} of {made.name!r} is a dict of more than {LARGEST_DICT} entries",
            where=made.where,
            why="each entry of a dict is a variable of its own.",
            help="join entries in arrays, or in dicts inside the dict",
        )
    if isinstance(type_, Opaque):
        kind = label(type_.cls) if type_.cls else "object"
        return UnsupportedTypeError(
            f"argument {argument} of {made.name!r} is a {kind}, which has no derivative",
            where=made.where,
            why="srcad differentiates by numbers, arrays of numbers and containers of these.",
            help="pass its numbers as an array:  np.asarray(x, float)",
        )
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
