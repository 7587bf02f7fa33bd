"""``hessian`` with ``sparse=True``: the Hessian as a sparse matrix, forward over reverse."""

from __future__ import annotations

from collections.abc import Sequence

from srcad.arguments.request import Request
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Function
from srcad.modes.mode import Mode, Problem, Results
from srcad.modes.reverse import derived
from srcad.modes.sparse import checked, in_one_matrix
from srcad.transforms.jvp import jvp
from srcad.transforms.vjp import as_primal


def with_tangents(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the tangents of its gradients; its last parameters are tangents."""
    checked(function, wrt, ())
    made = as_primal(derived(function, request, wrt))
    gradients = range(1, len(made.block.results))
    return jvp(made, wrt, lower_inline, values=(), tangents=gradients)


def in_one_function(made: Function, problem: Problem) -> Results:
    """Return one matrix, whose rows belong to the same arguments as its columns."""
    return in_one_matrix(made, problem, outputs=len(problem.wrt), symmetric=True)


MODE = Mode("sparse_hessian", "Sparse Hessian", with_tangents, in_one_function)
