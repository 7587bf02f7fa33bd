"""Functions without a derivative, and functions that make arrays.

Comparisons, roundings, counts and positions are constant between jumps: no derivative passes.
"""

import ast
import math
import operator

import numpy as np

from srcad.rules.declare import adjoint, linear, nondifferentiable
from srcad.rules.row import NoPartial, Result, Sign
from srcad.runtime import (
    error_of,
    sign,
    sorted_positions,
    unbroadcast,
    unpacking_message,
    write_out,
    zero_cotangent,
)

BASES = NoPartial("np.logspace has a rule for one number as its base")

# ------------------------------------------------------------------------ comparisons and logic
LESS, LESS_EQUAL = Sign("<", ast.Lt), Sign("<=", ast.LtE)
GREATER, GREATER_EQUAL = Sign(">", ast.Gt), Sign(">=", ast.GtE)
EQUAL, NOT_EQUAL = Sign("==", ast.Eq), Sign("!=", ast.NotEq)
AND = Sign("&", ast.BitAnd, operator.iand)
OR = Sign("|", ast.BitOr, operator.ior)
XOR = Sign("^", ast.BitXor, operator.ixor)
LEFT = Sign("<<", ast.LShift, operator.ilshift)
RIGHT = Sign(">>", ast.RShift, operator.irshift)
INVERT = Sign("~", ast.Invert)

nondifferentiable(
    operator.lt, entries="each", answers="order", sign=LESS, special=("__lt__", "__gt__")
)
nondifferentiable(
    operator.le, entries="each", answers="order", sign=LESS_EQUAL, special=("__le__", "__ge__")
)
nondifferentiable(
    operator.gt, entries="each", answers="order", sign=GREATER, special=("__gt__", "__lt__")
)
nondifferentiable(
    operator.ge, entries="each", answers="order", sign=GREATER_EQUAL, special=("__ge__", "__le__")
)
nondifferentiable(
    operator.eq, entries="each", answers="equality", sign=EQUAL, special=("__eq__", "__eq__")
)
nondifferentiable(
    operator.ne, entries="each", answers="equality", sign=NOT_EQUAL, special=("__ne__", "__ne__")
)
nondifferentiable(operator.not_, sign=Sign("not", ast.Not))
nondifferentiable(operator.is_, sign=Sign("is", ast.Is))
nondifferentiable(operator.is_not, sign=Sign("is not", ast.IsNot))
nondifferentiable(operator.truth, operator.contains)
nondifferentiable(operator.and_, entries="each", sign=AND, special=("__and__", "__rand__"))
nondifferentiable(operator.or_, entries="each", sign=OR, special=("__or__", "__ror__"))
nondifferentiable(operator.xor, entries="each", sign=XOR, special=("__xor__", "__rxor__"))
nondifferentiable(operator.invert, entries="each", sign=INVERT, special=("__invert__",))
nondifferentiable(operator.lshift, entries="each", sign=LEFT, special=("__lshift__", "__rlshift__"))
nondifferentiable(
    operator.rshift, entries="each", sign=RIGHT, special=("__rshift__", "__rrshift__")
)
nondifferentiable(operator.inv, special=("__invert__",))
nondifferentiable(np.less, answers="order", sign=LESS)
nondifferentiable(np.less_equal, answers="order", sign=LESS_EQUAL)
nondifferentiable(np.greater, answers="order", sign=GREATER)
nondifferentiable(np.greater_equal, answers="order", sign=GREATER_EQUAL)
nondifferentiable(np.equal, answers="equality", sign=EQUAL)
nondifferentiable(np.not_equal, answers="equality", sign=NOT_EQUAL)
nondifferentiable(np.logical_and, answers="connective", sign=AND)
nondifferentiable(np.bitwise_and, sign=AND)
nondifferentiable(np.logical_or, answers="connective", sign=OR)
nondifferentiable(np.bitwise_or, sign=OR)
nondifferentiable(np.logical_xor, np.bitwise_xor, sign=XOR)
nondifferentiable(np.logical_not, answers="connective")
nondifferentiable(np.invert, sign=INVERT)
nondifferentiable(np.left_shift, sign=LEFT)
nondifferentiable(np.right_shift, sign=RIGHT)
nondifferentiable(np.isnan, np.isinf, np.isfinite, np.isposinf, np.isneginf, answers="nan")
nondifferentiable(np.signbit)
nondifferentiable(np.isclose, entries="each")
nondifferentiable(np.allclose, np.array_equal, np.array_equiv, np.isin)
nondifferentiable(np.any, rounds="exactly", method="any")
nondifferentiable(np.all, rounds="exactly", method="all")
nondifferentiable(np.isreal, np.iscomplex, np.isrealobj, np.iscomplexobj)
nondifferentiable(any, all, iterates="some")
nondifferentiable(np.isscalar, isinstance, issubclass, callable, hasattr, id)
nondifferentiable(hash, gives="measure")
nondifferentiable(type)

# ------------------------------------------------------------------------ roundings
nondifferentiable(np.floor, np.ceil, np.rint, np.trunc, rounds="exactly")
nondifferentiable(np.fix, sign)
nondifferentiable(np.round, np.around, method="round", entries="each", order="keeps")
nondifferentiable(
    operator.floordiv,
    np.floor_divide,
    entries="each",
    fails="divisor",
    law="floor",
    sign=Sign("//", ast.FloorDiv, operator.ifloordiv),
    special=("__floordiv__", "__rfloordiv__"),
)
nondifferentiable(round, special=("__round__",))
nondifferentiable(np.spacing)
nondifferentiable(math.floor, special=("__floor__",))
nondifferentiable(math.ceil, special=("__ceil__",))
nondifferentiable(math.trunc, special=("__trunc__",))
nondifferentiable(math.isnan, math.isinf, math.isfinite, answers="nan")
nondifferentiable(math.isclose, math.gcd, math.lcm, math.comb, math.perm, math.factorial)
nondifferentiable(math.isqrt)

# ------------------------------------------------------------------------ counts and positions
nondifferentiable(enumerate, iterates="as needed")
nondifferentiable(len, gives="measure")
nondifferentiable(range, np.shape, np.ndim, np.size)
nondifferentiable(np.argmax, rounds="exactly", method="argmax")
nondifferentiable(np.argmin, rounds="exactly", method="argmin")
nondifferentiable(np.argsort, method="argsort")
nondifferentiable(np.argpartition, method="argpartition")
nondifferentiable(np.searchsorted, method="searchsorted")
nondifferentiable(np.nanargmax, np.nanargmin)
nondifferentiable(np.count_nonzero, np.digitize, np.lexsort, np.ravel_multi_index)
nondifferentiable(np.argwhere, np.flatnonzero, result=Result(any_lengths=True))
nondifferentiable(np.nonzero, method="nonzero", result=Result(None, any_lengths=True))
nondifferentiable(np.unravel_index, result=Result(None))
nondifferentiable(np.linalg.matrix_rank)
nondifferentiable(sorted_positions, special=("__lt__", "__gt__"))
nondifferentiable(unpacking_message, error_of, write_out)
nondifferentiable(np.shares_memory, np.may_share_memory)
nondifferentiable(str, repr, format, gives="text")
nondifferentiable(print, effect="prints")
nondifferentiable(np.result_type, np.can_cast, np.promote_types, np.min_scalar_type)
nondifferentiable(np.issubdtype, np.finfo, np.iinfo, operator.indexOf, operator.countOf)

# ------------------------------------------------------------------------ arrays from nothing
nondifferentiable(np.zeros, law="zeros", order="C")
nondifferentiable(np.ones, np.empty, np.eye, np.identity, np.tri, order="C")
nondifferentiable(np.zeros_like, law="zeros", order="follows")
nondifferentiable(np.ones_like, np.empty_like, order="follows")
nondifferentiable(zero_cotangent, law="zeros", order="shows")
nondifferentiable(np.indices)
nondifferentiable(np.tril_indices, np.triu_indices, np.tril_indices_from, np.triu_indices_from)
nondifferentiable(np.mask_indices, np.ndindex)
nondifferentiable(np.diag_indices, np.diag_indices_from, memory="shared")
nondifferentiable(np.hanning, np.hamming, np.blackman, np.bartlett)


@adjoint(
    np.arange,
    order="C",
    active=("start", "stop", "step"),
    samples=lambda f: [f(0.5, 3.2), f(0.5, 3.2, 0.4), f(2.5)],
)
def arange(y_bar, y, start, stop=None, step=1, *, dtype=None):
    """``y[k] = start + k * step``; the stop, or the only argument, just counts."""
    start_bar = None if stop is None else np.sum(y_bar)
    return start_bar, None, np.sum(y_bar * np.arange(len(y_bar)))


@linear(np.bincount, active=("weights",), samples=lambda f, v: [
    f(np.array([0, 2, 2, 1]), v), f(np.array([0, 2, 2, 1]), v, minlength=6)])  # fmt: skip
def bincount(y_bar, x, weights=None, minlength=0):
    """Each weight is added to one bin."""
    return y_bar[np.asarray(x)]


@linear(np.full, order="C", samples=lambda f, v: [f((2, 3), 0.5), f((2, 4), v)])
def full(y_bar, shape, fill_value, dtype=None, order="C"):
    if dtype is not None and not np.issubdtype(dtype, np.inexact):
        return None, None
    return None, unbroadcast(y_bar, fill_value)


@linear(
    np.full_like,
    entries="moved",
    order="follows",
    samples=lambda f, v: [f(np.zeros((2, 4), int), v, float)],
)
def full_like(y_bar, a, fill_value, dtype=None, order="K", subok=True, shape=None):
    if dtype is not None and not np.issubdtype(dtype, np.inexact):
        return None, None
    return None, unbroadcast(y_bar, fill_value)


@linear(
    np.linspace, order="other", result=Result(lambda retstep=False: 2 if retstep else 1),
    samples=lambda f, v, array: [
        f(0.5, 2.0, 5), f(v, array(4), 3, axis=1), f(0.5, v, num=3), f(0.5, 2.0, 4, False),
        f(v, 2.0, 3)],
)  # fmt: skip
def linspace(y_bar, start, stop, num=50, endpoint=True, *, dtype=None, axis=0):
    """``start + t * (stop - start)`` with fixed ``t``."""
    if endpoint:
        weights = np.linspace(0.0, 1.0, num, dtype=y_bar.dtype)
    else:
        weights = np.linspace(0.0, 1.0, num, False, dtype=y_bar.dtype)
    rows = y_bar if np.ndim(y_bar) == 1 else np.moveaxis(y_bar, axis, -1)
    return unbroadcast(rows @ (1 - weights), start), unbroadcast(rows @ weights, stop)


@adjoint(
    np.logspace, real_only=True, order="other", active=("start", "stop", "base"),
    samples=lambda f, v: [
        f(0.5, 2.0, 5), f(0.5, 1.5, 4, False, 2.5), f(0.5, v, num=3, base=2.0),
        f(0.5, v, 3, axis=-1)],
)  # fmt: skip
def logspace(y_bar, y, start, stop, num=50, endpoint=True, base=10.0, *, dtype=None, axis=0):
    """``base**linspace(start, stop)``."""
    if np.ndim(base) > 0:
        return BASES, BASES, BASES
    slope = y_bar * y
    rate = np.log(np.asarray(base, y_bar.dtype))
    start_bar, stop_bar = linspace(slope * rate, start, stop, num, endpoint, axis=axis)
    exponents = np.linspace(start, stop, num, endpoint, axis=axis)
    return start_bar, stop_bar, np.sum(slope * exponents) / base


@adjoint(
    np.geomspace, real_only=True, order="other",
    samples=lambda f, near: [
        f(0.5, 2.0, 5), f(0.5, near(0.5, 2.0, 4), 3, axis=1), f(0.5, 2.0, 4, False)],
)  # fmt: skip
def geomspace(y_bar, y, start, stop, num=50, endpoint=True, *, dtype=None, axis=0):
    """``start * (stop / start)**t`` with fixed ``t``."""
    start_bar, stop_bar = linspace(y_bar * y, start, stop, num, endpoint, axis=axis)
    return start_bar / start, stop_bar / stop
