"""The head of a ``for`` statement: ``range``, ``reversed``, ``zip``, ``enumerate``."""

from __future__ import annotations

import ast
from typing import Protocol

from srcad.backends.python.naming.names import Globals
from srcad.backends.python.plan.statements import Head, Loop, Pattern
from srcad.backends.python.plan.uses import Uses, is_count, measured_sequence
from srcad.ir.core import Arg, Display, For, Value
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, TupleOf


class HeadWriter(Protocol):
    """The part of the writer that the head of a loop needs."""

    space: Globals
    uses: Uses

    def expr(self, arg: Arg) -> ast.expr:
        """Return the expression for an argument."""

    def store(self, pattern: Pattern | None) -> ast.expr:
        """Return the target of a pattern."""


def for_statement(writer: HeadWriter, loop: Loop, body: list[ast.stmt]) -> ast.stmt:
    head = loop.head
    assert isinstance(loop.op, For)
    if not head.seqs:
        assert head.count is not None
        return ast.For(writer.store(None), _counting(writer, head.count), body, [])
    targets = [writer.store(p) for p in head.patterns]
    if loop.op.backward:
        iterable = _backward(writer, head)
    elif _enumerates(writer, head):
        rest = [writer.expr(seq) for seq in head.seqs[1:]]
        iterable = _call(writer, enumerate, _zipped(writer, rest))
        targets = [targets[0], _target(targets[1:])]
    else:
        iterable = _zipped(writer, [_cut(writer, head, k) for k in range(len(head.seqs))])
    return ast.For(_target(targets), iterable, body, [])


def _counting(writer: HeadWriter, count: Arg) -> ast.expr:
    """Return a range of so many iterations; ``range(len(range(n)))`` is ``range(n)``."""
    trips = writer.expr(count)
    if isinstance(trips, ast.Call) and isinstance(trips.func, ast.Name) and trips.func.id == "len":
        inner = trips.args[0]
        if isinstance(inner, ast.Call) and getattr(inner.func, "id", None) == "range":
            return inner
    return _call(writer, range, trips)


def _target(targets: list[ast.expr]) -> ast.expr:
    return targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())


def _call(writer: HeadWriter, function: object, *args: ast.expr) -> ast.expr:
    return ast.Call(writer.space.expression(function), list(args), [])


def _zipped(writer: HeadWriter, items: list[ast.expr]) -> ast.expr:
    return items[0] if len(items) == 1 else _call(writer, zip, *items)


def _enumerates(writer: HeadWriter, head: Head) -> bool:
    """Return True if the first sequence just counts the items of another."""
    first = head.seqs[0]
    if len(head.seqs) < 2 or any(head.limited) or head.patterns[0] is None:
        return False
    if not isinstance(first, Display) or first.kind != "range" or not is_count(first):
        return False
    return measured_sequence(first.items[1], writer.uses) in head.seqs[1:]


def _cut(writer: HeadWriter, head: Head, k: int) -> ast.expr:
    """Return a sequence, cut to the number of iterations where it may be longer."""
    seq = head.seqs[k]
    if not head.limited[k] or head.count is None:
        return writer.expr(seq)
    if isinstance(seq, Display) and seq.kind == "range" and is_count(seq) and head.aligned:
        return _call(writer, range, writer.expr(head.count))
    return _first(writer, _sliceable(writer, seq), head)


def _first(writer: HeadWriter, node: ast.expr, head: Head) -> ast.expr:
    assert head.count is not None
    return ast.Subscript(node, ast.Slice(None, writer.expr(head.count), None), ast.Load())


def _sliceable(writer: HeadWriter, seq: Arg) -> ast.expr:
    node = writer.expr(seq)
    if isinstance(seq, Value) and not isinstance(seq.type, Numeric | ListOf | TupleOf):
        return _call(writer, list, node)
    return node


def _backward(writer: HeadWriter, head: Head) -> ast.expr:
    if head.aligned or len(head.seqs) == 1:
        items = [_reversed(writer, head, k) for k in range(len(head.seqs))]
        return _zipped(writer, items)
    rows = _call(writer, list, _call(writer, zip, *[writer.expr(s) for s in head.seqs]))
    return _call(writer, reversed, rows if head.count is None else _first(writer, rows, head))


def _reversed(writer: HeadWriter, head: Head, k: int) -> ast.expr:
    if head.limited[k]:
        return _call(writer, reversed, _cut(writer, head, k))
    return _call(writer, reversed, _sliceable(writer, head.seqs[k]))
