"""The functions of a sparse derivative: tangents in several directions, for one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad.arguments.request import name_of
from srcad.errors import UnsupportedTypeError
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Atom, Function
from srcad.ir.inference.builder import atom_type
from srcad.modes.mode import Part, Problem, Results, Run
from srcad.modes.sparse import Asked, Sparse
from srcad.passes.dce import dce
from srcad.passes.simplify import simplify
from srcad.startup.records import replace
from srcad.transforms.batched import batched
from srcad.transforms.silent import is_repeatable, silenced
from srcad.types.numeric import Numeric


def checked(function: Function, wrt: Sequence[int], results: Sequence[Atom]) -> None:
    """Check that the rows and columns are numbers of arrays, as a sparse matrix needs them.

    Raises
    ------
    UnsupportedTypeError
        An argument or the result is something else, or the function cannot be run twice.
    """
    for value in (*(function.params[k] for k in wrt), *results):
        type_ = atom_type(value)
        if not isinstance(type_, Numeric) or type_.kind not in "fiu":
            raise UnsupportedTypeError(
                "a sparse matrix of derivatives is taken of an array by arrays",
                where=function.where,
                why="its rows and columns are the numbers of one array.",
                help="pass, and return, one array:  np.concatenate(parts)",
            )
    if not is_repeatable(function):
        raise UnsupportedTypeError(
            "the pattern of a function that has effects is not looked for",
            where=function.where,
            why="the function would run once more, and its effects would happen twice.",
            help="leave out sparse=True, or the effects",
        )


def in_one_matrix(made: Function, problem: Problem, *, outputs: int, symmetric: bool) -> Results:
    """One function of the arguments, the captured values and many directions."""
    wrt, count = problem.wrt, len(made.params) - len(problem.wrt)
    directions = range(count, len(made.params))
    wide = batched(made, directions, lower_inline, results=range(outputs))
    part = Part(f"{problem.request.mode}_{problem.written_name}", simplify(dce(wide)), own=())
    asked = Asked(made, wrt, outputs, name_of(problem.function))
    return Results(
        (part,),
        run=partial(_running, asked=asked, blocks=Blocks(problem), symmetric=symmetric),
        silenced=lambda: (replace(part, function=silenced(part.function)),),
        repeats=True,
    )


class Blocks:
    """In which order the blocks of a matrix are answered, and whether there is only one."""

    def __init__(self, problem: Problem) -> None:
        self.wrt = problem.wrt
        self.order = problem.order
        self.single = problem.request.single

    def of(self, matrix: Any, arguments: Sequence[Any], *, symmetric: bool = False) -> Any:
        """Return the answer: the matrix, or its blocks."""
        if self.single:
            return matrix
        stops = np.cumsum([0, *(np.size(arguments[k]) for k in self.wrt)])
        spans = [slice(stops[k], stops[k + 1]) for k in self.order]
        if symmetric:
            return tuple(tuple(matrix[a, b] for b in spans) for a in spans)
        return tuple(matrix[:, span] for span in spans)


def _running(loaded: Run, asked: Asked, blocks: Blocks, symmetric: bool) -> Run:
    sparse = Sparse(asked, loaded, symmetric)

    def run(*arguments: Any) -> Any:
        return blocks.of(sparse(*arguments), arguments, symmetric=symmetric)

    return run
