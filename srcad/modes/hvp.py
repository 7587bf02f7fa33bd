"""``hvp``: the product of a Hessian with a vector, forward over reverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from srcad.arguments.request import Request, name_of
from srcad.arguments.wrt import WrtEntry
from srcad.errors import SeedError, WrtError
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Function
from srcad.modes.directions import by_parameter
from srcad.modes.mode import Mode, Problem, Results, Run
from srcad.modes.reverse import derived, in_one_function
from srcad.startup.records import replace
from srcad.transforms.jvp import jvp
from srcad.transforms.vjp import as_primal


def with_products(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result, and of the tangents of its gradients by each of `wrt`.

    Its last parameters are tangents, one for each of `wrt`.
    """
    made = as_primal(derived(function, request, wrt))
    gradients = range(1, len(made.block.results))
    return jvp(made, wrt, lower_inline, values=(0,), tangents=gradients)


def in_one_sweep(made: Function, problem: Problem) -> Results:
    """One function of the arguments, the captured values and the directions."""
    name = name_of(problem.function)
    if len(problem.distinct) < len(problem.places):
        raise WrtError(
            f"hvp of {name!r} is asked for by one argument twice",
            why="a direction is given for each argument that wrt names.",
            help="name each argument once",
        )
    run = partial(
        _with_direction_last, name=name, places=problem.places, single=problem.request.single
    )
    return replace(in_one_function(made, problem, gives_value=False), run=run)


def _with_direction_last(loaded: Run, name: str, places: Sequence[WrtEntry], single: bool) -> Run:
    """Return a function that is called with the arguments first, and then with a direction.

    It knows the loaded function, which takes arguments and directions and checks nothing.
    """

    def with_arguments(*arguments: Any) -> Callable[[Any], Any]:
        def run(v: Any) -> Any:
            directions = (v,) if single else directions_for(v, len(places), name)
            dots = by_parameter(places, directions, arguments, name)
            return loaded(*arguments, *dots)

        return run

    if all(place.item is None for place in places):
        with_arguments.__dict__["srcad_bare"] = loaded
    return with_arguments


def directions_for(v: Any, count: int, name: str) -> Sequence[Any]:
    """Return the directions for several arguments.

    Raises
    ------
    SeedError
        There is not one for each.
    """
    if not isinstance(v, tuple | list) or len(v) != count:
        given = f"{len(v)} directions" if isinstance(v, tuple | list) else f"a {type(v).__name__}"
        raise SeedError(
            f"hvp of {name!r} by {count} arguments takes {count} directions, not {given}",
            why="there is one direction for each argument that wrt names.",
            help="pass them in a tuple:  v=(v0, v1)",
        )
    return v


MODE = Mode("hvp", "Product of the Hessian with a vector", with_products, in_one_sweep)
