"""Purity: decide which calls may be merged, dropped or moved because they only compute."""

from __future__ import annotations

from typing import Any

from srcad.ir.core import Call, Routine, walk
from srcad.ir.inference.raising import may_raise
from srcad.ir.operations import operation_of
from srcad.ir.traits import returns_fresh_object
from srcad.rules.registry import lookup


def is_noticeable(op: Call) -> bool:
    """Return True if a call must run even if its result is unused."""
    if op.effect:
        return True
    return op.half == "primal" and (may_raise(op) or not _only_computes(op.target))


def is_mergeable(op: Call) -> bool:
    """Return True if two equal calls may be one: no effect, no storage that is written to later."""
    target = op.target
    if op.effect or isinstance(target, Routine) or returns_fresh_object(target):
        return False
    return _only_computes(target)


def _only_computes(target: Any) -> bool:
    """Return True if a call has a value and nothing else: what it does is ours, or in the table."""
    if isinstance(target, Routine):
        return _routine_only_computes(target)
    row = operation_of(target)
    return (row is not None and row.pure) or lookup(target) is not None


_COMPUTES = "whether it only computes"


def _routine_only_computes(routine: Routine) -> bool:
    """Return True if all that a routine calls has a value and nothing else."""
    known = routine.derived.get(_COMPUTES)
    if known is None or known[0] is not routine.function:
        routine.derived[_COMPUTES] = routine.function, False  # while it is being looked into
        if routine.function is not None:
            calls = (op for op in walk(routine.function.block) if isinstance(op, Call))
            found = all(not op.effect and _only_computes(op.target) for op in calls)
            routine.derived[_COMPUTES] = routine.function, found
    return bool(routine.derived[_COMPUTES][1])
