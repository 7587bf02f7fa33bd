"""``hessian``: the Jacobian of the gradient, forwards over reverse."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from srcad.arguments.request import Request
from srcad.ir.core import Function
from srcad.ir.inference.builder import Builder
from srcad.modes.jacfwd import columns
from srcad.modes.mode import Mode
from srcad.modes.reverse import derived, in_one_function
from srcad.passes.dce import dce
from srcad.passes.simplify import simplify
from srcad.startup.records import replace
from srcad.transforms.vjp import as_primal


def with_second(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and of the rows of its Hessian, one for each of `wrt`."""
    made = as_primal(derived(function, request, wrt))
    second, rows = columns(made, wrt, range(1, len(made.block.results)), request)
    builder = Builder(ops=list(second.block.ops), where=made.where, half="reverse")
    alone = len(rows) == 1 and (request.single or len(request.wrt or ()) > 1)  # parts of one
    found = [row[0] if alone else builder.build_tuple(*row) for row in rows]
    return simplify(dce(replace(second, block=builder.finish(second.block.results[0], *found))))


MODE = Mode(
    "hessian",
    "Hessian",
    with_second,
    partial(in_one_function, gives_value=False, laid_out=False),
    nests=True,
)
