"""``sparsity``: where a Jacobian may have entries, as a sparse matrix of flags."""

from __future__ import annotations

from typing import Any

from srcad.arguments.request import name_of
from srcad.ir.core import Function
from srcad.modes.mode import Mode, Part, Problem, Results, Run
from srcad.modes.sparse import Asked, Blocks
from srcad.modes.sparse_jacobian import with_tangents


def in_flags(made: Function, problem: Problem) -> Results:
    """Write the function of one direction; what runs is its meaning on sets of inputs."""
    asked = Asked(made, problem.wrt, 1, name_of(problem.function))
    blocks = Blocks(problem)

    def running(loaded: Run) -> Run:
        def run(*arguments: Any) -> Any:
            return blocks.of(asked.pattern(arguments).flags, arguments)

        return run

    part = Part(f"sparsity_{problem.written_name}", made, own=())
    return Results((part,), run=running, repeats=True)


MODE = Mode("sparsity", "Pattern of the Jacobian", with_tangents, in_flags)
