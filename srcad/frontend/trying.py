"""``try``, ``raise`` and ``with``."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from srcad import errors
from srcad.frontend.assignment import assign
from srcad.frontend.attempts import (
    ERROR,
    attempted,
    flag,
    in_attempts,
    is_one,
    leave,
    may_pass_on,
    on_exit,
    read_attempt,
    settle_attempt,
)
from srcad.frontend.boxes import Box, Static
from srcad.frontend.control import Statements, choose, lower_if
from srcad.frontend.forms import Deferred, DeferredSteps, bind, lower, lowers_statement
from srcad.frontend.known import known
from srcad.frontend.learned import learned
from srcad.frontend.scope import Frame, Session
from srcad.frontend.statements import lower_statements
from srcad.ir import primitives
from srcad.ir.core import NONE, RAISED, Const, Location, Value
from srcad.ir.failing import Classes
from srcad.records import replace
from srcad.runtime import undecided
from srcad.types import OPAQUE

DONE = "%done"
Finish = Callable[[Box | None], None]


# ------------------------------------------------------------------------------ try
@lowers_statement(ast.Try)
def try_(s: Session, node: ast.Try) -> None:
    """``try: ... except ...: ... else: ... finally: ...``."""
    if not node.finalbody:
        _with_clauses(s, node)
        return

    def body() -> None:
        if node.handlers:
            _with_clauses(s, node)
        else:
            lower_statements(s, node.body)

    def finish(error: Box | None) -> None:
        lower_statements(s, node.finalbody)

    inner = [*node.body, *node.orelse, *(n for h in node.handlers for n in h.body)]
    protected(s, inner, body, finish, node.finalbody)


def _with_clauses(s: Session, node: ast.Try) -> None:
    clauses = [(_classes(s, h), h) for h in node.handlers]
    catches = tuple(dict.fromkeys(c for classes, _ in clauses for c in classes))

    def handle(error: Box) -> None:
        s.frame.env[DONE] = Static(False)
        _dispatch(s, clauses, error, surely=not s.frame.handlers)

    def body() -> None:
        s.frame.env[DONE] = Static(True)
        lower_statements(s, node.body)

    earlier = learned(s, node, "attempts")
    if not earlier:
        before = s.snapshot()
        path = read_attempt(s, body)
        for env in (before[-1], path.envs[-1]):
            done = env.pop(DONE, None)
        if is_one(s, node.body, before, path, _readers(s, node)):
            path.envs[-1][DONE] = done or Static(True)
            outward = (c for classes in s.frame.handlers for c in classes)
            settle_attempt(s, path, tuple(dict.fromkeys((*catches, *outward))), handle)
            _completed(s, node)
            return
        s.restore(before)
        earlier["several"] = True
    tag, error = in_attempts(s, catches, lambda: lower_statements(s, node.body))
    if node.orelse:
        on_exit(s, NONE, lambda: lower_statements(s, node.orelse))
    surely = not s.frame.handlers and not may_pass_on(node.body)
    on_exit(s, tag, lambda: _dispatch(s, clauses, error(), surely=surely))
    error()


def _readers(s: Session, node: ast.Try) -> Statements | None:
    """The statements that run after a failure, where every clause leaves the function."""
    ends = [h.body[-1] for h in node.handlers]
    if s.frame.handlers or not all(isinstance(e, ast.Return | ast.Raise) for e in ends):
        return None
    return [part for h in node.handlers for part in h.body]


def _completed(s: Session, node: ast.Try) -> None:
    """``else``: where the body came to its end."""
    done = flag(s, DONE)
    if not node.orelse:
        return
    again = ast.copy_location(ast.If(Deferred(lambda _: done), node.orelse, []), node.orelse[0])
    ast.copy_location(again.test, node.orelse[0])
    on_exit(s, NONE, lambda: _lower_if(s, again))


def _lower_if(s: Session, node: ast.If) -> None:
    lower_if(s, node, [], lower_statements)


def _classes(s: Session, handler: ast.ExceptHandler) -> Classes:
    """The classes that a clause catches."""
    if handler.type is None:
        return (BaseException,)
    box = lower(s, handler.type)
    found = known(s, box, "an exception class", handler.type)
    classes = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        s.refuse(
            errors.UnsupportedSyntaxError,
            "cannot read this 'except' clause",
            node=handler.type,
            why="it does not name classes of exceptions.",
            help=("name them:  except (ValueError, KeyError):",),
        )
    return classes


def _dispatch(
    s: Session,
    clauses: list[tuple[Classes, ast.ExceptHandler]],
    error: Box,
    *,
    surely: bool = False,
) -> None:
    """The first clause that fits (`surely` one does); on to the next ``try`` if none does."""
    if not clauses:
        leave(s, error)
        return
    (classes, handler), *others = clauses
    if surely and not others:
        _handled(s, handler, error)
        return
    test = s.invoke(s, Static(isinstance), (error, Static(classes)), {})
    fits = DeferredSteps(lambda s: _handled(s, handler, error))
    passes = DeferredSteps(lambda s: _dispatch(s, others, error, surely=surely))
    chosen = ast.If(Deferred(lambda _: test), [fits], [passes])
    for part in (fits, passes, chosen, chosen.test):
        ast.copy_location(part, handler)
    _lower_if(s, chosen)


def _handled(s: Session, handler: ast.ExceptHandler, error: Box) -> None:
    """The statements of a clause; its name ends with them."""
    frame = s.frame
    if handler.name is not None:
        bind(s, handler.name, error)
    errors_, frame.errors = frame.errors, (*frame.errors, error)
    try:
        lower_statements(s, handler.body)
    finally:
        frame.errors = errors_
    if handler.name is not None:
        frame.env.pop(handler.name, None)


# ------------------------------------------------------------------------------ finally, with
def protected(
    s: Session,
    nodes: Statements,
    body: Callable[[], None],
    finish: Finish,
    readers: Statements,
    *,
    told: bool = False,
) -> None:
    """Read a body after which something runs on every path; `told` of the exception, if any."""
    before, everything = s.snapshot(), (BaseException,)

    def handle(error: Box) -> None:
        finish(error)
        on_exit(s, NONE, lambda: leave(s, error))

    with _kept_names(s.frame, readers):
        path = read_attempt(s, body)
        one = is_one(s, nodes, before, path, None if s.frame.handlers else readers)
        if one:
            hands_on = bool(s.frame.handlers)
            settle_attempt(
                s, path, everything, (lambda error: leave(s, error)) if hands_on else handle
            )
        else:
            s.restore(before)
            tag, raised = in_attempts(s, everything, body)
    if one and s.frame.handlers:
        tag = RAISED + len(s.frame.handlers) - 1
        _end(s, tag, s.frame.env.get(f"{ERROR}{tag}", Static(None)), finish, told=told)
    elif one:
        _finish(s, finish)
    else:
        error = raised()
        _end(s, tag, error, finish, told=told)
        on_exit(s, tag, lambda: leave(s, error))


@contextlib.contextmanager
def _kept_names(frame: Frame, readers: Statements) -> Iterator[None]:
    """What is bound stays bound after a ``return``: it is read before the function ends."""
    frame.awaited += bool(readers)
    try:
        yield
    finally:
        frame.awaited -= bool(readers)


def _end(s: Session, tag: int, error: Box, finish: Finish, *, told: bool) -> None:
    """What runs on every path, those that failed among them."""
    if told and tag in s.frame.tags:
        _told(s, tag, error, finish)
    else:
        _finish(s, finish)


def _finish(s: Session, finish: Finish) -> None:
    """Run the end, then leave as before, unless it leaves by itself."""
    frame = s.frame
    exit_, tags = frame.exit, frame.tags

    def as_before() -> None:
        frame.exit, frame.tags = exit_, tags

    frame.ends(NONE)
    finish(None)
    on_exit(s, NONE, as_before)


def _told(s: Session, tag: int, error: Box, finish: Finish) -> None:
    """Run an end that is told of the failure, which is known by its tag."""
    frame = s.frame
    exit_, tags = frame.exit, frame.tags
    frame.ends(NONE)
    if isinstance(exit_, Value):
        failed = s.emit(operator.eq, exit_, Const(tag))
        choose(s, failed, lambda: _ended(finish, error), lambda: _ended(finish, None))
    else:
        finish(error)
    frame.exit, frame.tags = exit_, tags


def _ended(finish: Finish, error: Box | None) -> Box:
    finish(error)
    return Static(None)


# ------------------------------------------------------------------------------ with
@lowers_statement(ast.With)
def with_(s: Session, node: ast.With) -> None:
    """``with manager as target: ...``: entered and left once, also when the body fails."""
    _entered(s, node, node.items)


def _entered(s: Session, node: ast.With, items: list[ast.withitem]) -> None:
    if not items:
        lower_statements(s, node.body)
        return
    item, others = items[0], items[1:]
    call = item.context_expr
    callee = lower(s, call.func) if isinstance(call, ast.Call) else Static(None)
    function = callee.value if isinstance(callee, Static) else None

    def inside() -> None:
        _entered(s, node, others)

    if isinstance(call, ast.Call) and function is np.errstate and item.optional_vars is None:
        _under_errstate(s, call, inside)
    elif isinstance(call, ast.Call) and function is contextlib.suppress:
        _suppressed(s, node, call, others)
    elif isinstance(call, ast.Call) and function is contextlib.nullcontext:
        _given(s, call, item, inside)
    else:
        _managed(s, node, item, others, inside)


def _given(s: Session, call: ast.Call, item: ast.withitem, inside: Callable[[], None]) -> None:
    """``with contextlib.nullcontext(value) as target: ...``."""

    def enter() -> None:
        given = [*call.args, *(k.value for k in call.keywords)]
        _bind_target(s, item, lower(s, given[0]) if given else Static(None))

    if not s.frame.handlers:
        enter()
        inside()
        return
    attempted(s, enter)
    on_exit(s, NONE, inside)


def _under_errstate(s: Session, call: ast.Call, inside: Callable[[], None]) -> None:
    """``with np.errstate(...)``: the settings go with the place of every op inside."""
    settings = {
        str(k.arg): known(s, lower(s, k.value), "a setting", k.value) for k in call.keywords
    }
    before = s.builder.where
    place = before or Location("", 0)
    merged = tuple({**dict(place.errstate), **settings}.items())
    s.builder.where = replace(place, errstate=merged)
    try:
        inside()
    finally:
        s.builder.where = before


def _suppressed(s: Session, node: ast.With, call: ast.Call, others: list[ast.withitem]) -> None:
    """``with contextlib.suppress(...)``: a ``try`` whose clause does nothing."""
    body: Statements = [ast.With(others, node.body)] if others else node.body
    clause = ast.ExceptHandler(ast.Tuple(call.args, ast.Load()), None, [ast.Pass()])
    made = ast.Try(body, [clause], [], [])
    for part in (*body[: len(others)], clause, clause.type, clause.body[0], made):
        if part is not None and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    lower_statements(s, [made])


def _managed(
    s: Session,
    node: ast.With,
    item: ast.withitem,
    others: list[ast.withitem],
    inside: Callable[[], None],
) -> None:
    """Any other manager: an object through which no derivative flows."""
    name = f"%manager {id(item)}"

    def enter() -> None:
        manager = lower(s, item.context_expr)
        if s.is_active(manager):
            s.refuse(
                errors.UnsupportedSyntaxError,
                "cannot differentiate through this 'with'",
                node=item.context_expr,
                why="the context manager depends on the differentiated arguments.",
                help=("give it a constant:  srcad.stop_gradient(x)",),
            )
        s.frame.env[name] = manager = s.box(s.atom(manager))
        _bind_target(s, item, _method(s, manager, "__enter__"))

    def run() -> None:
        manager = s.frame.env.pop(name)
        end = partial(_left, s, item, manager)
        protected(s, node.body, inside, end, [], told=True)

    if not s.frame.handlers:
        enter()
        run()
        return
    attempted(s, enter)
    on_exit(s, NONE, run)


def _left(s: Session, item: ast.withitem, manager: Box, error: Box | None) -> None:
    """``manager.__exit__(...)``: told of the exception, which it must not keep to itself."""
    with s.at(item.context_expr):
        none = Static(None)
        if error is None:
            _method(s, manager, "__exit__", none, none, none)
            return
        kind = s.emit(type, error, type=OPAQUE)
        trace = s.emit(primitives.field, error, Const("__traceback__"), type=OPAQUE)
        swallowed = _method(s, manager, "__exit__", kind, error, trace)
        sentence = f"a context manager kept an exception to itself in {s.user_frame.name!r}"

        def refuse() -> Box:
            s.emit(undecided, Const(sentence), effect=True)
            return Static(None)

        choose(s, s.atom(swallowed), refuse, lambda: Static(None))


def _bind_target(s: Session, item: ast.withitem, box: Box) -> None:
    if item.optional_vars is not None:
        assign(s, item.optional_vars, box)


def _method(s: Session, manager: Box, name: str, *args: Box) -> Box:
    """``manager.name(...)``, at the call."""
    method = s.emit(primitives.field, manager, Const(name), type=OPAQUE)
    return s.emit(primitives.apply, method, *args, effect=True, type=OPAQUE)
