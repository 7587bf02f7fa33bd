"""Conditional expressions and short circuits: the branches are read apart."""

from __future__ import annotations

import ast

from srcad.frontend.branches.choices import choose, condition
from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.constants import truth
from srcad.frontend.machine.dispatch import evaluate, evaluates
from srcad.frontend.machine.machine import Machine

_LONG = 12  # operands that stand in one another's branches


@evaluates(ast.IfExp)
def conditional(s: Machine, node: ast.IfExp) -> AbstractValue:
    """``then if test else orelse``."""
    test = evaluate(s, node.test)
    known = truth(s, test)
    if known is not None:
        return evaluate(s, node.body if known else node.orelse)
    test_ = condition(s, test)
    return choose(s, test_, lambda: evaluate(s, node.body), lambda: evaluate(s, node.orelse))


@evaluates(ast.BoolOp)
def boolean(s: Machine, node: ast.BoolOp) -> AbstractValue:
    """Evaluate ``a and b``, ``a or b``: the second operand is read in a branch."""
    return _short_circuit(s, isinstance(node.op, ast.And), node.values)


def _short_circuit(s: Machine, is_and: bool, values: list[ast.expr]) -> AbstractValue:
    """Evaluate a long one as ``(a and b) and (c and d)``, so that branches nest less deeply."""
    if len(values) == 1:
        return evaluate(s, values[0])
    middle = len(values) // 2 if len(values) > _LONG else 1
    first = _short_circuit(s, is_and, values[:middle])
    known = truth(s, first)
    if known is not None:
        return _short_circuit(s, is_and, values[middle:]) if known == is_and else first

    def rest() -> AbstractValue:
        return _short_circuit(s, is_and, values[middle:])

    test = condition(s, first)
    if is_and:
        return choose(s, test, rest, lambda: first)
    return choose(s, test, lambda: first, rest)
