"""Cache entries: a compiled derivative with the pattern of its assumptions."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from srcad.arguments.aliasing import overlapping
from srcad.arguments.request import Parameter, Request, code_of, name_of, parameters_of
from srcad.arguments.signature import describe
from srcad.arguments.wrt import VARIADIC
from srcad.calling import finite, nodes
from srcad.calling.cache import Entry, Family
from srcad.calling.conditions import guarded_code
from srcad.calling.inspection import Artifact, artifact_of
from srcad.calling.patterns import Pattern, default_now
from srcad.calling.quiet import Quiet, with_quiet
from srcad.calling.showing import text_of
from srcad.errors import SourceUnavailableError, SrcadError
from srcad.frontend.domain.guards import Guard
from srcad.frontend.source.definition import definition
from srcad.pipeline import Compiled, compiled, compiled_for_types
from srcad.startup.records import replace
from srcad.types import objects
from srcad.types.numeric import array_type, int_type
from srcad.types.sizes import ShapeEnvironment
from srcad.types.structures import ListOf, TupleOf, Type

# Guess the types of arguments without an example, from how the code uses them.
#
# A parameter that is subscripted with texts is a dict, one that is unpacked a tuple, one that a
# loop unpacks a list of tuples, one that counts (``range(n)``) an integer; everything else is a
# float64 array of unknown rank. The text that is written from this is for reading only.

ARRAY = array_type(np.float64, None)


def guessed(tree: ast.AST) -> dict[str, Type]:
    r"""Return the types of the names of which the code says more than that they are arrays.

    >>> import ast
    >>> tree = ast.parse("def f(p, layers, n, x):\n"
    ...                  "    for W, b in layers: x = W @ x + b\n"
    ...                  "    return p['a'] * x ** p['b'] * range(n)").body[0]
    >>> for name, type_ in sorted(guessed(tree).items()):
    ...     print(name, type_)
    layers list[(float64[...], float64[...])]
    n int
    p dict(a: float64[...], b: float64[...])
    """
    found: dict[str, Type] = {}
    keys: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                keys.setdefault(name, []).append(key)
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                found.update({a.id: int_type(None) for a in arguments if isinstance(a, ast.Name)})
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=name)):
                found[name] = _tuple(parts)
            case ast.For(target=ast.Tuple(elts=parts), iter=ast.Name(id=name)):
                found[name] = ListOf(_tuple(parts))
    for name, used in keys.items():
        names = tuple(dict.fromkeys(used))
        found[name] = TupleOf(tuple(ARRAY for _ in names), names, dict)
    return found


def _tuple(parts: list[ast.expr]) -> TupleOf:
    return TupleOf(tuple(ARRAY for _ in parts))


# The form of a derivative that is written without example arguments: for reading only.


def readable(function: Any, request: Request) -> Artifact:
    """Return the compilation for arguments of the likeliest types; a note if that fails."""
    parameters = parameters_of(function) or ()
    request = request.of(function, parameters)
    try:
        guesses = guessed(definition(function).tree) if isinstance(function, FunctionType) else {}
        count = len(request.outward) - sum(p.kind not in VARIADIC for p in parameters)
        types = {p.name: guesses.get(p.name) or _likely(function, p, count) for p in parameters}
        made = compiled_for_types(function, parameters, request, types, ShapeEnvironment(), {})
    except SrcadError as error:
        return _undecided(function, error)
    return artifact_of(name_of(function), made)


def _likely(function: Any, parameter: Parameter, count: int) -> Type:
    """Return the assumed type of an argument: a float64 array, or that of its default.

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
    return describe(value, (("param", parameter.name),), ShapeEnvironment())


def _undecided(function: Any, error: SrcadError) -> Artifact:
    """Return the user's text with a note where the compiler needs to know the arguments."""
    known = code_of(function) is not None and not isinstance(error, SourceUnavailableError)
    text = text_of(function) if known else ""
    note = f"# decided at the call: {' '.join(error.sentence.split())}\n"
    return Artifact(name_of(function), text=note + text, primal_text=note + text,
                   adjoint_text=note + text, note=note)  # fmt: skip


def compile_entry(family: Family, function: Any, arguments: Sequence[Any]) -> Entry:
    """Compile what a family of patterns is asked for, for the pattern of these arguments."""
    if "optree" in sys.modules or any(map(objects.holds_library_dict, arguments)):
        found = nodes.entry_for_nodes(family, function, arguments)
        if found is not None:
            return found
    named = dict(zip((p.name for p in family.parameters), arguments, strict=True))
    made = compiled(function, family.parameters, family.request, named,
                    of_any_lengths=family.is_full)  # fmt: skip
    run = made.run
    if made.silent is not None:
        run = with_quiet(run, Quiet(made.silent, made.results.repeats))
    if family.request.check_finite:
        run = finite.checked(run, made, family.request, name_of(function))
    artifact = artifact_of(name_of(function), made)
    why = _reason(family, function, named)
    return Entry(_pattern(made, function, arguments), run, artifact, family.parameters, why=why)


def _pattern(made: Compiled, function: Any, arguments: Sequence[Any]) -> Pattern:
    """Return the assumptions that were made."""
    lowered = made.lowered
    written = tuple(k for k, name in enumerate(made.types) if name in lowered.written)
    return Pattern(
        tuple(made.types.values()),
        made.assumptions,
        tuple((c.path, c.value.type) for c in lowered.captures),
        tuple(_light(guard, code_of(function)) for guard in lowered.guards),
        ordered=made.ordered,
        written=written,
        overlaps=overlapping(arguments, written),
    )


def _light(guard: Guard, own: Any) -> Guard:
    """Return the guard without the function that it was made from, which would be kept alive.

    The function's own code is not held either; None stands for it.
    """
    if guard.kind != "code":
        return guard
    code = guarded_code(guard.expected)
    return replace(guard, expected=None if code is own else code)


def _reason(family: Family, function: Any, arguments: Mapping[str, Any]) -> str:
    """Why the patterns that exist do not serve this call."""
    if not family.entries:
        return "the first call" if not family.compilations else "the rules or the cache changed"
    pattern = family.entries[0].pattern
    opened = family.request.opened(function, family.parameters, arguments)
    for (name, value), type_ in zip(arguments.items(), pattern.types, strict=True):
        path = (("param", name),)
        found = describe(value, path, ShapeEnvironment(), opened.get(name, False))
        if str(found) != str(type_):
            return f"{name!r} is {found} instead of {type_}"
    if family.is_full:
        return "more patterns than are kept: compiled for lengths of any kind"
    return "other lengths, integers or surroundings"
