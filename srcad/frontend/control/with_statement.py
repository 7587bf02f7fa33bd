"""``with``: settings of NumPy, exceptions that are suppressed, and context managers of any kind.

A manager that is made here, and has a name or holds what carries a derivative, is an object like
others: its methods are read.  Any other one is called as it stands; no derivative flows through it.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from functools import partial
from types import FunctionType

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import choose
from srcad.frontend.branches.conditional import Statements
from srcad.frontend.branches.try_regions import in_region, on_exit, refuse_in_steps
from srcad.frontend.control.try_statement import protected
from srcad.frontend.domain.values import AbstractValue, Constant, GeneratorValue, RecordValue
from srcad.frontend.functions.generators import manage
from srcad.frontend.functions.opaque_calls import changes_outside, record_context_effects
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.dispatch import (
    apply,
    attribute,
    evaluate,
    executes,
    manager_of,
    manages,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.assignment import assign
from srcad.frontend.operations.special_methods import special
from srcad.frontend.operations.statements import lower_statements
from srcad.ir.core import NONE, Const, Location
from srcad.runtime import raise_undecided
from srcad.startup.identifiers import label
from srcad.startup.records import replace
from srcad.types.structures import OPAQUE

Leave = Callable[..., AbstractValue]


@executes(ast.With)
def with_(state: Machine, node: ast.With) -> None:
    """``with manager as target: ...``: entered and left once, also when the body fails."""
    _entered(state, node, 0)


def _entered(state: Machine, node: ast.With, k: int) -> None:
    """Read the items from the one at a position on, and the body."""
    if k == len(node.items):
        lower_statements(state, node.body)
        return
    call = node.items[k].context_expr
    callee = evaluate(state, call.func) if isinstance(call, ast.Call) else None
    handler = manager_of(callee.value) if isinstance(callee, Constant) else None
    if handler is None or not handler(state, node, k):
        _managed(state, node, k)


def rest_of(node: ast.With, k: int) -> Statements:
    """Return the statements that run while the item at a position is entered."""
    others = node.items[k + 1 :]
    if not others:
        return node.body
    return [ast.copy_location(ast.With(others, node.body), node)]


@manages(contextlib.nullcontext)
def _given(state: Machine, node: ast.With, k: int) -> bool:
    """``with contextlib.nullcontext(value) as target: ...``."""
    item, call = node.items[k], node.items[k].context_expr
    assert isinstance(call, ast.Call)

    def enter() -> None:
        given = [*call.args, *(k.value for k in call.keywords)]
        _bind_target(state, item, evaluate(state, given[0]) if given else Constant(None))

    _entered_then(state, enter, partial(_entered, state, node, k + 1))
    return True


@manages(np.errstate)
def _under_errstate(state: Machine, node: ast.With, k: int) -> bool:
    """``with np.errstate(...)``: the settings go with the place of every op inside."""
    call = node.items[k].context_expr
    assert isinstance(call, ast.Call)
    if node.items[k].optional_vars is not None:
        return False
    settings = {
        str(k.arg): known(state, evaluate(state, k.value), "a setting", k.value)
        for k in call.keywords
    }
    before = state.builder.where
    place = before or Location("", 0)
    merged = tuple({**dict(place.errstate), **settings}.items())
    state.builder.where = replace(place, errstate=merged)
    try:
        _entered(state, node, k + 1)
    finally:
        state.builder.where = before
    return True


@manages(contextlib.suppress)
def _suppressed(state: Machine, node: ast.With, k: int) -> bool:
    """``with contextlib.suppress(...)``: a ``try`` with an empty clause."""
    call = node.items[k].context_expr
    assert isinstance(call, ast.Call)
    clause = ast.ExceptHandler(ast.Tuple(call.args, ast.Load()), None, [ast.Pass()])
    made = ast.Try(rest_of(node, k), [clause], [], [])
    for part in (clause, clause.type, clause.body[0], made):
        if part is not None and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    lower_statements(state, [made])
    return True


def _managed(state: Machine, node: ast.With, k: int) -> None:
    """Any other manager."""
    item, inside = node.items[k], partial(_entered, state, node, k + 1)
    name, is_read = f"%manager {id(item)}", False
    own: list[AbstractValue] = []

    def enter() -> None:
        nonlocal is_read
        manager = evaluate(state, item.context_expr)
        if isinstance(manager, GeneratorValue):
            state.frame.env[name] = manager
            return
        is_read = isinstance(manager, RecordValue) and _matters(state, manager)
        if is_read:
            state.frame.env[name] = manager
            _bind_target(state, item, _own_method(state, item, manager, "__enter__"))
            return
        if state.is_active(manager):
            state.refuse(
                errors.UnsupportedSyntaxError,
                "cannot differentiate through this 'with'",
                node=item.context_expr,
                why="the context manager depends on the differentiated arguments.",
                help=("give it a constant:  srcad.stop_gradient(x)",),
            )
        own.append(manager)
        state.frame.env[name] = manager = _run_time_manager(state, manager)
        _bind_target(state, item, _method(state, manager, "__enter__"))

    def leave_own(*args: AbstractValue) -> AbstractValue:
        return _own_method(state, item, state.frame.env[name], "__exit__", *args)

    def run() -> None:
        manager = state.frame.env[name]
        if isinstance(manager, GeneratorValue):
            if state.frame.handlers:
                refuse_in_steps(state, item.context_expr)
            manage(state, node, manager, lambda value: _given_to(state, item, value, inside))
            state.frame.env.pop(name, None)
            return
        if is_read:
            last: list[ast.stmt] = [ast.Expr(ast.Name(name, ast.Load()))]
            protected(
                state,
                node.body,
                inside,
                partial(_exit_of_manager, state, item, leave_own),
                last,
                told=True,
            )
            state.frame.env.pop(name, None)
            return
        leave = partial(_method, state, state.frame.env.pop(name), "__exit__")
        then = partial(_body_then_exit, state, own, inside)
        protected(
            state, node.body, then, partial(_exit_of_manager, state, item, leave), [], told=True
        )

    _entered_then(state, enter, run)


def _given_to(
    state: Machine, item: ast.withitem, value: AbstractValue, inside: Callable[[], None]
) -> None:
    _bind_target(state, item, value)
    inside()


def _entered_then(state: Machine, enter: Callable[[], None], run: Callable[[], None]) -> None:
    """Enter, then run, unless a clause around it has caught a failure of the former."""
    if state.frame.handlers:
        in_region(state, enter)
        on_exit(state, NONE, run)
        return
    enter()
    run()


def _body_then_exit(
    state: Machine, managers: list[AbstractValue], inside: Callable[[], None]
) -> None:
    """Read what is inside, after which the managers may write once more."""
    inside()
    for manager in managers:
        if isinstance(manager, RecordValue):
            record_context_effects(state, manager.cls, manager.items)


def _matters(state: Machine, manager: RecordValue) -> bool:
    """Return True if what the methods of an object made here do to it may be read later on."""
    if state.is_active(manager) or any(held is manager for _, held in state.reachable()):
        return True
    if manager.cls not in state.outside.unread:
        record_context_effects(state, manager.cls, manager.items)
    return manager.cls in state.outside.unread


def _run_time_manager(state: Machine, manager: AbstractValue) -> AbstractValue:
    """Return a manager whose methods run at the call, unless they write what is read here."""
    return manager if _writes_outside(state, manager) else state.box(state.atom(manager))


def _writes_outside(state: Machine, manager: AbstractValue) -> bool:
    """Return True if entering or leaving an object outside writes what may be read later on."""
    if not isinstance(manager, Constant) or manager.path is None:
        return False
    methods = [getattr(type(manager.value), name, None) for name in ("__enter__", "__exit__")]
    return all(isinstance(m, FunctionType) for m in methods) and any(
        changes_outside(state, m, (manager,)) for m in methods if isinstance(m, FunctionType)
    )


def _own_method(
    state: Machine, item: ast.withitem, manager: AbstractValue, name: str, *args: AbstractValue
) -> AbstractValue:
    """``manager.name(...)`` of an object made here: it is read."""
    found = special(state, manager, name, *args)
    assert isinstance(manager, RecordValue)
    if found is None:
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot differentiate through this 'with'",
            node=item.context_expr,
            why=f"the class {label(manager.cls)!r} has no method {name!r} written in Python.",
            help=("call its code before and after the block yourself",),
        )
    return found


def _exit_of_manager(
    state: Machine, item: ast.withitem, leave: Leave, error: AbstractValue | None
) -> None:
    """``manager.__exit__(...)``: told of the exception, which it must not keep to itself."""
    with state.at(item.context_expr):
        none = Constant(None)
        if error is None:
            leave(none, none, none)
            return
        kind = state.emit(type, error, type=OPAQUE)
        trace = state.field(error, "__traceback__", type=OPAQUE)
        swallowed = leave(kind, error, trace)
        sentence = f"a context manager kept an exception to itself in {state.user_frame.name!r}"

        def refuse() -> AbstractValue:
            state.emit(raise_undecided, Const(sentence), effect=True)
            return Constant(None)

        choose(state, state.atom(swallowed), refuse, lambda: Constant(None))


def _bind_target(state: Machine, item: ast.withitem, box: AbstractValue) -> None:
    if item.optional_vars is not None:
        assign(state, item.optional_vars, box)


def _method(
    state: Machine, manager: AbstractValue, name: str, *args: AbstractValue
) -> AbstractValue:
    """``manager.name(...)``, at the call."""
    if isinstance(manager, Constant):
        return apply(state, attribute(state, manager, name), args, {})
    method = state.field(manager, name, type=OPAQUE)
    return state.apply(method, *args, effect=True, type=OPAQUE)
