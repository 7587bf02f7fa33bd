"""Cache entries: a compiled derivative with the pattern of its assumptions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from srcad.arguments.aliasing import overlapping
from srcad.arguments.request import code_of, name_of
from srcad.arguments.signature import describe
from srcad.calling import finite, nodes
from srcad.calling.cache import Entry, Family
from srcad.calling.conditions import guarded_code
from srcad.calling.inspection import artifact_of
from srcad.calling.patterns import Pattern
from srcad.calling.quiet import Quiet, with_quiet
from srcad.frontend.domain.guards import Guard
from srcad.pipeline import Compiled, compiled
from srcad.startup.records import replace
from srcad.types import objects
from srcad.types.sizes import ShapeEnvironment


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
