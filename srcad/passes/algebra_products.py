"""Rewrites of products and quotients in the reverse half, and of equal terms in a sum.

A product is kept as ``c * a * b``: one literal in front, the rest in the order of writing.
"""

from __future__ import annotations

import math
import operator

from srcad.ir.core import Arg, Atom, Call, Const, Value
from srcad.passes.algebra import is_certainly_array, is_real, number
from srcad.passes.rewriting import Rewriter, rewrites


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
