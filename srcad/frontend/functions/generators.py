"""Generators: the body is read where its values are used.

``for target in generator(...): body`` is the generator's own body with ``body`` read at every
``yield``.  The two functions keep frames of their own; at a ``yield`` the consumer's frame comes to
the top of the stack, so that his names, exits and errors are his.  How he left (``break`` or
``return``) is kept under a hidden name of his; the generator's body then ends as by ``return``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from srcad import errors
from srcad.frontend.branches import loop_header
from srcad.frontend.branches.conditional import choice, without_continue
from srcad.frontend.domain.frames import DEAD, Unreachable
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    Constant,
    Frame,
    GeneratorValue,
    TupleValue,
    Unbound,
)
from srcad.frontend.functions.inlining import reading, size_of, size_of_enclosing
from srcad.frontend.machine.deferred import Deferred
from srcad.frontend.machine.dispatch import evaluate, evaluates, execute
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.unsupported import refuse_form
from srcad.frontend.operations.assignment import assign
from srcad.frontend.operations.statements import lower_statements
from srcad.frontend.source.syntax import own_nodes, statement_yields, stored_names
from srcad.frontend.store.cells import returned, surrounded
from srcad.ir.core import BREAK, CONTINUE, NONE, RETURN, Const, Value
from srcad.startup.deep_recursion import deep_recursion
from srcad.startup.records import dataclass, field

SPENT = "it was consumed before, in part or on some path."


@dataclass(eq=False)
class Consumer:
    """Who uses a generator's values: his frame, what he does with each, how he may leave.

    `depth` counts the functions that are being read where he stands.  With `managed`, he is the
    body of a ``with`` statement: however he leaves, the generator goes on to its end.
    """

    frame: Frame
    each: Callable[[AbstractValue], None]
    left: str
    depth: int
    short: frozenset[str] = frozenset()
    managed: ast.With | None = None
    tags: set[int] = field(default_factory=set)


# ------------------------------------------------------------------------------ consuming
def consume(
    state: Machine, node: ast.For, box: GeneratorValue
) -> tuple[AbstractValue, frozenset[int], bool]:
    """Read a generator's body with the loop's body at every yield.

    Returns how the consumer left, how he may have left, and whether there is no other end.
    """
    if box.spent:
        _refuse_spent(state, node)
    frame, generator = state.frame, _fresh(state, box)
    used = GeneratorValue(box.callee, box.bound, spent=True)
    state.replace_everywhere(box, used)

    def each(item: AbstractValue) -> None:
        assign(state, node.target, item)
        lower_statements(state, node.body)

    within = set(stored_names(node)) - set(loop_header.assigned_names(node, frame))
    short = frozenset(n for n in within if isinstance(frame.env.get(n, UNBOUND), Unbound))
    consumer = Consumer(frame, each, f"%left {id(node)}", len(state.inlining), short)
    frame.env[consumer.left] = Constant(NONE)
    generator.consumer = consumer
    ends = _run(state, generator, box)
    left = frame.env.pop(consumer.left)
    if not consumer.tags:
        state.replace_everywhere(used, TupleValue(()))
    returns = any(isinstance(n, ast.Return) for n in own_nodes(box.callee.node))
    return left, frozenset(consumer.tags), ends == RETURN and not returns


def manage(
    state: Machine, node: ast.With, box: GeneratorValue, each: Callable[[AbstractValue], None]
) -> None:
    """Read a context manager that is a generator, with the body of the ``with`` at its yield."""
    if box.spent or not _is_single_yield(box.callee.node):
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot differentiate through this 'with'",
            node=node.items[0].context_expr,
            why=f"{box.callee.frame.name!r} does more than what its one 'yield' needs: a clause "
            "that may keep an exception to itself, a loop or a branch around the 'yield', or it "
            "was entered before.",
            help=("call its code before and after the block yourself",),
        )
    frame, generator = state.frame, _fresh(state, box)
    state.replace_everywhere(box, GeneratorValue(box.callee, box.bound, spent=True, manages=True))
    consumer = Consumer(frame, each, f"%left {id(node)}", len(state.inlining), managed=node)
    frame.env[consumer.left] = Constant(NONE)
    generator.consumer = consumer
    _run(state, generator, box)
    left = frame.env.pop(consumer.left)
    if isinstance(left, Constant):
        frame.ends(left.value)
    else:
        assert isinstance(left, Value)
        frame.exit, frame.tags = left, frozenset(consumer.tags)


def _is_single_yield(node: Any) -> bool:
    """Return True if a generator has one path, one ``yield`` and no ``try``."""
    inner = own_nodes(node)
    if any(isinstance(n, ast.Return | ast.YieldFrom) for n in inner):
        return False
    body = node.body
    while True:
        around = [n for n in body if any(isinstance(i, ast.Yield) for i in ast.walk(n))]
        if len(around) != 1:
            return False
        if isinstance(around[0], ast.Expr):
            return sum(isinstance(n, ast.Yield) for n in inner) == 1
        outermost = around[0]
        if not isinstance(outermost, ast.Try | ast.With):
            return False
        if isinstance(outermost, ast.Try) and outermost.handlers:
            return False
        body = outermost.body


def _fresh(state: Machine, box: GeneratorValue) -> Frame:
    frame: Frame = box.callee.frame
    around = size_of_enclosing(state, box.callee.key)
    if around is not None and size_of(box.bound.values()) >= around and not frame.trusted:
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot run the generator {frame.name!r} inside itself",
            why="how deep it nests is not known before the call.",
            help=("collect the values in a list, in a function that calls itself",),
        )
    frame.env = dict(box.bound)
    frame.ends(NONE)
    return frame


def _refuse_spent(state: Machine, node: ast.AST) -> None:
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot go on with this generator",
        node=node,
        why=SPENT,
        help=("make a list of its values first",),
    )


def _run(state: Machine, generator: Frame, box: GeneratorValue) -> Any:
    where = state.builder.where
    with surrounded(state, box.callee.around):
        state.frames.append(generator)
        try:
            with deep_recursion(), reading(state, box.callee.key, box.bound.values()):
                lower_statements(state, box.callee.node.body)
            if generator.exit == DEAD:
                raise Unreachable
            return generator.exit
        finally:
            state.frames.remove(generator)
            returned(state, generator)
            state.builder.where = where


@contextmanager
def _on_top(state: Machine, frame: Frame) -> Iterator[None]:
    """Read in a frame further down the stack meanwhile."""
    index = state.frames.index(frame)
    state.frames.append(state.frames.pop(index))
    try:
        yield
    finally:
        state.frames.insert(index, state.frames.pop())


def suspend_generator(state: Machine, item: AbstractValue) -> AbstractValue:
    """Return a ``yield``: the consumer's turn; afterwards the generator goes on, or is over."""
    generator, consumer = state.frame, state.frame.consumer
    assert isinstance(consumer, Consumer)
    if (generator.attempts or generator.handlers) and not consumer.managed:
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot hand out a value inside a 'try' or 'with'",
            why="the code of its consumer would run inside it, too.",
            help=("compute the value there, and yield it afterwards",),
        )
    user = consumer.frame
    exit_, tags, inlining = user.exit, user.tags, state.inlining
    user.ends(NONE)
    with _on_top(state, user):
        try:
            state.inlining = inlining[: consumer.depth]
            consumer.each(item)
            found, possible = user.exit, user.tags
        finally:
            user.exit, user.tags, state.inlining = exit_, tags, inlining
    for name in consumer.short:
        user.env.pop(name, None)
    if found == DEAD:
        raise Unreachable
    if consumer.managed:
        user.env[consumer.left] = Constant(found) if isinstance(found, int) else found
        consumer.tags.update({found} if isinstance(found, int) else possible)
        return Constant(None)
    if isinstance(found, int):
        if found >= BREAK:
            user.env[consumer.left] = Constant(found)
            consumer.tags.add(found)
            generator.ends(RETURN)
        return Constant(None)
    if any(tag >= BREAK for tag in possible):
        _may_leave(state, generator, consumer, found, possible)
    return Constant(None)


def _may_leave(
    state: Machine, generator: Frame, consumer: Consumer, tag: Value, possible: frozenset[int]
) -> None:
    if CONTINUE in possible:
        tag = without_continue(state, tag)
    consumer.frame.env[consumer.left] = tag
    consumer.tags.update(tag for tag in possible if tag >= BREAK)
    leaves = state.emit(operator.ge, tag, Const(BREAK))
    generator.exit = choice(state, leaves, Const(RETURN), Const(NONE))
    generator.tags = frozenset({NONE, RETURN})
    state.returns[generator.exit] = leaves


# ------------------------------------------------------------------------------ yield
@evaluates(ast.Yield, ast.YieldFrom)
def yield_(state: Machine, node: ast.Yield | ast.YieldFrom) -> AbstractValue:
    """``yield value`` and ``yield from values``, as statements of a generator that is used here."""
    tree = state.frame.node
    if state.frame.consumer is None or tree is None or id(node) not in statement_yields(tree):
        refuse_form(state, node)
    if isinstance(node, ast.Yield):
        suspend_generator(
            state, Constant(None) if node.value is None else evaluate(state, node.value)
        )
        return Constant(None)
    name = f"%item {id(node)}"
    hand_on = Deferred(lambda state: suspend_generator(state, state.frame.env[name]))
    loop = ast.For(ast.Name(name, ast.Store()), node.value, [ast.Expr(hand_on)], [])
    for part in (hand_on, loop.body[0], loop, loop.target):
        ast.copy_location(part, node)
    execute(state, loop)
    state.frame.env.pop(name, None)
    return Constant(None)
