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
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Const, Display, Value
from srcad.ir.inference.builder import result_type
from srcad.ir.memory import has_storage
from srcad.startup.records import dataclass, field
from srcad.types.numeric import INT, Numeric, int_type
from srcad.types.sizes import IndexSymbol, constant_extent, symbol_extent
from srcad.types.structures import OPAQUE, TEXT, Fixed, ListOf, Opaque, TupleOf, Type, freshened

Make = Callable[[list[AbstractValue]], AbstractValue]


@dataclass(eq=False)
class Sequences:
    """The sequences of a loop, one item value each, and how the target is made of the items."""

    args: tuple[Arg, ...] = ()
    items: tuple[Value, ...] = ()
    make: Make = field(default=lambda boxes: boxes[0])
    backward: bool = False
    segments: tuple[Atom, ...] = ()

    def target(self, state: Machine, node: ast.expr | None = None) -> AbstractValue:
        """Return the box that the loop's target is bound to in an iteration."""
        return self.make([state.box(item) for item in self.items])


def sequences(state: Machine, box: AbstractValue, node: ast.AST | None = None) -> Sequences:
    """Take an iterable apart."""
    require_items(state, box)
    if isinstance(box, IteratorValue) and box.kind == "reversed":
        inner = _in_one_piece(state, sequences(state, box.parts[0], node))
        return Sequences(inner.args, inner.items, inner.make, not inner.backward)
    if isinstance(box, IteratorValue) and box.kind == "zip":
        parts = [sequences(state, _forward(state, part), node) for part in box.parts]
        return _zipped([_in_one_piece(state, part) for part in parts])
    if isinstance(box, IteratorValue) and box.kind == "range":
        arg = state.arg(box)
        found = _one(state, arg, _index_type(arg), False)
        found.segments = tuple(state.atom(part) for part in box.segments)
        return found
    if isinstance(box, IteratorValue) and box.kind == "rows":
        return _rows(state, box)
    if isinstance(box, TupleValue | ListValue):
        value = state.atom(ListValue(box.items) if isinstance(box, TupleValue) else box)
        assert isinstance(value, Value)
        return sequences(state, value, node)
    if isinstance(box, DictValue):
        return sequences(state, ListValue(tuple(Constant(k) for k in box.keys)), node)
    if isinstance(box, Constant):
        value = state.atom(box)
        return _one(state, value, OPAQUE, False)
    item = _item_type(state, box) if isinstance(box, Value) else None
    if not isinstance(box, Value) or item is None:
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot loop over {described_value(box)}",
            node=node,
            why="the types of its items are unknown.",
            help=(
                ("give its class an __iter__ that yields them",)
                if isinstance(box, RecordValue)
                else ("loop over a range, an array, a list or a tuple",)
            ),
        )
    result = _one(state, box, item, box in state.active)
    if has_storage(result.items[0]):
        state.origins[result.items[0]] = Origin(origin(state, box).everything, None)
    return result


def _in_one_piece(state: Machine, part: Sequences) -> Sequences:
    """Refuse a checkpointed range with others beside it: a loop over it alone is cut."""
    if not part.segments:
        return part
    return state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot loop over a checkpointed range together with something else",
        why="only a loop over the range alone is cut into segments.",
        help=("loop over it and index:  for i in checkpointed_range(len(xs)): x = xs[i]",),
    )


def _rows(state: Machine, box: IteratorValue) -> Sequences:
    """Return the rows of an array as it is when their iteration starts.

    It is bound to a name of ours.
    """
    array, name = box.parts
    assert isinstance(name, Constant)
    every = Display("range", (Const(0), state.atom(length(state, array)), Const(1)))

    def make(boxes: list[AbstractValue]) -> AbstractValue:
        return getitem(state, state.frame.env[name.value], boxes[0])

    return Sequences((every,), (Value(_index_type(every)),), make)


def _index_type(seq: Arg) -> Numeric:
    """Return the type of an item of a range: an integer between its ends, if these are known."""
    if not isinstance(seq, Display):
        return INT
    types = [argument_type(part) for part in seq.items]
    start, stop, step = (t.value if isinstance(t, Numeric) else None for t in types)
    if step is None or step.terms or step.constant == 0:
        return INT
    one = constant_extent(1)
    if step.constant > 0:
        low, high = start, None if stop is None else stop - one
    else:
        low, high = None if stop is None else stop + one, start
    return int_type(symbol_extent(IndexSymbol("k", low, high)))


def _one(state: Machine, arg: Arg, item: Type, active: bool) -> Sequences:
    value = Value(item)
    if active:
        state.active.add(value)
    if isinstance(arg, Value) and isinstance(arg.type, ListOf) and holds_objects(item):
        state.objects.elements[value] = Element(arg, None, state.builder.where)
    return Sequences((arg,), (value,))


def _item_type(state: Machine, box: Value) -> Type | None:
    match box.type:
        case ListOf(item):
            return freshened(item, keep_examples=True)
        case Numeric(shape=None):
            return box.type.of_shape(None, "any")
        case Numeric(shape=()):
            return None
        case Numeric():
            return result_type(operator.getitem, (box, Const(0)), ())
        case Opaque():
            return INT if box.type.cls is range else OPAQUE
        case TupleOf(items, keys=None) if items and all(map(_is_no_number, items)):
            classes = {type(t.value) if isinstance(t, Fixed) else str for t in items}
            return Opaque(classes.pop()) if len(classes) == 1 else OPAQUE
        case _:
            return None


def _is_no_number(type_: Type) -> bool:
    """Return True for a flag, a string or a function."""
    return isinstance(type_, Fixed) or type_ == TEXT


def _zipped(parts: list[Sequences]) -> Sequences:
    widths = [len(p.items) for p in parts]
    starts = np.cumsum([0, *widths])

    def make(boxes: list[AbstractValue]) -> AbstractValue:
        cells = [p.make(boxes[a : a + w]) for p, a, w in zip(parts, starts, widths, strict=False)]
        return TupleValue(tuple(cells))

    args = tuple(a for p in parts for a in p.args)
    return Sequences(args, tuple(v for p in parts for v in p.items), make)


def _forward(state: Machine, box: AbstractValue) -> AbstractValue:
    """Inside ``zip`` a reversed sequence is turned round first."""
    if not isinstance(box, IteratorValue) or box.kind != "reversed":
        return box
    inner = _forward(state, box.parts[0])
    if isinstance(inner, IteratorValue) and inner.kind == "range":
        start, stop, step = inner.parts
        count = state.emit(len, state.emit(range, start, stop, step))
        last = state.box(
            state.emit(
                operator.add,
                start,
                state.emit(operator.mul, state.emit(operator.sub, count, Constant(1)), step),
            )
        )
        end = state.box(state.emit(operator.sub, start, step))
        minus = (
            Constant(-step.value) if isinstance(step, Constant) else state.emit(operator.neg, step)
        )
        return IteratorValue("range", (last, end, minus))
    if isinstance(inner, TupleValue | ListValue):
        return type(inner)(inner.items[::-1])
    whole = SliceValue(Constant(None), Constant(None), Constant(-1))
    return state.emit(operator.getitem, inner, whole)


def ordered(state: Machine, target: Any, *args: AbstractValue, type: Type) -> Value:
    """Return a question about an object that is not known, which calls around it may change."""
    unknown = any(isinstance(a, Value) and isinstance(a.type, Opaque) for a in args)
    return state.emit(target, *args, effect=unknown, type=type if unknown else None)


def length(state: Machine, box: AbstractValue) -> AbstractValue:
    """``len`` of an iterable."""
    if isinstance(box, TupleValue | ListValue | DictValue):
        return Constant(len(box.items))
    if isinstance(box, Constant) and not is_of_users(box):
        try:
            return Constant(len(box.value))
        except TypeError as error:
            raises(state, TypeError, str(error))
    if isinstance(box, IteratorValue):
        if box.kind == "range":
            start, stop, step = box.parts
            if (
                isinstance(start, Constant)
                and isinstance(step, Constant)
                and (start.value, step.value) == (0, 1)
            ):
                return stop
            return state.box(state.emit(len, state.emit(range, start, stop, step)))
        return length(state, box.parts[0])
    return state.box(ordered(state, len, box, type=INT))
