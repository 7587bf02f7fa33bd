"""Which arguments of a call an entry of `wrt` means.

Positions count the arguments of the call.  Names are those that the callable shows, which for a
wrapper are the names of what it wraps; but a name that the wrapper itself has for what it takes
goes first, since keywords go by it.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from srcad.arguments.wrt_paths import Steps, keys_of, path_of, type_at
from srcad.errors import WrtError
from srcad.startup.identifiers import dotted, shown
from srcad.startup.records import dataclass, replace
from srcad.types.structures import Type

Parameter = inspect.Parameter
POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class WrtEntry:
    """One thing to differentiate by: a parameter, or an argument in its ``*args`` or ``**kw``.

    With `steps` it is a part of that.
    """

    parameter: int
    item: int | str | None = None
    steps: Steps = ()
    keys: tuple[Any, ...] = ()

    def is_inside(self, other: WrtEntry) -> bool:
        """Return True if this is a part of another entry."""
        count = len(other.keys)
        same = self.parameter == other.parameter and self.keys[:count] == other.keys
        return same and len(self.keys) > count

    def of_type(self, type_: Type, name: str) -> WrtEntry:
        """Return the same with the `keys` of the parts on the way through an argument of a type.

        Raises
        ------
        WrtError
            There is no such part.
        """
        first = () if self.item is None else (self.item,)
        if not self.steps:
            return replace(self, keys=first)
        name = name if self.item is None else str(self.item)
        return replace(self, keys=(*first, *keys_of(type_at(type_, first), self.steps, name)))


def place_of_argument(parameters: Sequence[Parameter], position: int) -> WrtEntry:
    """Return a positional argument of a call."""
    positional = sum(p.kind in POSITIONAL for p in parameters)
    if position < positional:
        return WrtEntry(position)
    return WrtEntry(positional, position - positional)


def differentiated(
    places: Sequence[WrtEntry], parameters: Sequence[Parameter]
) -> dict[str, Collection[Any] | None]:
    """Return the parameters to differentiate by, each with the keys of its parts.

    None: with all.
    """
    found: dict[str, Collection[Any] | None] = {}
    for parameter in dict.fromkeys(p.parameter for p in places):
        keys = {p.keys for p in places if p.parameter == parameter}
        found[parameters[parameter].name] = None if () in keys else frozenset(keys)
    return found


@dataclass(frozen=True)
class Seeker:
    """Resolves an entry of `wrt` for one callable.

    `parameters` are its own; `outward` those that it shows, which differ for a wrapper; `given`
    is what a call passes in ``*args`` (any items) and ``**kw`` (the keywords), where it is known;
    `read` are the names that the function reads from outside.
    """

    name: str
    parameters: Sequence[Parameter]
    outward: Sequence[Parameter]
    given: Mapping[str, Collection[Any]] | None
    read: Collection[str] = ()

    def place(self, entry: int | str) -> WrtEntry | None:
        """Return the place of an entry; None if only a call can tell."""
        own = [p.name for p in self.parameters if p.kind not in VARIADIC]
        if isinstance(entry, str) and entry in own:
            return self._own(entry)
        if type(entry) is int and entry >= 0:
            rest = self._first(self.outward, Parameter.VAR_POSITIONAL)
            if rest is not None and entry >= rest:
                return self._passed(entry, entry, None)
        names = [p.name for p in self.outward]
        if isinstance(entry, str) and entry in names:
            position = names.index(entry)
        elif type(entry) is int and -len(names) <= entry < len(names):
            position = entry % len(names)
        else:
            return self._part(entry)
        parameter = self.outward[position]
        if parameter.kind in VARIADIC:
            return self._variadic(entry, position, parameter)
        at = position if parameter.kind in POSITIONAL else None
        return self._passed(entry, at, parameter.name)

    def _part(self, entry: int | str) -> WrtEntry | None:
        """Return a part of an argument."""
        path = path_of(entry) if isinstance(entry, str) else None
        if path is None or not path[1]:
            raise self._unknown(entry)
        found = self.place(path[0])
        return None if found is None else replace(found, steps=path[1])

    def _own(self, name: str) -> WrtEntry:
        return WrtEntry([p.name for p in self.parameters].index(name))

    def _passed(self, entry: int | str, position: int | None, name: str | None) -> WrtEntry | None:
        """Return an argument of the call, by its position or as a keyword."""
        fixed = sum(p.kind in POSITIONAL for p in self.parameters)
        if position is not None and position < fixed:
            return WrtEntry(position)
        if any(p.name == name and p.kind not in VARIADIC for p in self.parameters):
            return self._own(str(name))
        if self.given is None:
            return None
        rest = self._first(self.parameters, Parameter.VAR_POSITIONAL)
        items = () if rest is None else self.given.get(self.parameters[rest].name, ())
        if rest is not None and position is not None and position - fixed < len(items):
            return WrtEntry(rest, position - fixed)
        keywords = self._first(self.parameters, Parameter.VAR_KEYWORD)
        if keywords is not None and name in self.given.get(self.parameters[keywords].name, ()):
            return WrtEntry(keywords, name)
        raise WrtError(
            f"wrt={shown(entry)} is an argument of {self.name!r} that this call leaves out",
            why=f"{self.name!r} takes what a call passes, as *args or **kw.",
            help="pass it in the call, also where it has a default",
        )

    def _variadic(self, entry: int | str, position: int, parameter: Parameter) -> WrtEntry | None:
        """``*args`` as its tuple, ``**kw`` as its dict."""
        own = self._first(self.parameters, parameter.kind)
        if own is not None and self.outward is self.parameters:
            return WrtEntry(own)
        others = {p.name for p in self.outward if p.kind not in VARIADIC}
        if own == position and others <= {p.name for p in self.parameters}:
            return WrtEntry(own)
        raise WrtError(
            f"wrt={shown(entry)} is only a part of what {self.name!r} takes",
            why="its wrapper collects other arguments with it.",
            help="count the arguments of the call:  wrt=0",
        )

    @staticmethod
    def _first(parameters: Sequence[Parameter], kind: Any) -> int | None:
        return next((k for k, p in enumerate(parameters) if p.kind is kind), None)

    def _unknown(self, entry: int | str) -> WrtError:
        if entry in self.read:
            return WrtError(
                f"wrt={shown(entry)} is a variable that {self.name!r} reads, not a parameter",
                why="it holds no data, or is read by a derivative inside another.",
                help=f"make it a parameter:  def {dotted(self.name)}(..., {entry}): ...",
            )
        known = ", ".join(f"{k}: {p.name!r}" for k, p in enumerate(self.outward))
        return WrtError(
            f"wrt={shown(entry)} is no parameter of {self.name!r}",
            why=f"its parameters are {known}." if known else "it has no parameters.",
            help="name a parameter, or count from 0 (from the end with negative numbers)",
        )
