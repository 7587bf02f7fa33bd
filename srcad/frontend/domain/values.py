"""Abstract values of the interpreter in the front end.

A name is bound to an `AbstractValue`.  A `Value` of the IR is one: something that is computed at
the call.  The others are known at compile time, wholly (`Constant`) or in their structure
(`TupleValue`, `ListValue`, `DictValue`, `RecordValue`), or stand for code (`FunctionValue`,
`MethodValue`, `IteratorValue`).  They are immutable; writing into a list binds a new one wherever
the old one was reachable, so identity is aliasing.  In code a variable that holds one is called a
`box`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from srcad.ir.core import NONE, InlinedCall, Location, Value
from srcad.startup.records import dataclass, field
from srcad.types.sources import Path


@dataclass(frozen=True, eq=False)
class Constant:
    """An object that is known at compile time.

    `path` says how the object is reached at the call, when it belongs to the user (a global, a
    cell, an attribute of such); `atom` is the value that holds it, when it is an argument.
    """

    value: Any
    path: Path | None = None
    spelling: str | None = None
    atom: Value | None = None

    @property
    def cls(self) -> type:
        """The class of the object."""
        return type(self.value)


class Text(Constant):
    """A string of the arguments, whose value is assumed when it is first read.

    Until then it is a dynamic value, which `carry` returns.  `example` is the string in the call
    that caused the compilation, and `assume` records that later calls have the same one.
    """

    example: str
    assume: Callable[[], Any]
    carry: Callable[[], Value]

    def __init__(
        self,
        example: str,
        assume: Callable[[], Any],
        carry: Callable[[], Value],
        path: Path | None = None,
    ) -> None:
        for name, field_ in zip(("spelling", "atom", "path"), (None, None, path), strict=True):
            object.__setattr__(self, name, field_)
        object.__setattr__(self, "example", example)
        object.__setattr__(self, "assume", assume)
        object.__setattr__(self, "carry", carry)

    @property
    def cls(self) -> type:
        """The class of the object."""
        return str

    @property
    def value(self) -> str:
        """The string, which is a constant of the compiled code from now on."""
        self.assume()
        return self.example


@dataclass(frozen=True, eq=False)
class TupleValue:
    """A tuple of known length; `source` is the value it was taken from, if any."""

    items: tuple[AbstractValue, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class ListValue:
    """A list with items that are known one by one."""

    items: tuple[AbstractValue, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class DictValue:
    """A dict with keys that are known at compile time."""

    keys: tuple[Any, ...]
    items: tuple[AbstractValue, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class PlacesValue:
    """The places of the values of a dict with static keys in a list."""

    keys: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ViewValue(TupleValue):
    """``mapping.values()``, or ``mapping.items()`` (`pairs`): it follows what the dict holds."""

    of: DictValue = field(default_factory=lambda: DictValue((), ()))
    pairs: bool = False


@dataclass(frozen=True, eq=False)
class RecordValue:
    """A named tuple or dataclass instance."""

    cls: type
    keys: tuple[str, ...]
    items: tuple[AbstractValue, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class AttributesValue(DictValue):
    """``vars(object)``: a dict view of the attributes of an object made in the function."""

    of: RecordValue = field(default_factory=lambda: RecordValue(object, (), ()))


@dataclass(frozen=True, eq=False)
class SliceValue:
    """``start:stop:step``."""

    start: AbstractValue
    stop: AbstractValue
    step: AbstractValue


@dataclass(frozen=True, eq=False)
class FunctionValue:
    """A ``def`` or ``lambda`` met inside the function; free names are looked up in `frame`.

    Once that has returned, `names` are those that it has bound of them, `held` what they hold,
    and `itself` those that are the function's own (`surroundings`).  `borrowed` are those of a
    comprehension that it is made in: they end with that.  `attributes` are constants.
    """

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: tuple[AbstractValue, ...] = ()
    kw_defaults: tuple[AbstractValue | None, ...] = ()
    borrowed: frozenset[str] = frozenset()
    names: tuple[str, ...] | None = None
    held: tuple[AbstractValue, ...] = ()
    itself: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.node, "name", "lambda")


@dataclass(frozen=True, eq=False)
class MethodValue:
    """``receiver.name``, about to be called."""

    receiver: AbstractValue
    name: str


@dataclass(frozen=True, eq=False)
class BoundValue:
    """A function with its first arguments (``self``, or those of ``functools.partial``)."""

    function: AbstractValue
    args: tuple[AbstractValue, ...] = ()
    kwargs: dict[str, AbstractValue] = field(default_factory=dict)
    is_partial: bool = False  # it does not have the attributes of the function


@dataclass(frozen=True, eq=False)
class Super:
    """``super()``: an object, seen as one of the classes behind `cls`."""

    cls: type
    box: AbstractValue


@dataclass(frozen=True, eq=False)
class IteratorValue:
    """Something to iterate over: ``range``, ``zip``, ``enumerate``, ``reversed``, views of dicts.

    `kind` is one of ``range zip reversed rows``; `parts` are the arguments.  `segments` says how a
    reverse sweep cuts a loop over a checkpointed range (see `For`).
    """

    kind: str
    parts: tuple[AbstractValue, ...]
    segments: tuple[AbstractValue, ...] = ()


@dataclass(frozen=True, eq=False)
class GeneratorValue:
    """A generator that nothing has run yet: its function, and its parameters.

    With `manages`, it is the context manager that `contextlib.contextmanager` makes of it.
    """

    callee: Any
    bound: dict[str, AbstractValue]
    spent: bool = False
    manages: bool = False


@dataclass(frozen=True, eq=False)
class Conflict:
    """A name that is one thing on one path and another thing on the other."""

    left: AbstractValue
    right: AbstractValue


@dataclass(frozen=True, eq=False)
class Choice:
    """A guarded choice: one function where a test holds, another where not (see `choices`)."""

    test: Value
    left: AbstractValue
    right: AbstractValue


@dataclass(frozen=True, eq=False)
class Stale:
    """A name for memory, or an object, that was written through an alias.

    `where` is the place of the write; `bound` the name, where its statement may not have come that
    far before it failed; `by` the recursive function that wrote.
    """

    value: AbstractValue
    where: Location | None
    bound: str | None = None
    by: str | None = None


@dataclass(eq=False)
class RepeatedView:
    """A view that is taken anew at the start of every iteration of a loop (in headers only).

    `root` is the array before the loop, `start` the view; `now` is whose memory it is in the
    iteration that is being read.
    """

    root: Value
    steps: tuple[Any, ...]
    start: Value
    now: frozenset[Value] = frozenset()


@dataclass(frozen=True, eq=False)
class Unbound:
    """A name that no path has bound."""


@dataclass(frozen=True, eq=False)
class Holder:
    """A dict or list outside with places as items: it is never taken apart.

    `path` leads to it at the call.
    """

    value: Any
    path: Path


@dataclass(eq=False)
class Frame:
    """One function while it is read.

    `exit` is how the statements read so far end: a tag that is known, or a value that holds it;
    `tags` are the tags that are possible.  `local` are the names that the function binds.
    `consumer` is who uses a generator's values.  `handlers` are the classes that the ``try`` around
    what is read catch one by one; `attempts` counts those read whole; `errors` are being handled;
    `awaited` counts the ``finally`` clauses that run, and read names, also after a ``return``.
    `missed` are the names that were read where nothing was bound to them; `site` is the place of
    the call, `call` the call itself where all helpers are read in place; `hidden` are the names of
    the comprehensions that are being read, `borrowed` those of the one that the function was made
    in; `unfilled` are the places of the cells that hold nothing, `closure` the cells; `declared`
    says which names are ``global`` or ``nonlocal``.
    `functions` are those that were made in it, and in what it has called.
    """

    name: str
    file: str
    globals: dict[str, Any]
    env: dict[str, AbstractValue] = field(default_factory=dict)
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
    call: InlinedCall | None = None
    functions: list[FunctionValue] = field(default_factory=list)

    def ends(self, tag: int) -> None:
        """Note that the statements read so far certainly end with this tag."""
        self.exit = tag
        self.tags = frozenset({tag})


UNBOUND = Unbound()


AbstractValue = (
    Value
    | Constant
    | TupleValue
    | ListValue
    | DictValue
    | PlacesValue
    | RecordValue
    | SliceValue
    | Holder
    | FunctionValue
    | MethodValue
    | BoundValue
    | Super
    | IteratorValue
    | GeneratorValue
    | Conflict
    | Choice
    | Stale
    | RepeatedView
    | Unbound
)


Env = dict[str, AbstractValue]


Structure = TupleValue | ListValue | DictValue | RecordValue


Code = FunctionValue | BoundValue | MethodValue | Choice  # functions, and what may be one
