"""From the gradients of all parameters to those that were asked for, checked and in order."""

from __future__ import annotations

from srcad.ir.core import Atom, Block, Function
from srcad.ir.inference.builder import Builder
from srcad.modes.inert import refuse_inert
from srcad.modes.mode import Part, Problem, Results, Run
from srcad.modes.results import aux_of
from srcad.modes.reverse import (
    in_c_order,
    with_gradients_of_parts,
    with_layouts,
    with_zeros_for_stopped,
)
from srcad.modes.steps import warn_of_steps
from srcad.startup.records import replace
from srcad.transforms.silent import is_repeatable, silenced


def asked_gradients(made: Function, problem: Problem, *, laid_out: bool = True) -> Function:
    """Return the derived function with one gradient for each thing that is differentiated by.

    Gradients that are `laid_out` are in the memory order of their argument.

    Raises
    ------
    WrtError, UnsupportedTypeError
        No derivative flows through an argument that was named.
    """
    wrt, lowered, request = problem.wrt, problem.lowered, problem.request
    made = with_zeros_for_stopped(made, lowered, wrt)
    if not request.lenient:
        refuse_inert(made, problem.parameters, problem.places, wrt, problem.types)
        if problem.arguments:
            warn_of_steps(problem.function, lowered, made, problem.parameters, wrt, request.has_aux)
    places = problem.distinct
    made = with_gradients_of_parts(made, places, wrt)
    if not laid_out:
        return made
    copied = {*problem.laid_out_otherwise, *problem.inside_others}
    made = with_layouts(made, places, copied)
    return in_c_order(made, problem, copied) if problem.arguments else made


def in_one_function(
    made: Function, problem: Problem, *, gives_value: bool, laid_out: bool = True
) -> Results:
    """One function for both halves, which returns the gradients, perhaps after the value.

    The value is wanted for itself, or to be looked at.
    """
    gives_value = gives_value or problem.request.check_finite
    asked = asked_gradients(made, problem, laid_out=laid_out)
    answer = _answer(asked, problem, gives_value=gives_value)
    name = f"{problem.request.mode}_{problem.written_name}"
    part = Part(name, answer, own=(int(gives_value),))
    return Results(
        (part,),
        run=_as_it_is,
        silenced=lambda: (replace(part, function=silenced(part.function)),),
        repeats=is_repeatable(answer),
    )


def _as_it_is(loaded: Run) -> Run:
    return loaded


def _answer(function: Function, problem: Problem, *, gives_value: bool) -> Function:
    """Return the derived function with the requested results.

    These are the gradients, or the value and them; with aux the pair ``(gradients, aux)`` or
    ``((value, aux), gradients)``.  The gradients are one value, or a tuple.
    """
    aux: Atom | None = None
    if problem.request.has_aux and not gives_value:
        function, aux = aux_of(function)
    y, *found = function.block.results
    builder = Builder(ops=list(function.block.ops), where=function.where, half="reverse")
    gradients = [found[k] for k in problem.order]
    single = problem.request.single
    answer = gradients[0] if single else builder.build_tuple(*gradients)
    results: tuple[Atom, ...] = (answer,)
    if gives_value:
        results = (y, answer)
    elif aux is not None:
        results = (answer, aux)
    block = Block((), tuple(builder.ops), results)
    return Function(function.name, function.params, block, function.where)
