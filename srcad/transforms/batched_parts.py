"""Batching of the IR's own operations if some operands have a leading axis of directions.

Structures and lists have it in their parts; a read and a store get an index for all directions in
front of their own; the helpers of the reverse half are each told what they do.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import Activity
from srcad.analysis.arguments import arguments
from srcad.ir import primitives
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Call, Const, Display, Value
from srcad.ir.inference.builder import atom_type, result_type
from srcad.ir.operations import every
from srcad.ir.traits import is_known_part, is_same, sets_places, sums_at_places
from srcad.rules.einsum import LETTERS, explicit
from srcad.transforms.batched_values import ALL, BatchedScope, rank, refuse_hidden_list
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, TupleOf

Batch = Callable[[BatchedScope, Call], "Atom | None"]
BATCHES: dict[Any, Batch] = {}  # what `batches` has registered


def batches(*targets: Any) -> Callable[[Batch], Batch]:
    """Register the batching rule of some callees; a rule may return None."""

    def register(batch: Batch) -> Batch:
        BATCHES.update(dict.fromkeys(targets, batch))
        return batch

    return register


# ------------------------------------------------------------------------------- structures
@batches(*every(is_known_part))
def _part(scope: BatchedScope, op: Call) -> Atom | None:
    type_ = argument_type(op.args[0])
    if isinstance(type_, Numeric):  # an array that stands for a list or tuple
        row = Display("tuple", (ALL, op.args[1]))
        return scope.call(operator.getitem, scope.of(op.args[0]), row) if rank(type_) else None
    wide = scope.wide(op.result.type, scope.tree(op.result))
    return scope.builder.call(op.target, *map(scope.of, op.args), type=wide)


@batches(*every(is_same))
def _same(scope: BatchedScope, op: Call) -> Atom | None:
    wide = scope.wide(op.result.type, scope.tree(op.result))
    return scope.builder.call(op.target, *map(scope.of, op.args), type=wide)


@batches(
    primitives.build_list,
    primitives.append,
    primitives.extended,
    primitives.inserted,
    primitives.without,
    primitives.replaced,
)
def _list(scope: BatchedScope, op: Call) -> Atom | None:
    """Return a list with the axis in the same parts of all items."""
    tree = scope.tree(op.result)
    args = [scope.full(a, tree) if _holds(op, k) else a for k, a in enumerate(op.args)]
    return scope.builder.call(op.target, *args, type=scope.wide(op.result.type, tree))


def _holds(op: Call, k: int) -> bool:
    """Return True if an operand is a list, or goes into one: not what counts or names a place."""
    return not (
        k == 1 and op.target in (primitives.inserted, primitives.replaced, primitives.without)
    )


# ------------------------------------------------------------------------------- reads, stores
@batches(operator.getitem)
def _getitem(scope: BatchedScope, op: Call) -> Atom | None:
    container, index = op.args
    type_ = argument_type(container)
    tree = scope.tree(op.result)
    if scope.tree(index) is not False:
        return None
    if isinstance(type_, ListOf | TupleOf):
        whole: Activity = tree
        if isinstance(type_, TupleOf) and tree is not False:
            whole = tuple(tree for _ in type_.items)
        wide = scope.wide(op.result.type, tree)
        return scope.builder.call(operator.getitem, scope.full(container, whole), index, type=wide)
    wide_index = _wide_index(index)
    if not isinstance(type_, Numeric) or wide_index is None:
        return None
    return scope.call(operator.getitem, scope.of(container), wide_index)


@batches(*every(sets_places), *every(sums_at_places))
def _store(scope: BatchedScope, op: Call) -> Atom | None:
    """``y[i] = v`` or ``y[i] += v`` in every direction."""
    array, index, value = op.args
    slot = result_type(operator.getitem, (array, index), ())
    ranks = [rank(slot), rank(argument_type(value))]
    wide_index = _wide_index(index)
    known = isinstance(argument_type(array), Numeric)
    if wide_index is None or not known or scope.tree(index) is not False:
        return None
    stored = scope.of(value)
    if scope.tree(value) is not False:
        if ranks[0] is None or ranks[1] is None or ranks[1] > ranks[0]:
            return None
        stored = scope.reshaped(stored, ranks[1], ranks[0])
    whole = scope.full(array, True)
    return scope.builder.call(
        op.target, whole, wide_index, stored, type=scope.wide(argument_type(array))
    )


def _wide_index(index: Arg) -> Arg | None:
    """Return an index with all directions in front.

    None where the axes would come out in other places.
    """
    items: tuple[Arg, ...] = (index,)
    if isinstance(index, Display) and index.kind == "tuple":
        items = index.items
    elif isinstance(argument_type(index), TupleOf):
        if not isinstance(index, Const):
            return None
        items = tuple(map(Const, index.value))
    kinds = list(map(_index_kind, items))
    if None in kinds:
        return None
    if "array" in kinds:
        chosen = [k for k, kind in enumerate(kinds) if kind in ("array", "number")]
        if chosen[-1] - chosen[0] + 1 != len(chosen):
            return None
    return Display("tuple", (ALL, *items))


def _index_kind(item: Arg) -> str | None:
    """Return the kind of an item of an index: "slice", "number" or "array"; None if unknown."""
    if isinstance(item, Display):
        return {"slice": "slice", "list": "array"}.get(item.kind)
    if isinstance(item, Const) and (item.value is None or item.value is Ellipsis):
        return "slice"
    if isinstance(item, Const) and isinstance(item.value, slice):
        return "slice"
    type_ = atom_type(item)
    if isinstance(type_, ListOf):
        return "array"
    if not isinstance(type_, Numeric) or type_.shape is None or type_.kind not in "iub":
        return None
    if type_.shape == () and type_.kind != "b":
        return "number"
    return "array"


# ------------------------------------------------------------------------------- cotangents
@batches(np.zeros_like, np.ones_like, np.empty_like, runtime.zero_cotangent)
def _likeness(scope: BatchedScope, op: Call) -> Atom | None:
    """``zeros_like``: of what has the axis it has the axis, too."""
    if op.kwargs or len(op.args) != 1 or not isinstance(argument_type(op.args[0]), Numeric):
        return None
    wide = scope.wide(op.result.type)
    return scope.builder.call(op.target, scope.of(op.args[0]), type=wide)


@batches(runtime.or_zeros)
def _or_zeros(scope: BatchedScope, op: Call) -> Atom | None:
    """``or_zeros(x_bar, x)``: the zeros need the axis."""
    x_bar, x = op.args
    refuse_hidden_list(op.where, op.result.type, scope.tree(op.result), op.args)
    return scope.builder.call(
        op.target, scope.of(x_bar), scope.full(x, True), type=scope.wide(op.result.type)
    )


@batches(runtime.add_cotangents)
def _plus(scope: BatchedScope, op: Call) -> Atom | None:
    """``plus(a, b)`` of cotangents of one value."""
    tree = scope.tree(op.result)
    refuse_hidden_list(op.where, op.result.type, tree, op.args)
    args = [scope.full(a, tree) for a in op.args]
    return scope.builder.call(op.target, *args, type=scope.wide(op.result.type, tree))


@batches(runtime.unbroadcast)
def _unbroadcast(scope: BatchedScope, op: Call) -> Atom | None:
    """Return the sum over the axes along which `x` was broadcast, but not over the directions."""
    g, x = op.args
    type_ = argument_type(x)
    is_shape = isinstance(type_, TupleOf)
    narrow = len(type_.items) if isinstance(type_, TupleOf) else rank(type_)
    ranks = rank(argument_type(g)), narrow
    if ranks[0] is None or ranks[1] is None or ranks[0] < ranks[1]:
        return None
    found = scope.of(g)
    if ranks[0] > ranks[1]:
        axes = tuple(range(1, 1 + ranks[0] - ranks[1]))
        found = scope.call(np.sum, found, axis=Const(axes if len(axes) > 1 else axes[0]))
    if ranks[1] == 0:
        return found if isinstance(found, Value) else None
    shape = scope.wide_lengths(x) if is_shape else scope.full(x, True)
    return scope.builder.call(op.target, found, shape, type=scope.wide(op.result.type))


@batches(float, np.float64, np.float32, np.float16)
def _number(scope: BatchedScope, op: Call) -> Atom | None:
    """``float(x_bar)``: an array of such numbers."""
    type_, wide = argument_type(op.args[0]), scope.wide(op.result.type)
    if op.kwargs or len(op.args) != 1 or rank(type_) != 0:
        return None
    if not isinstance(wide, Numeric) or not isinstance(type_, Numeric) or wide.dtype is None:
        return None
    return scope.builder.call(np.astype, scope.of(op.args[0]), Const(wide.dtype), type=wide)


@batches(runtime.converted_like)
def _in_kind(scope: BatchedScope, op: Call) -> Atom | None:
    """``like(x_bar, x)``: the dtype of `x`, as far as that is known."""
    type_ = argument_type(op.args[1])
    if not isinstance(type_, Numeric) or type_.dtype is None or scope.tree(op.args[1]) is not False:
        return None
    dtype = type_.dtype if type_.kind in "fc" else np.dtype(float)
    return scope.builder.call(
        np.astype, scope.of(op.args[0]), Const(dtype), type=scope.wide(op.result.type)
    )


# ------------------------------------------------------------------------------- all operands
@batches(np.array, np.asarray)
def _array(scope: BatchedScope, op: Call) -> Atom | None:
    """``np.array`` of a list, the items of which have the axis; of anything else by a formula."""
    type_ = argument_type(op.args[0])
    item = type_.item if isinstance(type_, ListOf) else None
    if op.kwargs or len(op.args) != 1 or not isinstance(item, Numeric) or item.shape is None:
        return None
    rows = scope.call(op.target, scope.full(op.args[0], True))
    if item.shape:
        return scope.call(np.swapaxes, rows, Const(0), Const(1))
    width = Display("tuple", (Const(-1), scope.shared.count))  # of an empty list, too
    return scope.call(np.transpose, scope.call(np.reshape, rows, width))


@batches(builtins.sum)
def _total(scope: BatchedScope, op: Call) -> Atom | None:
    """``sum`` of a list of numbers: that of an empty one is the start, in every direction."""
    operands = arguments(op)
    items, start = operands[0], operands.get(1, operands.get("start", Const(0)))
    type_ = argument_type(items)
    if not isinstance(type_, ListOf) or rank(type_.item) != 0 or rank(argument_type(start)) != 0:
        return None
    args = (scope.full(items, True), scope.full(start, True))
    return scope.builder.call(op.target, *args, type=scope.wide(op.result.type))


@batches(np.einsum)
def _einsum(scope: BatchedScope, op: Call) -> Atom | None:
    """Einstein sums: one letter more in what has the axis, and in the result."""
    subscripts, *operands = op.args
    ranks = [rank(argument_type(a)) for a in operands]
    if not isinstance(subscripts, Const) or None in ranks or not isinstance(subscripts.value, str):
        return None
    text: str = explicit(subscripts.value, ranks)  # type: ignore[no-untyped-call]
    spare = next((letter for letter in LETTERS if letter not in text), None)
    if spare is None:
        return None
    inputs, _, output = text.partition("->")
    terms = [
        term if scope.tree(a) is False else spare + term
        for term, a in zip(inputs.split(","), operands, strict=True)
    ]
    args = (Const(f"{','.join(terms)}->{spare}{output}"), *map(scope.of, operands))
    return scope.builder.call(op.target, *args, kwargs=op.kwargs, type=scope.wide(op.result.type))
