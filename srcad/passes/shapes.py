"""Rewrites of what concerns shapes, structures and stores, in the reverse half."""

from __future__ import annotations

import operator

import numpy as np

from srcad import runtime
from srcad.analysis.activity import position
from srcad.ir import primitives
from srcad.ir.core import Arg, Call, Const, Display, Value
from srcad.ir.disjoint import parts_of
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


# ------------------------------------------------------------------------------- structures
@rewrites(primitives.item, primitives.field, operator.getitem)
def part_of_built(r: Rewriter, op: Call) -> Arg | None:
    """``(a, b)[0]``, ``{"W": w}["W"]``, a field of a record just built."""
    container, key = op.args[0], op.args[1]
    if not isinstance(key, Const):
        return None
    if isinstance(container, Display) and container.kind in ("tuple", "list"):
        part = _at(container.items, key.value)
        return part if isinstance(part, Value | Const) else None
    built = r.call_of(container, primitives.build_tuple, primitives.build_dict,
                      primitives.build_record, primitives.build_list)  # fmt: skip
    if built is None:
        return None
    skipped = {primitives.build_dict: 1, primitives.build_record: 2}.get(built.target, 0)
    if built.target is primitives.build_list:
        part = _at(built.args, key.value)
    else:
        part = _at(built.args[skipped:], position(built.result.type, key.value))
    return part if isinstance(part, Value | Const) else None


def _at(items: tuple[Arg, ...], index: object) -> Arg | None:
    inside = isinstance(index, int) and -len(items) <= index < len(items)
    return items[index] if inside and isinstance(index, int) else None


@rewrites(primitives.item)
def length_known_now(r: Rewriter, op: Call) -> Arg | None:
    """``a.shape[k]`` of a fixed length, or of one that is at hand."""
    made = r.call_of(op.args[0], primitives.shape, np.shape)
    if made is None or not isinstance(op.args[1], Const):
        return None
    array = made.args[0]
    shape = known_shape(array)
    if shape is None:
        return None
    length = shape[op.args[1].value]
    if not length.terms:
        return Const(length.constant)
    if length in r.integers:
        return r.integers[length]
    return None if array in r.params else _length_of_argument(r, length)


def _length_of_argument(r: Rewriter, length: Extent) -> Arg | None:
    """A length as that of an argument, which is at hand everywhere."""
    for param in r.params:
        shape = known_shape(param) or ()
        if length in shape:
            found = r.make(primitives.shape, param)
            return r.make(primitives.item, found, Const(shape.index(length)))
    return None


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


# ------------------------------------------------------------------------------- buffers
@rewrites(operator.add)
def sum_with_zeros(r: Rewriter, op: Call) -> Arg | None:
    """``zeros_like(x) + g`` where ``g`` has the shape."""
    for zeros, other in (op.args, op.args[::-1]):
        made = r.call_of(zeros, np.zeros_like, runtime.zeros_like, np.zeros)
        if made is not None and same_shape(zeros, other) and same_kind(zeros, other):
            return other
    return None


@rewrites(primitives.add_at)
def add_to_the_same_place(r: Rewriter, op: Call) -> Arg | None:
    """``x[i] += a`` and then ``x[i] += b``."""
    inner = r.call_of(op.args[0], primitives.add_at)
    if inner is None or inner.args[1] != op.args[1] or not r.used_once(op.args[0]):
        return None
    total = r.make(operator.add, inner.args[2], op.args[2])
    return r.make(primitives.add_at, inner.args[0], op.args[1], total)


@rewrites(primitives.add_at)
def add_to_a_place_just_set(r: Rewriter, op: Call) -> Arg | None:
    """``x[i] = a`` and then ``x[i] += b``."""
    inner = r.call_of(op.args[0], primitives.updated)
    if inner is None or inner.args[1] != op.args[1] or not r.used_once(op.args[0]):
        return None
    value = op.args[2]
    if number(inner.args[2]) != 0:
        value = r.make(operator.add, inner.args[2], value)
    return r.make(primitives.updated, inner.args[0], op.args[1], value)


@rewrites(primitives.add_at)
def add_where_it_was_added_before(r: Rewriter, op: Call) -> Arg | None:
    """``x[i] += a``, ``x[j] += b`` and then ``x[i] += c``: sums may change places."""
    between: list[Call] = []
    array = op.args[0]
    while len(between) < _FAR and r.used_once(array):
        inner = r.call_of(array, primitives.add_at, primitives.updated)
        if inner is None:
            return None
        if inner.args[1] == op.args[1]:
            break
        if inner.target is not primitives.add_at:
            return None
        between.append(inner)
        array = inner.args[0]
    else:
        return None
    if not between:
        return None
    result = r.make(primitives.add_at, array, *op.args[1:])
    for call in reversed(between):
        result = r.make(primitives.add_at, result, *call.args[1:])
    return result


_FAR = 8


@rewrites(primitives.add_at)
def add_to_all_of_zeros(r: Rewriter, op: Call) -> Arg | None:
    """``zeros[:] += g``."""
    zeros = r.call_of(op.args[0], np.zeros_like, runtime.zeros_like)
    if zeros is None or not _names_all(op.args[1]) or not isinstance(op.args[2], Value):
        return None
    return op.args[2] if same_shape(op.args[2], op.result) else None


@rewrites(primitives.updated)
def zeros_everywhere(r: Rewriter, op: Call) -> Arg | None:
    """``a[:] = 0.0``: zeros need no copy of what was there."""
    array, index, value = op.args
    if number(value) != 0 or not is_real(array) or not _names_all(index):
        return None
    return r.make(np.zeros_like, array) if known_shape(array) else None


@rewrites(operator.getitem)
def all_of_an_array(r: Rewriter, op: Call) -> Arg | None:
    """``a[:]``."""
    array, index = op.args
    return array if known_shape(array) and _names_all(index) else None


def _names_all(index: Arg) -> bool:
    """Whether an index is ``:``, or several of these."""
    return all(
        isinstance(part, Display) and part.kind == "slice" and part.items == (_NONE,) * 3
        for part in parts_of(index)
    )


_NONE = Const(None)
