"""Batching by a loop, open to every call: one direction after the other, results stacked."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator

import numpy as np

from srcad.analysis.activity_trees import Activity, part
from srcad.errors import UnsupportedTypeError
from srcad.ir.core import (
    Arg,
    Atom,
    Call,
    Const,
    Display,
    For,
    Op,
    Routine,
    Value,
    collected_outputs,
)
from srcad.ir.inference.builder import atom_type
from srcad.ir.text import target_name
from srcad.transforms.batched_values import BatchedScope
from srcad.types.numeric import INT, Numeric
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf, Type


def looped(scope: BatchedScope, op: Call) -> Atom:
    """Return a loop over the directions around a call."""
    args = (*op.args, *(a for _, a in op.kwargs))
    carrying = list(dict.fromkeys(a for arg in args for a in _carrying(scope, arg)))
    inside = scope.inner()
    items: dict[Value, Value]
    if all(isinstance(atom_type(a), Numeric) for a in carrying):
        items = {a: Value(_narrow(atom_type(a)), a.hint) for a in carrying}
        seqs, params = tuple(map(scope.of, carrying)), tuple(items.values())
    else:
        index = Value(INT, "i")
        seqs, params = (Display("range", (Const(0), scope.shared.count, Const(1))),), (index,)
        items = {
            a: in_direction(inside, scope.atom(a), atom_type(a), scope.tree(a), index)
            for a in carrying
        }
    given = [_with(a, items) for a in op.args]
    kwargs = [(name, _with(a, items)) for name, a in op.kwargs]
    y = inside.builder.call(op.target, *given, kwargs=kwargs, effect=op.effect)
    if not isinstance(op.result.type, Numeric):
        y.type = op.result.type
    tree = scope.tree(op.result)
    leaves = list(_leaves(inside, op, y, op.result.type, tree))
    body = inside.builder.finish(Const(0), *leaves, params=params)
    lists = iter(scope.builder.for_(seqs, (), body)[2:])
    return _stacked(scope, op.result.type, tree, lists)


def takes_turns(ops: Iterable[Op]) -> bool:
    """Return True if some ops stack the results of a loop over the directions.

    Such a loop needs one direction at least: no results do not tell the shape of one.
    """
    return _stacks_rows(ops, set())


def _stacks_rows(ops: Iterable[Op], seen: set[Routine]) -> bool:
    lists: set[Value] = set()
    for op in ops:
        if isinstance(op, For):
            lists.update(collected_outputs(op))
        if any(_stacks_rows(block.ops, seen) for block in op.blocks):
            return True
        if not isinstance(op, Call):
            continue
        if op.target is np.stack and not lists.isdisjoint(op.operands):
            return True
        routine = op.target
        if isinstance(routine, Routine) and routine.function and routine not in seen:
            seen.add(routine)
            if _stacks_rows(routine.function.block.ops, seen):
                return True
    return False


def _carrying(scope: BatchedScope, arg: Arg) -> Iterator[Value]:
    """Yield the values in an argument that depend on the direction."""
    if isinstance(arg, Value) and scope.tree(arg) is not False:
        yield arg
    elif isinstance(arg, Display):
        for item in arg.items:
            yield from _carrying(scope, item)


def _with(arg: Arg, items: dict[Value, Value]) -> Arg:
    """Return an argument for one direction."""
    if isinstance(arg, Value):
        return items.get(arg, arg)
    if isinstance(arg, Display):
        return Display(arg.kind, tuple(_with(item, items) for item in arg.items))
    return arg


def _narrow(type_: Type) -> Type:
    """Return the type of a value in one direction, which is read out of an array."""
    if isinstance(type_, Numeric) and type_.is_scalar:
        return type_.of_shape((), "numpy")
    return type_


def in_direction(
    scope: BatchedScope, found: Atom, type_: Type, tree: Activity, index: Atom
) -> Value:
    """Return a value of all directions as it is in one of them."""
    assert isinstance(found, Value)
    if isinstance(type_, TupleOf):
        parts: list[Atom] = []
        for k, t in enumerate(type_.items):
            one = scope.builder.part(found, type_, k, type=scope.wide(t, part(tree, k)))
            inner = part(tree, k)
            parts.append(one if inner is False else in_direction(scope, one, t, inner, index))
        return scope.builder.build_like(type_, parts)
    if isinstance(type_, ListOf):
        inside = scope.inner()
        item = Value(scope.wide(type_.item, tree))
        row = in_direction(inside, item, type_.item, tree, index)
        body = inside.builder.finish(Const(0), row, params=(item,))
        return scope.builder.for_((found,), (), body)[2]
    return scope.builder.call(operator.getitem, found, index, type=_narrow(type_))


def _leaves(scope: BatchedScope, op: Call, y: Value, type_: Type, tree: Activity) -> Iterator[Atom]:
    """Yield the numbers, arrays and lists in a result."""
    if tree is False:
        if not isinstance(type_, Fixed | Opaque):
            raise UnsupportedTypeError(
                f"cannot take several directions at once through {target_name(op.target)!r}",
                where=op.where,
                why="a part of its result is not a number.",
                help="use srcad.pullback or srcad.jvp, one direction at a time",
            )
    elif isinstance(type_, TupleOf):
        for k, t in enumerate(type_.items):
            one = scope.builder.part(y, type_, k) if part(tree, k) is not False else y
            yield from _leaves(scope, op, one, t, part(tree, k))
    else:
        yield y


def _stacked(scope: BatchedScope, type_: Type, tree: Activity, lists: Iterator[Value]) -> Atom:
    """Return the results of all directions, the axis in front."""
    if tree is False:
        return Const(type_.value if isinstance(type_, Fixed) else None)
    if isinstance(type_, TupleOf):
        parts = [_stacked(scope, t, part(tree, k), lists) for k, t in enumerate(type_.items)]
        return scope.builder.build_like(type_, parts)
    rows = next(lists)
    if isinstance(type_, ListOf):
        return _transposed(scope, rows, type_, tree)
    return scope.builder.call(np.stack, rows, type=scope.wide(type_))


def _transposed(scope: BatchedScope, rows: Value, type_: ListOf, tree: Activity) -> Atom:
    """Return a list of values with the axis, of one list for each direction."""
    first = scope.builder.call(operator.getitem, rows, Const(0), type=type_)
    length = scope.builder.call(len, first)
    index, row = Value(INT, "j"), Value(type_)
    outer, inner = scope.inner(), scope.inner()
    one = inner.builder.call(operator.getitem, row, index, type=type_.item)
    column = outer.builder.for_((rows,), (), inner.builder.finish(Const(0), one, params=(row,)))[2]
    made = _stacked(outer, type_.item, tree, iter([column]))
    body = outer.builder.finish(Const(0), made, params=(index,))
    seq = Display("range", (Const(0), length, Const(1)))
    return scope.builder.for_((seq,), (), body)[2]
