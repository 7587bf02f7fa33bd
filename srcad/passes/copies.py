"""Cloning of blocks: the same calls, with results of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from srcad.ir.core import Atom, Block, Call, For, If, Op, Value, While
from srcad.ir.substitute import substituted_block
from srcad.startup.records import replace
from srcad.types.structures import Type

Names = dict[Value, Value]


def copied_block(
    block: Block,
    mapping: Mapping[Value, Atom],
    typed: Callable[[Type], Type] = lambda type_: type_,
) -> Block:
    """Return a block with values replaced, in which all values that it defines are new ones.

    So the copy may stand beside the block, and each value is still defined once.  `typed` tells
    the type of a copy.

    >>> from srcad.ir.core import Function
    >>> function = parse('''
    ... f(x: float, z: float):
    ...     y = sin(x)
    ...     return y
    ... ''')
    >>> x, z = function.params
    >>> copied = copied_block(function.block, {x: z})
    >>> print(text(Function("g", (z,), copied)))
    g(z):
        y = sin(z)
        return y
    >>> copied.results == function.block.results
    False
    """
    names: Names = {}
    _note(block, names, typed)
    return _defining(substituted_block(block, {**mapping, **names}), names)


def _note(block: Block, names: Names, typed: Callable[[Type], Type]) -> None:
    """Name everything that a block defines anew."""
    defined = [*block.params, *(value for op in block.ops for value in op.results)]
    names.update((value, Value(typed(value.type), value.hint)) for value in defined)
    for op in block.ops:
        for inner in op.blocks:
            _note(inner, names, typed)


def _defining(block: Block, names: Names) -> Block:
    """Return a copy of the block with new names for its parameters and results."""
    ops = tuple(_defining_op(op, names) for op in block.ops)
    return Block(tuple(names[p] for p in block.params), ops, block.results)


def _defining_op(op: Op, names: Names) -> Op:
    if isinstance(op, Call):
        return replace(op, result=names[op.result])
    again = op.mapped(lambda inner: _defining(inner, names))
    assert isinstance(again, If | For | While)
    return replace(again, outputs=tuple(names[v] for v in again.outputs))
