"""The state of the interpreter: frames of names, the IR builder, the assumptions.

A `Machine` reads one function (and what it inlines) for one signature; how it appends a call and
makes values of abstract values is the `Interpreter`'s.  Every function being read
has a `Frame`; branches and loops run on copies of all frames' names, which are then merged.
"""

from __future__ import annotations

import ast
import itertools
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.arguments.signature import describe
from srcad.frontend.domain.access_paths import Step
from srcad.frontend.domain.frames import Dicts, Inactive, NumbersNeeded, Placed, SavedBox, own_frame
from srcad.frontend.domain.guards import Capture, Guard, GuardKind
from srcad.frontend.domain.layout import Layout
from srcad.frontend.domain.memory import Either, Objects, Origin
from srcad.frontend.domain.outside_places import Outside
from srcad.frontend.domain.predicates import is_nondifferentiable, is_plain
from srcad.frontend.domain.structure import Done, mapped, values_of
from srcad.frontend.domain.surroundings import Surroundings, surroundings
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    Env,
    Frame,
    IteratorValue,
    ListValue,
    RecordValue,
    SliceValue,
    Text,
    TupleValue,
)
from srcad.ir.constructors import Constructors
from srcad.ir.core import Arg, Atom, Const, Display, Location, Op, Value
from srcad.ir.inference.builder import Builder, Placing
from srcad.startup.identifiers import module_of
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric, number_base
from srcad.types.sizes import ShapeEnvironment
from srcad.types.sources import Path
from srcad.types.structures import (
    Fixed,
    ListOf,
    Opaque,
    Type,
    holds_holders,
    is_holder,
    is_text,
    numbers_in,
)

# Results of earlier interpretations of a statement, with the same calls around it.
#
# A loop is read until its types settle, and with it everything inside: loops, ``try`` statements,
# calls. What was found out about these is where the next reading begins; else the readings would
# multiply from level to level. It is a guess like any other: headers are widened where an
# iteration leaves something else, and rows and attempts one by one are read the more general way.


def fixpoint_seeds(state: Machine, anchor: ast.AST, about: str) -> dict[Any, Any]:
    """Return the known results for a statement; `anchor` is a part of it in the user's tree."""
    calls = (frame.site for frame in state.frames)
    # The anchor is held, so that no other one takes its identity.
    return state.fixpoint_seeds.setdefault((about, id(anchor), *calls), (anchor, {}))[1]


@dataclass(eq=False)
class Machine(Constructors["AbstractValue | Arg", Value], ABC):
    """Everything that reading one function needs."""

    environment: ShapeEnvironment
    builder: Builder = field(default_factory=Builder)
    frames: list[Frame] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    active: set[Value] = field(default_factory=set)
    origins: dict[Value, Origin] = field(default_factory=dict)
    compact: set[Value] = field(default_factory=set)
    entries: set[Value] = field(default_factory=set)
    layouts: dict[Value, Layout | None] = field(default_factory=dict)
    laid_as: dict[Value, tuple[Step | None, tuple[Value, ...]]] = field(default_factory=dict)
    laid_like: dict[Value, tuple[Value, ...]] = field(default_factory=dict)
    parts: dict[tuple[Value, Any], Value] = field(default_factory=dict)
    written_objects: list[Value] = field(default_factory=list)
    began: dict[Value, frozenset[Value]] = field(default_factory=dict)
    either: dict[Value, Either] = field(default_factory=dict)
    made_in_loops: list[Value] = field(default_factory=list)  # the arrays of last iterations
    partial: set[Value] = field(default_factory=set)
    writes: list[tuple[AbstractValue, Builder, int]] = field(default_factory=list)
    bindings: list[tuple[Frame, str, Builder, int]] = field(default_factory=list)
    sure: dict[int, Op] = field(default_factory=dict)
    serial: Iterator[int] = field(default_factory=itertools.count)
    paths: dict[Value, Path] = field(default_factory=dict)
    hidden: dict[Value, Path] = field(default_factory=dict)
    differentiated: frozenset[str] = frozenset()
    root: Any = None
    arguments: dict[str, Any] = field(default_factory=dict)
    routines: dict[Any, Any] = field(default_factory=dict)
    unrolled: dict[Any, Any] = field(default_factory=dict)
    helpers: Any = None
    handed: set[AbstractValue] = field(default_factory=set)
    inlining: list[Any] = field(default_factory=list)
    in_comprehension: bool = False
    unbound_if: dict[Value, tuple[Atom, bool]] = field(default_factory=dict)
    perhaps_unbound: dict[Value, tuple[Arg, ...] | None] = field(default_factory=dict)
    bound_in: set[tuple[Value, Builder]] = field(default_factory=set)
    written: list[AbstractValue] = field(default_factory=list)
    objects: Objects = field(default_factory=Objects)
    returns: dict[Value, Value] = field(default_factory=dict)
    fixpoint_seeds: dict[Any, tuple[Any, dict[Any, Any]]] = field(default_factory=dict)
    inactive: Inactive = field(default_factory=Inactive)
    dicts: Dicts = field(default_factory=Dicts)
    assumed: dict[Value, bool] = field(default_factory=dict)
    negated: dict[Value, Value] = field(default_factory=dict)
    outside: Outside = field(default_factory=Outside)
    all_real: bool = True
    stops_all: bool = False  # in a rule: a later derivative may flow through every value
    surroundings: Surroundings | None = field(default_factory=surroundings)

    @property
    def frame(self) -> Frame:
        """The function being read."""
        return self.frames[-1]

    # ------------------------------------------------------------------ places and errors
    def location(self, node: ast.AST) -> Location | None:
        """Where a node stands in the user's text."""
        frame, current = self.frame, self.builder.where
        if frame.trusted:
            return current
        around = frame.file, frame.name, current.errstate if current else ()
        known: Location | None = getattr(node, "_place", None)  # from an earlier reading
        if (
            known is not None
            and known.call is frame.call
            and (known.file, known.function, known.errstate) == around
        ):
            return known
        if not isinstance(node, Placed) or not hasattr(node, "lineno"):
            return current
        known = node._place = Location(  # type: ignore[union-attr]
            frame.file,
            node.lineno,
            node.col_offset,
            node.end_lineno or node.lineno,
            node.end_col_offset or 0,
            *around[1:],
            call=frame.call,
        )
        return known

    def at(self, node: ast.AST) -> Placing:
        """Stamp the ops made meanwhile with the place of `node`."""
        return self.builder.at(self.location(node))

    def refuse(
        self,
        kind: type[errors.SrcadError],
        message: str,
        *,
        why: str = "",
        help: Iterable[str] = (),
        node: ast.AST | None = None,
    ) -> NoReturn:
        """Raise a located error about the construct being read.

        What a library does is shown where the user calls it, and there as the second place.
        """
        where = self.location(node) if node is not None else self.builder.where
        if where is None and self.user_frame.node is not None:
            where = self.location(self.user_frame.node)
        own, site = own_frame(self.frames)
        if own is None or site is None:
            frame = self.user_frame
            name = where.function if frame.trusted and where is not None else frame.name
            raise kind(f"{message} in {name!r}", where=where, why=why, help=tuple(help))
        message = f"{message} in {self.user_frame.name!r}, called in {own.name!r}"
        raise kind(message, where=site, second=where, why=why, help=tuple(help))

    @property
    def user_frame(self) -> Frame:
        """The innermost function of the user that is being read."""
        return next((f for f in reversed(self.frames) if not f.trusted), self.frames[-1])

    # ------------------------------------------------------------------ blocks
    @contextmanager
    def block(self) -> Iterator[Builder]:
        """Build ops into a new block meanwhile."""
        before = self.builder
        self.builder = Builder(where=before.where, half=before.half)
        try:
            yield self.builder
        finally:
            self.builder = before

    def snapshot(self) -> list[Env]:
        """Return the names of all frames as they are now."""
        return [dict(frame.env) for frame in self.frames]

    def restore(self, envs: list[Env]) -> None:
        """Bind all names as in a snapshot."""
        for frame, env in zip(self.frames, envs, strict=True):
            frame.env = dict(env)

    @contextmanager
    def kept(self, box: AbstractValue) -> Iterator[SavedBox]:
        """Hold what was read while something else is read that may write into it."""
        frame, name = self.frame, f"%kept{next(self.serial)}"
        frame.env[name] = box
        kept = SavedBox(frame, name)
        yield kept
        kept.last = frame.env.pop(name)

    def note_write(self, what: AbstractValue) -> None:
        """Note that an array or container was written into, and where."""
        self.writes.append((what, self.builder, len(self.builder.ops)))

    def note_binding(self, name: str) -> None:
        """Note that a name was bound, and where, if that may fail and be caught."""
        if self.frame.attempts:
            self.bindings.append((self.frame, name, self.builder, len(self.builder.ops)))

    def replace_everywhere(
        self, old: AbstractValue, new: AbstractValue
    ) -> list[tuple[AbstractValue, AbstractValue]]:
        """Bind `new` wherever `old` is reachable: the object was written into.

        Returns what else changed: the structures that hold the object, old and new.
        """
        self.written.append(old)
        self.note_write(old)
        done: Done = {}

        def change(box: AbstractValue) -> AbstractValue | None:
            return new if box is old else None

        for frame in self.frames:
            for name, box in frame.env.items():
                frame.env[name] = mapped(box, change, done)
        held = [(a, b) for a, b in done.values() if a is not b and a is not old]
        self.handed.update(b for a, b in ((old, new), *held) if a in self.handed)
        self.objects.names.update((b, self.objects.name_of(a)) for a, b in ((old, new), *held))
        return held

    def reachable(self) -> Iterator[tuple[str, AbstractValue]]:
        """Every name of every frame with its box."""
        return (pair for frame in self.frames for pair in frame.env.items())

    # ------------------------------------------------------------------ ops
    @abstractmethod
    def emit(
        self,
        target: Any,
        *args: AbstractValue | Arg,
        kwargs: Mapping[str, AbstractValue | Arg] | None = None,
        effect: bool = False,
        type: Type | None = None,
        hint: str | None = None,
    ) -> Value:
        """Append a call and keep track of activity and of views."""

    def _construct(self, target: Any, *args: AbstractValue | Arg, **how: Any) -> Value:
        return self.emit(target, *args, **how)

    def carries(self, target: Any, values: Iterable[Value], result: Value) -> bool:
        """Return True if a derivative may flow from these inputs to this result."""
        values = tuple(values)
        if not any(v in self.active for v in values):
            return False
        is_flag = isinstance(result.type, Numeric) and result.type.kind == "b"
        return not is_flag and not is_text(result.type) and not is_nondifferentiable(target, values)

    # ------------------------------------------------------------------ boxes and atoms
    def arg(self, box: AbstractValue | Arg) -> Arg:
        """Return the box as an argument of a call; structures are displayed there."""
        if isinstance(box, Value | Const | Display):
            return box
        if isinstance(box, Text):
            return Const(box.value)
        if isinstance(box, Constant):
            return self.constant(box)
        if isinstance(box, SliceValue):
            return Display("slice", tuple(self.arg(b) for b in (box.start, box.stop, box.step)))
        if (
            isinstance(box, TupleValue | ListValue | DictValue | RecordValue)
            and box.source is not None
        ):
            return box.source
        if isinstance(box, TupleValue | ListValue):
            items = tuple(self.arg(b) for b in box.items)
            return Display("tuple" if isinstance(box, TupleValue) else "list", items)
        if isinstance(box, IteratorValue) and box.kind == "range":
            return Display("range", tuple(self.arg(b) for b in box.parts))
        return self.atom(box)

    @abstractmethod
    def atom(self, box: AbstractValue | Atom) -> Atom:
        """Return the box as one value or constant; a structure is built."""

    def constant(self, box: Constant) -> Atom:
        """Return a constant, or the value that holds a user's object at the call."""
        if isinstance(box, Text):
            return box.carry()
        if box.atom is not None:
            return box.atom
        if box.path is not None and not is_plain(box.value):
            return self.captured(box.path, box.value)
        return Const(box.value, box.spelling)

    @abstractmethod
    def box(self, value: Value | Const) -> AbstractValue:
        """Return the box of a value, unfolded as far as its type tells."""

    # ------------------------------------------------------------------ the user's objects
    def guard(self, path: Path | None, kind: GuardKind, expected: Any) -> None:
        """Take for granted what an object of the user is, and say so once."""
        if path is not None and not any(g.says(path, kind, expected) for g in self.guards):
            self.guards.append(Guard(path, kind, expected))

    def captured(self, path: Path, value: Any, type_: Type | None = None) -> Value:
        """Return a further parameter, read at `path` when the compiled function is called."""
        for capture in self.captures:
            if capture.path == path:
                return capture.value
        if path[0][0] == "param" and len(path) == 1:  # an argument that is known now
            return next(held for held, known in self.paths.items() if known == path)
        type_ = describe(value, path, self.environment) if type_ is None else type_
        hint = next((s[-1] for s in reversed(path) if isinstance(s[-1], str)), None)
        capture = Capture(Value(type_, hint), path)
        self.captures.append(capture)
        if path[0][0] == "param" and self._is_hidden(path, type_):
            self.hidden[capture.value] = path
        self.paths[capture.value] = path
        return capture.value

    def _is_hidden(self, path: Path, type_: Type) -> bool:
        """Return True for numbers in an object that is differentiated by and not taken apart."""
        around = [v for v, known in self.paths.items() if known == path[: len(known)]]
        if any(v in self.hidden for v in around):
            return True
        held = any(v in self.active and isinstance(v.type, Opaque) for v in around)
        return held and any(number.kind in "fc?" for number in numbers_in(type_))

    def activate(self, value: Value) -> None:
        """Mark an argument, or a part of one, that is differentiated by.

        An object that holds numbers and is not taken apart is run as it is; where its numbers lead
        to the result, the function is refused (`srcad.modes.hidden`).
        """
        if _is_iterator(value.type):  # its items are asked for once, and nothing is kept of them
            return
        if is_holder(value.type):
            self.hidden[value] = self.paths[value]
        else:
            self.active.add(value)
        if isinstance(value.type, ListOf) and holds_holders(value.type):
            self.hidden[value] = self.paths[value]

    def use_as_number(self, *boxes: AbstractValue) -> None:
        """Have numbers of subclasses read as those of the base, if these are differentiated by.

        Raises
        ------
        NumbersNeeded
            One of these is: the function is read once more.
        """
        for box in boxes:
            if isinstance(box, Constant) and box.path and isinstance(box.value, numbers.Number):
                kind, name = box.path[0]
                is_argument = kind == "param" and name in self.differentiated
                if is_argument and number_base(box.value) is not None:
                    raise NumbersNeeded

    def is_active(self, *boxes: AbstractValue) -> bool:
        """Return True if a derivative may flow through any of these."""
        return any(v in self.active for box in boxes for v in values_of(box))

    def found_at(self, type_: Fixed) -> Path | None:
        """Where what all items of a list are is found: what it holds, or reads, is read there."""
        if type_.path is not None and isinstance(type_.value, FunctionType):
            self.guard(type_.path, "code", type_.value)
        return type_.path

    def is_contiguous_argument(self, value: Value) -> bool:
        """Return True for an argument in C order without gaps, and assume that from now on."""
        path = self.paths.get(value)
        if path is None or len(path) > 1 or path[0][0] != "param":
            return False
        given = self.arguments.get(path[0][1])
        close = type(given) is np.ndarray and given.flags.c_contiguous
        if close:
            self.guard(path, "contiguous", True)
        return close


def _is_iterator(type_: Type) -> bool:
    """Return True for a generator or another iterator of Python's: it has no derivative."""
    if not isinstance(type_, Opaque) or type_.cls is None:
        return False
    return module_of(type_.cls) in ("builtins", "itertools") and issubclass(type_.cls, Iterator)
