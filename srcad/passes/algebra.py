"""Algebraic simplification of arithmetic in the reverse half.

Exact folding of literals, neutral elements and signs.

>>> from srcad.passes.simplify import simplify
>>> function = parse('''
... f(x: float, y: float):
...     # reverse half
...     a = mul(1.0, x)
...     b = neg(y)
...     c = mul(a, b)
...     d = sub(x, c)
...     return d
... ''')
>>> print(text(simplify(function)))
f(x, y):
    t1 = mul(x, y)
    d = add(x, t1)
    return d
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcad.ir.core import Arg, Call, Const, conjugate
from srcad.ir.traits import (
    law_of_operator,
    operators,
)
from srcad.passes.by_pattern import rewrites_by_pattern
from srcad.passes.rewrites import number, rewrites
from srcad.passes.rewriting import Rewriter, type_of
from srcad.rules.registry import row_of
from srcad.types.numeric import Numeric


def is_real(arg: Arg) -> bool:
    """Return True if an argument certainly is a float or an array of floats, not of a subclass."""
    type_ = type_of(arg)
    return isinstance(type_, Numeric) and type_.kind == "f" and type_.cls is None


def is_certainly_array(arg: Arg) -> bool:
    type_ = type_of(arg)
    return isinstance(type_, Numeric) and type_.form == "array"


def has_more_axes(arg: Arg, other: Arg) -> bool:
    """Return True if an argument certainly has more axes than another one."""
    shapes = [t.shape for t in map(type_of, (arg, other)) if isinstance(t, Numeric)]
    known = [len(shape) for shape in shapes if shape is not None]
    return len(known) == 2 and known[0] > known[1]


def keeps_kind(arg: Arg, literal: float) -> bool:
    """Return True if arithmetic with a neutral literal leaves an argument's type alone."""
    type_ = type_of(arg)
    if not isinstance(type_, Numeric) or type_.cls is not None:
        return False
    return type_.kind in "fc" or (type(literal) is int and type_.kind in "iu")


# ------------------------------------------------------------------------------- literals
@rewrites(*operators("sum", "difference", "product", "quotient", "power"))
def arithmetic_of_two_literals(r: Rewriter, op: Call) -> Arg | None:
    """Fold ``2 * 3`` to 6 and ``1.5 - True`` to 0.5, unless Python would raise or overflow."""
    if not (isinstance(op.args[0], Const) and isinstance(op.args[1], Const)):
        return None
    a, b = (
        int(x.value) if isinstance(x, Const) and type(x.value) is bool else number(x)
        for x in op.args
    )
    if a is None or b is None or (law_of_operator(op.target) == "power" and abs(b) > 16):
        return None
    if law_of_operator(op.target) == "product" and 1 in (a, b):
        other = b if a == 1 else a
        return Const(float(other) if float in (type(a), type(b)) else other)
    try:
        found = op.target(a, b)
    except ArithmeticError:
        return None
    if type(found) not in (int, float) or not math.isfinite(found):
        return None
    return Const(found)


rewrites_by_pattern(
    """
    -c_ -> -c_

    c_ * x_ -> x_           if c_ == 1 and keeps_kind(x_, c_)
    c_ * x_ -> -x_          if c_ == -1 and keeps_kind(x_, c_)
    x_ * c_ -> x_           if c_ == 1 and keeps_kind(x_, c_)
    x_ * c_ -> -x_          if c_ == -1 and keeps_kind(x_, c_)
    x_ / c_ -> x_           if c_ == 1 and is_real(x_)
    x_ / c_ -> -x_          if c_ == -1 and is_real(x_)

    c_ + x_ -> x_           if c_ == 0 and keeps_kind(x_, c_)
    x_ + c_ -> x_           if c_ == 0 and keeps_kind(x_, c_)
    c_ + x_ -> x_ + c_      if number(x_) is None
    x_ - c_ -> x_           if c_ == 0 and keeps_kind(x_, c_)
    c_ - x_ -> -x_          if c_ == 0 and keeps_kind(x_, c_)

    x_ ** 1 -> x_           if keeps_kind(x_, 1.0)
    x_ ** 2 -> x_ * x_      if is_real(x_)
    x_ ** 3 -> x_ * x_ * x_ if is_real(x_)
    """,
    keeps_kind,
    is_real,
    number,
)


# ------------------------------------------------------------------------------- signs
def is_negative(r: Rewriter, arg: Arg) -> bool:
    """Return True if an argument is ``-x``."""
    return r.call_of(arg, operator.neg) is not None


rewrites_by_pattern(
    """
    --x_ -> x_
    -(t_ := a_ - b_) -> b_ - a_     if once(t_)
    -(t_ := c_ * x_) -> (-c_) * x_  if once(t_)
    -(t_ := c_ / x_) -> (-c_) / x_  if once(t_)

    # The sign goes in front.
    (-a_) * (-b_) -> a_ * b_        if is_real(a_) and is_real(b_)
    (-a_) / (-b_) -> a_ / b_        if is_real(a_) and is_real(b_)
    (-a_) * b_ -> -(a_ * b_)        if is_real(a_) and not is_negative(r, b_)
    a_ * (-b_) -> -(a_ * b_)        if is_real(b_) and not is_negative(r, a_)
    (-a_) / b_ -> -(a_ / b_)        if is_real(a_) and not is_negative(r, b_)
    a_ / (-b_) -> -(a_ / b_)        if is_real(b_) and not is_negative(r, a_)

    a_ + (-b_) -> a_ - b_
    (-a_) + b_ -> b_ - a_
    a_ - (-b_) -> a_ + b_
    a_ + (t_ := c_ * x_) -> a_ - (-c_) * x_  if c_ < 0 and once(t_)
    a_ - (t_ := c_ * x_) -> a_ + (-c_) * x_  if c_ < 0 and once(t_)

    (-x_) != c_ -> x_ != c_         if c_ == 0 and is_real(x_)
    """,
    is_real,
    is_negative,
)


# ------------------------------------------------------------------------------- conjugates
# A conjugate moves to the operands where one of them is real, or a conjugate itself; every step is
# exact.


_ARITHMETIC = operators("sum", "difference", "product", "quotient", "negative")


def _turns(target: Any) -> bool:
    """Return True if the result shows all entries of an operand in another shape or order."""
    row = row_of(target)
    return row.entries == "moved" and row.memory in ("view", "view or copy")


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
    """Fold ``np.conj(1j)`` to ``-1j``."""
    value = op.args[0].value if isinstance(op.args[0], Const) and _is_plain(op) else None
    return Const(conjugate(value)) if type(value) is complex else None


@rewrites(np.conjugate)
def conjugate_of_turned(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``np.conj(np.conj(x).T)`` to ``x.T``; likewise for reshapes and swapped axes."""
    inner = r.made_by(op.args[0], _turns)
    inside = r.call_of(inner.args[0], np.conjugate) if inner and _is_plain(op) else None
    if inner is None or inside is None or not _is_plain(inside):
        return None
    return r.make(inner.target, inside.args[0], *inner.args[1:], **dict(inner.kwargs))


@rewrites(np.conjugate)
def conjugate_of_arithmetic(r: Rewriter, op: Call) -> Arg | None:
    """Distribute a conjugate: ``np.conj(np.conj(x) * y)`` becomes ``x * np.conj(y)``.

    Also ``np.conj(2 * x)``, ``np.conj(1 / x)`` and ``np.conj(-x)``, but not ``np.conj(x * y)``.

    >>> from srcad.passes.simplify import simplify
    >>> function = parse('''
    ... f(x: float, z: complex128[3]):
    ...     # reverse half
    ...     a = conjugate(z)
    ...     b = mul(x, a)
    ...     c = conjugate(b)
    ...     d = real(c)
    ...     return d
    ... ''')
    >>> print(text(simplify(function)))
    f(x, z):
        t1 = real(z)
        d = mul(x, t1)
        return d
    """
    inner = r.call_of(op.args[0], *_ARITHMETIC)
    if inner is None or not _is_plain(op):
        return None
    if len(inner.args) == 2 and not any(_is_free(r, a) for a in inner.args):
        return None
    if law_of_operator(inner.target) in ("sum", "difference") and not all(
        _is_free(r, a) for a in inner.args
    ):
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
    """Rewrite ``np.real(2 * x)`` to ``2 * np.real(x)``, ``np.real(-1j * x)`` to ``np.imag(x)``."""
    inner = r.call_of(op.args[0], operator.mul)
    if inner is None or not r.is_used_once(op.args[0]):
        return None
    for a, other in (inner.args, inner.args[::-1]):
        k = _imaginary(a)
        if is_its_conjugate(a) or number(a) is not None:
            return r.make(operator.mul, a, r.make(op.target, other))
        if k is not None:
            is_imaginary = row_of(op.target).of_real == "zero"
            swapped = r.make(np.real if is_imaginary else np.imag, other)
            factor = k if is_imaginary else -k
            return r.make(operator.mul, Const(factor), swapped)
    return None
