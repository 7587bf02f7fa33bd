"""Abstract values: what the front end knows of a value while it reads a program.

A name is bound to an `AbstractValue`.  A `Value` of the IR is one: something that is computed at
the call.  The others are known now, wholly (`Constant`) or in their structure (`TupleValue`,
`ListValue`, `DictValue`, `RecordValue`), or stand for code (`FunctionValue`, `MethodValue`,
`IteratorValue`).  They are immutable; writing into a list binds a new one wherever the old one was
reachable, so identity is aliasing.  In code a variable that holds one is called a `box`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from srcad.frontend.domain.holder import Holder
from srcad.ir.core import Location, Value
from srcad.startup.records import dataclass, field, replace
from srcad.types.structures import ListOf

if TYPE_CHECKING:
    from srcad.frontend.machine.machine import Frame

Path = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, eq=False)
class Constant:
    """An object that is known now.

    `path` says how the object is reached at the call, when it belongs to the user (a global, a
    cell, an attribute of such); `atom` is the value that holds it, when it is an argument.
    """

    value: Any
    path: Path | None = None
    spelling: str | None = None
    atom: Value | None = None


@dataclass(frozen=True, eq=False)
class TupleValue:
    """A tuple of known length; `source` is the value it was taken from, if any."""

    items: tuple[AbstractValue, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class ListValue:
    """A list whose items are known one by one."""

    items: tuple[AbstractValue, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class DictValue:
    """A dict with keys that are known now."""

    keys: tuple[Any, ...]
    items: tuple[AbstractValue, ...]
    source: Value | None = None


@dataclass(frozen=True, eq=False)
class PlacesValue:
    """Where the values of a dict stand in a list: in the order of its keys, which are known now."""

    keys: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ViewValue(TupleValue):
    """``mapping.values()``, or ``mapping.items()`` (`pairs`): it follows what the dict holds."""

    of: DictValue = field(default_factory=lambda: DictValue((), ()))
    pairs: bool = False


def view_of(mapping: DictValue, *, pairs: bool) -> ViewValue:
    """The values of a dict, or its keys and values."""
    rows = zip(mapping.keys, mapping.items, strict=True)
    items = tuple(TupleValue((Constant(k), v)) for k, v in rows) if pairs else mapping.items
    return ViewValue(items, None, mapping, pairs)


@dataclass(frozen=True, eq=False)
class RecordValue:
    """A named tuple or dataclass instance."""

    cls: type
    keys: tuple[str, ...]
    items: tuple[AbstractValue, ...]
    source: Value | None = None


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
    comprehension that it is made in: they end with that.
    """

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: tuple[AbstractValue, ...] = ()
    kw_defaults: tuple[AbstractValue | None, ...] = ()
    borrowed: frozenset[str] = frozenset()
    names: tuple[str, ...] | None = None
    held: tuple[AbstractValue, ...] = ()
    itself: tuple[str, ...] = ()

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


@dataclass(frozen=True, eq=False)
class Super:
    """``super()``: an object, seen as one of the classes behind `cls`."""

    cls: type
    box: AbstractValue


@dataclass(frozen=True, eq=False)
class IteratorValue:
    """Something to iterate over: ``range``, ``zip``, ``enumerate``, ``reversed``, views of dicts.

    `kind` is one of ``range zip reversed rows``; `parts` are the arguments.
    """

    kind: str
    parts: tuple[AbstractValue, ...]


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
    """What is one thing where a test holds, and another where not: a function (see `choices`)."""

    test: Value
    left: AbstractValue
    right: AbstractValue


@dataclass(frozen=True, eq=False)
class Stale:
    """A name for memory, or an object, that was written through another name: it is not known now.

    `where` is the place of the write; `bound` the name, where its statement may not have come that
    far before it failed; `by` the recursive function that wrote.
    """

    value: AbstractValue
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
    | Taken
    | Unbound
)
Structure = TupleValue | ListValue | DictValue | RecordValue
Code = FunctionValue | BoundValue | MethodValue | Choice  # functions, and what may be one


def rebuilt(box: Structure, items: tuple[AbstractValue, ...]) -> Structure:
    """The same structure around other items."""
    match box:
        case TupleValue():
            return TupleValue(items)
        case ListValue():
            return ListValue(items)
        case DictValue(keys):
            return DictValue(keys, items)
        case RecordValue(cls, keys):
            return RecordValue(cls, keys, items)


def same_structure(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether two boxes are structures that differ in their items only."""
    if type(a) is not type(b) or not isinstance(a, Structure) or not isinstance(b, Structure):
        return False
    if isinstance(a, ViewValue):
        return False
    if isinstance(a, RecordValue) and isinstance(b, RecordValue) and a.cls is not b.cls:
        return False
    keys_a, keys_b = getattr(a, "keys", None), getattr(b, "keys", None)
    return len(a.items) == len(b.items) and keys_a == keys_b


def values_of(box: AbstractValue) -> list[Value]:
    """The values inside a box."""
    match box:
        case Value():
            return [box]
        case Constant(atom=atom):
            return [] if atom is None else [atom]
        case _:
            return [value for part in components(box) for value in values_of(part)]


def components(box: AbstractValue) -> tuple[AbstractValue, ...]:
    """The boxes that a box is made of."""
    match box:
        case Value() | Constant() | Unbound():  # nearly always
            return ()
        case TupleValue() | ListValue() | DictValue() | RecordValue():
            return (box.of,) if isinstance(box, ViewValue) else box.items
        case SliceValue(first, second, third) | Choice(first, second, third):
            return (first, second, third)
        case BoundValue(function, args, kwargs):
            return (function, *args, *kwargs.values())
        case IteratorValue():
            return box.parts
        case GeneratorValue():
            return tuple(box.bound.values())
        case MethodValue(receiver=inner) | Super(box=inner):
            return (inner,)
        case FunctionValue():
            return (*box.defaults, *(d for d in box.kw_defaults if d is not None), *box.held)
        case _:
            return ()


Done = dict[int, tuple[AbstractValue, AbstractValue]]


def mapped(
    box: AbstractValue,
    change: Callable[[AbstractValue], AbstractValue | None],
    done: Done | None = None,
) -> AbstractValue:
    """The box with every part for which `change` answers replaced by the answer.

    What was changed is noted in `done`, by identity: an object stays one object.
    """
    done = {} if done is None else done
    if id(box) not in done:
        done[id(box)] = (box, _mapped(box, change, done))
    return done[id(box)][1]


def _mapped(
    box: AbstractValue, change: Callable[[AbstractValue], AbstractValue | None], done: Done
) -> AbstractValue:
    new = change(box)
    if new is not None:
        return new
    parts = components(box)
    items = tuple(mapped(item, change, done) for item in parts)
    if all(a is b for a, b in zip(items, parts, strict=True)):
        return box
    return with_parts(box, items)


def with_parts(box: AbstractValue, parts: tuple[AbstractValue, ...]) -> AbstractValue:
    """A box like this one that is made of other boxes, in the order of `components`."""
    match box:
        case ViewValue(pairs=pairs):
            (now,) = parts
            return view_of(now, pairs=pairs) if isinstance(now, DictValue) else now
        case TupleValue() | ListValue() | DictValue() | RecordValue():
            return rebuilt(box, parts)
        case SliceValue():
            return SliceValue(*parts)
        case FunctionValue() | BoundValue() | MethodValue() | Choice():
            return _code_with(box, parts)
        case IteratorValue(kind=kind):
            return IteratorValue(kind, parts)
        case GeneratorValue(callee, bound, spent):
            return GeneratorValue(callee, dict(zip(bound, parts, strict=True)), spent)
        case Super(cls):
            return Super(cls, parts[0])
        case _:
            return box


def _code_with(box: Code, parts: tuple[AbstractValue, ...]) -> AbstractValue:
    if isinstance(box, MethodValue):
        return MethodValue(parts[0], box.name)
    if isinstance(box, Choice):
        test, left, right = parts
        return Choice(test, left, right) if isinstance(test, Value) else Conflict(left, right)
    if isinstance(box, BoundValue):
        width = 1 + len(box.args)
        return BoundValue(
            parts[0], parts[1:width], dict(zip(box.kwargs, parts[width:], strict=True))
        )
    rest = iter(parts[len(box.defaults) :])
    kw = tuple(None if d is None else next(rest) for d in box.kw_defaults)
    new = replace(box, defaults=parts[: len(box.defaults)], kw_defaults=kw, held=tuple(rest))
    if new.names is None:
        box.frame.functions.append(new)
    return new


def is_mutable(box: AbstractValue) -> bool:
    """Whether a box is an object that can be written into under all its names (arrays apart)."""
    if isinstance(box, RecordValue):
        return not issubclass(box.cls, tuple)
    return isinstance(box, ListValue | DictValue) or (
        isinstance(box, Value) and isinstance(box.type, ListOf)
    )


def parts_of(box: AbstractValue) -> tuple[AbstractValue, ...]:
    """The boxes that a box is made of; of a view of a dict, those that it shows."""
    return box.items if isinstance(box, Structure) else components(box)


def mutable_parts(box: AbstractValue) -> Iterator[AbstractValue]:
    """The objects that a box is or holds, wherever they stand."""
    if is_mutable(box):
        yield box
    for part in components(box):
        yield from mutable_parts(part)
