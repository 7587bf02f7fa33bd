"""What is known now of a box: its truth, its items, its value."""

from __future__ import annotations

import ast
import enum
import inspect
import operator
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.boxes import (
    Box,
    Choice,
    Conflict,
    DictBox,
    GeneratorBox,
    IterBox,
    ListBox,
    Path,
    RecordBox,
    Static,
    Structure,
    TupleBox,
)
from srcad.frontend.holding import Holder
from srcad.frontend.questions import is_of_users, is_plain
from srcad.frontend.scope import Diverges, NeedsStatic, Session
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.startup.identifiers import plain
from srcad.types.numeric import Numeric
from srcad.types.sizes import static_value


def truth(s: Session, box: Box) -> bool | None:
    """The truth of a box where it is known now; that its class has no say in it is guarded."""
    if isinstance(box, Static):
        if box.atom is not None and not isinstance(box.value, bool | str | type(None)):
            return None
        if is_of_users(box):
            return _is_plainly_true(s, box.value, box.path)
        try:
            return bool(box.value)
        except Exception:
            return None
    if isinstance(box, RecordBox) and not issubclass(box.cls, tuple):
        return _is_plainly_true(s, box.cls, s.objects.classes.get(box.cls))
    if isinstance(box, Structure):
        return len(box.items) > 0
    if isinstance(box, Choice):
        first = truth(s, box.left)
        return first if first == truth(s, box.right) else None
    if isinstance(box, Value | Conflict | Holder):
        return None
    return True


def _is_plainly_true(s: Session, owner: Any, path: Path | None) -> bool | None:
    """True where an object, or a class for its objects, defines no truth; None where it does."""
    for name in ("__bool__", "__len__"):
        if hasattr(owner, name):
            return None
        s.guard(path, "lacks", name)
    return True


def as_tuple(box: Box) -> Box:
    """A named tuple as the plain tuple of its items; any other box as it is."""
    if isinstance(box, RecordBox) and issubclass(box.cls, tuple):
        return TupleBox(box.items)
    return box


def pinned(s: Session, box: Static) -> Any:
    """The object of a box, taken for granted from now on: another one at its place is seen."""
    if not isinstance(box.value, bool | str | bytes | type(None)):  # those are compared already
        s.guard(box.path, "is", box.value)
    return box.value


def is_settled(s: Session, box: Static) -> bool:
    """Whether the constant that a box is may answer what is asked of it now.

    An object of the user's may if its identity does: if its class leaves `==` alone.
    """
    if not is_of_users(box) and not isinstance(box.value, FunctionType):
        return True
    if inspect.getattr_static(type(box.value), "__eq__", None) is not vars(object)["__eq__"]:
        return False
    pinned(s, box)
    if box.path is not None and not isinstance(box.value, FunctionType):
        s.guard(
            (*box.path, ("attr", "__class__"), ("attr", "__eq__")), "is", vars(object)["__eq__"]
        )
    return True


def same_constant(s: Session, a: Static, b: Static) -> bool:
    """Whether two constants are one: one object, or equal plain data.

    Two places outside that hold one object now are taken for granted to do so from now on.
    """
    if a.value is b.value:
        if a.path != b.path:
            pinned(s, a)
            pinned(s, b)
        return True
    alike = type(a.value) is type(b.value) and not isinstance(a.value, type)
    return alike and _is_plain_data(a.value) and repr(a.value) == repr(b.value)


def _is_plain_data(value: Any) -> bool:
    """Whether a constant is told by its text: a number, text, something made of these."""
    if isinstance(value, tuple | frozenset):
        return all(_is_plain_data(item) for item in value)
    return is_plain(value) or isinstance(value, range | np.generic | np.dtype)


def known(s: Session, box: Box, what: str, node: ast.AST | None = None) -> Any:
    """The constant that a box is; an integer argument is made a constant (and guarded)."""
    if isinstance(box, Static) and is_settled(s, box):
        return box.value
    if isinstance(box, TupleBox):
        return tuple(known(s, item, what, node) for item in box.items)
    if isinstance(box, Value) and isinstance(box.type, Numeric):
        value = static_value(box.type.value)
        if value is not None:
            return value
    error = errors.UnsupportedSyntaxError(
        f"{what} is not known before the call in {s.user_frame.name!r}",
        where=s.location(node) if node is not None else s.builder.where,
        why="the derivative is compiled for one value of it.",
        help=("pass it as an argument of its own",),
    )
    raise NeedsStatic(error)


def spread_mapping(s: Session, box: Box, node: ast.AST) -> dict[str, Box]:
    """The keywords of ``**box``."""
    if not isinstance(box, DictBox):
        s.refuse(
            errors.UnsupportedSyntaxError,
            "cannot spread this mapping",
            node=node,
            why="its keys are not known before the call.",
            help=("name the keywords",),
        )
    if not all(isinstance(key, str) for key in box.keys):
        raises(s, TypeError, "keywords must be strings")
    return {plain(key): item for key, item in zip(box.keys, box.items, strict=True)}


def attribute_name(s: Session, box: Box) -> str:
    """The constant that names an attribute, as exactly a `str`."""
    name = known(s, box, "the name of an attribute")
    if not isinstance(name, str):
        raises(s, TypeError, f"attribute name must be string, not {type(name).__name__!r}")
    return plain(name)


def raises(s: Session, error: type[Exception], message: str) -> NoReturn:
    """The plain call raises here."""
    s.emit(primitives.raise_, s.emit(error, Const(message)), effect=True)
    raise Diverges


def is_found(s: Session, item: Static, container: Static, *, negated: bool) -> Box:
    """``item in container``."""
    try:
        return Static((item.value in container.value) != negated)
    except TypeError as error:
        raises(s, TypeError, str(error))


def as_list(s: Session, box: Box) -> Box:
    """``list(items)``."""
    return s.invoke(s, Static(list), (box,), {})


def unpacked(s: Session, box: Box) -> Box:
    """The items of ``*box``, asked for now: one by one where they are known, else a list."""
    if asks_its_class(box):
        box = as_list(s, box)
    items = _items(s, s.box(box) if isinstance(box, Value) else box)
    return as_list(s, box) if items is None else TupleBox(items)


def asks_its_class(box: Box) -> bool:
    """Whether the items are what a generator, or the class of an object, hands out."""
    if isinstance(box, RecordBox):
        return not issubclass(box.cls, tuple) and hasattr(box.cls, "__iter__")
    return isinstance(box, GeneratorBox)


def spread(s: Session, box: Box, node: ast.AST | None = None) -> tuple[Box, ...]:
    """The items of a sequence whose length is known."""
    if asks_its_class(box):
        box = as_list(s, box)
    items = _items(s, s.box(box) if isinstance(box, Value) else box)
    if items is None:
        s.facts.has_lists = True
        s.refuse(
            errors.UnsupportedSyntaxError,
            "cannot spread a sequence of unknown length",
            why="the number of its items is not known before the call.",
            help=("index it, or loop over it",),
            node=node,
        )
    return items


def _items(s: Session, box: Box) -> tuple[Box, ...] | None:
    if isinstance(box, RecordBox) and issubclass(box.cls, tuple):
        return box.items
    if isinstance(box, TupleBox | ListBox):
        return box.items
    if isinstance(box, DictBox):
        return tuple(Static(k) for k in box.keys)
    if isinstance(box, Static):
        return of_constant(s, box)
    if isinstance(box, IterBox):
        return static_items(s, box)
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.shape:
        count = static_value(box.type.shape[0])
        if count is not None:
            return tuple(s.box(s.emit(operator.getitem, box, Const(k))) for k in range(count))
    return None


def of_constant(s: Session, box: Static) -> tuple[Box, ...] | None:
    """The items of a constant, if it has some: those of an enumeration are its members."""
    if not isinstance(box.value, tuple | list | dict | frozenset | str | range | enum.EnumMeta):
        return None
    return tuple(Static(item) for item in pinned(s, box))


def static_items(s: Session, box: IterBox) -> tuple[Box, ...] | None:
    """The items of an iterator over things that are known one by one."""
    if box.kind == "range":
        bounds = [p.value for p in box.parts if isinstance(p, Static)]
        if len(bounds) == 3 and all(isinstance(b, int) for b in bounds):
            return tuple(Static(k) for k in range(*bounds))
        return None
    columns: list[tuple[Box, ...]] = []
    for part in box.parts:
        if isinstance(part, TupleBox | ListBox):
            columns.append(part.items)
        elif isinstance(part, DictBox):
            columns.append(tuple(Static(k) for k in part.keys))
        elif isinstance(part, IterBox):
            inner = static_items(s, part)
            if inner is None:
                return None
            columns.append(inner)
        elif isinstance(part, Static) and (items := of_constant(s, part)) is not None:
            columns.append(items)
        else:
            return None
    if box.kind == "reversed":
        return columns[0][::-1]
    return tuple(TupleBox(row) for row in zip(*columns, strict=False))
