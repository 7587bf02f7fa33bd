"""Two questions between naming and writing."""

from __future__ import annotations

from srcad.backends.coalesce import Webs
from srcad.backends.expressions import Nesting
from srcad.backends.liveness import is_nested, visible_lists
from srcad.backends.statements import Append, Copy, Do, Return, Statement, head_atoms
from srcad.ir.core import Atom, Value
from srcad.ir.primitives import build_dict, build_list, build_record, build_tuple

_STRUCTURES = frozenset({build_tuple, build_dict, build_record, build_list})


def weakly_read(statements: list[Statement], nesting: Nesting, webs: Webs) -> set[str]:
    """The variables that are handed on unseen, so that they must be bound even if undefined."""
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
        case Do(op=op) if _is_structure(op.target):
            return list(head_atoms(statement))
        case _:
            return []


def _is_structure(target: object) -> bool:
    try:
        return target in _STRUCTURES
    except TypeError:
        return False


def moving_copies(statements: list[Statement], nesting: Nesting, webs: Webs) -> frozenset[Value]:
    """The values that got a variable of their own although a copy at the end is all they feed."""
    moving: set[Value] = set()
    todo = list(statements)
    while todo:
        statement = todo.pop()
        for inner in visible_lists(statement):
            todo += inner
        if not isinstance(statement, Copy):
            continue
        for target, source in zip(statement.targets, statement.sources, strict=True):
            atom = nesting.resolve(source)
            is_variable = isinstance(atom, Value) and atom not in nesting.nested
            if is_variable and isinstance(atom, Value) and not webs.same(atom, target):
                moving.add(atom)
    return frozenset(moving)
