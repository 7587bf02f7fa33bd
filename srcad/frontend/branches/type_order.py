"""The partial order of types: subsumption and join."""

from __future__ import annotations

from srcad.types.join import join, take_lengths_for_equal
from srcad.types.numeric import Numeric, form_subsumes, same_dtype
from srcad.types.sizes import Extent, Symbol, resolved, symbol_extent
from srcad.types.structures import ListOf, Opaque, PlacesOf, TupleOf, Type, Undefined


class Loose(Symbol):
    """A length that differs from iteration to iteration."""

    __slots__ = ()


def type_subsumes(known: Type, end: Type) -> bool:
    """Return True if everything that is an `end` is a `known`."""
    if isinstance(end, Undefined) or known == end:
        return True
    if isinstance(known, Numeric) and isinstance(end, Numeric):
        if known.dtype is not None and not same_dtype(known.dtype, end.dtype):
            return False
        if not form_subsumes(known.form, end.form):
            return False
        if known.shape is None:
            return True
        if end.shape is None or len(end.shape) != len(known.shape):
            return False
        return all(_extent_subsumes(a, b) for a, b in zip(known.shape, end.shape, strict=True))
    if isinstance(known, ListOf) and isinstance(end, ListOf):
        return _list_subsumes(known, end)
    if isinstance(known, TupleOf) and isinstance(end, TupleOf):
        if (known.keys, known.cls, len(known.items)) != (end.keys, end.cls, len(end.items)):
            return False
        return all(type_subsumes(a, b) for a, b in zip(known.items, end.items, strict=True))
    return isinstance(known, Opaque)


def _list_subsumes(known: ListOf, end: ListOf) -> bool:
    if isinstance(known, PlacesOf) and isinstance(end, PlacesOf):
        return type_subsumes(known.key, end.key)
    return type(known) is type(end) and type_subsumes(known.item, end.item)


def _extent_subsumes(known: Extent, end: Extent) -> bool:
    return _is_loose(known) or resolved(known) == resolved(end)


def _is_loose(extent: Extent) -> bool:
    return len(extent.terms) == 1 and isinstance(extent.terms[0][0], Loose) and extent.constant == 0


def is_steady(type_: Type) -> bool:
    """Return True if a type has no lengths of one loop, so that another may begin with it.

    Nor objects that others may hold, of which more is known than the type.
    """
    if isinstance(type_, ListOf):
        return isinstance(type_.item, Numeric) and is_steady(type_.item)
    return isinstance(type_, Numeric) and not any(map(_is_loose, type_.shape or ()))


def widened_type(a: Type, b: Type) -> Type:
    """Return the join of two types; lengths that differ become unknown lengths."""
    take_lengths_for_equal(a, b)
    result = join(a, b)
    if isinstance(result, PlacesOf):
        keys = [t.key for t in (a, b) if isinstance(t, PlacesOf)]
        return PlacesOf(result.item, widened_type(keys[0], keys[-1]))
    if isinstance(result, ListOf):
        items = [t.item for t in (a, b) if isinstance(t, ListOf)]
        return ListOf(widened_type(items[0], items[-1]))
    if not isinstance(result, Numeric) or result.shape is None:
        return result
    assert isinstance(a, Numeric | Undefined)
    assert isinstance(b, Numeric | Undefined)
    shapes = [t.shape for t in (a, b) if isinstance(t, Numeric) and t.shape is not None]
    extents = tuple(
        _widened_extent([shape[k] for shape in shapes]) for k in range(len(result.shape))
    )
    return Numeric(result.dtype, extents, result.form)


def _widened_extent(extents: list[Extent]) -> Extent:
    first = extents[0]
    if all(resolved(e) == resolved(first) for e in extents):
        local = any(s.example is None and not isinstance(s, Loose) for s, _ in first.terms)
        return symbol_extent(Loose("n")) if local else first
    return first if _is_loose(first) else symbol_extent(Loose("n"))
