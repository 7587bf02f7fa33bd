"""Binding targets, and the writes that are read as new versions.

A list that grows is a new list, bound wherever the old one was reachable; ``op=`` on an array is
a new array, if nobody else can see the old one.  Any other write is refused.
"""

from __future__ import annotations

import ast
import operator
from typing import NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.boxes import (
    Box,
    DictBox,
    ListBox,
    SliceBox,
    Static,
    Structure,
    rebuilt,
    values_of,
)
from srcad.frontend.forms import bind, lower, lowers_statement
from srcad.frontend.indexing import getitem
from srcad.frontend.known import known, spread
from srcad.frontend.operators import BINARY, choose, operate
from srcad.frontend.scope import Diverges, Session
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.types import ListOf, Numeric, Opaque, same_dtype


@lowers_statement(ast.Assign)
def assignment(s: Session, node: ast.Assign) -> None:
    """``a = b = value``."""
    box = lower(s, node.value)
    for target in node.targets:
        assign(s, target, box)


@lowers_statement(ast.AnnAssign)
def annotated(s: Session, node: ast.AnnAssign) -> None:
    """``name: annotation = value``; the annotation is not evaluated."""
    if node.value is not None:
        assign(s, node.target, lower(s, node.value))


def assign(s: Session, target: ast.expr, box: Box) -> None:
    """Bind a target."""
    match target:
        case ast.Name(id=name):
            bind(s, name, box)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            _unpack(s, parts, box, target)
        case ast.Subscript():
            store(s, target, box)
        case _:
            refuse_write(s, target, "write to an attribute")


def _unpack(s: Session, parts: list[ast.expr], box: Box, node: ast.expr) -> None:
    stars = [k for k, p in enumerate(parts) if isinstance(p, ast.Starred)]
    if stars and isinstance(box, Value) and isinstance(box.type, ListOf):
        _unpack_list(s, parts, stars[0], box)
        return
    items = _items_to_unpack(s, box, len(parts), bool(stars), node)
    if not stars:
        if len(items) != len(parts):
            few = len(items) < len(parts)
            message = (
                f"not enough values to unpack (expected {len(parts)}, got {len(items)})"
                if few
                else f"too many values to unpack (expected {len(parts)})"
            )
            s.emit(primitives.raise_, s.emit(ValueError, Const(message)), effect=True)
            raise Diverges
        for part, item in zip(parts, items, strict=True):
            assign(s, part, item)
        return
    star = stars[0]
    after = len(parts) - star - 1
    star_node = parts[star]
    assert isinstance(star_node, ast.Starred)
    for part, item in zip(parts[:star], items[:star], strict=True):
        assign(s, part, item)
    assign(s, star_node.value, ListBox(tuple(items[star : len(items) - after])))
    for part, item in zip(parts[star + 1 :], items[len(items) - after :], strict=True):
        assign(s, part, item)


def _unpack_list(s: Session, parts: list[ast.expr], star: int, box: Value) -> None:
    """``a, *rest, b = items`` of a list whose length is not known."""
    after = len(parts) - star - 1
    enough = s.emit(operator.ge, s.emit(len, box), Const(star + after))
    _require(s, enough, f"not enough values to unpack (expected at least {star + after})")
    for k, part in enumerate(parts):
        if isinstance(part, ast.Starred):
            stop = Static(k - len(parts) + 1) if k < len(parts) - 1 else Static(None)
            assign(s, part.value, getitem(s, box, SliceBox(Static(k), stop, Static(None))))
        else:
            assign(s, part, getitem(s, box, Static(k if k < star else k - len(parts))))


def _require(s: Session, test: Value, message: str) -> None:
    """Raise a ValueError at the call unless the test holds."""

    def fails() -> Box:
        s.emit(primitives.raise_, s.emit(ValueError, Const(message)), effect=True)
        raise Diverges

    choose(s, test, lambda: Static(None), fails)


def _items_to_unpack(
    s: Session, box: Box, count: int, star: bool, node: ast.expr
) -> tuple[Box, ...]:
    unknown = isinstance(box, Value) and (
        isinstance(box.type, ListOf | Opaque)
        or (isinstance(box.type, Numeric) and (box.type.shape is None or len(box.type.shape) > 0))
    )
    if not unknown or star:
        return spread(s, box, node)
    assert isinstance(box, Value)
    if isinstance(box.type, Opaque):
        value = s.emit(tuple, box, effect=True)
        return tuple(s.emit(operator.getitem, value, Const(k), type=Opaque()) for k in range(count))
    if isinstance(box.type, Numeric) and box.type.shape and not box.type.shape[0].terms:
        return spread(s, box, node)

    right = s.emit(operator.eq, s.emit(len, box), Const(count))
    _require(s, right, f"cannot unpack: expected {count} values")
    return tuple(getitem(s, box, Static(k)) for k in range(count))


def store(s: Session, target: ast.Subscript, box: Box) -> None:
    """``container[key] = value``, for the containers whose parts are known."""
    container = lower(s, target.value)
    index = lower(s, target.slice)
    if isinstance(container, DictBox) and container.source is None:
        key = known(s, index, "a dict key", target.slice)
        entries = dict(zip(container.keys, container.items, strict=True))
        entries[key] = box
        new: Structure = DictBox(tuple(entries), tuple(entries.values()))
    elif isinstance(container, ListBox) and container.source is None and isinstance(index, Static):
        items = list(container.items)
        items[index.value] = box
        new = rebuilt(container, tuple(items))
    else:
        refuse_write(s, target, "write into an array or container")
    s.replace_everywhere(container, new)


def refuse_write(s: Session, node: ast.AST, what: str) -> NoReturn:
    """Refuse a write that is not read as a functional update yet."""
    s.refuse(
        errors.MutationError,
        f"cannot {what}",
        node=node,
        why="an object that others may hold would change under the derivative.",
        help=("build a new value instead, for example with np.where or np.concatenate",),
    )


@lowers_statement(ast.AugAssign)
def augmented(s: Session, node: ast.AugAssign) -> None:
    """``name op= value``: rebinding for numbers, a new version of an array that has one name."""
    target = node.target
    operation = BINARY[type(node.op)]
    if isinstance(target, ast.Subscript):
        container, index = lower(s, target.value), lower(s, target.slice)
        if not isinstance(container, DictBox | ListBox) or container.source is not None:
            refuse_write(s, target, "write into an array or container")
        box = operate(s, operation, getitem(s, container, index), lower(s, node.value))
        store(s, target, box)
        return
    if not isinstance(target, ast.Name):
        refuse_write(s, target, "write to an attribute")
        return
    old = lower(s, ast.copy_location(ast.Name(target.id, ast.Load()), target))
    value = lower(s, node.value)
    if isinstance(old, ListBox) or (isinstance(old, Value) and isinstance(old.type, ListOf)):
        extend(s, old, value, node)
        return
    new = operate(s, operation, old, value)
    if (
        isinstance(old, Value)
        and isinstance(old.type, Numeric)
        and old.type.form in ("array", "any")
    ):
        if (old.type.form == "array" and not old.type.is_scalar) or old.type.shape is None:
            require_single_owner(s, old, node)
        new = _kept_type(s, old, new)
    bind(s, target.id, new)


def _kept_type(s: Session, old: Value, new: Box) -> Box:
    """An array keeps its dtype and shape under ``op=``."""
    if (
        not isinstance(new, Value)
        or not isinstance(old.type, Numeric)
        or not isinstance(new.type, Numeric)
    ):
        return new
    if (
        old.type.form != "array"
        or old.type.dtype is None
        or same_dtype(old.type.dtype, new.type.dtype)
    ):
        return new
    if new.type.dtype is not None and not np.can_cast(new.type.dtype, old.type.dtype, "same_kind"):
        s.refuse(
            errors.MutationError,
            f"cannot store {new.type.dtype} into an array of {old.type.dtype}",
            why="NumPy raises here.",
            help=("make the array float first: x = x.astype(float)",),
        )
    return s.emit(np.astype, new, Const(old.type.dtype))


def require_single_owner(s: Session, old: Value, node: ast.AST) -> None:
    """Refuse to write into an array that an argument, a view or another name shares."""
    base = s.bases.get(old)
    names = [n for n, box in s.reachable() if _shares(s, box, old)]
    outside = old in {c.value for c in s.captures} or old in s.paths
    if base is None and not outside and len(set(names)) <= 1:
        return
    shared = (
        f"it is shared with {names[0]!r}" if len(set(names)) > 1 else "it belongs to the caller"
    )
    s.refuse(
        errors.MutationError,
        "cannot change this array in place",
        node=node,
        why=f"{shared}: others would see the change.",
        help=("rebind the name instead:  x = x + v",),
    )


def _shares(s: Session, box: Box, old: Value) -> bool:
    root = s.bases.get(old, old)
    return any(v is old or s.bases.get(v, v) is root for v in values_of(box))


def extend(s: Session, old: Box, value: Box, node: ast.AST | None = None) -> None:
    """``items += more`` and ``items.extend(more)``."""
    if isinstance(old, ListBox) and old.source is None:
        more = spread(s, value, node)
        s.replace_everywhere(old, ListBox((*old.items, *more)))
        return
    if isinstance(old, Value) and s.bases.get(old) is None and old not in s.paths:
        s.replace_everywhere(old, s.emit(operator.add, old, value, type=old.type))
        return
    refuse_write(s, node or ast.Pass(), "extend a list of the caller's")


def append(s: Session, old: Box, value: Box, node: ast.AST | None = None) -> None:
    """``items.append(value)``: a new version of the list, wherever it is held."""
    if isinstance(old, ListBox) and old.source is None:
        s.replace_everywhere(old, ListBox((*old.items, value)))
        return
    if isinstance(old, Value) and s.bases.get(old) is None and old not in s.paths:
        s.replace_everywhere(old, s.emit(primitives.append, old, s.atom(value), hint=old.hint))
        return
    refuse_write(s, node or ast.Pass(), "append to a list of the caller's")
