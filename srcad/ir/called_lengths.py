"""Lengths in types across a call: those of the function that is called, and those of its caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Routine
from srcad.types.numeric import Numeric
from srcad.types.sizes import CalledEnvironment, Extent, Symbol, in_lengths, resolved
from srcad.types.structures import TupleOf, Type, with_extents


def in_lengths_of_call(routine: Routine, args: Sequence[Arg]) -> Callable[[Type], Type]:
    """Return a function from types inside a routine to those that its caller sees.

    A helper that is called with several lengths has symbols of its own for them.
    """
    assert routine.function is not None
    known: dict[Symbol, Extent] = {}
    for param, arg in zip(routine.function.params, args, strict=False):
        known.update(_own_lengths(param.type, argument_type(arg)))

    def changed(length: Extent) -> Extent:
        return in_lengths(resolved(length), known)

    return (lambda type_: with_extents(type_, changed)) if known else (lambda type_: type_)


def _own_lengths(known: Type, given: Type) -> Iterator[tuple[Symbol, Extent]]:
    """Yield the symbols of its own in the type of a parameter, each with the length of a call."""
    if isinstance(known, TupleOf) and isinstance(given, TupleOf):
        for a, b in zip(known.items, given.items, strict=False):
            yield from _own_lengths(a, b)
    if not isinstance(known, Numeric) or not isinstance(given, Numeric):
        return
    lengths = zip(known.shape or (), given.shape or (), strict=False)
    for own, length in (*lengths, (known.value, given.value)):
        if own is None or length is None or len(own.terms) != 1:
            continue
        symbol = own.terms[0][0]
        if isinstance(symbol.environment, CalledEnvironment) and own.constant == 0:
            yield symbol, length
