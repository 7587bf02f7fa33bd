"""``try``, ``raise`` and ``with``."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Callable, Iterator

from srcad import errors
from srcad.frontend.branches.choices import choose
from srcad.frontend.branches.conditional import Statements, lower_if
from srcad.frontend.branches.try_regions import (
    ERROR,
    fails_as_one,
    flag,
    in_regions,
    leave,
    may_pass_on,
    on_exit,
    read_region,
    settle_region,
)
from srcad.frontend.domain.values import AbstractValue, Constant, Frame
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.deferred import Deferred, DeferredSteps
from srcad.frontend.machine.dispatch import apply, evaluate, executes
from srcad.frontend.machine.machine import Machine, fixpoint_seeds
from srcad.frontend.operations.statements import lower_statements
from srcad.frontend.store.binding import bind
from srcad.ir.core import NONE, RAISED, Const, Value
from srcad.ir.operations import Classes

DONE = "%done"
Finish = Callable[[AbstractValue | None], None]


# ------------------------------------------------------------------------------ try
@executes(ast.Try)
def try_(state: Machine, node: ast.Try) -> None:
    """``try: ... except ...: ... else: ... finally: ...``."""
    if not node.finalbody:
        _with_clauses(state, node)
        return

    def body() -> None:
        if node.handlers:
            _with_clauses(state, node)
        else:
            lower_statements(state, node.body)

    def finish(error: AbstractValue | None) -> None:
        lower_statements(state, node.finalbody)

    inner = [*node.body, *node.orelse, *(n for h in node.handlers for n in h.body)]
    if state.frame.consumer is not None and state.frame.consumer.managed:
        inner += state.frame.consumer.managed.body
    protected(state, inner, body, finish, node.finalbody)


def _with_clauses(state: Machine, node: ast.Try) -> None:
    clauses = [(_classes(state, h), h) for h in node.handlers]
    catches = tuple(dict.fromkeys(c for classes, _ in clauses for c in classes))

    def handle(error: AbstractValue) -> None:
        state.frame.env[DONE] = Constant(False)
        _dispatch(state, clauses, error, surely=not state.frame.handlers)

    def body() -> None:
        state.frame.env[DONE] = Constant(True)
        lower_statements(state, node.body)

    earlier = fixpoint_seeds(state, node, "attempts")
    if not earlier:
        before = state.snapshot()
        branch = read_region(state, body)
        for env in (before[-1], branch.envs[-1]):
            done = env.pop(DONE, None)
        if fails_as_one(state, node.body, before, branch, _readers(state, node)):
            branch.envs[-1][DONE] = done or Constant(True)
            outward = (c for classes in state.frame.handlers for c in classes)
            settle_region(state, branch, tuple(dict.fromkeys((*catches, *outward))), handle)
            _completed(state, node)
            return
        state.restore(before)
        earlier["several"] = True
    tag, error = in_regions(state, catches, lambda: lower_statements(state, node.body))
    if node.orelse:
        on_exit(state, NONE, lambda: lower_statements(state, node.orelse))
    surely = not state.frame.handlers and not may_pass_on(node.body)
    on_exit(state, tag, lambda: _dispatch(state, clauses, error(), surely=surely))
    error()


def _readers(state: Machine, node: ast.Try) -> Statements | None:
    """Return the statements that run after a failure, where every clause leaves the function."""
    ends = [h.body[-1] for h in node.handlers]
    if state.frame.handlers or not all(isinstance(e, ast.Return | ast.Raise) for e in ends):
        return None
    return [part for h in node.handlers for part in h.body]


def _completed(state: Machine, node: ast.Try) -> None:
    """``else``: where the body came to its end."""
    done = flag(state, DONE)
    if not node.orelse:
        return
    again = ast.copy_location(ast.If(Deferred(lambda _: done), node.orelse, []), node.orelse[0])
    ast.copy_location(again.test, node.orelse[0])
    on_exit(state, NONE, lambda: _lower_if(state, again))


def _lower_if(state: Machine, node: ast.If) -> None:
    lower_if(state, node, [], lower_statements)


def _classes(state: Machine, handler: ast.ExceptHandler) -> Classes:
    """Return the classes that a clause catches."""
    if handler.type is None:
        return (BaseException,)
    box = evaluate(state, handler.type)
    found = known(state, box, "an exception class", handler.type)
    classes = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot read this 'except' clause",
            node=handler.type,
            why="it does not name classes of exceptions.",
            help=("name them:  except (ValueError, KeyError):",),
        )
    return classes


def _dispatch(
    state: Machine,
    clauses: list[tuple[Classes, ast.ExceptHandler]],
    error: AbstractValue,
    *,
    surely: bool = False,
) -> None:
    """Read the first clause that fits, or go on to the next ``try``.

    `surely` one of them fits.
    """
    if not clauses:
        leave(state, error)
        return
    (classes, handler), *others = clauses
    if surely and not others:
        _handled(state, handler, error)
        return
    test = apply(state, Constant(isinstance), (error, Constant(classes)), {})
    fits = DeferredSteps(lambda state: _handled(state, handler, error))
    passes = DeferredSteps(lambda state: _dispatch(state, others, error, surely=surely))
    chosen = ast.If(Deferred(lambda _: test), [fits], [passes])
    for part in (fits, passes, chosen, chosen.test):
        ast.copy_location(part, handler)
    _lower_if(state, chosen)


def _handled(state: Machine, handler: ast.ExceptHandler, error: AbstractValue) -> None:
    """Read the statements of a clause, after which its name is unbound."""
    frame = state.frame
    if handler.name is not None:
        bind(state, handler.name, error)
    errors_, frame.errors = frame.errors, (*frame.errors, error)
    try:
        lower_statements(state, handler.body)
    finally:
        frame.errors = errors_
    if handler.name is not None:
        frame.env.pop(handler.name, None)


# ------------------------------------------------------------------------------ finally, with
def protected(
    state: Machine,
    nodes: Statements,
    body: Callable[[], None],
    finish: Finish,
    readers: Statements,
    *,
    told: bool = False,
) -> None:
    """Read a body after which something runs on every path; `told` of the exception, if any."""
    before, everything = state.snapshot(), (BaseException,)

    def handle(error: AbstractValue) -> None:
        finish(error)
        on_exit(state, NONE, lambda: leave(state, error))

    with _kept_names(state.frame, readers):
        branch = read_region(state, body)
        one = fails_as_one(state, nodes, before, branch, None if state.frame.handlers else readers)
        if one:
            hands_on = bool(state.frame.handlers)
            settle_region(
                state,
                branch,
                everything,
                (lambda error: leave(state, error)) if hands_on else handle,
            )
        else:
            state.restore(before)
            tag, raised = in_regions(state, everything, body)
    if one and state.frame.handlers:
        tag = RAISED + len(state.frame.handlers) - 1
        _end(state, tag, state.frame.env.get(f"{ERROR}{tag}", Constant(None)), finish, told=told)
    elif one:
        _finish(state, finish)
    else:
        error = raised()
        _end(state, tag, error, finish, told=told)
        on_exit(state, tag, lambda: leave(state, error))


@contextlib.contextmanager
def _kept_names(frame: Frame, readers: Statements) -> Iterator[None]:
    """Keep bindings after a ``return``: they are read before the function ends."""
    frame.awaited += bool(readers)
    try:
        yield
    finally:
        frame.awaited -= bool(readers)


def _end(state: Machine, tag: int, error: AbstractValue, finish: Finish, *, told: bool) -> None:
    """Read code that runs on every path, also on those that failed."""
    if told and tag in state.frame.tags:
        _handler_of_failure(state, tag, error, finish)
    else:
        _finish(state, finish)


def _finish(state: Machine, finish: Finish) -> None:
    """Run the end, then leave as before, unless it leaves by itself."""
    frame = state.frame
    exit_, tags = frame.exit, frame.tags

    def as_before() -> None:
        frame.exit, frame.tags = exit_, tags

    frame.ends(NONE)
    finish(None)
    on_exit(state, NONE, as_before)


def _handler_of_failure(state: Machine, tag: int, error: AbstractValue, finish: Finish) -> None:
    """Run an end that is told of the failure, which is known by its tag."""
    frame = state.frame
    exit_, tags = frame.exit, frame.tags
    frame.ends(NONE)
    if isinstance(exit_, Value):
        failed = state.emit(operator.eq, exit_, Const(tag))
        choose(state, failed, lambda: _ended(finish, error), lambda: _ended(finish, None))
    else:
        finish(error)
    frame.exit, frame.tags = exit_, tags


def _ended(finish: Finish, error: AbstractValue | None) -> AbstractValue:
    finish(error)
    return Constant(None)
