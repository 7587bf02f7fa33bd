"""Loops over few things that are known one by one: the body is read once per item."""

from __future__ import annotations

import ast
from typing import NoReturn

from srcad import errors
from srcad.frontend.branches.conditional import after_break, on_tag, without_continue
from srcad.frontend.domain.frames import DEAD
from srcad.frontend.domain.structure import view_of
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    IteratorValue,
    ListValue,
    TupleValue,
    ViewValue,
)
from srcad.frontend.machine.constants import of_constant, static_items
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.assignment import assign
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.operations.statements import lower_statements
from srcad.frontend.store.object_writes import resizes
from srcad.ir.core import NONE, Value

UNROLL_LIMIT = 16
FEW = 8  # a comprehension over a range of so few items is written out


def unrolled_items(s: Machine, box: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the items of a sequence of few things that are known one by one."""
    if isinstance(box, TupleValue | ListValue | DictValue):
        items = (
            box.items if not isinstance(box, DictValue) else tuple(Constant(k) for k in box.keys)
        )
        alike = bool(items) and all(
            isinstance(i, Value) and i.type == getattr(items[0], "type", None) for i in items
        )
        return None if alike and len(items) > UNROLL_LIMIT else items
    if isinstance(box, IteratorValue):
        return _unrolled_iterator(s, box)
    if isinstance(box, Constant) and not isinstance(box.value, range):
        return of_constant(s, box)
    return None


def _unrolled_iterator(s: Machine, box: IteratorValue) -> tuple[AbstractValue, ...] | None:
    only_range = all(isinstance(p, IteratorValue) and p.kind == "range" for p in box.parts)
    if box.kind != "range" and not only_range:
        return static_items(s, box)
    is_rule = s.root is None  # its loops go over arguments, one by one
    if not s.in_comprehension and not is_rule:
        return () if _is_empty_range(box) else None
    items = static_items(s, box)
    return items if items is not None and len(items) <= FEW else None


def _is_empty_range(box: IteratorValue) -> bool:
    """Return True if there certainly is no iteration: nothing of the body is read then."""
    bounds = [p.value for p in box.parts if isinstance(p, Constant)]
    ints = all(isinstance(b, int) for b in bounds)
    return box.kind == "range" and len(bounds) == 3 and ints and not range(*bounds)


def looped_over(box: AbstractValue) -> list[AbstractValue]:
    """Return the sequences behind an iterable."""
    if isinstance(box, IteratorValue):
        return [inner for part in box.parts for inner in looped_over(part)]
    if isinstance(box, ViewValue):
        return [box.of]
    return [box]


def refuse_growing(s: Machine, node: ast.For) -> NoReturn:
    """Refuse a loop over a list that its own body makes longer or shorter."""
    s.refuse(
        errors.MutationError,
        "cannot write into a list while looping over it",
        node=node.iter,
        why="the number of trips would change under way.",
        help=("loop over a copy:  for item in list(items):",),
    )


def _item_now(
    s: Machine, node: ast.For, held: AbstractValue, iterable: AbstractValue, index: int
) -> AbstractValue:
    """Return the item of an iteration: what the loop runs over may have other items by now."""
    assert isinstance(held, TupleValue)
    over, *items = held.items
    if isinstance(iterable, ViewValue):
        if (
            isinstance(over, DictValue)
            and over is not iterable.of
            and over.keys == iterable.of.keys
        ):
            return view_of(over, pairs=iterable.pairs).items[index]
        iterable = iterable.of
    if over is iterable:
        return items[index]
    now = unrolled_items(s, over)
    if now is None and isinstance(over, Value):
        return getitem(s, over, Constant(index))
    keys, keys_before = getattr(over, "keys", None), getattr(iterable, "keys", None)
    if now is None or len(now) != len(items) or keys != keys_before:
        refuse_growing(s, node)
    return now[index]


def unroll(
    s: Machine, node: ast.For, iterable: AbstractValue, items: tuple[AbstractValue, ...]
) -> None:
    """Read the body once per item."""
    frame = s.frame
    name = f"%unrolled {id(node)}"
    # A trip may write into an item of a later one, or put another one in its place.
    over = iterable.of if isinstance(iterable, ViewValue) else iterable
    frame.env[name] = TupleValue((over, *items))

    def trips(index: int) -> None:
        if index == len(items):
            lower_statements(s, node.orelse)
            return
        assign(s, node.target, _item_now(s, node, frame.env[name], iterable, index))
        lower_statements(s, node.body)
        if isinstance(frame.exit, int):
            if frame.exit <= 1 and frame.exit != DEAD:
                frame.ends(NONE)
                trips(index + 1)
            return
        if 1 in frame.tags:
            frame.exit = without_continue(s, frame.exit)
            frame.tags = (frame.tags - {1}) | {NONE}
        if NONE in frame.tags:
            on_tag(s, frame.exit, NONE, lambda: trips(index + 1))

    resized = len(s.objects.resized)
    trips(0)
    if resizes(s, looped_over(iterable), resized):
        refuse_growing(s, node)
    frame.env.pop(name, None)
    after_break(s)
