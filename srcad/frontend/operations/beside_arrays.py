"""Items of a ``zip`` of arrays with sequences that are known one by one.

``zip`` ends with its shortest part.  So the lengths of the arrays are assumed to be as large as
the number of known items, or to be what they are in the example.
"""

from __future__ import annotations

from collections.abc import Callable

from srcad.frontend.domain.values import AbstractValue, Constant, IteratorValue, TupleValue
from srcad.frontend.machine.constants import static_items
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.indexing import getitem
from srcad.ir.core import Value
from srcad.startup.records import dataclass
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, at_least, constant_extent, static_value


@dataclass(frozen=True, eq=False)
class _Column:
    """A part of a ``zip``."""

    lengths: tuple[Extent, ...]  # of the sequences in it
    item: Callable[[int], AbstractValue]  # reads the item at a position


def items_beside_arrays(
    state: Machine, box: IteratorValue, limit: int
) -> tuple[AbstractValue, ...] | None:
    """Return the items of a ``zip``; None if they are not known, or are more than the limit."""
    count = known_length(state, box)
    column = _column(state, box) if count is not None and count <= limit else None
    if count is None or column is None:
        return None
    for length in column.lengths:
        if not at_least(length, count):
            shorter = static_value(length)
            if shorter is None:
                return None
            count = min(count, shorter)
    return tuple(column.item(k) for k in range(count))


def known_length(state: Machine, box: AbstractValue) -> int | None:
    """Return the smallest number of items of the parts that are known one by one."""
    items = _known(state, box)
    if items is not None:
        return len(items)
    parts = box.parts if isinstance(box, IteratorValue) and box.kind == "zip" else ()
    counts = [known_length(state, part) for part in parts]
    return min((count for count in counts if count is not None), default=None)


def _known(state: Machine, box: AbstractValue) -> tuple[AbstractValue, ...] | None:
    rows = static_items(state, IteratorValue("zip", (box,)))
    if rows is None:
        return None
    return tuple(row.items[0] for row in rows if isinstance(row, TupleValue))


def _column(state: Machine, box: AbstractValue) -> _Column | None:
    """Return a part of a ``zip`` item by item; None if a length in it is unknown."""
    items = _known(state, box)
    if items is not None:
        return _Column((constant_extent(len(items)),), items.__getitem__)
    if isinstance(box, IteratorValue):
        read = {"zip": _of_zip, "range": _of_range, "reversed": _of_reversed}.get(box.kind)
        return None if read is None else read(state, box)
    if not isinstance(box, Value) or not isinstance(box.type, Numeric) or not box.type.shape:
        return None
    return _Column(box.type.shape[:1], lambda k: getitem(state, box, Constant(k)))


def _of_zip(state: Machine, box: IteratorValue) -> _Column | None:
    found = [_column(state, part) for part in box.parts]
    columns = [column for column in found if column is not None]
    if len(columns) < len(found):
        return None
    lengths = tuple(length for column in columns for length in column.lengths)
    return _Column(lengths, lambda k: TupleValue(tuple(column.item(k) for column in columns)))


def _of_range(state: Machine, box: IteratorValue) -> _Column | None:
    """Return a range with steps of one that begins at a constant."""
    start, stop, step = box.parts
    if not isinstance(start, Constant) or not isinstance(step, Constant) or step.value != 1:
        return None
    end = stop.type.value if isinstance(stop, Value) and isinstance(stop.type, Numeric) else None
    if end is None or not isinstance(start.value, int):
        return None
    first = start.value
    return _Column((end - constant_extent(first),), lambda k: Constant(first + k))


def _of_reversed(state: Machine, box: IteratorValue) -> _Column | None:
    """Return an array from its end; its length is assumed to be that of the example."""
    column = _column(state, box.parts[0])
    if column is None or len(column.lengths) != 1:
        return None
    count = static_value(column.lengths[0])
    if count is None:
        return None
    return _Column((constant_extent(count),), lambda k: column.item(count - 1 - k))
