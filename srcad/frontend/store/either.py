"""Values that are one array where a test holds and another where it does not.

Where paths meet, a name may show the memory of one array or that of another, and both go on to be
read.  The test that chose between them is kept: what a write through such a name does, and what
such a name is after a write through another, is decided by the same test again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.frontend.domain.memory import Either
from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import UNDEF, Atom, Block, Const, If, Value

Resolve = Callable[[Value], Value | None]


def chosen_again(s: Machine, either: Either, value: Value, resolve: Resolve) -> Value | None:
    """Return a value after something has changed: `resolve` tells what it is on either path.

    `resolve` gives the value itself where nothing has changed, None where nobody knows.
    """
    blocks: list[Block] = []
    for side in (either.left, either.right):
        with s.block() as builder:
            found = value if side == UNDEF or isinstance(side, Const) else resolve(side)
        if found is None:
            return None
        blocks.append(Block((), tuple(builder.ops), (found,)))
    output = Value(value.type, value.hint)
    op = If(
        test=either.test,
        then=blocks[0],
        orelse=blocks[1],
        outputs=(output,),
        where=s.builder.where,
        half=s.builder.half,
    )
    s.builder.ops.append(op)
    take_over(s, value, output)
    return output


def bound_if(s: Machine, test: Atom, build: Callable[[], AbstractValue]) -> Value:
    """Return what is made where a test holds; nothing reads it elsewhere."""
    with s.block() as builder:
        made = build()
    assert isinstance(made, Value)
    output = Value(made.type, made.hint)
    then, orelse = Block((), tuple(builder.ops), (made,)), Block((), (), (UNDEF,))
    s.builder.ops.append(
        If(test=test, then=then, orelse=orelse, outputs=(output,), where=s.builder.where,
           half=s.builder.half)
    )  # fmt: skip
    take_over(s, made, output)
    s.partial.add(output)
    return output


def take_over(s: Machine, old: Value, new: Value) -> None:
    """Note that a value is another version of what an ambiguous one was."""
    tables: tuple[dict[Value, Any], ...] = (s.origins, s.either, s.perhaps_unbound, s.unbound_if)
    for table in tables:
        if old in table:
            table[new] = table[old]
    if old in s.active:
        s.active.add(new)
