"""Checks of stores into arrays: errors of Python, and refusals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srcad import errors
from srcad.frontend.domain.access_paths import Step
from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Display, Value
from srcad.ir.traits import is_read_only
from srcad.startup.identifiers import label
from srcad.types.numeric import Numeric


def check_writable(s: Machine, steps: Sequence[Step]) -> None:
    """Refuse to write through a view that is read-only in NumPy."""
    for step in steps:
        if is_read_only(step.target):
            s.refuse(
                errors.MutationError,
                "cannot write into this array",
                why=f"what {label(step.target)!r} returns is read-only.",
                help=("write into a copy:  y = y.copy()",),
            )


def check_fits(s: Machine, array: Value, new: AbstractValue) -> AbstractValue:
    """Return the value that ``op=`` and ``out=`` write; too many axes raise as in NumPy."""
    if not isinstance(new, Value) or not isinstance(new.type, Numeric):
        return new
    there = array.type.shape if isinstance(array.type, Numeric) else None
    if there is None or new.type.is_scalar:
        return new
    if new.type.shape is not None and len(new.type.shape) > len(there):
        axes = f"{len(there)} axes doesn't match a broadcast shape of {len(new.type.shape)}"
        raises(s, ValueError, f"non-broadcastable output operand of {axes}")
    if new.type.shape is None and not there:
        return s.box(s.emit(np.broadcast_to, new, Display("tuple", ())))
    return new


def check_cast(s: Machine, array: Value, new: AbstractValue) -> None:
    """Refuse ``op=`` and ``out=`` where NumPy does: the result does not fit into the array."""
    if not isinstance(array.type, Numeric) or not isinstance(new, Value):
        return
    dtype = new.type.dtype if isinstance(new.type, Numeric) else None
    if dtype is not None and not np.can_cast(dtype, array.type.dtype or dtype, "same_kind"):
        s.refuse(
            errors.MutationError,
            f"cannot store {dtype} into an array of {array.type.dtype}",
            why="NumPy raises here.",
            help=("make the array float first: x = x.astype(float)",),
        )


def check_kind(s: Machine, array: Value, value: AbstractValue) -> None:
    """Refuse to cut a value that carries a derivative down to an integer."""
    if not isinstance(array.type, Numeric) or not s.is_active(value):
        return
    kinds = [v.type.kind for v in (value,) if isinstance(v, Value) and isinstance(v.type, Numeric)]
    whole = array.type.dtype is not None and array.type.kind in "iub"
    if whole and any(kind in "fc" for kind in kinds):
        s.refuse(
            errors.MutationError,
            f"cannot store a float into an array of {array.type.dtype}",
            why="NumPy would cut off its fraction, and the derivative with it.",
            help=("make the array float first:  y = y.astype(float)",),
        )
