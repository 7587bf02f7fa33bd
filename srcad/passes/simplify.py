"""Simplify the reverse half: the rewrites of some files, and merging of equal calls."""

from __future__ import annotations

from srcad.ir.core import Function
from srcad.passes import (
    algebra,
    algebra_complex,
    algebra_matrices,
    algebra_products,
    parts,
    shapes,
    slices,
)
from srcad.passes.dce import dce
from srcad.passes.rewriting import Rewriter
from srcad.passes.shape_reads import shape_reads

# Importing them registers their rewrites.
ROOMS = (algebra, algebra_products, algebra_matrices, shapes, parts, slices, algebra_complex)
_MOST = 4


def simplify(function: Function) -> Function:
    """Rewrite until nothing changes.

    The primal half keeps its ops: its value is bit for bit what the original call returns.
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
