"""Rewrites of conjugates, real and imaginary parts in the reverse half.

A conjugate goes inwards where it meets what is real, or another one; it is exact in every step.
"""

from __future__ import annotations

import operator

import numpy as np

from srcad.ir.constants import conjugate
from srcad.ir.core import Arg, Call, Const
from srcad.passes.by_pattern import rewrites_by_pattern
from srcad.passes.rewrites import number, rewrites
from srcad.passes.rewriting import Rewriter, type_of
from srcad.types.numeric import Numeric

_ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg)
_TURNS = (np.transpose, np.swapaxes, np.reshape, np.expand_dims, np.moveaxis, np.matrix_transpose)


def is_its_conjugate(arg: Arg) -> bool:
    """Return True if an argument certainly is no complex number, nor an array of such."""
    type_ = type_of(arg)
    return isinstance(type_, Numeric) and type_.kind in "fiub"


def _is_plain(op: Call) -> bool:
    return len(op.args) == 1 and not op.kwargs


def _imaginary(arg: Arg) -> float | None:
    """Return the number ``k`` that ``1j * k`` is."""
    value = arg.value if isinstance(arg, Const) else None
    return value.imag if type(value) is complex and value.real == 0.0 else None


def _conjugate(r: Rewriter, arg: Arg) -> Arg:
    if isinstance(arg, Const) and type(arg.value) is complex:
        return Const(conjugate(arg.value))
    return arg if is_its_conjugate(arg) else r.make(np.conjugate, arg)


def _is_free(r: Rewriter, arg: Arg, depth: int = 6) -> bool:
    """Return True if the conjugate of an argument takes no operation."""
    if isinstance(arg, Const) or is_its_conjugate(arg) or r.call_of(arg, np.conjugate) is not None:
        return True
    made = r.call_of(arg, *_ARITHMETIC) if depth else None
    return made is not None and all(_is_free(r, a, depth - 1) for a in made.args)


rewrites_by_pattern(
    """
    np.conjugate(x_) -> x_                         if is_its_conjugate(x_)
    np.conjugate(np.conjugate(x_)) -> x_
    np.conjugate(complex(x_)) -> np.conjugate(x_)
    """,
    is_its_conjugate,
    complex=(complex,),
)


@rewrites(np.conjugate)
def conjugate_of_literal(r: Rewriter, op: Call) -> Arg | None:
    """``np.conj(1j)``."""
    value = op.args[0].value if isinstance(op.args[0], Const) and _is_plain(op) else None
    return Const(conjugate(value)) if type(value) is complex else None


@rewrites(np.conjugate)
def conjugate_of_turned(r: Rewriter, op: Call) -> Arg | None:
    """``np.conj(np.conj(x).T)``."""
    inner = r.call_of(op.args[0], *_TURNS)
    inside = r.call_of(inner.args[0], np.conjugate) if inner and _is_plain(op) else None
    if inner is None or inside is None or not _is_plain(inside):
        return None
    return r.make(inner.target, inside.args[0], *inner.args[1:], **dict(inner.kwargs))


@rewrites(np.conjugate)
def conjugate_of_arithmetic(r: Rewriter, op: Call) -> Arg | None:
    """``np.conj(2 * x)``, ``np.conj(1 / x)``, ``np.conj(-x)``, ``np.conj(np.conj(x) * y)``."""
    inner = r.call_of(op.args[0], *_ARITHMETIC)
    if inner is None or not _is_plain(op):
        return None
    if len(inner.args) == 2 and not any(_is_free(r, a) for a in inner.args):
        return None
    if inner.target in (operator.add, operator.sub) and not all(_is_free(r, a) for a in inner.args):
        return None
    return r.make(inner.target, *(_conjugate(r, a) for a in inner.args))


rewrites_by_pattern(
    """
    np.real(x_) -> x_                       if is_its_conjugate(x_)
    np.real(np.conjugate(x_)) -> np.real(x_)
    np.imag(np.conjugate(x_)) -> -np.imag(x_)
    np.real(-x_) -> -np.real(x_)
    np.imag(-x_) -> -np.imag(x_)
    """,
    is_its_conjugate,
)


@rewrites(np.real, np.imag)
def part_of_scaled(r: Rewriter, op: Call) -> Arg | None:
    """``np.real(2 * x)`` is ``2 * np.real(x)``; ``np.real(-1j * x)`` is ``np.imag(x)``."""
    inner = r.call_of(op.args[0], operator.mul)
    if inner is None or not r.used_once(op.args[0]):
        return None
    for a, other in (inner.args, inner.args[::-1]):
        k = _imaginary(a)
        if is_its_conjugate(a) or number(a) is not None:
            return r.make(operator.mul, a, r.make(op.target, other))
        if k is not None:
            swapped = r.make(np.imag if op.target is np.real else np.real, other)
            factor = -k if op.target is np.real else k
            return r.make(operator.mul, Const(factor), swapped)
    return None
