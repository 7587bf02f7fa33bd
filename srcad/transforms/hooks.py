"""Hooks: the cotangent of ``hook(x, f)`` passes through `f` once it is complete."""

from __future__ import annotations

from srcad.ir.core import Call
from srcad.ir.hooks import through_hook
from srcad.ir.inference.builder import atom_type
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.stored import Bars


def undo_hooked(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """The function is called in the reverse half with the whole cotangent, and may replace it."""
    x, function = op.args
    bar = scope.pack(op.result, bars)
    passed = scope.builder.call(through_hook, function, bar, effect=True, type=atom_type(bar))
    scope.unpack(x, passed)
