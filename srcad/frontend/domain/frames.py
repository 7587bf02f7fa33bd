"""The functions being read: their names, how their statements end, what ends a path."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from srcad import errors
from srcad.frontend.domain.values import UNBOUND, AbstractValue, FunctionValue, Path
from srcad.ir.core import NONE, Arg, Location, Value
from srcad.ir.inference.builder import Builder
from srcad.startup.records import dataclass, field

RETURN_NAME = "%return"
Env = dict[str, AbstractValue]
# The nodes that stand at a place of their own.
Placed = ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern


class Unreachable(Exception):  # noqa: N818 - control flow of the reader, not an error
    """The path being read ends here: it raises, or nothing is known yet of what it reads."""


class NotConstant(Exception):  # noqa: N818 - control flow of the reader, not an error
    """A value had to be known now; a loop over few items may be unrolled instead."""

    def __init__(self, error: errors.SrcadError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(eq=False)
class Frame:
    """One function while it is read.

    `exit` is how the statements read so far end: a tag that is known, or a value that holds it;
    `tags` are the tags that are possible.  `local` are the names that the function binds.
    `consumer` is who uses a generator's values.  `handlers` are the classes that the ``try`` around
    what is read catch one by one; `attempts` counts those read whole; `errors` are being handled;
    `awaited` counts the ``finally`` clauses that run, and read names, also after a ``return``.
    `missed` are the names that were read where nothing was bound to them; `site` is the place of
    the call; `hidden` are the names of the comprehensions that are being read, `borrowed` those of
    the one that the function was made in; `unfilled` are the places of the cells that hold
    nothing, `closure` the cells; `declared` says which names are ``global`` or ``nonlocal``.
    `functions` are those that were made in it, and in what it has called.
    """

    name: str
    file: str
    globals: dict[str, Any]
    env: Env = field(default_factory=dict)
    cells: dict[str, Any] = field(default_factory=dict)
    unfilled: dict[str, int] = field(default_factory=dict)
    closure: dict[str, Any] = field(default_factory=dict)
    declared: Mapping[str, str] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    path: Path | None = None
    outer: Frame | None = None
    trusted: bool = False
    exit: int | Value = NONE
    tags: frozenset[int] = frozenset()
    node: ast.AST | None = None
    hidden: frozenset[str] = frozenset()
    borrowed: frozenset[str] = frozenset()
    consumer: Any = None
    handlers: tuple[tuple[type[BaseException], ...], ...] = ()
    errors: tuple[AbstractValue, ...] = ()
    attempts: int = 0
    awaited: int = 0
    missed: set[str] = field(default_factory=set)
    site: Location | None = None
    functions: list[FunctionValue] = field(default_factory=list)

    def ends(self, tag: int) -> None:
        """The statements read so far certainly end with this tag."""
        self.exit = tag
        self.tags = frozenset({tag})


@dataclass(eq=False)
class Kept:
    """Something that was read; `box` is what it is after what was read meanwhile."""

    frame: Frame
    name: str
    last: AbstractValue = UNBOUND

    @property
    def box(self) -> AbstractValue:
        """What it is now, or was at the end."""
        return self.frame.env.get(self.name, self.last)


DEAD = -1  # the tag of a path that raises


@dataclass(frozen=True, eq=False)
class Latest:
    """What was stored in a dict last: under which key, and at which place of its list.

    `object_` is the array that it is, if it was made for this store; `places` belong to the list.
    """

    places: Value
    key: Arg
    place: Value
    value: Value
    object_: Value | None


@dataclass(eq=False)
class Dicts:
    """The places where a dict gets, or is asked for, a key that only the call knows.

    `opened` are those where that is allowed; `asked` those where it was not, with the refusals.
    `made` are the places where containers of `collections` were left to the call.  `latest` is what
    was stored last, by the list of the values as it is then.
    """

    opened: set[Location | None] = field(default_factory=set)
    made: set[Location | None] = field(default_factory=set)
    asked: list[tuple[errors.SrcadError, Location | None]] = field(default_factory=list)
    latest: dict[Value, Latest] = field(default_factory=dict)

    def is_needed(self, where: Location | None) -> bool:
        """Whether what is made here has to be read; noted where that was not tried yet."""
        if where not in self.opened:
            self.made.add(where)
        return where in self.opened

    def open(self, refused: errors.SrcadError) -> bool:
        """Allow what was refused, or read what was left, if that was not done before."""
        found = {where for error, where in self.asked if error is refused} or self.made
        new = found - self.opened - {None}
        self.opened |= new
        self.asked.clear()
        self.made.clear()
        return bool(new)


@dataclass(eq=False)
class Inactive:
    """Calls through which no derivative flows: whether they are read, and whether one was not.

    What such a call returns is unknown where it matters (`is_open`), or asked there in the call.
    `unknown` are results that others may hold, `used` what was computed with, `items` what was read
    out of something unknown, `handed` what was given to calls that may keep it; `outermost` is the
    block that runs once a call; `kept` is what functions with a cache have returned.  `hit` is
    the outside array that the latest refused write was to, `hits` are those that calls in loops and
    branches write into.
    """

    are_read: bool = False
    are_asked: bool = False
    left: bool = False
    is_open: bool = False
    unknown: set[Value] = field(default_factory=set)
    used: set[Value] = field(default_factory=set)
    items: set[Value] = field(default_factory=set)
    handed: set[Value] = field(default_factory=set)
    kept: set[AbstractValue] = field(default_factory=set)
    outermost: Builder | None = None
    hit: Value | None = None
    hits: list[tuple[Value, errors.SrcadError]] = field(default_factory=list)

    @property
    def may_open(self) -> bool:
        """Whether reading the calls that were left may tell more."""
        return self.left and not self.are_read and not self.are_asked
