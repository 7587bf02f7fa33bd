"""Rewrites of arithmetic in the reverse half.

Exact folding of literals, neutral elements and signs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from srcad.ir.core import Arg, Call, Const
from srcad.passes.rewriting import Rewriter, rewrites, type_of
from srcad.types.numeric import Numeric

_FOLDED: dict[Any, Callable[[Any, Any], Any]] = {
    operator.add: operator.add,
    operator.sub: operator.sub,
    operator.mul: operator.mul,
    operator.truediv: operator.truediv,
    operator.pow: operator.pow,
}


def number(arg: Arg) -> float | int | None:
    """The literal number that an argument is (bools are none)."""
    if isinstance(arg, Const) and type(arg.value) in (int, float):
        value: float | int = arg.value
        return value
    return None


def is_real(arg: Arg) -> bool:
    """Whether an argument certainly is a float or an array of floats."""
    type_ = type_of(arg)
    return isinstance(type_, Numeric) and type_.kind == "f"


def is_certainly_array(arg: Arg) -> bool:
    """Whether an argument certainly is an array."""
    type_ = type_of(arg)
    return isinstance(type_, Numeric) and type_.form == "array"


def keeps_kind(arg: Arg, literal: float) -> bool:
    """Whether arithmetic with a neutral literal leaves an argument's type alone."""
    type_ = type_of(arg)
    if not isinstance(type_, Numeric):
        return False
    return type_.kind in "fc" or (type(literal) is int and type_.kind in "iu")


# ------------------------------------------------------------------------------- literals
@rewrites(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)
def arithmetic_of_two_literals(r: Rewriter, op: Call) -> Arg | None:
    """``2 * 3`` is 6 and ``1.5 - True`` is 0.5, where Python itself would not complain."""
    a, b = (int(x.value) if isinstance(x, Const) and type(x.value) is bool else number(x)
            for x in op.args)  # fmt: skip
    if a is None or b is None or (op.target is operator.pow and abs(b) > 16):
        return None
    if op.target is operator.mul and 1 in (a, b):
        other = b if a == 1 else a
        return Const(float(other) if float in (type(a), type(b)) else other)
    try:
        found = _FOLDED[op.target](a, b)
    except ArithmeticError:
        return None
    if type(found) not in (int, float) or not math.isfinite(found):
        return None
    return Const(found)


@rewrites(operator.neg)
def negative_of_literal(r: Rewriter, op: Call) -> Arg | None:
    """``-(2.0)``."""
    value = number(op.args[0])
    return None if value is None else Const(-value)


@rewrites(operator.mul)
def product_with_one(r: Rewriter, op: Call) -> Arg | None:
    """``1 * x``, ``x * 1``, ``-1 * x``."""
    for literal, other in (op.args, op.args[::-1]):
        value = number(literal)
        if value is None or value not in (1, -1) or not keeps_kind(other, value):
            continue
        return other if value == 1 else r.make(operator.neg, other)
    return None


@rewrites(operator.truediv)
def quotient_by_one(r: Rewriter, op: Call) -> Arg | None:
    """``x / 1``, ``x / -1``."""
    a, b = op.args
    value = number(b)
    if value is None or value not in (1, -1) or not is_real(a):
        return None
    return a if value == 1 else r.make(operator.neg, a)


@rewrites(operator.add)
def sum_with_zero(r: Rewriter, op: Call) -> Arg | None:
    """``0 + x``, ``x + 0``."""
    for literal, other in (op.args, op.args[::-1]):
        value = number(literal)
        if value is not None and value == 0 and keeps_kind(other, value):
            return other
    return None


@rewrites(operator.add)
def sum_with_literal_first(r: Rewriter, op: Call) -> Arg | None:
    """``2 + x`` is ``x + 2``."""
    a, b = op.args
    if number(a) is None or number(b) is not None:
        return None
    return r.make(operator.add, b, a)


@rewrites(operator.sub)
def difference_with_zero(r: Rewriter, op: Call) -> Arg | None:
    """``x - 0``, ``0 - x``."""
    a, b = op.args
    right, left = number(b), number(a)
    if right is not None and right == 0 and keeps_kind(a, right):
        return a
    if left is not None and left == 0 and keeps_kind(b, left):
        return r.make(operator.neg, b)
    return None


@rewrites(operator.pow)
def small_power(r: Rewriter, op: Call) -> Arg | None:
    """``x**1`` is x; ``x**2`` and ``x**3`` are products."""
    base, exponent = op.args
    value = number(exponent)
    if value is None or not is_real(base) or value not in (1, 2, 3):
        return None
    if value == 1:
        return base
    square = r.make(operator.mul, base, base)
    return square if value == 2 else r.make(operator.mul, square, base)


# ------------------------------------------------------------------------------- signs
@rewrites(operator.neg)
def negative_of_negative(r: Rewriter, op: Call) -> Arg | None:
    """``-(-x)``."""
    inner = r.call_of(op.args[0], operator.neg)
    return inner.args[0] if inner else None


@rewrites(operator.neg)
def negative_of_difference(r: Rewriter, op: Call) -> Arg | None:
    """``-(a - b)``."""
    inner = r.call_of(op.args[0], operator.sub)
    if inner is None or not r.used_once(op.args[0]):
        return None
    return r.make(operator.sub, inner.args[1], inner.args[0])


@rewrites(operator.neg)
def negative_of_scaled(r: Rewriter, op: Call) -> Arg | None:
    """``-(2 * x)``, ``-(2 / x)``."""
    inner = r.call_of(op.args[0], operator.mul, operator.truediv)
    if inner is None or not r.used_once(op.args[0]):
        return None
    value = number(inner.args[0])
    return None if value is None else r.make(inner.target, Const(-value), inner.args[1])


@rewrites(operator.mul, operator.truediv)
def product_of_negatives(r: Rewriter, op: Call) -> Arg | None:
    """``(-a) * b``, ``a / (-b)``: the sign goes in front."""
    a, b = op.args
    left, right = r.call_of(a, operator.neg), r.call_of(b, operator.neg)
    if left is None and right is None:
        return None
    pair = (left.args[0] if left else a, right.args[0] if right else b)
    if not all(is_real(inner.args[0]) for inner in (left, right) if inner):
        return None
    found = r.make(op.target, *pair)
    return found if left and right else r.make(operator.neg, found)


@rewrites(operator.add, operator.sub)
def sum_with_negative(r: Rewriter, op: Call) -> Arg | None:
    """``a + (-b)``, ``a - (-b)``, ``(-a) + b``."""
    a, b = op.args
    right = r.call_of(b, operator.neg)
    if right is not None:
        other = operator.sub if op.target is operator.add else operator.add
        return r.make(other, a, right.args[0])
    left = r.call_of(a, operator.neg)
    if left is not None and op.target is operator.add:
        return r.make(operator.sub, b, left.args[0])
    return None


@rewrites(operator.add, operator.sub)
def sum_with_negative_multiple(r: Rewriter, op: Call) -> Arg | None:
    """``a + (-2) * b`` is ``a - 2 * b``."""
    a, b = op.args
    scaled = r.call_of(b, operator.mul)
    if scaled is None or not r.used_once(b):
        return None
    value = number(scaled.args[0])
    if value is None or not value < 0:
        return None
    other = operator.sub if op.target is operator.add else operator.add
    return r.make(other, a, r.make(operator.mul, Const(-value), scaled.args[1]))
