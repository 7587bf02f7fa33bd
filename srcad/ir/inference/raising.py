"""Which ops may raise an exception, as far as that can be told beforehand."""

from __future__ import annotations

import math

from srcad.ir.core import Call, Op, Routine
from srcad.ir.inference.misfits import misfit
from srcad.ir.library_operations import divides_python
from srcad.ir.operations import ANYTHING, Classes, operation_of

_LOUD = (math.__name__, "numpy.linalg")


def may_raise(op: Op, caught: Classes | None = None) -> bool:
    """Return True if an operation may raise one of the exception classes caught around it.

    Where none are given: whether it may raise what the caller of the function has to see even if
    nobody reads its result.  That is less (see `Operation.owed`): behind an error that is caught a
    program goes on and shows what happened before, in a way that no reader misses.
    """
    if not isinstance(op, Call):
        return any(may_raise(inner, caught) for block in op.blocks for inner in block.ops)
    if op.effect:
        return True
    row = operation_of(op.target)
    if caught is not None:
        raised = ANYTHING if row is None else row.raised_by(op)
        return raised is ANYTHING or any(issubclass(r, c) for r in raised for c in caught)
    if row is not None and row.owed is not None:
        return row.owed if isinstance(row.owed, bool) else row.owed(op)
    loud = isinstance(op.target, Routine) or getattr(op.target, "__module__", None) in _LOUD
    return loud or misfit(op)


def fails_for_values(op: Call) -> bool:
    """Return True if a call raises for some numbers: Python's division, or one of `math`."""
    if getattr(op.target, "__module__", None) == math.__name__:
        return True
    row = operation_of(op.target)
    return row is not None and row.owed is divides_python and divides_python(op)
