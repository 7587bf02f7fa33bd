"""Which arguments of a call an entry of `wrt` means.

Positions count the arguments of the call.  Names are those that the callable shows, which for a
wrapper are the names of what it wraps; but a name that the wrapper itself has for what it takes
goes first, since keywords go by it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Mapping, Sequence
from types import MethodType
from typing import Any

from srcad.errors import WrtError
from srcad.startup.identifiers import dotted, printable, shown
from srcad.startup.records import dataclass, replace
from srcad.types.structures import ListOf, TupleOf, Type

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
class BoundMethod:
    """A method of an object, asked for in a mode: the names of its class and first parameter."""

    mode: str
    cls: str
    first: str

    def error(self, entry: str, method: str) -> WrtError:
        """Return the refusal of the object, which is no argument of a call."""
        called = f"{self.mode}({dotted(self.cls)}.{dotted(method)}, wrt={shown(entry)})"
        return WrtError(
            f"wrt={shown(entry)} names the object of the bound method {method!r}",
            why="a bound method holds its object: it is no argument of the call.",
            help=f"take the method of the class, and pass the object:  srcad.{called}(obj, ...)",
        )


def bound_method(function: Any, mode: str) -> BoundMethod | None:
    """Return a description of a bound method of an object; None for anything else."""
    if not isinstance(function, MethodType) or isinstance(function.__self__, type):
        return None
    code = getattr(function.__func__, "__code__", None)
    if code is None or not code.co_argcount:
        return None
    cls = type(function.__self__).__name__
    return BoundMethod(mode.removeprefix("sparse_"), cls, code.co_varnames[0])


@dataclass(frozen=True)
class Seeker:
    """Resolves an entry of `wrt` for one callable.

    `parameters` are its own; `outward` those that it shows, which differ for a wrapper; `given`
    is what a call passes in ``*args`` (any items) and ``**kw`` (the keywords), where it is known;
    `read` are the names that the function reads from outside, `bound` is the method of an object.
    """

    name: str
    parameters: Sequence[Parameter]
    outward: Sequence[Parameter]
    given: Mapping[str, Collection[Any]] | None
    read: Collection[str] = ()
    bound: BoundMethod | None = None

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
        path = path_of(entry) if isinstance(entry, str) else None
        if path is None or not path[1] or self._is_held(path[0]):
            raise self._unknown(entry)
        found = self.place(path[0])
        return None if found is None else replace(found, steps=path[1])

    def _is_held(self, name: str) -> bool:
        """Return True if a name is that of the object that a bound method holds."""
        return self.bound is not None and name == self.bound.first

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
        path = path_of(entry) if isinstance(entry, str) else None
        if self.bound is not None and path is not None and self._is_held(path[0]):
            return self.bound.error(str(entry), self.name)
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


# Parts of an argument to differentiate by: ``wrt="params.W"``, ``wrt="net.layers[0].b"``.

Steps = tuple[tuple[str, Any], ...]


def path_of(text: str) -> tuple[str, Steps] | None:
    """Return the name and the steps of a path; None if it is no path.

    >>> path_of("net.layers[-1]['b']")
    ('net', (('attr', 'layers'), ('item', -1), ('item', 'b')))
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    steps: list[tuple[str, Any]] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=name):
                steps.append(("attr", name))
            case ast.Subscript(value=inner, slice=index):
                key = _literal(index)
                if key is None:
                    return None
                steps.append(("item", key))
            case _:
                return None
        node = inner
    return node.id, tuple(reversed(steps))


def _literal(node: ast.expr) -> Any:
    """Return the text or number of a subscript, or a tuple of such; None for anything else."""
    try:
        key = ast.literal_eval(node)
        hash(key)
    except (ValueError, TypeError):
        return None
    return key


def spelled_steps(whole: str, steps: Steps) -> str:
    """How a part is written."""
    for step, key in steps:
        whole += f".{printable(key)}" if step == "attr" else f"[{shown(key)}]"
    return whole


def keys_of(type_: Type, steps: Steps, whole: str) -> tuple[Any, ...]:
    """Return the keys of the parts on the way, as the structures have them.

    Raises
    ------
    WrtError
        There is no such part.
    """
    keys = []
    for k, step in enumerate(steps):
        found = _key(type_, *step)
        if found is None:
            raise _no_part(type_, spelled_steps(whole, steps[:k]), spelled_steps(whole, steps))
        key, type_ = found
        keys.append(key)
    return tuple(keys)


def type_at(type_: Type, keys: Sequence[Any]) -> Type:
    """Return the type of the part behind some keys; the type itself where parts are not known."""
    for key in keys:
        if isinstance(type_, ListOf):
            type_ = type_.item
        elif isinstance(type_, TupleOf):
            type_ = type_.items[key if type_.keys is None else type_.keys.index(key)]
    return type_


def _key(type_: Type, step: str, key: Any) -> tuple[Any, Type] | None:
    """Return the key of a part in a structure, and its type.

    An attribute may be the key of a dict.
    """
    if isinstance(type_, ListOf):
        return (key, type_.item) if step == "item" and type(key) is int else None
    if not isinstance(type_, TupleOf):
        return None
    keys, named = type_.keys, type_.keys is not None and type_.cls is not dict
    if keys is not None and key in keys and (step == "attr" or not named):
        return key, type_.items[keys.index(key)]
    ordered = keys is None or issubclass(type_.cls, tuple | list)
    count = len(type_.items)
    if step == "item" and ordered and type(key) is int and -count <= key < count:
        place = key % count
        return place if not keys else keys[place], type_.items[place]
    return None


def _no_part(type_: Type, holder: str, wanted: str) -> WrtError:
    known = ""
    if isinstance(type_, TupleOf):
        keys = type_.keys or range(len(type_.items))
        known = f"its parts are {', '.join(map(shown, keys))}."
    return WrtError(
        f"wrt={shown(wanted)}: {holder!r} has no such part",
        why=known or f"it is {'a list' if isinstance(type_, ListOf) else f'a {type_}'}.",
        help="name parts as the function reads them:  wrt='params.W', wrt='layers[0].b'",
    )
