"""The unit vectors of a basis, and the blocks of a Jacobian, for each pair of arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad.ir.core import Atom, Const, Display, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.modes.basis import Basis, Leaf
from srcad.types.numeric import Numeric

ALL = Display("slice", (Const(None), Const(None), Const(None)))
_FLOAT = np.dtype(float)
_KNOWN = (np.dtype(float), np.dtype(complex))
Span = tuple[Atom, Atom]


# ------------------------------------------------------------------------------- directions
def unit_vectors(
    builder: Builder, basis: Basis, suffix: str, some: Span | None = None
) -> list[Atom]:
    """For each leaf its part of all unit vectors: an array with a leading axis of directions.

    They are called by the names of the leaves and a suffix.  With `some` these are only so many
    directions from one on.
    """
    found = _unit_vectors(builder, basis, some)
    for leaf, seed in zip(basis.leaves, found, strict=True):
        if isinstance(seed, Value):
            named = isinstance(leaf.atom, Value) and leaf.atom.hint
            seed.hint = f"{named or 'y'}_{suffix}"
    return found


def _unit_vectors(builder: Builder, basis: Basis, some: Span | None) -> list[Atom]:
    leaves = basis.leaves
    if len(leaves) == 1 and leaves[0].middle is None:
        type_ = leaves[0].type
        known = type_.kind in "fc" and type_.dtype is not None and type_.dtype != _FLOAT
        dtype = type_.dtype if known else None
        return [_in_shape(builder, leaves[0], _identity(builder, basis, some, dtype))]
    all_ = _identity(builder, basis, some, None)
    return [_columns(builder, leaf, all_) for leaf in leaves]


def _columns(builder: Builder, leaf: Leaf, all_: Value) -> Atom:
    """Return the part of a leaf of all unit vectors."""
    if leaf.middle is None:
        columns = _span(builder, leaf, all_, leaf.start, leaf.stop)
    else:
        real = _span(builder, leaf, all_, leaf.start, leaf.middle)
        imaginary = _span(builder, leaf, all_, leaf.middle, leaf.stop)
        columns = _complex(builder, real, imaginary)
    if leaf.rank == 0:
        return columns
    return _in_shape(builder, leaf, _in_dtype(builder, columns, leaf.type))


def _span(builder: Builder, leaf: Leaf, all_: Value, start: Atom, stop: Atom) -> Value:
    """Return some columns of a matrix; the column itself for a number."""
    span = start if leaf.rank == 0 else Display("slice", (start, stop, Const(None)))
    return builder.call(operator.getitem, all_, Display("tuple", (ALL, span)))


def _complex(builder: Builder, real: Atom, imaginary: Atom) -> Value:
    return builder.call(operator.add, real, builder.call(operator.mul, Const(1j), imaginary))


def _identity(
    builder: Builder, basis: Basis, some: Span | None, dtype: np.dtype[Any] | None
) -> Value:
    kwargs = [] if dtype is None else [("dtype", Const(dtype.type))]
    if some is not None:
        rows, first = some
        return builder.call(np.eye, rows, basis.count, first, kwargs=kwargs)
    if basis.length is not None:
        return builder.call(np.eye, basis.length, basis.count, kwargs=kwargs)
    return builder.call(np.eye, basis.count, kwargs=kwargs)


def _in_dtype(builder: Builder, value: Value, type_: Numeric) -> Value:
    if type_.kind in "fc" and type_.dtype is not None and type_.dtype not in _KNOWN:
        return builder.call(np.astype, value, Const(type_.dtype))
    return value


def _in_shape(builder: Builder, leaf: Leaf, rows: Value) -> Value:
    """Rows of the entries of an array, in the shape of the array."""
    if leaf.rank == 1:
        return rows
    leading = Display("tuple", (Const(-1),))
    if leaf.rank == 0:
        return builder.call(np.reshape, rows, leading)
    shape = builder.call(operator.add, _rows_of(builder, rows), builder.shape(leaf.atom))
    return builder.call(np.reshape, rows, shape)


def _rows_of(builder: Builder, rows: Value) -> Display:
    return Display("tuple", (builder.call(len, rows),))


# ------------------------------------------------------------------------------- blocks
def empty_block(builder: Builder, y: Leaf, x: Leaf) -> Atom:
    """Return the block of a result and an argument one of which has no entries."""
    complex_one = next((leaf.type for leaf in (x, y) if leaf.type.kind == "c"), None)
    type_ = complex_one or (x.type if x.type.kind == "f" else Numeric(_FLOAT))
    kwargs = [("dtype", Const(type_.dtype.type))] if type_.dtype is not None else []
    return builder.call(np.zeros, _joined_shape(builder, y, x), kwargs=kwargs)


def block_of_columns(
    builder: Builder, y: Leaf, x: Leaf, y_dot: Atom, *, alone: bool, cast: bool
) -> Atom:
    """Return the block of a result and an argument, of the tangents in all directions.

    It is `cast` to the dtype that a gradient has where that of the result is known.
    """
    rows = _directions(builder, y_dot, x, alone=alone)
    if x.rank == 0:
        return _in_kind(builder, rows, y, x) if cast else rows
    if y.rank == 1:  # one axis of directions, and one of the result
        rows = builder.call(np.transpose, rows)
    elif y.rank != 0:
        rows = builder.call(np.moveaxis, rows, Const(0), Const(-1))
    rows = _in_dtype_of(builder, rows, y, x) if cast else rows
    if x.rank != 1:
        return builder.call(np.reshape, rows, _joined_shape(builder, y, x))
    return rows if y.rank == 0 else builder.call(np.copy, rows, kwargs=[("order", Const("C"))])


def block_of_rows(builder: Builder, y: Leaf, x: Leaf, x_bar: Atom, *, alone: bool) -> Atom:
    """Return the block of a result and an argument, of the cotangents for all seeds."""
    rows = _directions(builder, x_bar, y, alone=alone)
    if y.rank == 0:
        return _in_kind(builder, rows, y, x)
    rows = _in_dtype_of(builder, rows, y, x)
    if y.rank == 1:
        return rows
    return builder.call(np.reshape, rows, _joined_shape(builder, y, x))


def _in_kind(builder: Builder, block: Atom, y: Leaf, x: Leaf) -> Atom:
    """Return a block in the dtype of the argument; a Python number where both are numbers."""
    if y.rank == 0 and x.type.is_python:
        is_complex = "c" in (y.type.kind, x.type.kind)
        return builder.call(complex if is_complex else float, block)
    return _in_dtype_of(builder, block, y, x)


def _directions(builder: Builder, rows: Atom, leaf: Leaf, *, alone: bool) -> Atom:
    """Return the rows of one leaf among those of all directions; one for each number."""
    if leaf.middle is not None:
        real = _rows(builder, rows, leaf, leaf.start, leaf.middle)
        return _complex(builder, real, _rows(builder, rows, leaf, leaf.middle, leaf.stop))
    if alone and leaf.rank != 0:
        return rows
    return _rows(builder, rows, leaf, leaf.start, leaf.stop)


def _rows(builder: Builder, rows: Atom, leaf: Leaf, start: Atom, stop: Atom) -> Value:
    span = start if leaf.rank == 0 else Display("slice", (start, stop, Const(None)))
    return builder.call(operator.getitem, rows, span)


def _in_dtype_of(builder: Builder, rows: Atom, y: Leaf, x: Leaf) -> Atom:
    """Return a block in the dtype of a gradient by the argument, or the complex one of its kind."""
    type_, given = x.type, atom_type(rows)
    if type_.kind not in "fc" or type_.dtype is None or not isinstance(given, Numeric):
        return rows
    dtype = type_.dtype
    if given.kind == "c" or y.middle is not None:
        dtype = np.result_type(dtype, np.complex64)
    if given.dtype is not None and given.dtype == dtype:
        return rows
    return builder.call(np.astype, rows, Const(dtype))


def _joined_shape(builder: Builder, y: Leaf, x: Leaf) -> Atom:
    shapes = [builder.shape(leaf.atom) for leaf in (y, x) if leaf.rank != 0]
    return shapes[0] if len(shapes) == 1 else builder.call(operator.add, *shapes)
