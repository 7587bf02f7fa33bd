"""Statements: one function per form; loops are in `loops`, conditionals in `control`."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from itertools import count

from srcad import errors
from srcad.frontend.branches import conditional, try_regions
from srcad.frontend.branches.choices import choose
from srcad.frontend.domain.frames import RETURN_NAME, Unreachable
from srcad.frontend.domain.values import UNBOUND, AbstractValue, Constant
from srcad.frontend.machine import unsupported
from srcad.frontend.machine.constants import raises, spread, truth
from srcad.frontend.machine.deferred import Deferred, DeferredSteps
from srcad.frontend.machine.dispatch import (
    ABBREVIATIONS,
    Args,
    Kwargs,
    apply,
    attribute,
    evaluate,
    execute,
    executes,
    means,
    spelled_out,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import evaluate_next
from srcad.frontend.operations import assignment, containers
from srcad.frontend.operations.expressions import function_box
from srcad.frontend.operations.fields import delete_attribute, has_attributes
from srcad.frontend.source.syntax import binding_of
from srcad.frontend.store.cells import returning
from srcad.frontend.store.lookup import STABLE_MODULES, value_of_object
from srcad.ir.core import BREAK, CONTINUE, NONE, RETURN, Value
from srcad.types.structures import Opaque


def lower_statements(
    state: Machine, statements: conditional.Statements, *, whole: bool = True
) -> None:
    """Read statements until one of them leaves; those of a list that was cut are not `whole`."""
    first, second = position_of_cut(in_a_row(statements), whole=whole)
    if second:
        _lower_part(state, first)
        if _goes_on(state, second, _lower_part):
            _lower_part(state, second)
        return
    for index, node in enumerate(first):
        rest = first[index + 1 :]
        if _takes_rest(state, node, rest) or not _goes_on(state, rest, lower_statements):
            return


def _lower_part(state: Machine, statements: conditional.Statements) -> None:
    lower_statements(state, statements, whole=False)


def _goes_on(state: Machine, rest: conditional.Statements, read: conditional.Reader) -> bool:
    """Return True if the statements that follow are to be read, and reached on every path."""
    frame = state.frame
    if isinstance(frame.exit, Value):
        if rest and NONE in frame.tags:
            conditional.guarded(state, rest, read)
        return False
    return frame.exit == NONE


def _takes_rest(state: Machine, node: ast.stmt, rest: conditional.Statements) -> bool:
    """Read a statement; whether those that follow have been read with it."""
    if state.frame.handlers:
        steps = in_steps(state, node)
        if steps is None:
            with state.at(node):
                try_regions.in_region(state, lambda: execute(state, node))
            return False
        if steps[0] is not node:
            lower_statements(state, [*steps, *rest])
            return True
    if type(node) in ABBREVIATIONS:
        meant = spelled_out(state, node)
        if [type(one) for one in meant] != [ast.If] or in_a_row(meant) != meant:
            lower_statements(state, [*meant, *rest])
            return True
        (node,) = meant
    if isinstance(node, ast.If):
        return conditional.lower_if(state, node, rest, lower_statements)
    execute(state, node)
    return False


def in_steps(state: Machine, node: ast.stmt) -> conditional.Statements | None:
    """Return a compound statement whose parts are try regions one by one; None for a simple one."""
    if isinstance(node, ast.If) and not isinstance(node.test, Deferred):
        name = f"{try_regions.STEP} {id(node)}"
        first = deferred_evaluation(node.test, name)
        again = ast.If(deferred_box(node.test, name), node.body, node.orelse)
        return [first, ast.copy_location(again, node)]
    if isinstance(node, ast.For) and not isinstance(node.iter, Deferred):
        name = f"{try_regions.STEP} {id(node)}"
        first = deferred_evaluation(node.iter, name)
        loop = ast.For(node.target, deferred_box(node.iter, name), node.body, node.orelse)
        return [first, ast.copy_location(loop, node)]
    if type(node) in ABBREVIATIONS:
        try_regions.refuse_in_steps(state, node)
    if isinstance(node, ast.Assign) and not isinstance(node.value, Deferred):
        targets = _bound_one_by_one(node)
        if targets:
            return _assigned_in_steps(node, targets)
    compound = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.FunctionDef, DeferredSteps)
    return [node] if isinstance(node, compound) else None


def _bound_one_by_one(node: ast.Assign) -> list[ast.expr]:
    """Return the targets of ``a[i], a[j] = p, q`` or ``a = b[i] = p``."""
    targets, (first, *more), value = node.targets, node.targets, node.value
    if not more and isinstance(first, ast.Tuple | ast.List):
        targets = first.elts
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        stars = any(isinstance(part, ast.Starred) for part in (*targets, *parts))
        if len(parts) != len(targets) or stars:
            return []
    writes = not all(isinstance(target, ast.Name) for target in targets)
    return targets if writes and len(targets) > 1 else []


def _assigned_in_steps(node: ast.Assign, targets: list[ast.expr]) -> conditional.Statements:
    """Return the value, and then every target, as statements of their own."""
    name = f"{try_regions.STEP} {id(node)}"
    unpacks = len(node.targets) == 1

    def bound(k: int) -> ast.stmt:
        def read(state: Machine) -> AbstractValue:
            box = state.frame.env[name]
            assignment.assign(state, targets[k], spread(state, box)[k] if unpacks else box)
            if k == len(targets) - 1:
                state.frame.env.pop(name)
            return Constant(None)

        return ast.copy_location(ast.Expr(ast.copy_location(Deferred(read), node)), node)

    return [deferred_evaluation(node.value, name), *map(bound, range(len(targets)))]


def deferred_evaluation(node: ast.expr, name: str) -> ast.stmt:
    """Return a statement that reads an expression and keeps its box."""

    def read(state: Machine) -> AbstractValue:
        state.frame.env[name] = evaluate(state, node)
        return Constant(None)

    return ast.copy_location(ast.Expr(ast.copy_location(Deferred(read), node)), node)


def deferred_box(node: ast.expr, name: str) -> ast.expr:
    """Return the box that was kept."""
    return ast.copy_location(Deferred(lambda state: state.frame.env.pop(name)), node)


def set_return(state: Machine, box: AbstractValue) -> None:
    """Bind the function's result."""
    state.frame.env[RETURN_NAME] = box


@executes(ast.Pass)
def pass_(state: Machine, node: ast.Pass) -> None:
    """``pass``."""


@executes(ast.Expr)
def expression(state: Machine, node: ast.Expr) -> None:
    """Evaluate an expression for its effect; a docstring does nothing."""
    if not isinstance(node.value, ast.Constant):
        evaluate(state, node.value)


@executes(ast.Return)
def return_(state: Machine, node: ast.Return) -> None:
    set_return(
        state,
        Constant(None) if node.value is None else returning(state, evaluate(state, node.value)),
    )
    state.frame.ends(RETURN)


@executes(ast.Break)
def break_(state: Machine, node: ast.Break) -> None:
    state.frame.ends(BREAK)


@executes(ast.Continue)
def continue_(state: Machine, node: ast.Continue) -> None:
    state.frame.ends(CONTINUE)


@executes(ast.FunctionDef)
def function_definition(state: Machine, node: ast.FunctionDef) -> None:
    """Read a nested ``def``, and call its decorators with it, the last one first."""
    decorators = [evaluate(state, d) for d in node.decorator_list]
    box: AbstractValue = function_box(state, node)
    for decorator, place in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
        with state.at(place):
            box = apply(state, decorator, (box,), {})
    state.frame.env[node.name] = box


@executes(ast.Delete)
def delete(state: Machine, node: ast.Delete) -> None:
    """``del name``, ``del container[index]``."""
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            container, index = evaluate_next(state, evaluate(state, target.value), target.slice)
            if containers.is_container(container):
                containers.delete_item(state, container, index)
                continue
        if isinstance(target, ast.Attribute):
            owner = evaluate(state, target.value)
            if has_attributes(owner):
                delete_attribute(state, owner, target.attr)
                continue
        if not isinstance(target, ast.Name):
            assignment.refuse_write(state, target, "delete an item or attribute")
        assert isinstance(target, ast.Name)
        evaluate(state, ast.copy_location(ast.Name(target.id, ast.Load()), target))
        state.frame.env[target.id] = UNBOUND
        state.note_binding(target.id)


@executes(ast.Global, ast.Nonlocal)
def outside_names(state: Machine, node: ast.Global | ast.Nonlocal) -> None:
    """``global`` and ``nonlocal``: names outside are bound by assignments only."""
    tree = state.frame.node
    bound = binding_of(tree, node.names) if tree is not None else None
    if bound is not None:
        state.refuse(
            errors.MutationError,
            f"cannot bind {bound[0]!r} here",
            node=bound[1],
            why="a name outside the function is bound by assignments only.",
            help=("bind a name of its own, and assign that",),
        )


@executes(ast.Raise)
def raise_(state: Machine, node: ast.Raise) -> None:
    """``raise error from cause``."""
    if node.exc is None and not state.frame.errors:
        unsupported.refuse_form(state, node)
    error = evaluate(state, node.exc) if node.exc is not None else state.frame.errors[-1]
    if isinstance(error, Constant) and isinstance(error.value, type):
        error = state.emit(error.value, effect=True, type=Opaque(error.value))
    parts = [error] if node.cause is None else [error, evaluate(state, node.cause)]
    state.raise_(*parts)
    raise Unreachable


@executes(ast.Assert)
def assert_(state: Machine, node: ast.Assert) -> None:
    """``assert test, message``; the code of the user's has none where Python was told so (-O)."""
    if not __debug__:
        return
    test = evaluate(state, node.test)
    known_truth = truth(state, test)
    if known_truth is True:
        return

    def fails() -> AbstractValue:
        parts = () if node.msg is None else (evaluate(state, node.msg),)
        error = state.emit(AssertionError, *parts, effect=True, type=Opaque(AssertionError))
        state.raise_(error)
        raise Unreachable

    if known_truth is False:
        fails()
    choose(state, state.atom(test), lambda: Constant(None), fails)


# Imports inside a function, which every call executes again.


@executes(ast.Import, ast.ImportFrom)
def import_(state: Machine, node: ast.Import | ast.ImportFrom) -> None:
    """``import a.b``, ``from a import b as c``: imported now, as the original call would."""
    env = state.frame.env
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            name = _resolved(state, "." * node.level + (node.module or ""))
            env[alias.asname or alias.name] = _member(state, name, alias.name)
        elif alias.asname is not None:
            env[alias.asname] = module(state, alias.name)
        else:
            module(state, alias.name)
            root = alias.name.partition(".")[0]
            env[root] = module(state, root)


def module(state: Machine, name: str) -> Constant:
    """Return the value of a module.

    Where it cannot be imported, the adjoint raises as the function does.
    """
    try:
        found = importlib.import_module(name)
    except ImportError as error:
        raises(state, type(error), str(error))
    is_stable = name.partition(".")[0] in STABLE_MODULES
    box = value_of_object(state, found, None if is_stable else (("module", name),))
    return box if isinstance(box, Constant) else Constant(found)


def _resolved(state: Machine, name: str) -> str:
    try:
        return importlib.util.resolve_name(name, state.frame.globals.get("__package__") or "")
    except ImportError as error:
        raises(state, type(error), str(error))


def _member(state: Machine, name: str, member: str) -> AbstractValue:
    """Return an attribute of a module, or a module inside it."""
    owner = module(state, name)
    if hasattr(owner.value, member):
        return attribute(state, owner, member)
    inner = f"{name}.{member}"
    if hasattr(owner.value, "__path__") and importlib.util.find_spec(inner) is not None:
        return module(state, inner)
    state.guard(owner.path, "lacks", member)
    return raises(state, ImportError, f"cannot import name {member!r} from {name!r}")


@means(__import__)
def dunder_import(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    name = (
        args[0].value if len(args) == 1 and not kwargs and isinstance(args[0], Constant) else None
    )
    if not isinstance(name, str):
        return None
    module(state, name)
    return module(state, name.partition(".")[0])


# Long dispatches, taken apart so that their branches are not nested deeply.
#
# An ``elif`` stands in the branch of the ``if`` before it, and so do the statements behind an
# ``if`` that leaves. Of a hundred clauses that makes a hundred levels. A long one is halved
# instead, as a person would put half of it into a function: the second half is read where nothing
# of the first applied. All of this is done to the syntax tree; what it means stays the same.

Statements = list[ast.stmt]
_LONG = 20  # clauses that stand in one another's branches
_LONGEST = 120  # clauses that do nothing but return: what is written of them is not nested
_LEAVING = (ast.Return, ast.Break, ast.Continue)
_NUMBERS = count()


def in_a_row(statements: Statements) -> Statements:
    """Write an ``elif`` behind a clause that leaves as an ``if``.

    A long chain of others is halved.
    """
    found: Statements = []
    pending = list(reversed(statements))
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.If) or not _has_elif(node):
            found.append(node)
        elif isinstance(node.body[-1], _LEAVING):
            found.append(_conditional(node, node.body, []))
            pending += reversed(node.orelse)
        else:
            found += _halved(node)
    return found


def position_of_cut(statements: Statements, *, whole: bool) -> tuple[Statements, Statements]:
    """Where a list of statements is cut, if many of them may leave."""
    places = [k for k, node in enumerate(statements) if isinstance(node, ast.If) and _leaves(node)]
    is_run = whole and _is_run_of_returns(statements, places)
    if len(places) <= (_LONGEST if is_run else _LONG):
        return statements, []
    middle = places[len(places) // 2]
    return statements[:middle], statements[middle:]


def _is_run_of_returns(statements: Statements, places: list[int]) -> bool:
    """Return True if clauses that return stand next to each other."""
    nodes = [statements[k] for k in places]
    adjacent = bool(places) and places[-1] - places[0] == len(places) - 1
    return adjacent and all(
        isinstance(n, ast.If) and isinstance(n.body[-1], ast.Return) and not n.orelse for n in nodes
    )


def _has_elif(node: ast.If) -> bool:
    return len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)


def _leaves(node: ast.AST) -> bool:
    """Return True if a statement may leave the list that it stands in."""
    pending: list[ast.AST] = [node]
    while pending:
        inner = pending.pop()
        if isinstance(inner, _LEAVING):
            return True
        if not isinstance(inner, ast.FunctionDef | ast.expr):
            pending.extend(ast.iter_child_nodes(inner))
    return False


def _halved(node: ast.If) -> Statements:
    clauses, orelse = [node], node.orelse
    while _has_elif(clauses[-1]):
        (inner,) = clauses[-1].orelse
        assert isinstance(inner, ast.If)
        clauses.append(inner)
        orelse = inner.orelse
    return [node] if len(clauses) <= _LONG else _chain(clauses, orelse)


def _chain(clauses: list[ast.If], orelse: Statements) -> Statements:
    """Return the clauses in order, and the value if none applies."""
    if len(clauses) <= _LONG:
        for clause in reversed(clauses):
            orelse = [_conditional(clause, clause.body, orelse)]
        return orelse
    middle = len(clauses) // 2
    name = f"%applied {next(_NUMBERS)}"
    first = _chain(clauses[:middle], [_setting(name, False, clauses[middle])])
    second = _chain(clauses[middle:], orelse)
    applied = ast.copy_location(Deferred(lambda state: state.frame.env.pop(name)), clauses[middle])
    test = ast.If(applied, [ast.copy_location(ast.Pass(), clauses[middle])], second)
    return [_setting(name, True, clauses[0]), *first, ast.copy_location(test, clauses[middle])]


def _conditional(clause: ast.If, body: Statements, orelse: Statements) -> ast.If:
    return ast.copy_location(ast.If(clause.test, body, orelse), clause)


def _setting(name: str, value: bool, where: ast.stmt) -> ast.stmt:
    def bind(state: Machine) -> AbstractValue:
        state.frame.env[name] = Constant(value)
        return Constant(None)

    return ast.copy_location(ast.Expr(ast.copy_location(Deferred(bind), where)), where)
