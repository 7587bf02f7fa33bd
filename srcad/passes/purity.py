"""Purity: decide which calls may be merged, dropped or moved because they only compute."""

from __future__ import annotations

from typing import Any

from srcad.ir.core import Call, Routine
from srcad.ir.inference.raising import may_raise
from srcad.ir.operations import operation_of
from srcad.ir.traits import returns_fresh_object
from srcad.rules.registry import lookup


def is_noticeable(op: Call) -> bool:
    """Return True if a call must run even if its result is unused."""
    if op.effect:
        return True
    return op.half == "primal" and (not _only_computes(op.target) or may_raise(op))


def is_mergeable(op: Call) -> bool:
    """Return True if two equal calls may be one: no effect, no storage that is written to later."""
    target = op.target
    if op.effect or isinstance(target, Routine) or returns_fresh_object(target):
        return False
    return _only_computes(target)


def _only_computes(target: Any) -> bool:
    """Return True if a call has a value and nothing else: what it does is ours, or in the table."""
    row = operation_of(target)
    return (row is not None and row.pure) or lookup(target) is not None
