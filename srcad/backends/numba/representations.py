"""Representations of IR values in the compiled backend: numbers, arrays, structures, lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.backends.interface import NotCovered
from srcad.backends.numba.loops import (
    AXIS,
    ZERO,
    Affine,
    Constant,
    Dim,
    Expr,
    Integer,
    Load,
    named,
    replaced,
    whole,
)
from srcad.startup.records import dataclass, field
from srcad.types.numeric import DType
from srcad.types.sizes import Extent, constant_extent

FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
INT64, BOOL = np.dtype(np.int64), np.dtype(np.bool_)


@dataclass(frozen=True, eq=False)
class Number:
    """A number: a variable, a constant or an affine integer.

    `may_be_python` is False where it certainly is one of NumPy's, whose arithmetic does not raise.
    """

    expr: Expr
    dtype: DType
    may_be_python: bool = True
    extent: Extent | None = None

    @property
    def affine(self) -> Affine | None:
        """The affine integer, or None."""
        if self.dtype.kind not in "iu":
            return None
        if isinstance(self.expr, Integer):
            return self.expr.value
        if isinstance(self.expr, Load) and not self.expr.index:
            return named(self.expr.storage)
        return None

    @property
    def constant(self) -> int | None:
        """The value of a constant integer, or None."""
        found = self.affine
        return found.constant if found is not None and not found.terms else None


@dataclass(frozen=True, eq=False)
class Array:
    """An array: its entry as an expression of ``@0``, ``@1``, ... (the axes), and its lengths."""

    entry: Expr
    dims: tuple[Dim, ...]
    dtype: DType

    @property
    def storage(self) -> str | None:
        """The storage of an array or view; None for an unmaterialised expression."""
        is_load = isinstance(self.entry, Load) and self.entry.index
        return self.entry.storage if is_load else None  # type: ignore[union-attr]

    @property
    def is_in_order(self) -> bool:
        """True if its indices are those of a storage, of which it may be a view of a part."""
        rank = len(self.dims)
        return rank > 0 and isinstance(self.entry, Load) and self.entry.index == axes(rank)


@dataclass(frozen=True, eq=False)
class Parts:
    """A tuple with separate representations of its items."""

    items: tuple[Rep, ...]


@dataclass(eq=False)
class Column:
    """The storage of one number or array per item of a list."""

    storage: str
    dtype: DType
    dims: tuple[Dim, ...] | None = None  # of the items; None until one is collected
    lengths: str | None = None  # where the lengths of the items are kept, if they differ


@dataclass(eq=False)
class Items:
    """A list that a loop collected: one column per number of its items.

    `index` are the indices of the loops around; `count` is how many items there are.  Of lists in
    it, `counts` tells the same: an integer that is the same for all of them, or a storage.  The
    first item is at `offset`: a loop that runs backward, and ends early, leaves places before it.
    Of items that are tuples, `parts` are the lists in them, by position.
    """

    columns: list[Column]
    type: Any
    index: tuple[Affine, ...] = ()
    count: Affine | None = None
    capacities: list[Affine] = field(default_factory=list)
    grows: bool = False
    counts: list[Affine | str] = field(default_factory=list)
    offset: Affine = ZERO
    parts: dict[int, Items] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Known:
    """A compile-time constant that is not a number, such as None."""

    value: Any


Rep = Number | Array | Parts | Items | Known


def axes(rank: int) -> tuple[Affine, ...]:
    """Return the indices ``@0, @1, ...`` of an array of this rank."""
    return tuple(named(f"{AXIS}{k}") for k in range(rank))


def at(entry: Expr, index: tuple[Affine, ...]) -> Expr:
    """Return an entry at an index."""
    return replaced(entry, {f"{AXIS}{k}": i for k, i in enumerate(index)})


def of_storage(name: str, dims: tuple[Dim, ...], dtype: DType) -> Array:
    """Return a whole storage as an array."""
    return Array(Load(name, axes(len(dims))), dims, dtype)


def integer(value: int | Affine, extent: Extent | None = None) -> Number:
    """Return an integer of Python's."""
    affine = whole(value) if isinstance(value, int) else value
    return Number(Integer(affine), INT64, True, extent)


def constant(value: Any) -> Number:
    """Return a constant as a number.

    Raises
    ------
    NotCovered
        It is complex, too large, or of a dtype without arithmetic in compiled code.
    """
    is_python = not isinstance(value, np.generic)
    kind = type(value) if is_python else type(value.item())
    if kind is bool:
        return Number(Constant(repr(bool(value))), BOOL, is_python)
    if kind is int:
        if abs(int(value)) >= 2**53:
            raise NotCovered("an integer of more than 53 bits")
        return Number(Integer(whole(int(value))), INT64, is_python, constant_extent(int(value)))
    if kind is float:
        dtype = FLOAT64 if is_python else value.dtype
        if dtype not in (FLOAT64, FLOAT32):
            raise NotCovered(f"a number of dtype {dtype}")
        return Number(Constant(float_text(float(value))), dtype, is_python)
    raise NotCovered(f"a constant of class {kind.__name__!r}")


def float_text(value: float) -> str:
    """Return a float as Python code."""
    if value != value:
        return "np.nan"
    if value in (float("inf"), float("-inf")):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)
