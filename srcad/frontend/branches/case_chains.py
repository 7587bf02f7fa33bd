"""Long dispatches, taken apart so that their branches are not nested deeply.

An ``elif`` stands in the branch of the ``if`` before it, and so do the statements behind an ``if``
that leaves.  Of a hundred clauses that makes a hundred levels.  A long one is halved instead, as a
person would put half of it into a function: the second half is read where nothing of the first
applied.  All of this is done to the syntax tree; what it means stays the same.
"""

from __future__ import annotations

import ast
from itertools import count

from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.deferred import Deferred
from srcad.frontend.machine.machine import Machine

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


def cut_in_half(statements: Statements, *, whole: bool) -> tuple[Statements, Statements]:
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
    return adjacent and all(isinstance(n, ast.If) and isinstance(n.body[-1], ast.Return)
                            and not n.orelse for n in nodes)  # fmt: skip


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
    applied = ast.copy_location(Deferred(lambda s: s.frame.env.pop(name)), clauses[middle])
    test = ast.If(applied, [ast.copy_location(ast.Pass(), clauses[middle])], second)
    return [_setting(name, True, clauses[0]), *first, ast.copy_location(test, clauses[middle])]


def _conditional(clause: ast.If, body: Statements, orelse: Statements) -> ast.If:
    return ast.copy_location(ast.If(clause.test, body, orelse), clause)


def _setting(name: str, value: bool, where: ast.stmt) -> ast.stmt:
    def bind(s: Machine) -> AbstractValue:
        s.frame.env[name] = Constant(value)
        return Constant(None)

    return ast.copy_location(ast.Expr(ast.copy_location(Deferred(bind), where)), where)
