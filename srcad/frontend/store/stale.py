"""Stale names, which may hold an outdated value, and values without a representation."""

from __future__ import annotations

from typing import NoReturn

from srcad import errors
from srcad.frontend.domain import representation
from srcad.frontend.domain.predicates import described_value
from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import (
    AbstractValue,
    Choice,
    Conflict,
    ListValue,
    MethodValue,
    Stale,
    TupleValue,
)
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Value


def refuse_stale(state: Machine, box: Stale) -> NoReturn:
    """Refuse to read memory that was written through another name."""
    if box.bound is not None:
        state.refuse(
            errors.MutationError,
            f"cannot tell what {box.bound!r} is after a failure{_in_line(box)}",
            why="that statement binds it, and may fail before or after that.",
            help=("bind it in a statement of its own",),
        )
    hint = box.value.hint if isinstance(box.value, Value) else None
    name = f"{hint!r}" if hint else "this"
    if box.by is not None:
        state.refuse(
            errors.MutationError,
            f"cannot tell what {name} holds after the call{_in_line(box)}",
            why=f"the recursive {box.by!r} writes into it, and srcad follows only its result.",
            help=(f"let it return the array, and bind that:  y = {box.by}(y, ...)",),
        )
    state.refuse(
        errors.MutationError,
        f"cannot tell what {name} holds after the write{_in_line(box)}",
        why="it may or may not share memory with the array that was written into.",
        help=("take a copy before the write:  y = x.copy()",),
    )


def _in_line(box: Stale) -> str:
    return f" in line {box.where.line}" if box.where is not None else ""


def refuse_to_hold(state: Machine, box: AbstractValue) -> NoReturn:
    """No one value can hold this box."""
    if isinstance(box, Conflict) and isinstance(box.left, ListValue):
        _refuse_list(state, box)
    if isinstance(box, Conflict | Choice):
        state.refuse(
            errors.UnsupportedTypeError,
            f"a value is {described_value(box.left)} on one path and "
            f"{described_value(box.right)} on another",
            why="the two cannot be held by one name in the derivative.",
            help=("give the two paths names of their own",),
        )
    if isinstance(box, MethodValue):
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot keep the method {box.name!r} of {described_value(box.receiver)} as a value",
            why="it is not called here.",
            help=(f"call it:  .{box.name}()",),
        )
    state.refuse(
        errors.UnsupportedTypeError,
        f"cannot keep {described_value(box)} as a value",
        why="srcad reads it where it is called or iterated over.",
        help=("use it where it is made",),
    )


def _refuse_list(state: Machine, box: Conflict) -> None:
    """Refuse a list of things without value whose length is not known, if it is one."""
    items = [item for side in (box.left, box.right) for item in components(side)]
    without = [item for item in items if not representation.is_representable(item)]
    if isinstance(box.right, ListValue | TupleValue) and without:
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot keep {described_value(without[0])} in a list whose length is not known",
            why="srcad reads a function where it is called, and has to know which one it is.",
            help=("keep its arguments in the list, and call it in the loop",),
        )
