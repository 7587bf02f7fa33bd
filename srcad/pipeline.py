"""The steps of one compilation, in order, and the attempts that are made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from srcad.analysis.initialised_entries import reads_only_written
from srcad.analysis.opaque_results import are_results_stopped, refuse_uses
from srcad.arguments.aliasing import groups, names_of, overlapping, refuse_shared, shared
from srcad.arguments.foreign import naming_foreign, refuse_foreign
from srcad.arguments.options import setting_of_helpers
from srcad.arguments.request import Parameter, Request, module_of_callable, name_of
from srcad.arguments.signature import describe, generic, is_in_c_order
from srcad.arguments.wrt import WrtEntry, differentiated
from srcad.backends.interface import Backend, NotCovered, Written
from srcad.backends.interface.saved_names import named_alike
from srcad.backends.registry import BACKENDS, backend_of
from srcad.errors import NotCompiledError, SrcadError, UnsupportedTypeError
from srcad.frontend.domain.frames import Dicts, Inactive, InPlaceNeeded, NumbersNeeded
from srcad.frontend.domain.outside_places import Outside
from srcad.frontend.domain.surroundings import noting_surroundings
from srcad.frontend.lower import Lowered, Signature, lower
from srcad.frontend.outside.doubts import Again
from srcad.ir.core import Function, Routine
from srcad.modes.hidden import refuse_hidden
from srcad.modes.mode import Mode, Part, Problem, Results, Run
from srcad.modes.registry import MODES
from srcad.passes.finish import checked, finished
from srcad.passes.put_in_place import with_small_helpers_in_place
from srcad.startup.deep_recursion import deep_recursion
from srcad.startup.records import dataclass, replace
from srcad.transforms.sweep import HelpersInPlaceError
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
        The backend that wrote them, and why, if another one was asked for.
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
    not_covered : NotCovered, optional
        Why the backend that was asked for did not write them.
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
    not_covered: NotCovered | None = None


# --------------------------------------------------------------------------- attempts
# A function is interpreted again, with one option changed, if an attempt fails.  From the outermost
# loop to the innermost:
#
#   option     at first                 then                      if
#   numbers    as their classes say     plain numbers             NumbersNeeded is raised
#   lengths    any (if asked for)       those of the arguments    the attempt is refused
#   items      of one type in a list    known one by one          refused, and an argument is a list
#   overlaps   none                     views of one copy         it writes into a shared argument
#   dicts      their keys are constant  any key                   refused because of that
#   calls      opaque if inactive       interpreted, or asked     refused, and a call was opaque
#   outside    nothing is written       what was met              Again is raised, or refused
#   on_copies  refused                  run on copies             a call without a rule was refused
#
# The error of the first attempt is raised if none succeeds.
def compiled(
    function: Any,
    parameters: Sequence[Parameter],
    request: Request,
    arguments: Mapping[str, Any],
    *,
    of_any_lengths: bool = False,
) -> Compiled:
    """Compile a derivative for arguments like these.

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
    refuse_foreign(function, parameters, request, arguments)
    make = partial(compiled_for_types, function, parameters, request)
    for numbers in (False, True):
        described = partial(_described, arguments, opened, numbers=numbers)
        with suppress(NumbersNeeded), naming_foreign(function, arguments):
            return _compiled(make, arguments, described, of_any_lengths)
    raise UnsupportedTypeError(
        f"cannot differentiate {name_of(function)!r} by numbers of several subclasses",
        why="a list holds numbers of more than one class.",
        help="make them plain numbers:  [float(v) for v in values]",
    )


# Sparse modes and tables of traces look at single operations.
_WITHOUT_HELPERS = ("sparse_jacobian", "sparse_hessian", "sparsity", "trace_table")


def why_in_place(request: Request) -> str | None:
    """Return why functions that are called do not stay functions in a derivative; or None."""
    if setting_of_helpers() == "inline":
        return "SRCAD_HELPERS is 'inline'"
    if request.mode in _WITHOUT_HELPERS:
        return f"{request.mode} reads operations"
    if request.check_finite:
        return "check_finite=True checks each operation"
    backend = backend_of(request.backend)
    return None if backend is _first() else f"the code of {backend.name!r} is one function"


def _compiled(
    make: Callable[..., Compiled],
    arguments: Mapping[str, Any],
    described: Callable[[ShapeEnvironment], Types],
    of_any_lengths: bool,
) -> Compiled:
    """Compile for any lengths, for those of the arguments, or with the items of lists known."""
    environment = ShapeEnvironment()
    types = described(environment)
    if of_any_lengths:
        with suppress(SrcadError):  # a rule may need to know the ranks
            return make(_of_any_lengths(types), environment, arguments)
        environment.assumptions.clear()
    try:
        return make(types, environment, arguments)
    except SrcadError as error:
        if not environment.has_lists:
            raise
        refused = error
    known = ShapeEnvironment(items_known=True)
    with suppress(SrcadError):
        return make(described(known), known, arguments)
    if environment.spreads:
        known = ShapeEnvironment(items_known=True, arrays_known=True)
        with suppress(SrcadError):
            return make(described(known), known, arguments)
    raise refused


def _lowered(function: Any, parameters: Sequence[Parameter], signature: Signature) -> Lowered:
    """Return the function as IR; arguments that it writes into and that overlap are one copy."""
    lowered = interpreted(function, parameters, signature)
    names = [p.name for p in parameters]
    written = [k for k, name in enumerate(names) if name in lowered.written]
    values = [signature.arguments.get(name) for name in names]
    paths = [c.path for c in lowered.captures if written and is_besides_arguments(c.path)]
    outside = [read(p, function, signature.arguments) for p in paths]
    found = shared([values[k] for k in written], outside)
    if found is not None:
        refuse_shared(name_of(function), names[written[found[0]]], spelled(paths[found[1]]))
    pairs = overlapping(values, written)
    if not pairs:
        return lowered
    together = names_of(groups(pairs, values, written, name_of(function)), names)
    again = interpreted(function, parameters, replace(signature, overlaps=together))
    return replace(again, written=lowered.written)


def interpreted(function: Any, parameters: Sequence[Parameter], signature: Signature) -> Lowered:
    """Return a callable as IR, for arguments of one signature.

    What an opaque call returns, say an object whose attributes change afterwards, may be what the
    function is refused for: then these calls are interpreted, too.
    """
    dicts = Dicts()
    once = partial(_until_settled, function, parameters, signature, dicts)
    while True:
        inactive = Inactive()
        try:
            return once(inactive)
        except SrcadError as error:
            refused = error
        others = (Inactive(are_read=True), Inactive(are_asked=True))[: 1 + inactive.is_open]
        for other in others if inactive.left else ():
            with suppress(SrcadError):
                return once(other)
        if dicts.open(refused):  # dynamic keys before opaque calls
            continue
        for are_read in (
            (False, True)[: 1 + inactive.left] if _may_run_on_copies(inactive, refused) else ()
        ):
            other = Inactive(on_copies=True, are_read=are_read)
            try:
                return once(other)
            except SrcadError as error:
                is_use = any(error is one for one in other.refusals.values())
                refused = error if is_use or are_results_stopped(other, error) else refused
        if not dicts.open(refused):
            raise refused


def _may_run_on_copies(inactive: Inactive, refused: SrcadError) -> bool:
    """Return True if the refused call may be one without a rule."""
    return inactive.unruled or refused.second is not None


def _until_settled(
    function: Any,
    parameters: Sequence[Parameter],
    signature: Signature,
    dicts: Dicts,
    inactive: Inactive,
) -> Lowered:
    """Interpret a function, and again while more is found of what it writes outside."""
    outside, assumptions = Outside(), signature.environment.assumptions
    count = len(assumptions)
    while True:
        try:
            made = lower(function, parameters, signature, inactive, dicts, outside)
            refuse_uses(inactive, made.function.block)
            _refuse_unwritten(outside, made.function)
            return made
        except Again:
            pass
        except SrcadError as error:
            if not outside.follow(error):
                raise
        outside = outside.next()
        del assumptions[count:]


def _refuse_unwritten(outside: Outside, function: Function) -> None:
    """Refuse work arrays with entries that may be read before they are initialised."""
    for version, array in outside.versions.items():
        if not reads_only_written(function, (version,)):
            raise array.error


# --------------------------------------------------------------------------- one attempt
def compiled_for_types(
    function: Any,
    parameters: Sequence[Parameter],
    request: Request,
    types: Types,
    environment: ShapeEnvironment,
    arguments: Mapping[str, Any],
) -> Compiled:
    """Lower a function for these types, differentiate it, and generate code.

    Functions that it calls stay functions, where that can be.
    """
    make = partial(_of_types, function, parameters, request, types, environment, arguments)
    in_place = why_in_place(request)
    if in_place is None:
        try:
            return _with_surroundings(partial(make, in_place=None))
        except InPlaceNeeded:
            in_place = "a derivative is taken inside the function"
        except SrcadError as error:
            in_place = f"the derivative is refused otherwise: {error.sentence}"
    return _with_surroundings(partial(make, in_place=in_place))


def _with_surroundings(make: Callable[[], Compiled]) -> Compiled:
    with deep_recursion(), noting_surroundings() as noted:
        made = make()
    guards = (*made.lowered.guards, *noted.guards)
    return replace(made, lowered=replace(made.lowered, guards=guards))


def _of_types(
    function: Any,
    parameters: Sequence[Parameter],
    request: Request,
    types: Types,
    environment: ShapeEnvironment,
    arguments: Mapping[str, Any],
    *,
    in_place: str | None,
) -> Compiled:
    """Make one attempt; `in_place` says why no function that is called stays one, if none does."""
    helpers = in_place is None
    mode, places = MODES[request.mode], places_of(function, parameters, request, types)
    active = differentiated(places, parameters)
    ordered = tuple(name for name in active if is_in_c_order(arguments.get(name)))
    items = {name: some for name, some in active.items() if some is not None}
    signature = Signature(
        types,
        environment,
        tuple(active),
        items,
        arguments=arguments,
        ordered=ordered,
        helpers=helpers,
    )
    lowered = _lowered(function, parameters, signature)
    for called in lowered.called:
        called.in_place = called.in_place or in_place
    if helpers:
        lowered = _with_in_place(lowered)
    refuse_hidden(lowered, request, arguments, active)
    while True:
        problem = Problem(function, lowered.function, request, parameters, types, places, arguments)
        try:
            results = _results(mode, problem, raises=lowered.raises)
            break
        except HelpersInPlaceError as found:
            for called in lowered.called:
                if not found.routines.isdisjoint(called.routines):
                    called.in_place = "a derivative leaves out entries of what it takes or returns"
            lowered = _with_in_place(lowered, found.routines)
    backend = _backend_for(request)
    load = partial(_loaded, name_of(function), module_of_callable(function))
    loaded, texts, written_by, not_covered = load(backend, results.parts)
    silent = None
    if results.silenced is not None:
        silent = partial(_silent, load, backend if backend.warns else _first(), results)
    return Compiled(
        results.run(*loaded),
        results,
        texts,
        written_by,
        lowered,
        types,
        tuple(environment.assumptions),
        ordered,
        silent,
        loaded,
        not_covered,
    )


def _with_in_place(lowered: Lowered, routines: Collection[Routine] = ()) -> Lowered:
    """Inline small helpers, and the given ones."""
    varied = set(lowered.active)
    whole = with_small_helpers_in_place(lowered.function, also=routines, active=varied)
    return replace(lowered, function=whole, active=frozenset(varied))


def _results(mode: Mode, problem: Problem, *, raises: bool) -> Results:
    """Return the parts of a derivative."""
    if raises:
        return _raising(problem)
    made = mode.derive(checked(problem.lowered), problem.request, problem.wrt)
    return mode.results(checked(made), problem)


# --------------------------------------------------------------------------- the arguments
def places_of(
    function: Any, parameters: Sequence[Parameter], request: Request, types: Types
) -> list[WrtEntry]:
    """Return the places that a request differentiates by, for arguments of these types."""
    names = [p.name for p in parameters]
    return [
        p.of_type(types[names[p.parameter]], names[p.parameter])
        for p in request.places(function, parameters, _passed(types))
    ]


def _described(
    arguments: Mapping[str, Any],
    opened: Mapping[str, bool | Collection[Any]],
    environment: ShapeEnvironment,
    *,
    numbers: bool = False,
) -> Types:
    return {
        name: describe(
            value, (("param", name),), environment, opened.get(name, False), numbers=numbers
        )
        for name, value in arguments.items()
    }


def _of_any_lengths(types: Types) -> Types:
    """Types that serve all lengths and ranks."""
    return {name: generic(type_) for name, type_ in types.items()}


def _passed(types: Types) -> dict[str, Collection[Any]]:
    """Return the items that a call of these types passes, by position or by key."""
    split = {name: t for name, t in types.items() if isinstance(t, TupleOf)}
    return {name: t.items if t.keys is None else t.keys for name, t in split.items()}


def _raising(problem: Problem) -> Results:
    """Return a function that raises on every path: it raises as the original call does."""
    name = f"{problem.request.mode}_{problem.written_name}"
    return Results((Part(name, problem.lowered, own=()),), run=lambda loaded: loaded)


# --------------------------------------------------------------------------- writing
def _first() -> Backend:
    """Return the backend that covers every function."""
    return BACKENDS[BACKENDS.names()[0]]


def _backend_for(request: Request) -> Backend:
    """Return the backend of a request; a compiled one refuses ``check_finite=True``."""
    backend = backend_of(request.backend)
    if request.check_finite and not backend.warns:
        return replace(backend, prepare=_with_checked_values)
    return backend


def _with_checked_values(function: Function) -> Any:
    raise NotCovered("check_finite=True")


def _loaded(
    name: str, module: str, backend: Backend, parts: Sequence[Part]
) -> tuple[Sequence[Run], Sequence[Written], str, NotCovered | None]:
    """Return the loaded function of each part, their texts, and the backend that wrote them.

    The last item is the reason of the requested backend for not writing them, or None.

    Raises
    ------
    NotCompiledError
        A strict backend does not cover the function.
    """
    label = f"{module.rpartition('.')[2]}.{name}".lstrip(".")
    try:
        texts = _texts(backend, parts)
    except NotCovered as found:
        if backend.is_strict and not found.is_choice:
            raise _not_compiled(name, found) from None
        loaded, texts, first, _ = _loaded(name, module, _first(), parts)
        return loaded, texts, f"{first}: {found}" if found.reason else first, found
    return [backend.load(text, label) for text in texts], texts, backend.name, None


def _texts(backend: Backend, parts: Sequence[Part]) -> Sequence[Written]:
    """Generate the code of each part; residuals have one name in both parts."""
    texts: list[Written] = []
    for k, part in enumerate(parts):
        function = part.function
        if part.passed:
            before = parts[k - 1].function
            function = named_alike(function, before, texts[-1].text, part.passed)
        texts.append(backend.write(backend.prepare(finished(function, part.own)), part.name))
    return texts


def _not_compiled(name: str, found: NotCovered) -> NotCompiledError:
    return NotCompiledError(
        f"the derivative of {name!r} is not compiled: it has {found.reason}",
        where=found.where,
        why="the compiled backend does not cover this, and strict=True asks for compiled code.",
        help=(
            "leave out strict=True: the NumPy code of the whole function runs",
            "or ask for NumPy:  backend='numpy'",
        ),
    )


def _silent(load: Callable[..., Any], backend: Backend, results: Results) -> Run:
    """Return the form of a derivative with a silent reverse half."""
    assert results.silenced is not None
    return results.run(*load(backend, results.silenced())[0])
