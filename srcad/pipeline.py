"""The spine: every step from a call to the compiled derivative, by name and in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from srcad.arguments.aliasing import groups, names_of, overlapping, refuse_shared, shared
from srcad.arguments.guesses import guessed
from srcad.arguments.request import Parameter, Request, code_of, module_of, name_of, parameters_of
from srcad.arguments.signature import describe, generic, is_in_c_order
from srcad.arguments.wrt import VARIADIC, Place
from srcad.backends.interface.tracebacks import register
from srcad.backends.python.emitter import Emitted, emit
from srcad.backends.python.loader import load
from srcad.calling.cache import Entry, Family
from srcad.calling.guards import guarded_code
from srcad.calling.patterns import Pattern, default_now
from srcad.calling.showing import text_of
from srcad.errors import SourceUnavailableError, SrcadError
from srcad.frontend.callables import lower_callable
from srcad.frontend.domain.guards import Guard
from srcad.frontend.lower import Lowered
from srcad.frontend.source.definition import definition
from srcad.ir.core import Function, Value
from srcad.modes import pullback
from srcad.modes.inert import refuse_inert
from srcad.modes.nested import transforms
from srcad.modes.product import Product
from srcad.modes.quiet import Quiet, with_quiet
from srcad.modes.results import refuse_complex
from srcad.modes.reverse import (
    derived,
    with_layouts,
    with_parts,
    with_requested_results,
    with_zeros_for_stopped,
)
from srcad.modes.steps import warn_of_steps
from srcad.passes.finish import checked, finished
from srcad.startup.gc_paused import COMPILING, without_collections
from srcad.startup.identifiers import is_name
from srcad.startup.records import replace
from srcad.transforms.silent import is_repeatable, silenced, without_loud_lines
from srcad.transforms.split import split
from srcad.types.numeric import array_type
from srcad.types.sizes import Facts
from srcad.types.sources import is_besides_arguments, read, spelled
from srcad.types.structures import TupleOf, Type


def compile_entry(family: Family, function: Any, arguments: Sequence[Any]) -> Entry:
    """Compile what a family of patterns is asked for, for the pattern of these arguments.

    What is refused is read once more with the items of its lists known one by one.
    """
    facts = Facts()
    named = dict(zip((p.name for p in family.parameters), arguments, strict=True))
    types = {name: describe(value, (("param", name),), facts) for name, value in named.items()}
    parameters, request = family.parameters, family.request
    try:
        types, made = _compiled_for(family, function, types, facts, named)
    except SrcadError as error:
        if not facts.has_lists:
            raise
        refused, facts = error, Facts(items_known=True)
        types = {name: describe(value, (("param", name),), facts) for name, value in named.items()}
        try:
            made = _compiled(function, parameters, request, types, facts, named)
        except SrcadError:
            raise refused from None
    lowered, product, run = made
    written = tuple(k for k, p in enumerate(parameters) if p.name in lowered.written)
    pattern = Pattern(
        tuple(types.values()),
        tuple(facts.assumptions),
        tuple((c.path, c.value.type) for c in lowered.captures),
        tuple(_light(guard, code_of(function)) for guard in lowered.guards),
        ordered=_ordered(family, function, arguments, types),
        written=written,
        overlaps=overlapping(arguments, written),
    )
    return Entry(pattern, run, product, family.parameters, why=_reason(family, function, arguments))


def _compiled_for(
    family: Family, function: Any, types: dict[str, Type], facts: Facts, named: dict[str, Any]
) -> tuple[dict[str, Type], tuple[Lowered, Product, Callable[..., Any]]]:
    """The code for arguments of these types, and the types that it serves."""
    parameters, request = family.parameters, family.request
    if family.is_full:
        try:
            loose = {name: generic(type_) for name, type_ in types.items()}
            return loose, _compiled(function, parameters, request, loose, facts, named)
        except SrcadError:  # a rule that needs to know the ranks: one more pattern after all
            facts.assumptions.clear()
    return types, _compiled(function, parameters, request, types, facts, named)


def _ordered(
    family: Family, function: Any, arguments: Sequence[Any], types: Mapping[str, Type]
) -> tuple[str, ...]:
    """The differentiated parameters whose arrays all lie in C order: what was compiled needs it."""
    places = family.request.places(function, family.parameters, _passed(types))
    chosen = dict.fromkeys(p.parameter for p in places)
    return tuple(family.parameters[k].name for k in chosen if is_in_c_order(arguments[k]))


def _light(guard: Guard, own: Any) -> Guard:
    """The guard without the function that it was made from, which would be kept alive.

    The function's own code is not held either; None stands for it.
    """
    if guard.kind != "code":
        return guard
    code = guarded_code(guard.expected)
    return replace(guard, expected=None if code is own else code)


def _compiled(
    function: Any,
    parameters: Sequence[Parameter],
    request: Request,
    types: dict[str, Type],
    facts: Facts,
    arguments: dict[str, Any],
) -> tuple[Lowered, Product, Callable[..., Any]]:
    places = request.places(function, parameters, _passed(types))
    wrt = list(dict.fromkeys(p.parameter for p in places))
    active = {parameters[k].name: _items_of(places, k) for k in wrt}
    lowered = _lowered(function, parameters, types, facts, active, arguments)
    if lowered.raises:
        product = Product(name_of(function), module_of(function), lowered=lowered.function)
        return lowered, product, _raising(product, lowered.function, request)
    refuse_complex(checked(lowered.function), lowered.active)
    made = checked(derived(lowered.function, request, wrt))
    made = with_zeros_for_stopped(made, lowered.function, wrt)
    if not request.lenient:
        refuse_inert(made, parameters, places, wrt, types)
        if arguments:
            warn_of_steps(function, lowered.function, made, parameters, wrt, request.has_aux)
    distinct = list(dict.fromkeys(places))
    odd = [p for p in distinct if not is_in_c_order(arguments.get(parameters[p.parameter].name))]
    made = with_layouts(with_parts(made, distinct, wrt), distinct, odd)
    order = [distinct.index(place) for place in places]
    names = frozenset(v.hint for v in lowered.active if v.hint)
    product = Product(
        name_of(function), module_of(function), lowered=lowered.function, active=names
    )
    if request.mode == "pullback":
        run = _pullback(product, made, order)
    else:
        run = _joined(product, with_requested_results(made, request, order), request)
    return lowered, product, run


def _items_of(places: Sequence[Place], parameter: int) -> Collection[Any] | None:
    """The items of ``*args``, or keys of ``**kw``, that are differentiated by; None: all."""
    items = [p.item for p in places if p.parameter == parameter]
    return None if None in items else frozenset(items)


def _passed(types: Mapping[str, Type]) -> dict[str, Collection[Any]]:
    """What a call of these types passes: items, by position or by key."""
    split = {name: t for name, t in types.items() if isinstance(t, TupleOf)}
    return {name: t.items if t.keys is None else t.keys for name, t in split.items()}


def _lowered(
    function: Any,
    parameters: Sequence[Parameter],
    types: dict[str, Type],
    facts: Facts,
    active: Mapping[str, Collection[Any] | None],
    arguments: dict[str, Any],
) -> Lowered:
    """The function as IR; arguments that it writes into and that overlap are one copy."""
    ordered = [name for name in active if is_in_c_order(arguments.get(name))]
    items = {name: some for name, some in active.items() if some is not None}
    lower = partial(lower_callable, function, parameters, types, facts, active=tuple(active),
                    items=items, arguments=arguments, transforms=transforms,
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


def _raising(product: Product, function: Function, request: Request) -> Callable[..., Any]:
    """A function whose every path raises: it does so as the plain call does."""
    emitted = emit(finished(function, ()), name=_name(product, request))
    product.text = product.primal_text = product.adjoint_text = emitted.text
    return loaded(emitted, product)


# --------------------------------------------------------------------------- joined: grad
def _joined(product: Product, made: Function, request: Request) -> Callable[..., Any]:
    """One function for both halves."""
    own = (0,) if request.mode == "grad" else (1,)
    emitted = emit(finished(made, own), name=_name(product, request))
    product.adjoint = made
    product.text = product.adjoint_text = emitted.text
    product.adjoint_map = emitted.line_map
    product.function = function = loaded(emitted, product)

    def make() -> Callable[..., Any]:
        with COMPILING, without_collections():
            emitted = emit(finished(silenced(made), own), name=_name(product, request))
            return loaded(emitted, product)

    return with_quiet(function, Quiet(make, is_repeatable(made)))


def _name(product: Product, request: Request) -> str:
    kind = "elementwise_grad" if request.summed else request.mode
    name = product.name if is_name(product.name) else "f"
    return f"{kind}_{name}"


def loaded(emitted: Emitted, product: Product) -> Callable[..., Any]:
    """Compile text to a function that knows its lines."""
    label = f"{product.module.rpartition('.')[2]}.{product.name}".lstrip(".")
    function = load(emitted, label)
    register(function, emitted.line_map)  # type: ignore[arg-type]
    return function


# --------------------------------------------------------------------------- pullback: a pair
def _pullback(product: Product, made: Function, order: Sequence[int]) -> Callable[..., Any]:
    """A function of the arguments that returns the value and the pullback.

    `order` says which of the gradients stands in each place of what the pullback returns.
    """
    halves, count = split(made), len(made.block.results) - 1
    primal, adjoint = halves.primal, without_loud_lines(halves.adjoint)
    name = product.name if is_name(product.name) else "f"
    first = emit(finished(primal, own=(0,)), name=f"{name}_primal")
    second = emit(finished(adjoint, own=range(count)), name=f"{name}_adjoint")
    product.adjoint = adjoint
    product.primal_text, product.adjoint_text = first.text, second.text
    product.text = f"{first.text}\n\n{second.text}"
    product.adjoint_map = second.line_map
    product.saved = tuple(_hint(p, k) for k, p in enumerate(halves.saved))
    return pullback.pair(
        loaded(first, product),
        loaded(second, product),
        len(primal.block.results) > 1,
        count,
        order,
        product.name,
    )


def _hint(value: Value, position: int) -> str:
    return value.hint or f"t{position + 1}"


# --------------------------------------------------------------------------- without arguments
def readable(function: Any, request: Request) -> Product:
    """The form that is written without example arguments: for reading only."""
    parameters = parameters_of(function) or ()
    request = request.of(function, parameters)
    try:
        guesses = guessed(definition(function).tree) if isinstance(function, FunctionType) else {}
        count = len(request.outward) - sum(p.kind not in VARIADIC for p in parameters)
        types = {p.name: guesses.get(p.name) or _likely(function, p, count) for p in parameters}
        _, product, _ = _compiled(function, parameters, request, types, Facts(), {})
    except SrcadError as error:
        return _undecided(function, error)
    return product


def _likely(function: Any, parameter: Parameter, count: int) -> Type:
    """What an argument is taken for: a float64 array, or what its default is.

    A wrapper passes `count` arguments on.
    """
    value: Any = {}
    if parameter.kind is parameter.VAR_POSITIONAL:
        return TupleOf((array_type(np.float64, None),) * count, None, tuple)
    if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        has_default = parameter.default is not parameter.empty
        value = default_now(function, parameter.name) if has_default else 0.0
        if isinstance(value, float | np.ndarray):
            return array_type(np.float64, None)
    return describe(value, (("param", parameter.name),), Facts())


def _undecided(function: Any, error: SrcadError) -> Product:
    """The user's text with a note where the compiler needs to know the arguments."""
    known = code_of(function) is not None and not isinstance(error, SourceUnavailableError)
    text = text_of(function) if known else ""
    note = f"# decided at the call: {' '.join(error.sentence.split())}\n"
    return Product(name_of(function), text=note + text, primal_text=note + text,
                   adjoint_text=note + text, note=note)  # fmt: skip


def _reason(family: Family, function: Any, arguments: Sequence[Any]) -> str:
    """Why the patterns that exist do not serve this call."""
    if not family.entries:
        return "the first call" if not family.compilations else "the rules or the cache changed"
    pattern = family.entries[0].pattern
    for parameter, value, type_ in zip(family.parameters, arguments, pattern.types, strict=True):
        found = describe(value, (("param", parameter.name),), Facts())
        if str(found) != str(type_):
            return f"{parameter.name!r} is {found} instead of {type_}"
    if family.is_full:
        return "more patterns than are kept: compiled for lengths of any kind"
    return "other lengths, integers or surroundings"
