"""Hooks: the cotangent of ``hook(x, f)`` passes through `f` once it is complete."""

from __future__ import annotations

from srcad.ir.core import Call
from srcad.ir.hooks import through_hook
from srcad.ir.inference.builder import atom_type
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.stored import Bars


def undo_hooked(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """Call the function of a hook in the reverse half; it may replace the cotangent."""
    x, function = op.args
    bar = scope.pack(op.result, bars)
    passed = scope.builder.call(through_hook, function, bar, effect=True, type=atom_type(bar))
    scope.unpack(x, passed)
