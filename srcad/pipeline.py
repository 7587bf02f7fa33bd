"""The spine: every step from a request and its arguments to the compiled derivative, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from srcad.arguments.aliasing import groups, names_of, overlapping, refuse_shared, shared
from srcad.arguments.request import Parameter, Request, module_of_callable, name_of
from srcad.arguments.signature import describe, generic, is_in_c_order
from srcad.arguments.wrt import WrtEntry, differentiated
from srcad.backends.interface import Deopt, Written
from srcad.backends.registry import BACKENDS
from srcad.errors import SrcadError, UnsupportedTypeError
from srcad.frontend.callables import lower_callable
from srcad.frontend.domain.frames import NumbersNeeded
from srcad.frontend.lower import Lowered
from srcad.modes.hidden import refuse_hidden
from srcad.modes.mode import Part, Problem, Results, Run
from srcad.modes.registry import MODES
from srcad.passes.finish import checked, finished
from srcad.startup.deep_recursion import deep_recursion
from srcad.startup.records import dataclass, replace
from srcad.types.sizes import Assumption, ShapeEnvironment
from srcad.types.sources import is_besides_arguments, read, spelled
from srcad.types.structures import TupleOf, Type

Types = dict[str, Type]


@dataclass(frozen=True)
class Compiled:
    """The result of one compilation, and its assumptions.

    Attributes
    ----------
    run : callable
        It takes the arguments in order, then the captures.
    results, texts
        The parts of the derivative and the text of each.
    backend : str
        The backend that wrote them.
    lowered : Lowered
        The function that was read, with its guards and captures.
    types, assumptions
        The types of the arguments by name, and what is assumed of their lengths.
    ordered : tuple of str
        The differentiated parameters whose arrays all lie in C order.
    silent : callable, optional
        Makes the form of `run` whose reverse half is silent.
    loaded : sequence of callable
        What was loaded from each of the texts.
    """

    run: Run
    results: Results
    texts: Sequence[Written]
    backend: str
    lowered: Lowered
    types: Types
    assumptions: tuple[Assumption, ...]
    ordered: tuple[str, ...]
    silent: Callable[[], Run] | None = None
    loaded: Sequence[Run] = ()


def compiled(
    function: Any,
    parameters: Sequence[Parameter],
    request: Request,
    arguments: Mapping[str, Any],
    *,
    of_any_lengths: bool = False,
) -> Compiled:
    """Compile a derivative for arguments like these.

    What is refused is read once more with the items of its lists known one by one.

    Parameters
    ----------
    function, parameters
        The callable, and its own parameters.
    request : Request
        Which derivative.
    arguments : mapping from str to object
        One argument per parameter.
    of_any_lengths : bool
        Whether to serve arguments of all lengths and ranks, where that can be done.
    """
    opened = request.opened(function, parameters, arguments)
    make = partial(compiled_for_types, function, parameters, request)
    try:
        return _compiled(make, arguments, partial(_described, arguments, opened), of_any_lengths)
    except NumbersNeeded:
        described = partial(_described, arguments, opened, numbers=True)
    try:
        return _compiled(make, arguments, described, of_any_lengths)
    except NumbersNeeded:
        raise UnsupportedTypeError(
            f"cannot differentiate {name_of(function)!r} by numbers of several subclasses",
            why="a list holds numbers of more than one class.",
            help="make them plain numbers:  [float(v) for v in values]",
        ) from None


def _compiled(
    make: Callable[..., Compiled],
    arguments: Mapping[str, Any],
    described: Callable[[ShapeEnvironment], Types],
    of_any_lengths: bool,
) -> Compiled:
    """Compile for arguments that are described so."""
    environment = ShapeEnvironment()
    types = described(environment)
    try:
        if of_any_lengths:
            try:
                return make(_loose(types), environment, arguments)
            except SrcadError:  # a rule that needs to know the ranks: for these after all
                environment.assumptions.clear()
        return make(types, environment, arguments)
    except SrcadError as error:
        if not environment.has_lists:
            raise
        refused, environment = error, ShapeEnvironment(items_known=True)
        try:
            return make(described(environment), environment, arguments)
        except SrcadError:
            raise refused from None


def compiled_for_types(
    function: Any,
    parameters: Sequence[Parameter],
    request: Request,
    types: Types,
    environment: ShapeEnvironment,
    arguments: Mapping[str, Any],
) -> Compiled:
    """Lower a function for these types, differentiate it, and generate code."""
    with deep_recursion():
        return _of_types(function, parameters, request, types, environment, arguments)


def _of_types(
    function: Any,
    parameters: Sequence[Parameter],
    request: Request,
    types: Types,
    environment: ShapeEnvironment,
    arguments: Mapping[str, Any],
) -> Compiled:
    mode, places = MODES[request.mode], places_of(function, parameters, request, types)
    active = differentiated(places, parameters)
    ordered = tuple(name for name in active if is_in_c_order(arguments.get(name)))
    lowered = _lowered(function, parameters, types, environment, active, ordered, arguments)
    refuse_hidden(lowered, request, arguments, active)
    problem = Problem(function, lowered.function, request, parameters, types, places, arguments)
    if lowered.raises:
        results = _raising(problem)
    else:
        made = checked(mode.derive(checked(lowered.function), request, problem.wrt))
        results = mode.results(made, problem)
    load = partial(_loaded, name_of(function), module_of_callable(function), request.backend)
    loaded, texts, backend = load(results.parts)
    silent = None if results.silenced is None else partial(_silent, load, results)
    return Compiled(results.run(*loaded), results, texts, backend, lowered, types,
                    tuple(environment.assumptions), ordered, silent, loaded)  # fmt: skip


# --------------------------------------------------------------------------- the arguments
def places_of(
    function: Any, parameters: Sequence[Parameter], request: Request, types: Types
) -> list[WrtEntry]:
    """Return the places that a request differentiates by, for arguments of these types."""
    names = [p.name for p in parameters]
    return [p.of_type(types[names[p.parameter]], names[p.parameter])
            for p in request.places(function, parameters, _passed(types))]  # fmt: skip


def _described(
    arguments: Mapping[str, Any],
    opened: Mapping[str, bool | Collection[Any]],
    environment: ShapeEnvironment,
    *,
    numbers: bool = False,
) -> Types:
    """Return the types of the arguments."""
    return {
        name: describe(
            value, (("param", name),), environment, opened.get(name, False), numbers=numbers
        )
        for name, value in arguments.items()
    }


def _loose(types: Types) -> Types:
    """Types that serve all lengths and ranks."""
    return {name: generic(type_) for name, type_ in types.items()}


def _passed(types: Types) -> dict[str, Collection[Any]]:
    """Return the items that a call of these types passes, by position or by key."""
    split = {name: t for name, t in types.items() if isinstance(t, TupleOf)}
    return {name: t.items if t.keys is None else t.keys for name, t in split.items()}


# --------------------------------------------------------------------------- reading
def _lowered(
    function: Any,
    parameters: Sequence[Parameter],
    types: Types,
    environment: ShapeEnvironment,
    active: Mapping[str, Collection[Any] | None],
    ordered: Sequence[str],
    arguments: Mapping[str, Any],
) -> Lowered:
    """Return the function as IR; arguments that it writes into and that overlap are one copy."""
    items = {name: some for name, some in active.items() if some is not None}
    lower = partial(lower_callable, function, parameters, types, environment, active=tuple(active),
                    items=items, arguments=arguments,
                    ordered=ordered)  # fmt: skip
    lowered = lower()
    names = [p.name for p in parameters]
    written = [k for k, name in enumerate(names) if name in lowered.written]
    values = [arguments.get(name) for name in names]
    paths = [c.path for c in lowered.captures if written and is_besides_arguments(c.path)]
    found = shared([values[k] for k in written], [read(p, function, arguments) for p in paths])
    if found is not None:
        refuse_shared(name_of(function), names[written[found[0]]], spelled(paths[found[1]]))
    pairs = overlapping(values, written)
    if not pairs:
        return lowered
    together = names_of(groups(pairs, values, written, name_of(function)), names)
    return replace(lower(overlaps=together), written=lowered.written)


def _raising(problem: Problem) -> Results:
    """Return a function that raises on every path: it raises as the original call does."""
    name = f"{problem.request.mode}_{problem.written_name}"
    return Results((Part(name, problem.lowered, own=()),), run=lambda loaded: loaded)


# --------------------------------------------------------------------------- writing
def _loaded(
    name: str, module: str, backend: str, parts: Sequence[Part]
) -> tuple[Sequence[Run], Sequence[Written], str]:
    """Return the loaded function of each part, their texts, and the backend that wrote them."""
    chosen = BACKENDS[backend]
    try:
        ready = [chosen.prepare(finished(part.function, part.own)) for part in parts]
    except Deopt:
        return _loaded(name, module, BACKENDS.names()[0], parts)
    texts = [chosen.write(one, part.name) for one, part in zip(ready, parts, strict=True)]
    label = f"{module.rpartition('.')[2]}.{name}".lstrip(".")
    return [chosen.load(text, label) for text in texts], texts, backend


def _silent(load: Callable[..., Any], results: Results) -> Run:
    """Return the form of a derivative with a silent reverse half."""
    assert results.silenced is not None
    return results.run(*load(results.silenced())[0])
