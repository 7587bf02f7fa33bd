"""``tangents`` and ``products``: derivatives in several directions at once, along a leading axis.

Where a Jacobian is sparse, one direction can stand for many columns.  ``tangents`` are those of the
result, ``products`` are those of the Hessian with vectors.

>>> import numpy as np
>>> from srcad.arguments.request import Request
>>> from srcad.calling.products import Product
>>> along = Product(lambda x: x**2, Request("tangents"))
>>> along(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [1.0, 1.0]]))
array([[2., 0.],
       [2., 4.]])
>>> along = Product(lambda x: np.sum(x**3), Request("products"))
>>> along(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [1.0, 1.0]]))
array([[ 6.,  0.],
       [ 6., 12.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad.arguments.request import Request, name_of
from srcad.errors import SeedError, WrtError
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Function
from srcad.ir.inference.builder import Builder
from srcad.ir.substitute import substituted_block
from srcad.modes.hvp import with_products
from srcad.modes.mode import Mode, Problem, Results, Run
from srcad.modes.reverse import in_one_function
from srcad.modes.seeds import Mold, mold_of
from srcad.passes.dce import dce
from srcad.passes.simplify import simplify
from srcad.startup.records import replace
from srcad.transforms.batched import batched
from srcad.transforms.jvp import jvp


def with_tangents(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and its tangents; its last parameter are the directions."""
    return in_many(jvp(function, wrt, lower_inline), len(function.params))


def in_many(made: Function, position: int) -> Function:
    """Return a function of many directions, of one that takes one at a position, its last."""
    wide = batched(made, (position,), lower_inline, results=range(1, len(made.block.results)))
    dot = wide.params[position]
    builder = Builder(where=made.where, half="reverse")
    count = builder.call(len, dot, hint="k")
    block = substituted_block(wide.block, {wide.params[-1]: count})
    builder.ops.extend(block.ops)
    params = wide.params[:-1]
    return simplify(dce(replace(wide, params=params, block=builder.finish(*block.results))))


def in_one_call(made: Function, problem: Problem) -> Results:
    """One function of the arguments, the captured values and the directions."""
    name = name_of(problem.function)
    if len(problem.places) != 1 or problem.places[0].item is not None:
        raise WrtError(
            f"several directions of {name!r} at once are for one argument",
            help="wrt is one position, or one name",
        )
    run = partial(_with_directions_last, name=name, place=problem.places[0].parameter)
    return replace(in_one_function(made, problem, gives_value=False, laid_out=False), run=run)


def _with_directions_last(loaded: Run, name: str, place: int) -> Run:
    """Return a function that is called with the arguments first, and then with the directions."""

    def with_arguments(*arguments: Any) -> Callable[[Any], Any]:
        def run(v: Any) -> Any:
            return loaded(*arguments, _directions(v, arguments[place], name))

        return run

    return with_arguments


def _directions(v: Any, argument: Any, name: str) -> Any:
    """Return the directions as an array, one for each row.

    Raises
    ------
    SeedError
        There is none, or the rows do not have the shape of the argument.
    """
    mold, shape = mold_of(argument), np.shape(v)
    if not isinstance(mold, Mold) or len(shape) == 0 or shape[1:] != mold.shape or not shape[0]:
        raise SeedError(
            f"directions of {name!r} have shape {shape}, and the argument has {np.shape(argument)}",
            why="there is one direction in each row, and at least one.",
            help="stack them:  np.stack(directions)",
        )
    return np.array(v, mold.dtype)


TANGENTS = Mode("tangents", "Tangents in many directions", with_tangents, in_one_call)


def with_rows(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and of the products; its last parameter are the vectors."""
    return in_many(with_products(function, request, wrt), len(function.params))


PRODUCTS = Mode("products", "Products of the Hessian with many vectors", with_rows, in_one_call)
