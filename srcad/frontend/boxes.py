"""What the front end knows of a value while it reads a program: boxes.

A name is bound to a *box*.  A `Value` is a box: something that is computed at the call.  The other
boxes are known now, wholly (`Static`) or in their structure (`TupleBox`, `ListBox`, `DictBox`,
`RecordBox`), or stand for code (`FunctionBox`, `MethodBox`, `IterBox`).  Boxes are immutable;
writing into a list binds a new box wherever the old one was reachable, so identity is aliasing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from srcad.frontend.holding import Holder
from srcad.ir.core import Location, Value
from srcad.startup.records import (
    dataclass,
    field,
    replace,
)
from srcad.types.structures import ListOf

if TYPE_CHECKING:
    from srcad.frontend.scope import Frame

Path = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, eq=False)
class Static:
    """An object that is known now.

    `path` says how the object is reached at the call, when it belongs to the user (a global, a
    cell, an attribute of such); `atom` is the value that holds it, when it is an argument.
    """

    value: Any
    path: Path | None = None
    spelling: str | None = None
    atom: Value | None = None


@dataclass(frozen=True, eq=False)
class TupleBox:
    """A tuple of known length; `source` is the value it was taken from, if any."""

    items: tuple[Box, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class ListBox:
    """A list whose items are known one by one."""

    items: tuple[Box, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class DictBox:
    """A dict with keys that are known now."""

    keys: tuple[Any, ...]
    items: tuple[Box, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class PlacesBox:
    """Where the values of a dict stand in a list: in the order of its keys, which are known now."""

    keys: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ViewBox(TupleBox):
    """``mapping.values()``, or ``mapping.items()`` (`pairs`): it follows what the dict holds."""

    of: DictBox = field(default_factory=lambda: DictBox((), ()))
    pairs: bool = False


def view_of(mapping: DictBox, *, pairs: bool) -> ViewBox:
    """The values of a dict, or its keys and values."""
    rows = zip(mapping.keys, mapping.items, strict=True)
    items = tuple(TupleBox((Static(k), v)) for k, v in rows) if pairs else mapping.items
    return ViewBox(items, None, mapping, pairs)


@dataclass(frozen=True, eq=False)
class RecordBox:
    """A named tuple or dataclass instance."""

    cls: type
    keys: tuple[str, ...]
    items: tuple[Box, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class SliceBox:
    """``start:stop:step``."""

    start: Box
    stop: Box
    step: Box


@dataclass(frozen=True, eq=False)
class FunctionBox:
    """A ``def`` or ``lambda`` met inside the function; free names are looked up in `frame`.

    Once that has returned, `names` are those that it has bound of them, `held` what they hold,
    and `itself` those that are the function's own (`surroundings`).  `borrowed` are those of a
    comprehension that it is made in: they end with that.
    """

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: tuple[Box, ...] = ()
    kw_defaults: tuple[Box | None, ...] = ()
    borrowed: frozenset[str] = frozenset()
    names: tuple[str, ...] | None = None
    held: tuple[Box, ...] = ()
    itself: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.node, "name", "lambda")


@dataclass(frozen=True, eq=False)
class MethodBox:
    """``receiver.name``, about to be called."""

    receiver: Box
    name: str


@dataclass(frozen=True, eq=False)
class BoundBox:
    """A function with its first arguments (``self``, or those of ``functools.partial``)."""

    function: Box
    args: tuple[Box, ...] = ()
    kwargs: dict[str, Box] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Super:
    """``super()``: an object, seen as one of the classes behind `cls`."""

    cls: type
    box: Box


@dataclass(frozen=True, eq=False)
class IterBox:
    """Something to iterate over: ``range``, ``zip``, ``enumerate``, ``reversed``, views of dicts.

    `kind` is one of ``range zip reversed rows``; `parts` are the arguments.
    """

    kind: str
    parts: tuple[Box, ...]


@dataclass(frozen=True, eq=False)
class GeneratorBox:
    """A generator that nothing has run yet: its function, and its parameters.

    With `manages`, it is the context manager that `contextlib.contextmanager` makes of it.
    """

    callee: Any
    bound: dict[str, Box]
    spent: bool = False
    manages: bool = False


@dataclass(frozen=True, eq=False)
class Conflict:
    """A name that is one thing on one path and another thing on the other."""

    left: Box
    right: Box


@dataclass(frozen=True, eq=False)
class Choice:
    """What is one thing where a test holds, and another where not: a function (see `choices`)."""

    test: Value
    left: Box
    right: Box


@dataclass(frozen=True, eq=False)
class Stale:
    """A name for memory, or an object, that was written through another name: it is not known now.

    `where` is the place of the write; `bound` the name, where its statement may not have come that
    far before it failed; `by` the recursive function that wrote.
    """

    value: Box
    where: Location | None
    bound: str | None = None
    by: str | None = None


@dataclass(eq=False)
class Taken:
    """A view that is taken anew at the start of every trip of a loop (in headers only).

    `root` is the array before the loop, `start` the view; `now` is whose memory it is in the trip
    that is being read.
    """

    root: Value
    steps: tuple[Any, ...]
    start: Value
    now: frozenset[Value] = frozenset()


@dataclass(frozen=True, eq=False)
class Unbound:
    """A name that no path has bound."""


UNBOUND = Unbound()

Box = (
    Value
    | Static
    | TupleBox
    | ListBox
    | DictBox
    | PlacesBox
    | RecordBox
    | SliceBox
    | Holder
    | FunctionBox
    | MethodBox
    | BoundBox
    | Super
    | IterBox
    | GeneratorBox
    | Conflict
    | Choice
    | Stale
    | Taken
    | Unbound
)
Structure = TupleBox | ListBox | DictBox | RecordBox
Code = FunctionBox | BoundBox | MethodBox | Choice  # functions, and what may be one


def rebuilt(box: Structure, items: tuple[Box, ...]) -> Structure:
    """The same structure around other items."""
    match box:
        case TupleBox():
            return TupleBox(items)
        case ListBox():
            return ListBox(items)
        case DictBox(keys):
            return DictBox(keys, items)
        case RecordBox(cls, keys):
            return RecordBox(cls, keys, items)


def same_structure(a: Box, b: Box) -> bool:
    """Whether two boxes are structures that differ in their items only."""
    if type(a) is not type(b) or not isinstance(a, Structure) or not isinstance(b, Structure):
        return False
    if isinstance(a, ViewBox):
        return False
    if isinstance(a, RecordBox) and isinstance(b, RecordBox) and a.cls is not b.cls:
        return False
    keys_a, keys_b = getattr(a, "keys", None), getattr(b, "keys", None)
    return len(a.items) == len(b.items) and keys_a == keys_b


def values_of(box: Box) -> list[Value]:
    """The values inside a box."""
    match box:
        case Value():
            return [box]
        case Static(atom=atom):
            return [] if atom is None else [atom]
        case _:
            return [value for part in inner_boxes(box) for value in values_of(part)]


def inner_boxes(box: Box) -> tuple[Box, ...]:
    """The boxes that a box is made of."""
    match box:
        case Value() | Static() | Unbound():  # nearly always
            return ()
        case TupleBox() | ListBox() | DictBox() | RecordBox():
            return (box.of,) if isinstance(box, ViewBox) else box.items
        case SliceBox(first, second, third) | Choice(first, second, third):
            return (first, second, third)
        case BoundBox(function, args, kwargs):
            return (function, *args, *kwargs.values())
        case IterBox():
            return box.parts
        case GeneratorBox():
            return tuple(box.bound.values())
        case MethodBox(receiver=inner) | Super(box=inner):
            return (inner,)
        case FunctionBox():
            return (*box.defaults, *(d for d in box.kw_defaults if d is not None), *box.held)
        case _:
            return ()


Done = dict[int, tuple[Box, Box]]


def mapped(box: Box, change: Callable[[Box], Box | None], done: Done | None = None) -> Box:
    """The box with every part for which `change` answers replaced by the answer.

    What was changed is noted in `done`, by identity: an object stays one object.
    """
    done = {} if done is None else done
    if id(box) not in done:
        done[id(box)] = (box, _mapped(box, change, done))
    return done[id(box)][1]


def _mapped(box: Box, change: Callable[[Box], Box | None], done: Done) -> Box:
    new = change(box)
    if new is not None:
        return new
    parts = inner_boxes(box)
    items = tuple(mapped(item, change, done) for item in parts)
    if all(a is b for a, b in zip(items, parts, strict=True)):
        return box
    return with_parts(box, items)


def with_parts(box: Box, parts: tuple[Box, ...]) -> Box:
    """A box like this one that is made of other boxes, in the order of `inner_boxes`."""
    match box:
        case ViewBox(pairs=pairs):
            (now,) = parts
            return view_of(now, pairs=pairs) if isinstance(now, DictBox) else now
        case TupleBox() | ListBox() | DictBox() | RecordBox():
            return rebuilt(box, parts)
        case SliceBox():
            return SliceBox(*parts)
        case FunctionBox() | BoundBox() | MethodBox() | Choice():
            return _code_with(box, parts)
        case IterBox(kind=kind):
            return IterBox(kind, parts)
        case GeneratorBox(callee, bound, spent):
            return GeneratorBox(callee, dict(zip(bound, parts, strict=True)), spent)
        case Super(cls):
            return Super(cls, parts[0])
        case _:
            return box


def _code_with(box: Code, parts: tuple[Box, ...]) -> Box:
    if isinstance(box, MethodBox):
        return MethodBox(parts[0], box.name)
    if isinstance(box, Choice):
        test, left, right = parts
        return Choice(test, left, right) if isinstance(test, Value) else Conflict(left, right)
    if isinstance(box, BoundBox):
        width = 1 + len(box.args)
        return BoundBox(parts[0], parts[1:width], dict(zip(box.kwargs, parts[width:], strict=True)))
    rest = iter(parts[len(box.defaults) :])
    kw = tuple(None if d is None else next(rest) for d in box.kw_defaults)
    new = replace(box, defaults=parts[: len(box.defaults)], kw_defaults=kw, held=tuple(rest))
    if new.names is None:
        box.frame.functions.append(new)
    return new


def is_mutable(box: Box) -> bool:
    """Whether a box is an object that can be written into under all its names (arrays apart)."""
    if isinstance(box, RecordBox):
        return not issubclass(box.cls, tuple)
    return isinstance(box, ListBox | DictBox) or (
        isinstance(box, Value) and isinstance(box.type, ListOf)
    )


def parts_of(box: Box) -> tuple[Box, ...]:
    """The boxes that a box is made of; of a view of a dict, those that it shows."""
    return box.items if isinstance(box, Structure) else inner_boxes(box)


def mutable_parts(box: Box) -> Iterator[Box]:
    """The objects that a box is or holds, wherever they stand."""
    if is_mutable(box):
        yield box
    for part in inner_boxes(box):
        yield from mutable_parts(part)
