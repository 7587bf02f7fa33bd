"""Algebraic simplification of products, quotients, linear systems and equal terms.

A product is kept as ``c * a * b``: one literal in front, the rest in the order of writing.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from srcad.ir.core import Arg, Atom, Call, Const, Value
from srcad.ir.traits import law_of_operator
from srcad.passes.algebra import has_more_axes, is_certainly_array, is_real
from srcad.passes.by_pattern import rewrites_by_pattern
from srcad.passes.rewrites import number, rewrites
from srcad.passes.rewriting import Rewriter
from srcad.passes.shapes import known_shape, same_shape
from srcad.rules import linalg


# ------------------------------------------------------------------------------- matrices
def _rank(arg: Arg) -> int | None:
    shape = known_shape(arg)
    return None if shape is None else len(shape)


def _has_operands(op: Call, count: int) -> bool:
    return len(op.args) == count and not op.kwargs


def _turned(r: Rewriter, arg: Arg) -> Arg | None:
    """Return ``a`` of ``a.T``."""
    turned = r.call_of(arg, np.transpose)
    return turned.args[0] if turned is not None and _has_operands(turned, 1) else None


@rewrites(np.linalg.solve)
def solution_of_product(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``solve(a, a @ h @ z)`` to ``h @ z``; ``a @ h`` is the tangent of a factor.

    >>> from srcad.passes.simplify import simplify
    >>> function = parse('''
    ... f(a: float64[3, 3], h: float64[3, 3], z: float64[3]):
    ...     # reverse half
    ...     b = matmul(a, h)
    ...     c = matmul(b, z)
    ...     y = np.linalg.solve(a, c)
    ...     return y
    ... ''')
    >>> print(text(simplify(function)))
    f(a, h, z):
        y = matmul(h, z)
        return y
    """
    if not _has_operands(op, 2) or _rank(op.args[0]) != 2:
        return None
    a, right = op.args
    negative = r.call_of(right, operator.neg)
    whole = r.call_of(negative.args[0] if negative else right, operator.matmul)
    first = r.call_of(whole.args[0], operator.matmul) if whole else None
    if whole is None or first is None or first.args[0] is not a:
        return None
    if _rank(first.args[1]) != 2 or _rank(whole.args[1]) not in (1, 2):
        return None
    product = r.make(operator.matmul, first.args[1], whole.args[1])
    return r.make(operator.neg, product) if negative else product


@rewrites(np.linalg.solve)
def solution_by_known_inverse(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``solve(l, b)`` to ``inverse @ b`` where ``lower_inverse(l)`` is at hand.

    Likewise ``solve(l.T, b)`` to ``inverse.T @ b``.
    """
    if not _has_operands(op, 2) or _rank(op.args[0]) != 2 or _rank(op.args[1]) not in (1, 2):
        return None
    a, b = op.args
    inverse = r.made_before(linalg.lower_inverse, a)
    if inverse is not None:
        return r.make(operator.matmul, inverse, b)
    turned = _turned(r, a)
    inverse = None if turned is None else r.made_before(linalg.lower_inverse, turned)
    return inverse and r.make(operator.matmul, r.make(np.transpose, inverse), b)


@rewrites(operator.matmul)
def product_with_inverse(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``lower_inverse(l) @ (l @ h)`` to ``h``."""
    product = r.call_of(op.args[1], operator.matmul)
    if product is None or _rank(op.args[0]) != 2 or _rank(product.args[1]) != 2:
        return None
    inverse = r.call_of(op.args[0], linalg.lower_inverse)
    return product.args[1] if inverse and inverse.args[0] is product.args[0] else None


@rewrites(np.diag)
def diagonal_of_product(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``np.diag(a @ b)`` to ``np.sum(a * b.T, axis=1)``."""
    product = r.call_of(op.args[0], operator.matmul)
    if product is None or not _has_operands(op, 1) or not r.is_used_once(op.args[0]):
        return None
    a, b = product.args
    if _rank(a) != 2 or _rank(b) != 2 or not is_real(a) or not is_real(b):
        return None
    back = r.make(np.transpose, b)
    if not same_shape(a, back):
        return None
    return r.make(np.sum, r.make(operator.mul, a, back), axis=Const(1))


# ------------------------------------------------------------------------------- products
def is_quotient_of_one(c: float, x: Arg) -> bool:
    """Return True if ``x * (c / y)`` is ``x / y``, of the same type."""
    return c == 1 and (is_real(x) or number(x) is not None)


rewrites_by_pattern(
    """
    x_ * c_ -> c_ * x_                      if number(x_) is None
    c_ * (d_ * x_) -> (c_ * d_) * x_
    (c_ * x_) * (d_ * y_) -> (c_ * d_) * x_ * y_
    # It stays with `y` where `x` has more axes: there one long product is enough.
    x_ * (t_ := c_ * y_) -> c_ * x_ * y_    if not has_more_axes(x_, t_) and once(t_)

    # So that literals meet.
    c_ * ((t_ := d_ * x_) * y_) -> c_ * t_ * y_
    c_ * (t_ := x_ * y_) -> c_ * x_ * y_    if once(t_)

    # Arrays go above the bar.
    x_ * (c_ / y_) -> x_ / y_               if is_quotient_of_one(c_, x_)
    d_ * (c_ / y_) -> (c_ * d_) / y_
    x_ * (c_ / y_) -> c_ * x_ / y_          if is_certainly_array(x_) and not is_certainly_array(y_)
    c_ * (t_ := x_ / y_) -> c_ * x_ / y_    if once(t_)
    (c_ / y_) * x_ -> x_ / y_               if is_quotient_of_one(c_, x_)
    (c_ / y_) * x_ -> c_ * x_ / y_          if is_certainly_array(x_) and not is_certainly_array(y_)
    """,
    number,
    has_more_axes,
    is_quotient_of_one,
    is_certainly_array,
)


@rewrites(operator.mul)
def product_with_quotient(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``g * (y / b)`` to ``g / b * y`` where ``g / b`` is at hand: one division less."""
    for g, other in (op.args, op.args[::-1]):
        quotient = r.call_of(other, operator.truediv)
        if quotient is None or not isinstance(g, Value) or not r.is_used_once(other):
            continue
        y, b = quotient.args
        if is_real(g) and is_real(y) and is_real(b):
            shared = r.made_before(operator.truediv, g, b)
            if shared is not None:
                return r.make(operator.mul, shared, y)
    return None


def cancels(c: float, d: float) -> bool:
    """Return True if ``c / d`` is exact: powers of two, and multiples."""
    if d == 0 or not math.isfinite(c / d):
        return False
    return math.frexp(d)[0] in (0.5, -0.5) or c / d == int(c / d)


def ratio(c: float, d: float) -> float | int:
    """``c / d``, of the type of `c` where it is a whole number."""
    found = c / d
    return int(found) if found == int(found) and type(c) is int else found


rewrites_by_pattern("(c_ * x_) / d_ -> ratio(c_, d_) * x_ if cancels(c_, d_) and is_real(x_)",
                    ratio, cancels, is_real)  # fmt: skip


# ------------------------------------------------------------------------------- equal terms
@rewrites(operator.add, operator.sub)
def sum_of_equal_terms(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``a * b + b * a`` to ``2 * a * b``, and ``3 * x - x`` to ``2 * x``.

    >>> from srcad.passes.simplify import simplify
    >>> function = parse('''
    ... f(x: float, y: float):
    ...     # reverse half
    ...     a = mul(x, 2.0)
    ...     b = mul(3.0, y)
    ...     c = mul(a, b)
    ...     d = mul(y, x)
    ...     e = add(c, d)
    ...     return e
    ... ''')
    >>> print(text(simplify(function)))
    f(x, y):
        t1 = mul(7.0, x)
        e = mul(t1, y)
        return e
    """
    (c, left), (d, right) = _factors(r, op.args[0]), _factors(r, op.args[1])
    if not left or sorted(map(id, left)) != sorted(map(id, right)):
        return None
    total = c + d if law_of_operator(op.target) == "sum" else c - d
    if total == 0 or not is_real(left[0]) or not is_real(op.result):
        return None
    return _scaled(r, total, left)


@rewrites(operator.add)
def sum_that_ends_in_an_equal_term(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``(z + x) + x`` to ``z + 2 * x``."""
    inner = r.call_of(op.args[0], operator.add)
    if inner is None or not r.is_used_once(op.args[0]):
        return None
    (c, left), (d, right) = _factors(r, inner.args[1]), _factors(r, op.args[1])
    if not left or sorted(map(id, left)) != sorted(map(id, right)):
        return None
    if not is_real(left[0]) or not is_real(op.result):
        return None
    return r.make(operator.add, inner.args[0], _scaled(r, c + d, left))


def _factors(r: Rewriter, arg: Arg) -> tuple[float, list[Value]]:
    """Return a product as its literal and its other factors."""
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
