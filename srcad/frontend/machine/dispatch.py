"""Forms of Python: one handler each.

The handlers register themselves here.  A node without one is refused where it stands, before any
name in it is looked up: the registry is the allow-list.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.domain.frames import Frame
from srcad.frontend.domain.values import AbstractValue, TupleValue, mutable_parts, values_of
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.places import put
from srcad.frontend.source.syntax import nodes_of
from srcad.frontend.store.lookup import cell_place, global_place
from srcad.frontend.store.runtime_keys import call_parts
from srcad.ir.core import Value
from srcad.ir.memory import has_storage

ExpressionHandler = Callable[[Machine, Any], AbstractValue]
StatementHandler = Callable[[Machine, Any], None]
EXPRESSIONS: dict[type[ast.AST], ExpressionHandler] = {}
STATEMENTS: dict[type[ast.stmt], StatementHandler] = {}


def lowers(*kinds: type[ast.AST]) -> Callable[[ExpressionHandler], ExpressionHandler]:
    """Register the handler of an expression form."""

    def register(handler: ExpressionHandler) -> ExpressionHandler:
        for kind in kinds:
            EXPRESSIONS[kind] = handler
        return handler

    return register


def lowers_statement(*kinds: type[ast.stmt]) -> Callable[[StatementHandler], StatementHandler]:
    """Register the handler of a statement form."""

    def register(handler: StatementHandler) -> StatementHandler:
        for kind in kinds:
            STATEMENTS[kind] = handler
        return handler

    return register


def lowers_later(room: ModuleType, *kinds: type[ast.AST]) -> None:
    """Register the forms of a room that is entered when one of them is read.

    Loading the room puts its handlers in the place of these.
    """

    def enter(s: Machine, node: Any) -> Any:
        import_module(room.__name__)
        forms: dict[Any, Any] = STATEMENTS if isinstance(node, ast.stmt) else EXPRESSIONS
        return forms[type(node)](s, node)

    for kind in kinds:
        table: dict[Any, Any] = STATEMENTS if issubclass(kind, ast.stmt) else EXPRESSIONS
        table.setdefault(kind, enter)


_ALONE = (ast.Name, ast.Constant)  # nothing inside them is read, or placed


def lower(s: Machine, node: ast.expr) -> AbstractValue:
    """Read an expression."""
    handler = EXPRESSIONS.get(type(node))
    if handler is None:
        refuse_form(s, node)
    if isinstance(node, _ALONE):
        return handler(s, node)
    builder, before = s.builder, s.builder.where
    builder.where = s.location(node)
    try:
        return handler(s, node)
    finally:
        builder.where = before


def lower_next(
    s: Machine, held: AbstractValue, node: ast.expr
) -> tuple[AbstractValue, AbstractValue]:
    """Read an expression after another one, whose result it may write into."""
    if not calls_something(node) or not _may_change(held):
        return held, lower(s, node)
    with s.kept(held) as kept:
        box = lower(s, node)
        return kept.box, box


def _may_change(held: AbstractValue) -> bool:
    """Whether a box is, or holds, an array or an object that a call may write into."""
    return any(map(has_storage, values_of(held))) or any(True for _ in mutable_parts(held))


def lower_each(s: Machine, nodes: Iterable[ast.expr]) -> list[AbstractValue]:
    """Read expressions in order; a later one may write into what an earlier one has read."""
    nodes = list(nodes)
    if not any(map(calls_something, nodes[1:])):
        return [lower(s, node) for node in nodes]
    read = TupleValue(())
    for node in nodes:
        before, box = lower_next(s, read, node)
        assert isinstance(before, TupleValue)
        read = TupleValue((*before.items, box))
    return list(read.items)


def calls_something(node: ast.expr) -> bool:
    """Whether an expression calls anything, or asks something for its items."""
    known = getattr(node, "_calls", None)
    if known is None:
        known = any(isinstance(inner, ast.Call | ast.Starred) for inner in nodes_of(node))
        node._calls = known  # type: ignore[attr-defined]
    return bool(known)


def lower_statement(s: Machine, node: ast.stmt) -> None:
    """Read one statement."""
    handler = STATEMENTS.get(type(node))
    if handler is None:
        refuse_form(s, node)
    with s.at(node):
        handler(s, node)


REMEDIES = {
    ast.Await: (
        "the rest of the function runs at a time that the event loop decides; there is no "
        "one sequence to reverse.",
        "await first, then differentiate a plain function",
    ),
    ast.Yield: (
        "a generator hands out its values while it runs; there is no one result.",
        "collect the values in a list and return that",
    ),
    ast.YieldFrom: (
        "a generator hands out its values while it runs; there is no one result.",
        "collect the values in a list and return that",
    ),
    ast.ClassDef: (
        "every call makes a class of its own, and its methods may be called from anywhere.",
        "define the class outside the function",
    ),
    ast.AsyncFunctionDef: (
        "its body runs at times that the event loop decides; there is no one sequence to reverse.",
        "write a plain function",
    ),
    ast.SetComp: ("the order of a set is not defined.", "use a list"),
}


# What people call the forms that are refused.
_WORDS = {
    ast.AsyncFunctionDef: "'async def'",
    ast.AsyncFor: "'async for'",
    ast.AsyncWith: "'async with'",
    ast.ClassDef: "'class'",
    ast.SetComp: "a set comprehension",
    ast.TryStar: "'except*'",
    ast.Yield: "this 'yield'",
    ast.YieldFrom: "this 'yield from'",
}


def refuse_form(s: Machine, node: ast.AST) -> NoReturn:
    """Refuse a form that has no handler."""
    why, help_ = REMEDIES.get(
        type(node), ("this form of Python is not supported yet.", "write it with plain statements")
    )
    name = _WORDS.get(type(node), f"'{type(node).__name__.lower()}'")
    s.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot differentiate through {name}",
        why=why,
        help=(help_,),
        node=node,
    )


class Deferred(ast.expr):
    """An expression of the reader's own, inside statements that it makes: `read` reads it."""

    _fields = ()

    def __init__(self, read: Callable[[Machine], AbstractValue]) -> None:
        super().__init__()
        self.read = read
        self._calls = True  # for all that is known


class DeferredSteps(ast.stmt):
    """Statements of the reader's own, left for later: `read` reads them."""

    _fields = ()

    def __init__(self, read: Callable[[Machine], None]) -> None:
        super().__init__()
        self.read = read


@lowers_statement(DeferredSteps)
def deferred_steps(s: Machine, node: DeferredSteps) -> None:
    """What the reader has left for later."""
    node.read(s)


@lowers(Deferred)
def deferred(s: Machine, node: Deferred) -> AbstractValue:
    """What the reader has left for later."""
    return node.read(s)


def bind(s: Machine, name_: str, box: AbstractValue) -> None:
    """Bind a name; a new value takes it as its hint."""
    if not s.frame.trusted:
        if isinstance(box, Value) and box.hint is None:
            box.hint = name_
        call_parts(s, box, name_)
    if name_ in s.frame.declared:
        _bind_outside(s, name_, box)
        return
    s.frame.env[name_] = box
    s.note_binding(name_)


def _bind_outside(s: Machine, name: str, box: AbstractValue) -> None:
    """Bind a ``global`` or ``nonlocal`` name: that of a function being read, or a place."""
    frame: Frame | None = s.frame
    place = global_place(s.frame, name) if s.frame.declared[name] == "global" else None
    while place is None and frame is not None:
        if name in frame.local and any(frame is one for one in s.frames):
            frame.env[name] = box
            return
        if name in frame.closure:
            place = cell_place(frame, name)
        frame = None if name in frame.local else frame.outer
    if place is None:
        s.refuse(
            errors.MutationError,
            f"cannot bind {name!r}",
            why="the function that it belongs to has returned.",
            help=("hold the value in a list or an object",),
        )
    put(s, place, box)
