"""Rewrites of arithmetic in the reverse half.

Exact folding of literals, neutral elements, signs, reciprocals, and merging of equal terms.  A
product is kept as ``c * a * b``: one literal in front, the rest in the order of writing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from srcad.ir.core import Arg, Atom, Call, Const, Value
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


# ------------------------------------------------------------------------------- products
@rewrites(operator.mul)
def product_with_literal_last(r: Rewriter, op: Call) -> Arg | None:
    """``x * 2`` is ``2 * x``."""
    a, b = op.args
    if number(b) is None or number(a) is not None:
        return None
    return r.make(operator.mul, b, a)


@rewrites(operator.mul)
def product_with_scaled(r: Rewriter, op: Call) -> Arg | None:
    """``2 * (3 * x)``, ``(2 * x) * (3 * y)``, ``x * (2 * y)``: one literal, in front."""
    a, b = op.args
    second = r.call_of(b, operator.mul)
    value = number(second.args[0]) if second else None
    if second is None or value is None:
        return None
    outer = number(a)
    if outer is not None:
        return r.make(operator.mul, _product(outer, value), second.args[1])
    first = r.call_of(a, operator.mul)
    own = number(first.args[0]) if first else None
    if first is not None and own is not None:
        scaled = r.make(operator.mul, _product(own, value), first.args[1])
        return r.make(operator.mul, scaled, second.args[1])
    if not r.used_once(b):
        return None
    return r.make(operator.mul, r.make(operator.mul, second.args[0], a), second.args[1])


@rewrites(operator.mul)
def literal_times_product(r: Rewriter, op: Call) -> Arg | None:
    """``2 * (a * b)`` is ``2 * a * b``, so that literals meet."""
    a, b = op.args
    product = r.call_of(b, operator.mul)
    if number(a) is None or product is None or number(product.args[0]) is not None:
        return None
    inner = r.call_of(product.args[0], operator.mul)
    meets = inner is not None and number(inner.args[0]) is not None
    if not meets and not r.used_once(b):
        return None
    return r.make(operator.mul, r.make(operator.mul, a, product.args[0]), product.args[1])


def _product(a: float, b: float) -> Const:
    return Const(a * b)


@rewrites(operator.mul)
def product_with_reciprocal(r: Rewriter, op: Call) -> Arg | None:
    """``a * (1 / b)`` is ``a / b``; ``2 * (3 / b)`` is ``6 / b``; arrays go above the bar."""
    for one, other in (op.args[::-1], op.args):
        inner = r.call_of(one, operator.truediv)
        if inner is None:
            continue
        top, factor = number(inner.args[0]), number(other)
        if top is not None and top == 1 and (is_real(other) or factor is not None):
            return r.make(operator.truediv, other, inner.args[1])
        if top is not None and factor is not None:
            return r.make(operator.truediv, Const(top * factor), inner.args[1])
        if top is not None and is_certainly_array(other) and not is_certainly_array(inner.args[1]):
            return r.make(operator.truediv, r.make(operator.mul, Const(top), other), inner.args[1])
        if factor is not None and r.used_once(one):
            scaled = r.make(operator.mul, other, inner.args[0])
            return r.make(operator.truediv, scaled, inner.args[1])
    return None


@rewrites(operator.mul)
def product_with_quotient(r: Rewriter, op: Call) -> Arg | None:
    """``g * (y / b)`` where ``g / b`` is at hand: ``g / b * y``, one division less."""
    for g, other in (op.args, op.args[::-1]):
        quotient = r.call_of(other, operator.truediv)
        if quotient is None or not isinstance(g, Value) or not r.used_once(other):
            continue
        y, b = quotient.args
        if is_real(g) and is_real(y) and is_real(b):
            shared = r.made_before(operator.truediv, g, b)
            if shared is not None:
                return r.make(operator.mul, shared, y)
    return None


@rewrites(operator.truediv)
def quotient_of_equal_literals(r: Rewriter, op: Call) -> Arg | None:
    """``(2 * x) / 2``: powers of two cancel exactly."""
    scaled, divisor = r.call_of(op.args[0], operator.mul), number(op.args[1])
    value = number(scaled.args[0]) if scaled else None
    if scaled is None or value is None or not divisor:
        return None
    ratio = value / divisor
    exact = math.frexp(divisor)[0] in (0.5, -0.5) or ratio == int(ratio)
    if not exact or not is_real(scaled.args[1]):
        return None
    literal = int(ratio) if ratio == int(ratio) and type(value) is int else ratio
    return r.make(operator.mul, Const(literal), scaled.args[1])


# ------------------------------------------------------------------------------- equal terms
@rewrites(operator.add, operator.sub)
def sum_of_equal_terms(r: Rewriter, op: Call) -> Arg | None:
    """``x + x`` is ``2 * x``; ``a * b + b * a`` is ``2 * a * b``; ``3 * x - x`` is ``2 * x``."""
    (c, left), (d, right) = _factors(r, op.args[0]), _factors(r, op.args[1])
    if not left or sorted(map(id, left)) != sorted(map(id, right)):
        return None
    total = c + d if op.target is operator.add else c - d
    if total == 0 or not is_real(left[0]) or not is_real(op.result):
        return None
    return _scaled(r, total, left)


@rewrites(operator.add)
def sum_that_ends_in_an_equal_term(r: Rewriter, op: Call) -> Arg | None:
    """``(z + x) + x`` is ``z + 2 * x``."""
    inner = r.call_of(op.args[0], operator.add)
    if inner is None or not r.used_once(op.args[0]):
        return None
    (c, left), (d, right) = _factors(r, inner.args[1]), _factors(r, op.args[1])
    if not left or sorted(map(id, left)) != sorted(map(id, right)):
        return None
    if not is_real(left[0]) or not is_real(op.result):
        return None
    return r.make(operator.add, inner.args[0], _scaled(r, c + d, left))


def _factors(r: Rewriter, arg: Arg) -> tuple[float, list[Value]]:
    """A product as its literal and its other factors."""
    if number(arg) is not None or not isinstance(arg, Value):
        return 1, []
    sign: float = 1
    negative = r.call_of(arg, operator.neg)
    if negative is not None and isinstance(negative.args[0], Value):
        sign, arg = -1, negative.args[0]
    factors: list[Value] = []
    pending: list[Arg] = [arg]
    while pending and len(factors) < 6:
        one = pending.pop()
        value = number(one)
        if value is not None:
            sign = sign * value
            continue
        product = r.call_of(one, operator.mul)
        if product is not None and len(factors) + len(pending) < 5:
            pending.extend(product.args[::-1])
        elif isinstance(one, Value):
            factors.append(one)
        else:
            return 1, []
    return sign, factors


def _scaled(r: Rewriter, literal: float, factors: list[Value]) -> Atom:
    result: Atom = factors[0]
    if literal == -1:
        for factor in factors[1:]:
            result = r.make(operator.mul, result, factor)
        return r.make(operator.neg, result)
    if literal != 1:
        result = r.make(operator.mul, Const(literal), result)
    for factor in factors[1:]:
        result = r.make(operator.mul, result, factor)
    return result
