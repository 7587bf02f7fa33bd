"""The transform broken on purpose, to see that the random programs notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from srcad.ir.core import Block, For, Function, If, Op, While
from srcad.modes import reverse
from srcad.rules import registry
from srcad.transforms import calls
from srcad.transforms.cotangents import ReverseScope

Change = Callable[[Op], Op]


@contextmanager
def patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute replaced while the context lasts."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _rewritten(block: Block, change: Change) -> Block:
    return replace(block, ops=tuple(change(_inside(op, change)) for op in block.ops))


def _inside(op: Op, change: Change) -> Op:
    if isinstance(op, If):
        return replace(op, then=_rewritten(op.then, change), orelse=_rewritten(op.orelse, change))
    if isinstance(op, For | While):
        return replace(op, body=_rewritten(op.body, change))
    return op


@contextmanager
def _derived_differently(change: Change) -> Iterator[None]:
    right = reverse.vjp

    def wrong(*args: Any, **keywords: Any) -> Function:
        made = right(*args, **keywords)
        return replace(made, block=_rewritten(made.block, change))

    with patched(reverse, "vjp", wrong):
        yield


def _forward_loop(op: Op) -> Op:
    if isinstance(op, For) and op.half == "reverse":
        return replace(op, backward=not op.backward)
    return op


@contextmanager
def loops_undone_in_the_wrong_order() -> Iterator[None]:
    """The adjoint of a loop runs in the order of the primal."""
    with _derived_differently(_forward_loop):
        yield


@contextmanager
def contributions_forgotten() -> Iterator[None]:
    """Of several contributions to a cotangent only the last one counts."""
    with patched(ReverseScope, "sum", lambda self, slot, a, b: b):
        yield


@contextmanager
def a_rule_with_the_wrong_sign() -> Iterator[None]:
    """The derivative of the sine has the wrong sign."""
    registry.rows()
    right = registry._table[np.sin]
    registry._table[np.sin] = replace(right, function=lambda x: -np.cos(x))
    registry._version += 1
    try:
        yield
    finally:
        registry._table[np.sin] = right
        registry._version += 1


@contextmanager
def broadcasting_not_undone() -> Iterator[None]:
    """A cotangent keeps the shape that its operand was broadcast to."""
    with patched(calls, "unbroadcast", lambda scope, op, bar, arg: bar):
        yield


MUTATIONS = (
    loops_undone_in_the_wrong_order,
    contributions_forgotten,
    a_rule_with_the_wrong_sign,
    broadcasting_not_undone,
)
