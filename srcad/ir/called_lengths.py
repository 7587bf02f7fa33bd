"""Lengths in types across a call: those of the helper that is called, and those of its caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Routine
from srcad.types.numeric import Numeric
from srcad.types.sizes import CalledEnvironment, Extent, Symbol, in_lengths, resolved
from srcad.types.structures import TupleOf, Type, with_extents


def in_lengths_of_call(routine: Routine, args: Sequence[Arg]) -> Callable[[Type], Type]:
    """Return a function that rewrites types inside a routine in the lengths of a call."""
    assert routine.function is not None
    known: dict[Symbol, Extent] = {}
    for param, arg in zip(routine.function.params, args, strict=False):
        known.update(own_lengths(param.type, argument_type(arg)))

    def changed(length: Extent) -> Extent:
        return in_lengths(resolved(length), known)

    return (lambda type_: with_extents(type_, changed)) if known else (lambda type_: type_)


def in_lengths_of_argument(known: Type, given: Type) -> Type:
    """Return the type of a parameter with the lengths of an argument."""
    lengths = dict(own_lengths(known, given))
    return with_extents(known, lambda length: in_lengths(length, lengths))


def own_lengths(known: Type, given: Type) -> Iterator[tuple[Symbol, Extent]]:
    """Yield the helper's symbols in the type of a parameter, each with the length of an argument.

    They are in the order of `CalledEnvironment.places`.
    """
    if isinstance(known, TupleOf) and isinstance(given, TupleOf):
        for a, b in zip(known.items, given.items, strict=False):
            yield from own_lengths(a, b)
    if not isinstance(known, Numeric) or not isinstance(given, Numeric):
        return
    lengths = zip(known.shape or (), given.shape or (), strict=False)
    for own, length in (*lengths, (known.value, given.value)):
        if own is None or length is None or len(own.terms) != 1:
            continue
        symbol = own.terms[0][0]
        if isinstance(symbol.environment, CalledEnvironment) and own.constant == 0:
            yield symbol, length
