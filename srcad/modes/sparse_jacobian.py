"""``jacobian`` with ``sparse=True``: the Jacobian as a sparse matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from srcad.arguments.request import Request
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Function
from srcad.modes.mode import Mode
from srcad.modes.sparse import checked, in_one_matrix
from srcad.transforms.jvp import jvp


def with_tangents(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the tangent of its result; its last parameters are tangents."""
    checked(function, wrt, function.block.results)
    return jvp(function, wrt, lower_inline, values=(), tangents=(0,))


MODE = Mode("sparse_jacobian", "Sparse Jacobian", with_tangents,
            partial(in_one_matrix, outputs=1, symmetric=False))  # fmt: skip
