"""Rewrites of what concerns shapes, masks and conversions, in the reverse half."""

from __future__ import annotations

import operator

import numpy as np

from srcad import runtime
from srcad.ir.core import Arg, Call, Const, Value
from srcad.passes.algebra import is_real, number
from srcad.passes.rewriting import Rewriter, rewrites, type_of
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, resolved

_ELEMENTWISE = (operator.mul, operator.truediv, operator.add, operator.sub)


def known_shape(arg: Arg) -> tuple[Extent, ...] | None:
    """The shape of an argument, with decided symbols replaced."""
    type_ = type_of(arg)
    if not isinstance(type_, Numeric) or type_.shape is None:
        return None
    return tuple(resolved(e) for e in type_.shape)


def same_shape(a: Arg, b: Arg) -> bool:
    """Whether two arguments certainly have the same shape."""
    left, right = known_shape(a), known_shape(b)
    return left is not None and left == right


def same_kind(a: Arg, b: Arg) -> bool:
    """Whether two arguments certainly have the same form and dtype."""
    left, right = type_of(a), type_of(b)
    if not isinstance(left, Numeric) or not isinstance(right, Numeric):
        return False
    known = left.form not in ("any", "number") and left.dtype is not None
    return known and left.form == right.form and left.dtype == right.dtype


# ------------------------------------------------------------------------------- broadcasting
@rewrites(*_ELEMENTWISE)
def arithmetic_with_broadcast(r: Rewriter, op: Call) -> Arg | None:
    """``broadcast_to(s, shape) * a`` is ``s * a`` where ``a`` has that shape."""
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


@rewrites(operator.neg)
def negative_of_broadcast(r: Rewriter, op: Call) -> Arg | None:
    """``-broadcast_to(s, shape)``: the sign first."""
    wide = r.call_of(op.args[0], np.broadcast_to)
    if wide is None:
        return None
    return r.make(np.broadcast_to, r.make(operator.neg, wide.args[0]), wide.args[1])


@rewrites(np.where)
def choice_of_broadcast(r: Rewriter, op: Call) -> Arg | None:
    """``where(m, broadcast_to(s, shape), 0)``: ``m`` has the shape."""
    if len(op.args) != 3:
        return None
    wide = r.call_of(op.args[1], np.broadcast_to)
    if wide is None or not same_shape(wide.result, op.args[0]) or number(op.args[2]) is None:
        return None
    return r.make(np.where, op.args[0], wide.args[0], op.args[2])


@rewrites(np.broadcast_to)
def broadcast_to_own_shape(r: Rewriter, op: Call) -> Arg | None:
    """``broadcast_to(a, a.shape)``; a number stays the number that it is."""
    type_ = type_of(op.args[0])
    is_number = isinstance(type_, Numeric) and type_.form in ("python", "numpy")
    return op.args[0] if is_number and known_shape(op.result) == () else _same(op)


@rewrites(np.reshape)
def reshape_to_own_shape(r: Rewriter, op: Call) -> Arg | None:
    """``reshape(a, a.shape)``."""
    return _same(op)


def _same(op: Call) -> Arg | None:
    a = op.args[0]
    return a if same_shape(a, op.result) and same_kind(a, op.result) else None


@rewrites(runtime.unbroadcast)
def unbroadcast_of_same_shape(r: Rewriter, op: Call) -> Arg | None:
    """``unbroadcast(g, x)`` where nothing was broadcast."""
    g, x = op.args
    return g if isinstance(g, Value) and same_shape(g, x) else None


@rewrites(runtime.like)
def like_of_same_kind(r: Rewriter, op: Call) -> Arg | None:
    """``like(g, x)`` where ``g`` is of the kind of ``x`` already."""
    g, x = op.args
    left, right = type_of(g), type_of(x)
    if not isinstance(left, Numeric) or not isinstance(right, Numeric) or right.kind not in "fc":
        return None
    if left.dtype is None or left.dtype != right.dtype or left.form != right.form:
        return None
    alike = left.form in ("python", "numpy") or (left.form == "array" and same_shape(g, x))
    return g if alike and isinstance(g, Value) else None


@rewrites(np.transpose)
def transpose_of_transpose(r: Rewriter, op: Call) -> Arg | None:
    """``a.T.T``."""
    inner = r.call_of(op.args[0], np.transpose)
    plain = len(op.args) == 1 and not op.kwargs
    if inner is None or not plain or len(inner.args) != 1 or inner.kwargs:
        return None
    return inner.args[0]


@rewrites(np.transpose)
def transpose_of_product(r: Rewriter, op: Call) -> Arg | None:
    """``(a.T @ b).T`` is ``b.T @ a``."""
    product = r.call_of(op.args[0], operator.matmul)
    if product is None or len(op.args) != 1 or op.kwargs or not r.used_once(op.args[0]):
        return None
    left = r.call_of(product.args[0], np.transpose)
    ranks = [len(known_shape(arg) or ()) for arg in product.args]
    if left is None or len(left.args) != 1 or left.kwargs or ranks != [2, 2]:
        return None
    return r.make(operator.matmul, r.make(np.transpose, product.args[1]), left.args[0])


@rewrites(np.sum)
def sum_of_a_number(r: Rewriter, op: Call) -> Arg | None:
    """``np.sum(s)`` of what has no axes."""
    a = op.args[0]
    if len(op.args) == 1 and not op.kwargs and known_shape(a) == () and is_real(a):
        return a
    return None


@rewrites(np.sum)
def sum_of_negatives(r: Rewriter, op: Call) -> Arg | None:
    """``np.sum(-a)``, ``np.sum(2 * a)``: the sign and the literal after the sum."""
    a = op.args[0]
    if len(op.args) != 1 or not r.used_once(a) or any(name == "dtype" for name, _ in op.kwargs):
        return None
    negative, scaled = r.call_of(a, operator.neg), r.call_of(a, operator.mul)
    if negative is not None and is_real(a):
        return r.make(operator.neg, r.make(np.sum, *negative.args, **dict(op.kwargs)))
    if scaled is None or number(scaled.args[0]) is None or not is_real(scaled.args[1]):
        return None
    total = r.make(np.sum, scaled.args[1], **dict(op.kwargs))
    return r.make(operator.mul, scaled.args[0], total)


@rewrites(np.sum)
def sum_over_diagonal(r: Rewriter, op: Call) -> Arg | None:
    """``np.sum(a * np.eye(n))``."""
    product = r.call_of(op.args[0], operator.mul)
    if product is None or len(op.args) != 1 or op.kwargs or not r.used_once(op.args[0]):
        return None
    for a, other in (product.args, product.args[::-1]):
        eye = r.call_of(other, np.eye, np.identity)
        if eye is None or len(eye.args) != 1 or not same_kind(a, other):
            continue
        if known_shape(other) is not None and same_shape(a, other):
            return r.make(np.trace, a)
    return None


@rewrites(np.size)
def size_known_now(r: Rewriter, op: Call) -> Arg | None:
    """``np.size(a)`` of fixed lengths."""
    shape = known_shape(op.args[0])
    if shape is None or len(op.args) != 1 or any(e.terms for e in shape):
        return None
    return Const(int(np.prod([e.constant for e in shape], dtype=int)))


# ------------------------------------------------------------------------------- masks
@rewrites(operator.and_, operator.or_)
def mask_with_constant(r: Rewriter, op: Call) -> Arg | None:
    """``mask & True``, ``mask | False``."""
    neutral = op.target is operator.and_
    for literal, other in (op.args, op.args[::-1]):
        type_ = type_of(other)
        mask = isinstance(type_, Numeric) and type_.kind == "b"
        if mask and isinstance(literal, Const) and literal.value is neutral:
            return other
    return None


@rewrites(operator.ne)
def mask_compared_with_zero(r: Rewriter, op: Call) -> Arg | None:
    """``mask != 0``."""
    mask, zero = op.args
    type_ = type_of(mask)
    is_mask = isinstance(type_, Numeric) and type_.kind == "b"
    return mask if is_mask and number(zero) == 0 else None


# ------------------------------------------------------------------------------- conversions
@rewrites(float, np.float64)
def float_of_literal(r: Rewriter, op: Call) -> Arg | None:
    """``float(0.0)``; ``float(x)`` of a Python float."""
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
    """``a.astype(float)`` of an array of floats."""
    a, dtype = op.args[0], op.args[1]
    type_ = type_of(a)
    if not isinstance(dtype, Const) or not isinstance(type_, Numeric) or type_.dtype is None:
        return None
    try:
        alike = np.dtype(dtype.value) == type_.dtype
    except TypeError:
        return None
    return a if alike and isinstance(a, Value) else None
