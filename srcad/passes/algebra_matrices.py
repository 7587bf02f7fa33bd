"""Rewrites of products of matrices and of systems, in the reverse half."""

from __future__ import annotations

import operator

import numpy as np

from srcad.ir.core import Arg, Call, Const
from srcad.passes.algebra import is_real
from srcad.passes.rewrites import rewrites
from srcad.passes.rewriting import Rewriter
from srcad.passes.shapes import known_shape, same_shape
from srcad.rules import linalg


def _rank(arg: Arg) -> int | None:
    shape = known_shape(arg)
    return None if shape is None else len(shape)


def _is_plain(op: Call, count: int) -> bool:
    return len(op.args) == count and not op.kwargs


def _turned(r: Rewriter, arg: Arg) -> Arg | None:
    """Return ``a`` of ``a.T``."""
    turned = r.call_of(arg, np.transpose)
    return turned.args[0] if turned is not None and _is_plain(turned, 1) else None


@rewrites(np.linalg.solve)
def solution_of_product(r: Rewriter, op: Call) -> Arg | None:
    """``solve(a, a @ h @ z)`` is ``h @ z``: so the tangents of a factor go into a system."""
    if not _is_plain(op, 2) or _rank(op.args[0]) != 2:
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
    """``solve(l, b)``, ``solve(l.T, b)`` where the inverse of a triangle ``l`` is at hand."""
    if not _is_plain(op, 2) or _rank(op.args[0]) != 2 or _rank(op.args[1]) not in (1, 2):
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
    """``lower_inverse(l) @ (l @ h)`` is ``h``."""
    product = r.call_of(op.args[1], operator.matmul)
    if product is None or _rank(op.args[0]) != 2 or _rank(product.args[1]) != 2:
        return None
    inverse = r.call_of(op.args[0], linalg.lower_inverse)
    return product.args[1] if inverse and inverse.args[0] is product.args[0] else None


@rewrites(np.diag)
def diagonal_of_product(r: Rewriter, op: Call) -> Arg | None:
    """``np.diag(a @ b)`` is ``np.sum(a * b.T, axis=1)``."""
    product = r.call_of(op.args[0], operator.matmul)
    if product is None or not _is_plain(op, 1) or not r.used_once(op.args[0]):
        return None
    a, b = product.args
    if _rank(a) != 2 or _rank(b) != 2 or not is_real(a) or not is_real(b):
        return None
    back = r.make(np.transpose, b)
    if not same_shape(a, back):
        return None
    return r.make(np.sum, r.make(operator.mul, a, back), axis=Const(1))
