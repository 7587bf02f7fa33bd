"""Expressions in order: a later one may write into what an earlier one has read."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from srcad.frontend.domain.structure import mutable_parts, values_of
from srcad.frontend.domain.values import AbstractValue, TupleValue
from srcad.frontend.machine.dispatch import evaluate
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.syntax import nodes_of
from srcad.ir.memory import has_storage


def evaluate_next(
    state: Machine, held: AbstractValue, node: ast.expr
) -> tuple[AbstractValue, AbstractValue]:
    """Read an expression after another one that it may write into."""
    if not calls_something(node) or not _may_change(held):
        return held, evaluate(state, node)
    with state.kept(held) as kept:
        box = evaluate(state, node)
        return kept.box, box


def _may_change(held: AbstractValue) -> bool:
    """Return True if a box is, or holds, an array or an object that a call may write into."""
    return any(map(has_storage, values_of(held))) or any(True for _ in mutable_parts(held))


def evaluate_each(state: Machine, nodes: Iterable[ast.expr]) -> list[AbstractValue]:
    """Read expressions in order; a later one may write into what an earlier one has read."""
    nodes = list(nodes)
    if not any(map(calls_something, nodes[1:])):
        return [evaluate(state, node) for node in nodes]
    read = TupleValue(())
    for node in nodes:
        before, box = evaluate_next(state, read, node)
        assert isinstance(before, TupleValue)
        read = TupleValue((*before.items, box))
    return list(read.items)


def calls_something(node: ast.expr) -> bool:
    """Return True if an expression calls anything, or asks something for its items."""
    known = getattr(node, "_calls", None)
    if known is None:
        known = any(isinstance(inner, ast.Call | ast.Starred) for inner in nodes_of(node))
        node._calls = known  # type: ignore[attr-defined]
    return bool(known)
