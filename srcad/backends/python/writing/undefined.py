"""Which variables must be bound even where they are undefined."""

from __future__ import annotations

from srcad.backends.python.naming.coalesce import Webs
from srcad.backends.python.naming.liveness import is_nested, visible_lists
from srcad.backends.python.plan.expressions import Nesting
from srcad.backends.python.plan.statements import Append, Copy, Do, Return, Statement, head_atoms
from srcad.ir.core import Atom
from srcad.ir.traits import is_builder


def weakly_read(statements: list[Statement], nesting: Nesting, webs: Webs) -> set[str]:
    """Return the variables that are handed on unread, and must be bound even if undefined."""
    names: set[str] = set()
    todo = list(statements)
    while todo:
        statement = todo.pop()
        for inner in visible_lists(statement):
            todo += inner
        if is_nested(statement, nesting):
            continue
        for atom in _handed_on(statement):
            for value in nesting.leaves([atom]):
                names.add(webs.names[value])
    return names


def _handed_on(statement: Statement) -> list[Atom]:
    match statement:
        case Append(items=items):
            return list(items)
        case Copy(sources=sources):
            return list(sources)
        case Return(values=values):
            return list(values)
        case Do(op=op) if is_builder(op.target):
            return list(head_atoms(statement))
        case _:
            return []
