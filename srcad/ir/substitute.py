"""Putting atoms in the place of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from srcad.ir.core import Arg, Atom, Block, Call, Const, Display, Op, Value, values_in

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
    return op.mapped(operand=lambda arg: substituted(arg, mapping))


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
    if isinstance(op, Call):
        return substituted_call(op, mapping)
    return op.mapped(
        lambda block: substituted_block(block, mapping), lambda arg: substituted(arg, mapping)
    )


def with_blocks(op: Op, blocks: Iterable[Block]) -> Op:
    """Return an op with other blocks inside."""
    others = iter(blocks)
    return op.mapped(lambda _: next(others))


def is_literal(arg: Arg, *values: object) -> bool:
    """Return True if an argument is a constant equal to one of some Python numbers (or None)."""
    if not isinstance(arg, Const):
        return False
    return any(type(arg.value) in (int, float, type(None)) and arg.value == v for v in values)
