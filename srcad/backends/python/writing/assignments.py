"""Assignments: parallel ones as single ones where that can be, and ``s += x``."""

from __future__ import annotations

import ast
from typing import Protocol

from srcad.backends.python.naming.coalesce import Webs
from srcad.backends.python.plan.expressions import Nesting, is_certain_scalar
from srcad.backends.python.plan.statements import Copy, Do
from srcad.backends.python.writing.spelling import binary_sign
from srcad.ir.core import UNDEF, Arg, Atom, Call, Const, Value


class Scope(Protocol):
    """The part of the writer that assignments need."""

    webs: Webs
    nesting: Nesting
    weak: set[str]

    def expr(self, arg: Arg) -> ast.expr:
        """Return the expression for an argument."""

    def name(self, value: Value) -> ast.Name:
        """Return a variable that is written."""

    def assign(self, value: Value, node: ast.expr) -> ast.stmt:
        """Return the statement ``value = node``."""


def copies(writer: Scope, copy: Copy) -> list[ast.stmt]:
    """Return a parallel assignment, as single ones where their order can be chosen."""
    left: list[tuple[Value, Atom]] = []
    for target, source in zip(copy.targets, copy.sources, strict=True):
        atom = writer.nesting.resolve(source)
        if atom is UNDEF and writer.webs.names[target] not in writer.weak:
            continue
        if _is_same_variable(writer, atom, target):
            continue
        left.append((target, atom))
    if len(left) > 1 and all(isinstance(a, Const) for _, a in left):
        return _together(writer, left)
    return _in_some_order(writer, left)


def _is_same_variable(writer: Scope, atom: Atom, target: Value) -> bool:
    is_variable = isinstance(atom, Value) and atom not in writer.nesting.nested
    return is_variable and isinstance(atom, Value) and writer.webs.same(atom, target)


def _together(writer: Scope, pairs: list[tuple[Value, Atom]]) -> list[ast.stmt]:
    targets = ast.Tuple([writer.name(t) for t, _ in pairs], ast.Store())
    return [ast.Assign([targets], ast.Tuple([writer.expr(a) for _, a in pairs], ast.Load()))]


def _in_some_order(writer: Scope, pairs: list[tuple[Value, Atom]]) -> list[ast.stmt]:
    statements: list[ast.stmt] = []
    reads = [{writer.webs.names[v] for v in writer.nesting.leaves([a])} for _, a in pairs]
    left = list(range(len(pairs)))
    while left:
        free = next((k for k in left if _is_free(writer, k, left, pairs, reads)), None)
        if free is None:
            return statements + _together(writer, [pairs[k] for k in left])
        left.remove(free)
        statements += _single(writer, *pairs[free])
    return statements


def _is_free(
    writer: Scope, k: int, left: list[int], pairs: list[tuple[Value, Atom]], reads: list[set[str]]
) -> bool:
    """Return True if the variable that assignment `k` overwrites has no other readers."""
    name = writer.webs.names[pairs[k][0]]
    return all(name not in reads[j] for j in left if j != k)


def _single(writer: Scope, target: Value, atom: Atom) -> list[ast.stmt]:
    origin = writer.nesting.nested.get(atom) if isinstance(atom, Value) else None
    if isinstance(origin, Do):
        augmented = augmented_assignment(writer, origin.op, target)
        if augmented:
            return augmented
    return [writer.assign(target, writer.expr(atom))]


def augmented_assignment(writer: Scope, op: Call, result: Value) -> list[ast.stmt]:
    """``s += x`` for numbers in the reverse half, where it is rebinding."""
    sign = binary_sign(op.target)
    if op.half == "primal" or sign is None or len(op.args) != 2:
        return []
    first = op.args[0]
    atom = writer.nesting.resolve(first) if isinstance(first, Value) else None
    if not isinstance(atom, Value) or atom in writer.nesting.nested:
        return []
    if not writer.webs.same(atom, result) or not is_certain_scalar(atom):
        return []
    return [ast.AugAssign(writer.name(result), sign(), writer.expr(op.args[1]))]
