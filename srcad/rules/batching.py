"""How functions that are linear take an axis more in front, along which they do the same.

Where many directions are followed at once, what depends on the direction has a leading axis.  A
formula here takes the parameters of its target, those operands with that axis, and computes all
directions in one call; its result has the axis in front, too.  One that returns None leaves a call
to a loop over the directions, as does a function without a formula.  A product has a formula for
each operand that may have the axis: only one of them has it.

This is a column of the table of rules, in a file of its own: a gradient does without it.  A formula
that needs no helper of this file is given below its rule, by `srcad.rules.declare.batched`.
"""

import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from srcad.rules.conjugates import conj
from srcad.rules.gaps import over_gaps
from srcad.rules.linalg import of_levels, of_stretches
from srcad.rules.registry import is_known, row_of, static

Formula = Callable[..., Any]
FORMULAS: dict[Any, Formula | Mapping[str, Formula]] = {}


def leading_axis(*targets: Any, operand: str | None = None) -> Callable[[Formula], Formula]:
    """Register a formula for functions, or for those calls in which one operand has the axis."""

    def register(formula: Formula) -> Formula:
        for target in targets:
            if operand is None:
                FORMULAS[target] = formula
            else:
                known = FORMULAS.get(target, {})
                assert isinstance(known, Mapping)
                FORMULAS[target] = {**known, operand: formula}
        return formula

    return register


@static
def behind(axis, ndim):
    """Axes of one direction as axes of the array; None are all but the first."""
    if axis is None:
        return behind(tuple(range(ndim - 1)), ndim)
    if isinstance(axis, (tuple, list)):
        moved = tuple(k + 1 if k >= 0 else k for k in axis)
        return moved[0] if len(moved) == 1 else moved
    return axis + 1 if axis >= 0 else axis


@static
def each_behind(axes):
    """The same for axes one by one."""
    return tuple(k + 1 if k >= 0 else k for k in axes)


@static
def new(count):
    """The places of new axes behind the first."""
    return tuple(range(1, 1 + count)) if count > 1 else 1


@static
def new_last(ndim):
    """The places of the axes that make columns of the arrays of all directions."""
    return tuple(range(ndim, 3))


@static
def mirrored(ndim):
    """The order of axes that turns round all but the first."""
    return (0, *range(ndim - 1, 0, -1))


@static
def length_of(shape):
    """How many lengths a shape has."""
    return 1 if isinstance(shape, (int, np.integer)) else len(shape)


def lengths(shape):
    """A shape as a tuple."""
    return (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)


def raised(a, rank):
    """An array with `rank` axes in each direction: new ones are put in front."""
    if np.ndim(a) - 1 == rank:
        return a
    return np.expand_dims(a, new(rank + 1 - np.ndim(a)))


# ------------------------------------------------------------------------ sums
@leading_axis(np.sum, np.nansum)
def sum(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=None):
    if initial is not None or isinstance(a, (list, tuple)):
        return None
    if where is not None:
        return np.sum(a, behind(axis, np.ndim(a)), dtype, keepdims=keepdims, where=where)
    if keepdims:
        return np.sum(a, behind(axis, np.ndim(a)), dtype, keepdims=True)
    if dtype is not None:
        return np.sum(a, behind(axis, np.ndim(a)), dtype)
    return np.sum(a, axis=behind(axis, np.ndim(a)))


@leading_axis(np.mean)
def mean(a, axis=None, dtype=None, *, keepdims=False, where=None):
    if where is not None or isinstance(a, (list, tuple)):
        return None
    if keepdims:
        return np.mean(a, behind(axis, np.ndim(a)), dtype, keepdims=True)
    if dtype is not None:
        return np.mean(a, behind(axis, np.ndim(a)), dtype)
    return np.mean(a, axis=behind(axis, np.ndim(a)))


@leading_axis(np.cumsum)
def cumsum(a, axis=None, dtype=None):
    if axis is None and np.ndim(a) != 2:
        return np.cumsum(np.reshape(a, (len(a), -1)), 1, dtype)
    return np.cumsum(a, 1 if axis is None else behind(axis, np.ndim(a)), dtype)


@leading_axis(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    if prepend is not None or append is not None:
        return None
    return np.diff(a, n, behind(axis, np.ndim(a)))


@leading_axis(np.trace)
def trace(a, offset=0, axis1=0, axis2=1):
    return np.trace(a, offset, behind(axis1, np.ndim(a)), behind(axis2, np.ndim(a)))


# ------------------------------------------------------------------------ new shapes
@leading_axis(np.reshape)
def reshape(a, shape, order="C", *, copy=None):
    return np.reshape(a, (len(a), *lengths(shape))) if order == "C" else None


@leading_axis(np.ravel)
def ravel(a, order="C"):
    if order != "C":
        return None
    return a if np.ndim(a) == 2 else np.reshape(a, (len(a), -1))


@static
def unit_axes(shape):
    """The axes of length one behind the first."""
    return tuple(k for k in range(1, len(shape)) if shape[k] == 1)


@leading_axis(np.squeeze)
def squeeze(a, axis=None):
    if axis is None:
        return np.squeeze(a, unit_axes(np.shape(a))) if is_known(np.shape(a)[1:]) else None
    return np.squeeze(a, behind(axis, np.ndim(a)))


@leading_axis(np.expand_dims)
def expand_dims(a, axis):
    return np.expand_dims(a, behind(axis, np.ndim(a)))


@leading_axis(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    return np.broadcast_to(raised(array, length_of(shape)), (len(array), *lengths(shape)))


# ------------------------------------------------------------------------ new order of axes
@leading_axis(np.transpose)
def transpose(a, axes=None):
    if axes is None:
        return np.swapaxes(a, 1, 2) if np.ndim(a) == 3 else np.transpose(a, mirrored(np.ndim(a)))
    if not is_known(axes) or not isinstance(axes, (tuple, list)):
        return None
    return np.transpose(a, (0, *each_behind([k % len(axes) for k in axes])))


@leading_axis(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x):
    return np.swapaxes(x, -1, -2)


@leading_axis(np.swapaxes)
def swapaxes(a, axis1, axis2):
    return np.swapaxes(a, behind(axis1, np.ndim(a)), behind(axis2, np.ndim(a)))


@leading_axis(np.moveaxis)
def moveaxis(a, source, destination):
    return np.moveaxis(a, behind(source, np.ndim(a)), behind(destination, np.ndim(a)))


@leading_axis(np.flip)
def flip(m, axis=None):
    return np.flip(m, behind(axis, np.ndim(m)))


@leading_axis(np.flipud)
def flipud(m):
    return np.flip(m, 1)


@leading_axis(np.fliplr)
def fliplr(m):
    return np.flip(m, 2)


@leading_axis(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    return np.rot90(m, k, each_behind(axes))


@leading_axis(np.roll)
def roll(a, shift, axis=None):
    if axis is None and np.ndim(a) != 2:
        return None
    return np.roll(a, shift, 1 if axis is None else behind(axis, np.ndim(a)))


# ------------------------------------------------------------------------ copies, parts
@leading_axis(np.repeat)
def repeat(a, repeats, axis=None):
    if axis is None and np.ndim(a) != 2:
        return None
    return np.repeat(a, repeats, 1 if axis is None else behind(axis, np.ndim(a)))


@leading_axis(np.tile)
def tile(A, reps):
    if np.ndim(A) > 2 or not isinstance(reps, int):
        return None
    return np.tile(raised(A, 1), (1, reps))


@leading_axis(np.take)
def take(a, indices, axis=None, *, mode="raise"):
    if axis is None and np.ndim(a) != 2:
        return np.take(np.reshape(a, (len(a), -1)), indices, 1, mode=mode)
    return np.take(a, indices, 1 if axis is None else behind(axis, np.ndim(a)), mode=mode)


@leading_axis(np.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    return np.diagonal(a, offset, behind(axis1, np.ndim(a)), behind(axis2, np.ndim(a)))


@leading_axis(np.diag)
def diag(v, k=0):
    if np.ndim(v) == 3:
        return np.diagonal(v, k, 1, 2)
    if np.ndim(v) != 2 or not is_known(k) or k != 0:
        return None
    return np.where(np.eye(v.shape[1], dtype=bool), v[:, None], 0.0)


@leading_axis(np.tril)
def tril(m, k=0):
    return np.tril(m, k) if np.ndim(m) > 2 else None


@leading_axis(np.triu)
def triu(m, k=0):
    return np.triu(m, k) if np.ndim(m) > 2 else None


# ------------------------------------------------------------------------ casts
@leading_axis(np.copy)
def copy(a, order="K", subok=False):
    return np.copy(a)


@leading_axis(np.astype)
def astype(x, dtype, *, copy=True):
    return np.astype(x, dtype)


@leading_axis(np.array, np.asarray, np.asanyarray)
def array(a, dtype=None, *, copy=None, order=None, subok=False, ndmin=0):
    """For an array, or a sequence of numbers and arrays; not for nested sequences."""
    if ndmin != 0:
        return None
    if not isinstance(a, (list, tuple)):
        return np.array(a, dtype)
    if len(a) == 0 or isinstance(a[0], (list, tuple)):
        return None
    if is_known(len(a)) and any(isinstance(row, (list, tuple)) for row in a):
        return None
    rows = np.stack(a, 1)
    return rows if dtype is None else np.astype(rows, dtype)


# ------------------------------------------------------------------------ joining
# Some of the arrays to join may be numbers, which have the axis of directions only: each is given
# the axes that the join gives it in one direction.
def joined(arrays):
    """The arrays to join, with the axis in front of each; those in one array are its rows."""
    return arrays if isinstance(arrays, (list, tuple)) else np.swapaxes(arrays, 0, 1)


def of_one_rank(arrays):
    """Return True if all arrays to join have equally many axes, as those in a dynamic list have."""
    if not isinstance(arrays, (list, tuple)) or not is_known(len(arrays)):
        return True
    return all(np.ndim(a) == np.ndim(arrays[0]) for a in arrays)


def of_dtype(y, dtype):
    """A joined array with the dtype that was asked for."""
    return y if dtype is None else np.astype(y, dtype)


@leading_axis(np.stack)
def stack(arrays, axis=0, *, dtype=None):
    return of_dtype(np.stack(joined(arrays), behind(axis, 1)), dtype)


@leading_axis(np.concatenate)
def concatenate(arrays, axis=0, *, dtype=None):
    if axis is None:
        return None
    return of_dtype(np.concatenate(joined(arrays), behind(axis, 1)), dtype)


@leading_axis(np.hstack)
def hstack(tup, *, dtype=None):
    arrays = joined(tup)
    if np.ndim(arrays[0]) == 1 and of_one_rank(tup):
        return of_dtype(np.stack(arrays, 1), dtype)
    if not of_one_rank(tup):
        arrays = [a[:, None] if np.ndim(a) == 1 else a for a in arrays]
    return of_dtype(np.concatenate(arrays, 1 if np.ndim(arrays[0]) == 2 else 2), dtype)


@leading_axis(np.vstack)
def vstack(tup, *, dtype=None):
    arrays = joined(tup)
    if np.ndim(arrays[0]) == 2 and of_one_rank(tup):
        return of_dtype(np.stack(arrays, 1), dtype)
    if not of_one_rank(tup) or np.ndim(arrays[0]) == 1:
        arrays = [raised(a, 2) if np.ndim(a) < 3 else a for a in arrays]
    return of_dtype(np.concatenate(arrays, 1), dtype)


@leading_axis(np.column_stack)
def column_stack(tup):
    arrays = joined(tup)
    if np.ndim(arrays[0]) == 2 and of_one_rank(tup):
        return np.stack(arrays, 2)
    if not of_one_rank(tup) or np.ndim(arrays[0]) == 1:
        arrays = [np.expand_dims(a, new_last(np.ndim(a))) if np.ndim(a) < 3 else a for a in arrays]
    return np.concatenate(arrays, 2)


@leading_axis(builtins.sum)
def total(iterable, start=0):
    if isinstance(iterable, (list, tuple)):
        return builtins.sum(iterable, start)
    return None


# How products take an axis more in front of one operand, along which they do the same.
#
# The formulas continue those of `batching`; only one operand has the axis.


def formula_for(target: Any) -> Formula | Mapping[str, Formula] | None:
    """The formula for a function, or those for its operands; None where there is none."""
    return row_of(target).batch or FORMULAS.get(target)


@leading_axis(operator.matmul, np.matmul, np.linalg.matmul, operand="a")
def matmul_of_first(a, b):
    """A vector in each direction is a row of a matrix."""
    if np.ndim(a) == 2 and np.ndim(b) > 2:
        return None
    return a @ b


@leading_axis(operator.matmul, np.matmul, np.linalg.matmul, operand="b")
def matmul_of_second(a, b):
    if np.ndim(b) > 2:
        return a @ b if np.ndim(a) <= 2 or np.ndim(a) < np.ndim(b) else None
    if np.ndim(a) == 1:
        return b @ a
    return b @ a.T if np.ndim(a) == 2 else None


@leading_axis(np.dot, operand="a")
def dot_of_first(a, b):
    return np.dot(a, b) if np.ndim(a) > 1 and np.ndim(b) > 0 else None


@leading_axis(np.dot, operand="b")
def dot_of_second(a, b):
    if np.ndim(b) == 2 and np.ndim(a) in (1, 2):
        return b @ a.T if np.ndim(a) == 2 else b @ a
    return a @ b if np.ndim(b) == 3 and np.ndim(a) in (1, 2) else None


@leading_axis(np.inner, operand="a")
def inner_of_first(a, b):
    return np.inner(a, b) if np.ndim(a) > 1 and np.ndim(b) > 0 else None


@leading_axis(np.inner, operand="b")
def inner_of_second(a, b):
    if np.ndim(b) == 1 or np.ndim(a) == 0:
        return None
    return np.moveaxis(np.inner(a, b), np.ndim(a) - 1, 0)


@leading_axis(np.outer, np.linalg.outer, operand="a")
def outer_of_first(a, b):
    return a[:, :, None] * b if np.ndim(a) == 2 and np.ndim(b) == 1 else None


@leading_axis(np.outer, np.linalg.outer, operand="b")
def outer_of_second(a, b):
    return a[:, None] * b[:, None, :] if np.ndim(b) == 2 and np.ndim(a) == 1 else None


@leading_axis(np.vdot, operand="a")
def vdot_of_first(a, b):
    return conj(np.reshape(a, (len(a), -1))) @ np.ravel(b)


@leading_axis(np.vdot, operand="b")
def vdot_of_second(a, b):
    return np.reshape(b, (len(b), -1)) @ conj(np.ravel(a))


@static
def contracted(axes, rank_a, rank_b):
    """The axes of `np.tensordot` for each operand, none of which counts from the end."""
    if isinstance(axes, int):
        return tuple(range(rank_a - axes, rank_a)), tuple(range(axes))
    of_a, of_b = ((k,) if isinstance(k, int) else tuple(k) for k in axes)
    return tuple(k % rank_a for k in of_a), tuple(k % rank_b for k in of_b)


@leading_axis(np.tensordot, operand="a")
def tensordot_of_first(a, b, axes=2):
    if not is_known(axes):
        return None
    of_a, of_b = contracted(axes, np.ndim(a) - 1, np.ndim(b))
    return np.tensordot(a, b, (each_behind(of_a), of_b))


@leading_axis(np.tensordot, operand="b")
def tensordot_of_second(a, b, axes=2):
    if not is_known(axes):
        return None
    of_a, of_b = contracted(axes, np.ndim(a), np.ndim(b) - 1)
    return np.moveaxis(np.tensordot(a, b, (of_a, each_behind(of_b))), np.ndim(a) - len(of_a), 0)


@leading_axis(np.linalg.solve, operand="b")
def solve(a, b):
    """A vector in each direction is a column of one right-hand side."""
    if np.ndim(a) != 2:
        return None
    return np.linalg.solve(a, b.T).T if np.ndim(b) == 2 else np.linalg.solve(a, b)


@leading_axis(of_levels, operand="g")
def levels(a, g, w, v, uplo):
    return of_levels(a, g, w, v, uplo)


@leading_axis(of_stretches, operand="g")
def stretches(a, g, u, s, vh):
    return of_stretches(a, g, u, s, vh)


@leading_axis(over_gaps, operand="k")
def quotients(k, rows, columns, dropped=None, place="", exact=False):
    return over_gaps(k, rows, columns, dropped, place, exact)


# ------------------------------------------------------------------------ products of stacks
@static
def larger(m, n):
    """The larger of two ranks."""
    return max(m, n)


@leading_axis(np.linalg.tensordot, operand="a")
def tensordot_by_name_of_first(a, b, *, axes=2):
    return tensordot_of_first(a, b, axes)


@leading_axis(np.linalg.tensordot, operand="b")
def tensordot_by_name_of_second(a, b, *, axes=2):
    return tensordot_of_second(a, b, axes)


if hasattr(np, "matvec"):  # NumPy 2.2

    @leading_axis(np.matvec, operand="x1")
    def matvec_of_first(x1, x2):
        return np.matvec(raised(x1, larger(np.ndim(x1) - 1, np.ndim(x2) + 1)), x2)

    @leading_axis(np.matvec, operand="x2")
    def matvec_of_second(x1, x2):
        return np.matvec(x1, raised(x2, larger(np.ndim(x2) - 1, np.ndim(x1) - 1)))

    @leading_axis(np.vecmat, operand="x1")
    def vecmat_of_first(x1, x2):
        return np.vecmat(raised(x1, larger(np.ndim(x1) - 1, np.ndim(x2) - 1)), x2)

    @leading_axis(np.vecmat, operand="x2")
    def vecmat_of_second(x1, x2):
        return np.vecmat(x1, raised(x2, larger(np.ndim(x2) - 1, np.ndim(x1) + 1)))


@leading_axis(np.vecdot, operand="a")
def vecdot_of_first(a, b):
    return np.vecdot(raised(a, larger(np.ndim(a) - 1, np.ndim(b))), b)


@leading_axis(np.vecdot, operand="b")
def vecdot_of_second(a, b):
    return np.vecdot(a, raised(b, larger(np.ndim(b) - 1, np.ndim(a))))


@leading_axis(np.linalg.vecdot, operand="a")
def vecdot_along_of_first(a, b, *, axis=-1):
    return None if axis != -1 else vecdot_of_first(a, b)


@leading_axis(np.linalg.vecdot, operand="b")
def vecdot_along_of_second(a, b, *, axis=-1):
    return None if axis != -1 else vecdot_of_second(a, b)


# ------------------------------------------------------------------------ axes of length one
@leading_axis(np.atleast_1d)
def atleast_1d(*arys):
    return raised(arys[0], larger(np.ndim(arys[0]) - 1, 1)) if len(arys) == 1 else None


@leading_axis(np.atleast_2d)
def atleast_2d(*arys):
    return raised(arys[0], larger(np.ndim(arys[0]) - 1, 2)) if len(arys) == 1 else None


@leading_axis(np.atleast_3d)
def atleast_3d(*arys):
    return in_depth(arys[0]) if len(arys) == 1 else None


def in_depth(a):
    """An array with three axes in each direction, as `np.atleast_3d` gives them."""
    if np.ndim(a) == 3:
        return a[..., None]
    if np.ndim(a) == 2:
        return a[:, None, :, None]
    return a if np.ndim(a) > 3 else a[:, None, None, None]


@leading_axis(np.dstack)
def dstack(tup):
    return np.concatenate([in_depth(a) for a in joined(tup)], 3)


@leading_axis(np.linalg.diagonal)
def matrix_diagonal(x, *, offset=0):
    return np.linalg.diagonal(x, offset=offset)


@leading_axis(np.linalg.trace)
def matrix_trace(x, *, offset=0, dtype=None):
    return np.linalg.trace(x, offset=offset) if dtype is None else None


if hasattr(np, "cumulative_sum"):  # NumPy 2.1

    @leading_axis(np.cumulative_sum)
    def cumulative_sum(x, *, axis=None, dtype=None, include_initial=False):
        along = 1 if axis is None else behind(axis, np.ndim(x))
        if dtype is not None or (axis is None and np.ndim(x) != 2):
            return None
        return np.cumulative_sum(x, axis=along, include_initial=include_initial)


# ------------------------------------------------------------------------ parts
@leading_axis(np.split)
def split(ary, indices_or_sections, axis=0):
    return np.split(ary, indices_or_sections, behind(axis, np.ndim(ary)))


@leading_axis(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    return np.array_split(ary, indices_or_sections, behind(axis, np.ndim(ary)))


@leading_axis(np.hsplit)
def hsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 1 if np.ndim(ary) == 2 else 2)


@leading_axis(np.vsplit)
def vsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 1)


@leading_axis(np.dsplit)
def dsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 3)


# ------------------------------------------------------------------------ two arrays joined
@leading_axis(np.append, operand="arr")
def append_to(arr, values, axis=None):
    return appended(arr, in_each(values, arr), axis)


@leading_axis(np.append, operand="values")
def append_these(arr, values, axis=None):
    return appended(in_each(arr, values), values, axis)


@leading_axis(np.append, operand="arr, values")
def appended(arr, values, axis=None):
    if axis is None:
        return np.concatenate(
            (np.reshape(arr, (len(arr), -1)), np.reshape(values, (len(arr), -1))), 1
        )
    return np.concatenate((arr, values), behind(axis, np.ndim(arr)))


def in_each(a, other):
    """Broadcast an array along the batch axis of another one."""
    return np.broadcast_to(a, (len(other), *np.shape(a)))
