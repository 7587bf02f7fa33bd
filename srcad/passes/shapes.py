"""Simplification of broadcasts, reductions, masks and conversions in the reverse half.

>>> from srcad.passes.simplify import simplify
>>> function = parse('''
... f(g: float, a: float64[3]):
...     # reverse half
...     s = shape(a)
...     b = broadcast_to(g, s)
...     c = mul(b, a)
...     d = neg(c)
...     e = sum(d)
...     return e
... ''')
>>> print(text(simplify(function)))
f(g, a):
    t1 = sum(a)
    t2 = mul(g, t1)
    e = neg(t2)
    return e
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad import runtime
from srcad.ir.core import Arg, Call, Const, Value
from srcad.ir.traits import (
    law_of_operator,
    operators,
)
from srcad.passes.algebra import is_certainly_array, is_real
from srcad.passes.by_pattern import rewrites_by_pattern
from srcad.passes.rewrites import number, rewrites
from srcad.passes.rewriting import Rewriter, type_of
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.sizes import Extent, resolved


def known_shape(arg: Arg) -> tuple[Extent, ...] | None:
    """Return the shape of an argument, with decided symbols replaced."""
    type_ = type_of(arg)
    if not isinstance(type_, Numeric) or type_.shape is None:
        return None
    return tuple(resolved(e) for e in type_.shape)


def same_shape(a: Arg, b: Arg) -> bool:
    """Return True if two arguments certainly have the same shape."""
    left, right = known_shape(a), known_shape(b)
    return left is not None and left == right


def same_kind(a: Arg, b: Arg) -> bool:
    """Return True if two arguments certainly have the same form and dtype."""
    left, right = type_of(a), type_of(b)
    if not isinstance(left, Numeric) or not isinstance(right, Numeric):
        return False
    known = left.form not in ("any", "number") and left.dtype is not None
    return known and left.form == right.form and same_dtype(left.dtype, right.dtype)


# ------------------------------------------------------------------------------- broadcasting
@rewrites(*operators("sum", "difference", "product", "quotient"))
def arithmetic_with_broadcast(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``broadcast_to(s, shape) * a`` to ``s * a`` where ``a`` has that shape."""
    for k in (0, 1):
        wide = r.call_of(op.args[k], np.broadcast_to)
        other = op.args[1 - k]
        if wide is None:
            continue
        if same_shape(wide.result, other) and r.call_of(other, np.broadcast_to) is None:
            pair = (wide.args[0], other) if k == 0 else (other, wide.args[0])
            return r.make(op.target, *pair)
        if number(other) is not None or known_shape(other) == ():
            pair = (wide.args[0], other) if k == 0 else (other, wide.args[0])
            return r.make(np.broadcast_to, r.make(op.target, *pair), wide.args[1])
    return None


def is_unchanged(a: Arg, y: Arg) -> bool:
    """Return True if `y`, an array of the numbers of `a` in their order, is like `a`."""
    return same_shape(a, y) and same_kind(a, y)


def is_one_number(a: Arg) -> bool:
    """Return True if an argument certainly is a number of Python or NumPy, and no array."""
    type_ = type_of(a)
    return isinstance(type_, Numeric) and type_.form in ("python", "numpy")


def is_like(g: Value, x: Arg) -> bool:
    """Return True if `g` has the dtype, the form and the shape of `x` already."""
    left, right = type_of(g), type_of(x)
    if not isinstance(left, Numeric) or not isinstance(right, Numeric) or right.kind not in "fc":
        return False
    if not same_dtype(left.dtype, right.dtype) or left.form != right.form:
        return False
    return left.form in ("python", "numpy") or (left.form == "array" and same_shape(g, x))


def is_value(arg: Arg) -> bool:
    """Return True if an argument is no constant."""
    return isinstance(arg, Value)


def is_matrix(arg: Arg) -> bool:
    """Return True if an argument certainly has two axes."""
    return len(known_shape(arg) or ()) == 2


def is_single(arg: Arg) -> bool:
    """Return True if an argument certainly has no axes."""
    return known_shape(arg) == ()


rewrites_by_pattern(
    """
    (y_ := np.broadcast_to(x_, __)) -> x_  if is_single(y_) and is_one_number(x_)
    (y_ := np.broadcast_to(x_, __)) -> x_  if is_unchanged(x_, y_)
    (y_ := np.reshape(x_, __)) -> x_       if is_unchanged(x_, y_)
    -np.broadcast_to(x_, s_) -> np.broadcast_to(-x_, s_)
    np.where(m_, (t_ := np.broadcast_to(x_, s_)), c_) -> np.where(m_, x_, c_)  if same_shape(t_, m_)
    np.zeros_like(np.zeros_like(x_)) -> np.zeros_like(x_)
    unbroadcast(g_, x_) -> g_              if is_value(g_) and same_shape(g_, x_)
    like(g_, x_) -> g_                     if is_value(g_) and is_like(g_, x_)

    np.transpose(np.transpose(x_)) -> x_
    np.transpose(t_ := (u_ := np.transpose(a_)) @ b_) -> np.transpose(b_) @ a_ \
        if once(t_) and is_matrix(u_) and is_matrix(b_)

    np.sum(x_) -> x_                       if is_single(x_) and is_real(x_)
    """,
    is_single,
    is_one_number,
    is_unchanged,
    is_value,
    is_like,
    is_matrix,
    is_real,
    same_shape,
    unbroadcast=(runtime.unbroadcast,),
    like=(runtime.converted_like,),
)


# ------------------------------------------------------------------------------- sums, lengths
@rewrites(np.sum)
def sum_of_negatives(r: Rewriter, op: Call) -> Arg | None:
    """Take factors out of a sum: ``np.sum(-a)`` is ``-np.sum(a)``.

    Likewise ``np.sum(2 * a * b)`` is ``2 * np.sum(a * b)``, and ``np.sum(a / s)`` is
    ``np.sum(a) / s`` for a number `s`.
    """
    a = op.args[0]
    if len(op.args) != 1 or not {name for name, _ in op.kwargs} <= {"axis", "keepdims"}:
        return None
    if not r.is_used_once(a):
        return None
    negative = r.call_of(a, operator.neg)
    if negative is not None and is_real(a):
        return r.make(operator.neg, r.make(np.sum, *negative.args, **dict(op.kwargs)))
    found = _without_number(r, a)
    if found is None or not is_real(found[2]):
        return None
    target, factor, rest = found
    total = r.make(np.sum, rest, **dict(op.kwargs))
    is_quotient = law_of_operator(target) == "quotient"
    return r.make(target, total, factor) if is_quotient else r.make(target, factor, total)


def _without_number(r: Rewriter, a: Arg) -> tuple[Any, Arg, Arg] | None:
    """Return a number in a product or quotient that is read once, how it enters, and the rest."""
    product = r.call_of(a, operator.mul, operator.truediv)
    if product is None or not r.is_used_once(a):
        return None
    first, last = product.args
    if law_of_operator(product.target) == "product" and _is_factor(first, last):
        return operator.mul, first, last
    if _is_factor(last, first):
        return product.target, last, first
    found = _without_number(r, first)
    if found is not None:
        target, factor, rest = found
        return target, factor, r.make(product.target, rest, last)
    found = _without_number(r, last) if law_of_operator(product.target) == "product" else None
    if found is not None:
        target, factor, rest = found
        return target, factor, r.make(operator.mul, first, rest)
    return None


def _is_factor(factor: Arg, rest: Arg) -> bool:
    """Return True if a number multiplies an array of its own precision at least."""
    if number(factor) is not None:
        return True
    left, right = type_of(factor), type_of(rest)
    if not isinstance(left, Numeric) or not isinstance(right, Numeric) or not left.is_scalar:
        return False
    return (
        is_certainly_array(rest)
        and right.dtype == np.dtype(np.float64)
        and left.dtype == np.dtype(np.float64)
    )


rewrites_by_pattern(
    """
    np.sum(t_ := a_ * (u_ := eye(n_))) -> np.trace(a_)  if once(t_) and is_unchanged(a_, u_)
    np.sum(t_ := (u_ := eye(n_)) * a_) -> np.trace(a_)  if once(t_) and is_unchanged(a_, u_)
    """,
    is_unchanged,
    eye=(np.eye, np.identity),
)


@rewrites(np.size)
def fold_static_size(r: Rewriter, op: Call) -> Arg | None:
    """Fold ``np.size(a)`` if all lengths are static."""
    shape = known_shape(op.args[0])
    if shape is None or len(op.args) != 1 or any(e.terms for e in shape):
        return None
    return Const(int(np.prod([e.constant for e in shape], dtype=int)))


# ------------------------------------------------------------------------------- masks
def is_mask(arg: Arg) -> bool:
    """Return True if an argument certainly is a flag or an array of flags."""
    type_ = type_of(arg)
    return isinstance(type_, Numeric) and type_.kind == "b"


rewrites_by_pattern(
    """
    True & m_ -> m_   if is_mask(m_)
    m_ & True -> m_   if is_mask(m_)
    False | m_ -> m_  if is_mask(m_)
    m_ | False -> m_  if is_mask(m_)
    m_ != 0 -> m_     if is_mask(m_)
    """,
    is_mask,
)


# ------------------------------------------------------------------------------- conversions
@rewrites(float, np.float64)
def float_of_literal(r: Rewriter, op: Call) -> Arg | None:
    """Fold ``float(0)`` to 0.0, and ``float(x)`` to ``x`` if it is a Python float."""
    if len(op.args) != 1:
        return None
    value = number(op.args[0])
    if value is not None and op.target is float:
        return Const(float(value))
    type_ = type_of(op.args[0])
    if not isinstance(type_, Numeric) or type_.kind != "f" or not isinstance(op.args[0], Value):
        return None
    wanted = "python" if op.target is float else "numpy"
    return op.args[0] if type_.form == wanted and type_.dtype == np.float64 else None


@rewrites(np.astype)
def astype_of_same_type(r: Rewriter, op: Call) -> Arg | None:
    """Rewrite ``a.astype(float)`` to ``a`` if it is an array of floats."""
    a, dtype = op.args[0], op.args[1]
    type_ = type_of(a)
    if not isinstance(dtype, Const) or not isinstance(type_, Numeric) or type_.dtype is None:
        return None
    try:
        alike = np.dtype(dtype.value) == type_.dtype
    except TypeError:
        return None
    return a if alike and isinstance(a, Value) else None
