"""Queries on single statements: which may be reordered, and which keep a name."""

from __future__ import annotations

import operator

from srcad.backends.python.plan.expressions import Nesting, writes_in_place
from srcad.backends.python.plan.statements import (
    Append,
    Conditional,
    Copy,
    Do,
    Increment,
    Statement,
    has_effect,
)
from srcad.ir.core import Value

_OURS = frozenset({"saved", "trips", "tag"})


def only_converts(origin: Do | Conditional, value: Value) -> bool:
    """Return True if a value is its operand in another kind: ``return float(a_bar), x_bar``."""
    if not isinstance(origin, Do) or len(origin.op.args) != 1:
        return False
    (operand,) = origin.op.args
    return isinstance(operand, Value) and operand.hint == value.hint


def is_users(hint: str | None) -> bool:
    """Return True if a name in the primal half is the user's, not one for what a loop counts."""
    return hint is not None and hint not in _OURS and not hint.endswith("_saved")


def is_one_line(conditional: Conditional) -> bool:
    """Return True if the user wrote a conditional in one line."""
    return conditional.where is not None and conditional.where.line == conditional.where.end_line


def writes_into(do: Do, value: Value, nesting: Nesting) -> bool:
    """Return True if the call writes into the storage of `value`, which therefore needs a name."""
    if not writes_in_place(do):
        return False
    first = do.op.args[0]
    return isinstance(first, Value) and nesting.resolve(first) is value


def divides(statement: Statement) -> bool:
    """Return True if a statement divides."""
    return isinstance(statement, Do) and statement.op.target is operator.truediv


def is_transparent(statement: Statement) -> bool:
    """Return True if expressions may move past a statement (a copy: if it sets none of them)."""
    match statement:
        case Do(op=op):
            return not op.effect and not op.in_place
        case Conditional(choice=choice):
            return choice is not None and not has_effect(statement)
        case Copy() | Append() | Increment():
            return True
        case _:
            return False
