"""Loops over few things that are known one by one: the body is read once per item."""

from __future__ import annotations

import ast

from srcad.frontend.assignment import assign
from srcad.frontend.boxes import Box, DictBox, IterBox, ListBox, Static, TupleBox
from srcad.frontend.control import after_break, on_tag, without_continue
from srcad.frontend.known import static_items
from srcad.frontend.scope import DEAD, Session
from srcad.frontend.statements import lower_statements
from srcad.ir.core import NONE, Value

UNROLL_LIMIT = 16
FEW = 8  # a comprehension over a range of so few items is written out


def unrolled_items(s: Session, box: Box) -> tuple[Box, ...] | None:
    """The items of a sequence of few things that are known one by one."""
    if isinstance(box, TupleBox | ListBox | DictBox):
        items = box.items if not isinstance(box, DictBox) else tuple(Static(k) for k in box.keys)
        alike = bool(items) and all(
            isinstance(i, Value) and i.type == getattr(items[0], "type", None) for i in items
        )
        return None if alike and len(items) > UNROLL_LIMIT else items
    if isinstance(box, IterBox):
        return _unrolled_iterator(s, box)
    if isinstance(box, Static) and isinstance(box.value, tuple | str | dict | list | frozenset):
        return tuple(Static(v) for v in box.value)
    return None


def _unrolled_iterator(s: Session, box: IterBox) -> tuple[Box, ...] | None:
    only_range = all(isinstance(p, IterBox) and p.kind == "range" for p in box.parts)
    if box.kind != "range" and not only_range:
        return static_items(s, box)
    if not s.in_comprehension:
        return None
    items = static_items(s, box)
    return items if items is not None and len(items) <= FEW else None


def unroll(s: Session, node: ast.For, items: tuple[Box, ...]) -> None:
    """Read the body once per item."""
    frame = s.frame
    name = f"%unrolled{len(frame.env)}"
    frame.env[name] = TupleBox(items)  # a trip may write into an item of a later one

    def trips(index: int) -> None:
        if index == len(items):
            lower_statements(s, node.orelse)
            return
        held = frame.env[name]
        assert isinstance(held, TupleBox)
        assign(s, node.target, held.items[index])
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

    trips(0)
    frame.env.pop(name, None)
    after_break(s)
