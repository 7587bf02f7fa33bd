"""Why a call is compiled anew: the first assumption of an earlier compilation that fails."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from srcad.arguments.request import code_of, name_of
from srcad.arguments.signature import describe, generic
from srcad.calling.conditions import guarded_code
from srcad.calling.patterns import Pattern
from srcad.errors import RecompilationWarning
from srcad.frontend.domain.guards import Guard
from srcad.rules.registry import operator_of
from srcad.startup.identifiers import is_instance, label, shown
from srcad.startup.records import dataclass, field
from srcad.types.reading import looked_up, reader
from srcad.types.sizes import Extent, ShapeEnvironment
from srcad.types.sources import EACH, Path, Unreadable, read, spelled
from srcad.types.structures import TEXT, Fixed, Type

MOST_COMPILATIONS = 16

_LONGEST_DIFFERENCE = 100


@dataclass(frozen=True)
class Cause:
    """A value that a compiled function does not serve."""

    name: str  # the source text of the path to it
    difference: str  # what it is, and what was assumed

    def __str__(self) -> str:
        return f"{self.name!r} {self.difference}"


def cause_of(
    pattern: Pattern,
    function: Any,
    arguments: Mapping[str, Any],
    opened: Mapping[str, bool | Collection[Any]],
) -> Cause | None:
    """Return the first value that a pattern does not serve; None where that is not found."""
    for (name, value), type_ in zip(arguments.items(), pattern.types, strict=True):
        path = (("param", name),)
        found = describe(value, path, ShapeEnvironment(), opened.get(name, False))
        if found == TEXT and isinstance(type_, Fixed):
            if value != type_.value:
                return Cause(name, f"is {shown(value)} instead of {shown(type_.value)}")
        elif not _is_served(found, type_):
            return Cause(name, f"is {found} instead of {type_}")
    failing = (*_failing_guards(pattern, function, arguments),)
    return next(iter((*failing, *_failing_assumptions(pattern, function, arguments))), None)


def _is_served(found: Type, type_: Type) -> bool:
    """Return True if code that is compiled for a type serves values of another one."""
    return str(type_) in (str(found), str(generic(found)))


def _failing_guards(
    pattern: Pattern, function: Any, arguments: Mapping[str, Any]
) -> Iterator[Cause]:
    for guard in pattern.guards:
        if _runs_code(guard.path, function, arguments):
            continue
        try:
            found = read(guard.path, function, arguments)
        except Unreadable:
            yield Cause(spelled(guard.path), "is missing")
            continue
        difference = _difference(guard, found)
        if difference is not None:
            yield Cause(spelled(guard.path), difference)


def _runs_code(path: Path, function: Any, arguments: Mapping[str, Any]) -> bool:
    """Return True if reading a path runs code of a user's class."""
    for k, (kind, *key) in enumerate(path):
        if kind != "attr" or key[0] == "__class__":
            continue
        try:
            holder = read(path[:k], function, arguments)
        except Unreadable:
            return False
        if reader(holder, key[0]) is not None:
            return True
    return False


def _difference(guard: Guard, found: Any) -> str | None:
    """Return how a value differs from the one that a guard expects; None if that is not seen."""
    expected = guard.expected
    match guard.kind:
        case "equals" if type(found) is not type(expected) or shown(found) != shown(expected):
            return f"is {shown(found)} instead of {shown(expected)}"
        case "alike" if not expected.fits(found):
            return f"is {shown(found)} instead of {shown(expected.value)}"
        case "is" if found is not expected:
            return "is another object"
        case "code" if expected is not None:
            is_same = looked_up(found, "__code__") is guarded_code(expected)
            return None if is_same else "is a function of other code"
        case "class" if type(found) is not expected:
            return f"is of class {label(type(found))} instead of {label(expected)}"
    return None


def _failing_assumptions(
    pattern: Pattern, function: Any, arguments: Mapping[str, Any]
) -> Iterator[Cause]:
    for assumption in pattern.assumptions:
        left = _value(assumption.left, function, arguments)
        right = _value(assumption.right, function, arguments)
        if left is None or right is None or operator_of(assumption.relation)(left, right):
            continue
        terms = (*assumption.left.terms, *assumption.right.terms)
        paths: list[Path] = [symbol.source for symbol, _ in terms]  # type: ignore[misc]
        integers = [path for path in paths if path[-1][0] != "shape"]
        if not integers:
            yield Cause(spelled(paths[0][:-1]), "is an array of other lengths")
        elif len(terms) == 1 and terms[0][1] == 1:
            yield Cause(spelled(integers[0]), f"is {left} instead of {right}")
        else:
            yield Cause(spelled(integers[0]), "is another integer")


def _value(extent: Extent, function: Any, arguments: Mapping[str, Any]) -> int | None:
    """Return a length or an integer in this call; None where there is not one."""
    total = extent.constant
    for symbol, factor in extent.terms:
        path: Path = symbol.source  # type: ignore[assignment]
        if EACH in path:
            return None
        try:
            found = read(path, function, arguments)
        except Unreadable:
            return None
        if not is_instance(found, int | np.integer):
            return None
        total += factor * int(found)
    return total


@dataclass(eq=False)
class Recompilations:
    """The causes of the compilations of one function, of which it warns once if they are many."""

    counts: Counter[str] = field(default_factory=Counter)  # by the name of the value
    last: dict[str, Cause] = field(default_factory=dict)  # the latest cause of each name
    has_warned: bool = False

    def add(self, cause: Cause | None) -> None:
        """Count a compilation that an earlier one did not make unnecessary."""
        self.counts["" if cause is None else cause.name] += 1
        if cause is not None:
            self.last[cause.name] = cause

    def warn(self, function: Any) -> None:
        """Warn of the value that has caused most compilations, if they are more than 16 now."""
        count = 1 + self.counts.total()
        if self.has_warned or count <= MOST_COMPILATIONS:
            return
        self.has_warned = True
        code = code_of(function)
        warnings.warn_explicit(
            f"{name_of(function)!r} was compiled {count} times{self._most_frequent(function)}",
            RecompilationWarning,
            "" if code is None else code.co_filename,
            0 if code is None else code.co_firstlineno,
        )

    def _most_frequent(self, function: Any) -> str:
        ((name, count),) = self.counts.most_common(1)
        if name not in self.last:
            return ""
        difference = self.last[name].difference
        if len(difference) > _LONGEST_DIFFERENCE:
            difference = f"{difference[:_LONGEST_DIFFERENCE]}..."
        return (
            f", {count} of them for another {name!r} (the last time it {difference}). "
            "Each compilation takes milliseconds: "
            f"give {name!r} few different values, or move what depends on it out of "
            f"{name_of(function)!r}"
        )
