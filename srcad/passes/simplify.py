"""Simplify the reverse half: the rewrites of `algebra` and `shapes`, and merging of equal calls."""

from __future__ import annotations

from srcad.ir.core import Function
from srcad.passes import algebra, shapes
from srcad.passes.dce import dce
from srcad.passes.rewriting import Rewriter
from srcad.passes.shape_reads import shape_reads

ROOMS = (algebra, shapes)  # importing them registers their rewrites
_MOST = 4


def simplify(function: Function) -> Function:
    """Rewrite until nothing changes.

    The primal half keeps its ops: its value is bit for bit what the plain call returns.
    """
    for _ in range(_MOST):
        rewriter = Rewriter()
        function = dce(shape_reads(rewriter.function(function)))
        if not rewriter.changed:
            break
    return function
