"""``pullback``: the value, and the map from its cotangent to those of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from srcad.arguments.request import Request, name_of
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Function, Value
from srcad.modes.mode import Mode, Part, Problem, Results
from srcad.modes.results import first_part
from srcad.modes.reverse import requested_gradients
from srcad.modes.seeds import pair
from srcad.transforms.silent import is_repeatable, without_raising_ops
from srcad.transforms.split import split
from srcad.transforms.vjp import vjp


def with_seed(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and its gradients; its last parameter is the seed."""
    if request.has_aux:
        first_part(function)  # there are two
    return vjp(function, wrt, lower_inline, has_aux=request.has_aux)


def as_two_functions(made: Function, problem: Problem) -> Results:
    """Return the function of the value and the residuals, and the adjoint function."""
    made = requested_gradients(made, problem)
    halves, count = split(made), len(made.block.results) - 1
    name = problem.written_name
    return Results(
        (
            Part(f"{name}_primal", halves.primal, own=(0,)),
            Part(
                f"{name}_adjoint",
                without_raising_ops(halves.adjoint),
                own=range(count),
                passed=len(halves.saved),
            ),
        ),
        run=partial(
            pair,
            has_saved=len(halves.primal.block.results) > 1,
            count=count,
            order=problem.order,
            name=name_of(problem.function),
            has_aux=problem.request.has_aux,
        ),
        repeats=problem.request.check_finite and is_repeatable(made),
        saved=tuple(_hint(value, k) for k, value in enumerate(halves.saved)),
    )


def _hint(value: Value, position: int) -> str:
    return value.hint or f"t{position + 1}"


MODE = Mode("pullback", "Pullback", with_seed, as_two_functions, gives_value=True)
