"""``jvp``: the value, and the tangent that tangents of the arguments give it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from srcad.arguments.request import Request, name_of
from srcad.arguments.wrt import WrtEntry
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Function
from srcad.modes.directions import by_parameter
from srcad.modes.mode import Mode, Part, Problem, Results, Run
from srcad.modes.results import with_results, with_separate_parts
from srcad.startup.records import replace
from srcad.transforms.jvp import jvp
from srcad.transforms.silent import is_repeatable, silenced


def with_tangents(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and its tangent; its last parameters are tangents."""
    if not request.has_aux:
        return jvp(function, wrt, lower_inline)
    made = jvp(with_separate_parts(function), wrt, lower_inline, values=(0, 1))
    y, aux, y_dot = made.block.results
    return with_results(made, (y, y_dot, aux))


def in_one_sweep(made: Function, problem: Problem) -> Results:
    """One function of the arguments, the captured values and the tangents."""
    part = Part(f"jvp_{problem.written_name}", made, own=(0, 1))
    return Results(
        (part,),
        run=partial(_with_tangents_last, name=name_of(problem.function), places=problem.places),
        silenced=lambda: (replace(part, function=silenced(made)),),
        repeats=is_repeatable(made),
    )


def _with_tangents_last(loaded: Run, name: str, places: Sequence[WrtEntry]) -> Callable[..., Any]:
    """Return a function that is called with the arguments first, and then with their tangents."""

    def with_arguments(*arguments: Any) -> Callable[[Sequence[Any]], Any]:
        def run(tangents: Sequence[Any]) -> Any:
            dots = by_parameter(places, tangents, arguments, name)
            return loaded(*arguments, *dots)

        return run

    return with_arguments


MODE = Mode("jvp", "Tangent", with_tangents, in_one_sweep, gives_value=True)
