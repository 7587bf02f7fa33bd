"""From the gradients of all parameters to those that were asked for, checked and in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from srcad.arguments.request import Parameter
from srcad.arguments.signature import LARGEST_DICT
from srcad.arguments.wrt import WrtEntry, spelled_steps, type_at
from srcad.errors import SrcadError, UnsupportedTypeError, WrtError
from srcad.ir.core import Atom, Block, Function
from srcad.ir.inference.builder import Builder
from srcad.modes.mode import Part, Problem, Results, Run
from srcad.modes.results import aux_of
from srcad.modes.reverse import (
    gradient_at,
    in_c_order,
    is_inert,
    with_gradients_of_parts,
    with_layouts,
    with_zeros_for_stopped,
)
from srcad.modes.steps import warn_of_steps
from srcad.startup.identifiers import label, shown
from srcad.startup.records import replace
from srcad.transforms.silent import is_repeatable, silenced
from srcad.types import objects
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, Fixed, Opaque, Type, numbers_in

# Refusing to differentiate by an argument through which nothing flows.


def refuse_inert(
    made: Function,
    parameters: Sequence[Parameter],
    places: Sequence[WrtEntry],
    wrt: Sequence[int],
    types: Mapping[str, Type],
) -> None:
    """Refuse an argument that `wrt` names and that carries no derivative."""
    gradients = dict(zip(wrt, made.block.results[1:], strict=True))
    for place in places:
        gradient = gradient_at(made, gradients[place.parameter], place.keys)
        name = parameters[place.parameter].name
        type_ = type_at(types[name], place.keys)
        inert_part = place.keys and not any(numbers_in(type_)) and type_ != OPAQUE
        if gradient is None or inert_part or is_inert(gradient, made.block):
            raise _refusal(made, _described(name, place), type_)


def _described(name: str, place: WrtEntry) -> str:
    """Return an argument, or a part of one, as the user sees it."""
    if isinstance(place.item, int):
        name = str(place.parameter + place.item)
        return spelled_steps(name, place.steps)
    return repr(spelled_steps(place.item or name, place.steps))


def _refusal(made: Function, argument: str, type_: Type) -> SrcadError:
    if isinstance(type_, Opaque) and type_.cls is dict:
        return UnsupportedTypeError(
            f"argument {argument} of {made.name!r} is a dict of more than {LARGEST_DICT} entries",
            where=made.where,
            why="each entry of a dict is a variable of its own.",
            help="join entries in arrays, or in dicts inside the dict",
        )
    if isinstance(type_, Opaque):
        kind = "a " + label(type_.cls) if type_.cls else "an object"
        cls = type_.cls or object
        if cls is np.ndarray:
            kind = "an array of objects, of text or of records"
        closed = objects.why_closed(cls)
        of_user = closed is not None and not objects.is_of_library(cls)
        return UnsupportedTypeError(
            f"argument {argument} of {made.name!r} is {kind}, which has no derivative",
            where=made.where,
            why=f"it is not taken apart into its attributes: {closed}" if of_user
            else "srcad differentiates by numbers, arrays of numbers and what holds these.",
            help="differentiate by its arrays:  def f(W): ...  with the object made of W inside"
            if of_user else "pass its numbers as an array of numbers:  np.asarray(x, float)",
        )  # fmt: skip
    if isinstance(type_, Fixed):
        why = f"it is {shown(type_.value)}, which is no number."
    elif isinstance(type_, Numeric) and type_.kind in "iu":
        why = "it is an integer that is used only as a count, an index or in comparisons."
    else:
        why = "the result is not computed from it by arithmetic."
    return WrtError(
        f"no derivative flows through argument {argument} of {made.name!r}",
        where=made.where,
        why=why,
        help="name another argument in wrt, or use srcad.gradient, which returns None for it",
    )


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
