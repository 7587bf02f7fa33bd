"""Sequences of loops with a run-time length, and the box of one item."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.memory import Element, Origin
from srcad.frontend.domain.predicates import described_value, is_of_users
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    IteratorValue,
    ListValue,
    RecordValue,
    SliceValue,
    TupleValue,
)
from srcad.frontend.machine.constants import raises, require_items
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.store.aliases import holds_objects
from srcad.frontend.store.origins import origin
from srcad.ir.core import Arg, Atom, Const, Display, Value
from srcad.ir.inference.builder import result_type
from srcad.ir.memory import has_storage
from srcad.startup.records import dataclass, field
from srcad.types.numeric import INT, Numeric
from srcad.types.structures import OPAQUE, Fixed, ListOf, Opaque, TupleOf, Type, freshened

Make = Callable[[list[AbstractValue]], AbstractValue]


@dataclass(eq=False)
class Sequences:
    """The sequences of a loop, one item value each, and how the target is made of the items."""

    args: tuple[Arg, ...] = ()
    items: tuple[Value, ...] = ()
    make: Make = field(default=lambda boxes: boxes[0])
    backward: bool = False
    segments: tuple[Atom, ...] = ()

    def target(self, s: Machine, node: ast.expr | None = None) -> AbstractValue:
        """Return the box that the loop's target is bound to in an iteration."""
        return self.make([s.box(item) for item in self.items])


def sequences(s: Machine, box: AbstractValue, node: ast.AST | None = None) -> Sequences:
    """Take an iterable apart."""
    require_items(s, box)
    if isinstance(box, IteratorValue) and box.kind == "reversed":
        inner = _in_one_piece(s, sequences(s, box.parts[0], node))
        return Sequences(inner.args, inner.items, inner.make, not inner.backward)
    if isinstance(box, IteratorValue) and box.kind == "zip":
        parts = [sequences(s, _forward(s, part), node) for part in box.parts]
        return _zipped([_in_one_piece(s, part) for part in parts])
    if isinstance(box, IteratorValue) and box.kind == "range":
        arg = s.arg(box)
        found = _one(s, arg, INT, False)
        found.segments = tuple(s.atom(part) for part in box.segments)
        return found
    if isinstance(box, IteratorValue) and box.kind == "rows":
        return _rows(s, box)
    if isinstance(box, TupleValue | ListValue):
        value = s.atom(ListValue(box.items) if isinstance(box, TupleValue) else box)
        assert isinstance(value, Value)
        return sequences(s, value, node)
    if isinstance(box, DictValue):
        return sequences(s, ListValue(tuple(Constant(k) for k in box.keys)), node)
    if isinstance(box, Constant):
        value = s.atom(box)
        return _one(s, value, OPAQUE, False)
    item = _item_type(s, box) if isinstance(box, Value) else None
    if not isinstance(box, Value) or item is None:
        s.refuse(
            errors.UnsupportedTypeError,
            f"cannot loop over {described_value(box)}",
            node=node,
            why="srcad does not know what its items are.",
            help=(
                ("give its class an __iter__ that yields them",)
                if isinstance(box, RecordValue)
                else ("loop over a range, an array, a list or a tuple",)
            ),
        )
    result = _one(s, box, item, box in s.active)
    if has_storage(result.items[0]):
        s.origins[result.items[0]] = Origin(origin(s, box).everything, None)
    return result


def _in_one_piece(s: Machine, part: Sequences) -> Sequences:
    """Refuse a checkpointed range with others beside it: a loop over it alone is cut."""
    if not part.segments:
        return part
    return s.refuse(
        errors.UnsupportedSyntaxError,
        "cannot loop over a checkpointed range together with something else",
        why="only a loop over the range alone is cut into segments.",
        help=("loop over it and index:  for i in checkpointed_range(len(xs)): x = xs[i]",),
    )


def _rows(s: Machine, box: IteratorValue) -> Sequences:
    """Return the rows of an array as it is when their iteration starts.

    It is bound to a name of ours.
    """
    array, name = box.parts
    assert isinstance(name, Constant)
    every = Display("range", (Const(0), s.atom(length(s, array)), Const(1)))

    def make(boxes: list[AbstractValue]) -> AbstractValue:
        return getitem(s, s.frame.env[name.value], boxes[0])

    return Sequences((every,), (Value(INT),), make)


def _one(s: Machine, arg: Arg, item: Type, active: bool) -> Sequences:
    value = Value(item)
    if active:
        s.active.add(value)
    if isinstance(arg, Value) and isinstance(arg.type, ListOf) and holds_objects(item):
        s.objects.elements[value] = Element(arg, None, s.builder.where)
    return Sequences((arg,), (value,))


def _item_type(s: Machine, box: Value) -> Type | None:
    match box.type:
        case ListOf(item):
            return freshened(item, keep_examples=True)
        case Numeric(shape=None):
            return Numeric(box.type.dtype)
        case Numeric(shape=()):
            return None
        case Numeric():
            return result_type(operator.getitem, (box, Const(0)), ())
        case Opaque():
            return INT if box.type.cls is range else OPAQUE
        case TupleOf(items, keys=None) if items and all(isinstance(t, Fixed) for t in items):
            classes = {type(t.value) for t in items if isinstance(t, Fixed)}
            return Opaque(classes.pop()) if len(classes) == 1 else OPAQUE
        case _:
            return None


def _zipped(parts: list[Sequences]) -> Sequences:
    widths = [len(p.items) for p in parts]
    starts = np.cumsum([0, *widths])

    def make(boxes: list[AbstractValue]) -> AbstractValue:
        cells = [p.make(boxes[a : a + w]) for p, a, w in zip(parts, starts, widths, strict=False)]
        return TupleValue(tuple(cells))

    args = tuple(a for p in parts for a in p.args)
    return Sequences(args, tuple(v for p in parts for v in p.items), make)


def _forward(s: Machine, box: AbstractValue) -> AbstractValue:
    """Inside ``zip`` a reversed sequence is turned round first."""
    if not isinstance(box, IteratorValue) or box.kind != "reversed":
        return box
    inner = _forward(s, box.parts[0])
    if isinstance(inner, IteratorValue) and inner.kind == "range":
        start, stop, step = inner.parts
        count = s.emit(len, s.emit(range, start, stop, step))
        last = s.box(
            s.emit(
                operator.add,
                start,
                s.emit(operator.mul, s.emit(operator.sub, count, Constant(1)), step),
            )
        )
        end = s.box(s.emit(operator.sub, start, step))
        minus = Constant(-step.value) if isinstance(step, Constant) else s.emit(operator.neg, step)
        return IteratorValue("range", (last, end, minus))
    if isinstance(inner, TupleValue | ListValue):
        return type(inner)(inner.items[::-1])
    whole = SliceValue(Constant(None), Constant(None), Constant(-1))
    return s.emit(operator.getitem, inner, whole)


def ordered(s: Machine, target: Any, *args: AbstractValue, type: Type) -> Value:
    """Return a question about an object that is not known, which calls around it may change."""
    unknown = any(isinstance(a, Value) and isinstance(a.type, Opaque) for a in args)
    return s.emit(target, *args, effect=unknown, type=type if unknown else None)


def length(s: Machine, box: AbstractValue) -> AbstractValue:
    """``len`` of an iterable."""
    if isinstance(box, TupleValue | ListValue | DictValue):
        return Constant(len(box.items))
    if isinstance(box, Constant) and not is_of_users(box):
        try:
            return Constant(len(box.value))
        except TypeError as error:
            raises(s, TypeError, str(error))
    if isinstance(box, IteratorValue):
        if box.kind == "range":
            start, stop, step = box.parts
            if (
                isinstance(start, Constant)
                and isinstance(step, Constant)
                and (start.value, step.value) == (0, 1)
            ):
                return stop
            return s.box(s.emit(len, s.emit(range, start, stop, step)))
        return length(s, box.parts[0])
    return s.box(ordered(s, len, box, type=INT))
