"""Algebraic simplification and common-subexpression elimination in the reverse half."""

from __future__ import annotations

from srcad.ir.core import Function
from srcad.passes import algebra, algebra_products, parts, shapes, slices
from srcad.passes.dce import dce
from srcad.passes.rewriting import Rewriter
from srcad.passes.shape_reads import shape_reads

# Modules that register their rewrites when they are imported.
REWRITES = (algebra, algebra_products, shapes, parts, slices)
_MOST = 4


def simplify(function: Function) -> Function:
    """Rewrite until nothing changes.

    The primal half keeps its ops: its value is bit for bit what the original call returns.

    >>> function = parse('''
    ... f(x: float, y: float):
    ...     z = sin(x)
    ...     # reverse half
    ...     t = sin(x)
    ...     u = mul(1.0, t)
    ...     v = neg(u)
    ...     w = add(y, v)
    ...     return z, w
    ... ''')
    >>> print(text(simplify(function)))
    f(x, y):
        z = sin(x)
        w = sub(y, z)
        return z, w
    """
    for count in range(_MOST):
        rewriter = Rewriter()
        rewritten = rewriter.function(function)
        moved = shape_reads(rewritten)
        if count and moved is function:
            break
        function = dce(moved)
        if not rewriter.changed:
            break
        settled = moved is rewritten and rewriter.is_settled(function.block)
        if settled and shape_reads(function) is function:
            break
    return function
