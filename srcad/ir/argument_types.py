"""The types of arguments, displays included."""

from __future__ import annotations

from collections.abc import Iterator

from srcad.ir.core import Arg, Display
from srcad.types.join import join
from srcad.types.structures import OPAQUE, ListOf, TupleOf, Type, Undefined


def argument_type(arg: Arg) -> Type:
    """Return the type of an argument, displays included."""
    if isinstance(arg, Display):
        if arg.kind == "tuple":
            return TupleOf(tuple(argument_type(a) for a in arg.items))
        if arg.kind == "list":
            result: Type = Undefined()
            for a in arg.items:
                result = join(result, argument_type(a))
            return ListOf(result)
        return OPAQUE
    return arg.type


def types_in(arg: Arg) -> Iterator[Type]:
    """Yield the types of what an argument is displayed with: every item of a list by itself."""
    if isinstance(arg, Display) and arg.kind in ("tuple", "list"):
        for item in arg.items:
            yield from types_in(item)
    else:
        yield argument_type(arg)
