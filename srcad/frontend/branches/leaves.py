"""The carried values and views in a header."""

from __future__ import annotations

from collections.abc import Iterator

from srcad.frontend.domain.structure import shown_parts
from srcad.frontend.domain.values import AbstractValue, Code, Structure, Taken
from srcad.frontend.store.cells import same_parts
from srcad.ir.core import Value

Leaf = Value | Taken


def carried_leaves(box: AbstractValue) -> Iterator[Leaf]:
    """Yield the carried values and views of a header."""
    if isinstance(box, Value | Taken):
        yield box
    elif isinstance(box, Structure | Code):
        for item in shown_parts(box):
            yield from carried_leaves(item)


def pairs(header: AbstractValue, other: AbstractValue) -> Iterator[tuple[Leaf, AbstractValue]]:
    """Yield the leaves of a header, each with what stands in its place in another box."""
    if isinstance(header, Value | Taken):
        yield header, other
    elif isinstance(header, Structure | Code):
        same = _alike(header, other)
        for k, item in enumerate(shown_parts(header)):
            yield from pairs(item, shown_parts(other)[k] if same else other)


def _alike(a: Structure | Code, b: AbstractValue) -> bool:
    if isinstance(a, Structure):
        return isinstance(b, Structure) and len(a.items) == len(b.items)
    return same_parts(a, b)
