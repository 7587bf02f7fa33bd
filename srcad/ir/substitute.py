"""Putting atoms in the place of values."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    If,
    Op,
    Value,
    While,
    values_in,
)
from srcad.ir.operations import Operation
from srcad.startup.records import replace
from srcad.startup.short_tracebacks import on_purpose

Mapping_ = Mapping[Value, Atom]


def substituted(arg: Arg, mapping: Mapping_) -> Arg:
    """Return an argument with values replaced."""
    if isinstance(arg, Value):
        return mapping.get(arg, arg)
    if isinstance(arg, Display):
        items = tuple(substituted(item, mapping) for item in arg.items)
        return arg if items == arg.items else Display(arg.kind, items)
    return arg


def substituted_atom(atom: Atom, mapping: Mapping_) -> Atom:
    """Return an atom with values replaced."""
    return mapping.get(atom, atom) if isinstance(atom, Value) else atom


def substituted_call(op: Call, mapping: Mapping_) -> Call:
    """Return a call with values replaced in its arguments; the same object if none is."""
    if not mapping or not _is_touched(op, mapping):
        return op
    return replace(
        op,
        args=tuple(substituted(a, mapping) for a in op.args),
        kwargs=tuple((name, substituted(a, mapping)) for name, a in op.kwargs),
    )


def _is_touched(op: Call, mapping: Mapping_) -> bool:
    for arg in op.args:
        if isinstance(arg, Value):
            if arg in mapping:
                return True
        elif isinstance(arg, Display) and any(v in mapping for v in values_in(arg)):
            return True
    if not op.kwargs:
        return False
    return any(v in mapping for _, arg in op.kwargs for v in values_in(arg))


def substituted_block(block: Block, mapping: Mapping_) -> Block:
    """Return a block with values replaced, in all that is inside it."""
    ops = substituted_ops(block.ops, mapping)
    results = tuple(substituted_atom(a, mapping) for a in block.results)
    if results == block.results and all(a is b for a, b in zip(ops, block.ops, strict=True)):
        return block
    return Block(block.params, ops, results)


def substituted_ops(ops: Iterable[Op], mapping: Mapping_) -> tuple[Op, ...]:
    """Ops with values replaced."""
    return tuple(substituted_op(op, mapping) for op in ops)


def substituted_op(op: Op, mapping: Mapping_) -> Op:
    """Return an op with values replaced."""
    if not mapping:
        return op
    match op:
        case Call():
            return substituted_call(op, mapping)
        case If():
            return replace(
                op,
                test=substituted_atom(op.test, mapping),
                then=substituted_block(op.then, mapping),
                orelse=substituted_block(op.orelse, mapping),
            )
        case For():
            return replace(
                op,
                seqs=tuple(substituted(a, mapping) for a in op.seqs),
                inits=tuple(substituted_atom(a, mapping) for a in op.inits),
                count=None if op.count is None else substituted_atom(op.count, mapping),
                segments=tuple(substituted_atom(a, mapping) for a in op.segments),
                body=substituted_block(op.body, mapping),
            )
        case While():
            return replace(
                op,
                inits=tuple(substituted_atom(a, mapping) for a in op.inits),
                test=substituted_block(op.test, mapping),
                body=substituted_block(op.body, mapping),
            )
    raise TypeError(type(op).__name__)


def with_blocks(op: Op, blocks: tuple[Block, ...]) -> Op:
    """Return an op with other blocks inside."""
    match op:
        case If():
            return replace(op, then=blocks[0], orelse=blocks[1])
        case For():
            return replace(op, body=blocks[0])
        case While():
            return replace(op, test=blocks[0], body=blocks[1])
    return op


def is_literal(arg: Arg, *values: object) -> bool:
    """Return True if an argument is a constant equal to one of some Python numbers (or None)."""
    if not isinstance(arg, Const):
        return False
    return any(type(arg.value) in (int, float, type(None)) and arg.value == v for v in values)


# Helpers of code with checkpoints: the lengths of segments, the states of generators.


def at_least_one(count: int, what: str) -> int:
    """Check a count: at least 1 iteration per segment, and at least 1 level."""
    if operator.index(count) < 1:
        raise on_purpose(ValueError(f"{what!r} of a checkpointed range is at least 1, not {count}"))
    return count


def segment(trips: int, levels: int = 1, every: int | None = None) -> int:
    """Return the iterations of one segment of a loop, which may be cut into shorter ones.

    The number of parts is the same on all levels, so that the sum of what all levels keep is least;
    the shortest segments have `every` iterations where that is given.
    """
    shortest = every or 1
    count = max(-(-trips // shortest), 1)
    parts = levels + (every is None)
    return int(shortest * math.ceil(count ** ((parts - 1) / parts)))


def random_state(generator: Any) -> Any:
    """Return the state of a generator of random numbers: of NumPy's, old or new, or of `random`."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.getstate()


def set_random_state(generator: Any, state: Any) -> Any:
    """Give a generator a state, and return the one that it had."""
    before = random_state(generator)
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.setstate(state)
    return before


Operation(flows=(), owed=True, called="every")(at_least_one)
Operation(flows=(), called="every")(segment)
