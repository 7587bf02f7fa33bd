"""Binding names: of the function being read, of one around it, of a module."""

from __future__ import annotations

from srcad import errors
from srcad.frontend.domain.values import AbstractValue, Frame
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.places import put
from srcad.frontend.store.lookup import cell_place, global_place
from srcad.frontend.store.runtime_keys import call_parts
from srcad.ir.core import Value


def bind(state: Machine, name_: str, box: AbstractValue) -> None:
    """Bind a name; a new value takes it as its hint."""
    if not state.frame.trusted:
        if isinstance(box, Value) and box.hint is None:
            box.hint = name_
        call_parts(state, box, name_)
    if name_ in state.frame.declared:
        _bind_outside(state, name_, box)
        return
    state.frame.env[name_] = box
    state.note_binding(name_)


def _bind_outside(state: Machine, name: str, box: AbstractValue) -> None:
    """Bind a ``global`` or ``nonlocal`` name: that of a function being read, or a place."""
    frame: Frame | None = state.frame
    place = global_place(state.frame, name) if state.frame.declared[name] == "global" else None
    while place is None and frame is not None:
        if name in frame.local and any(frame is one for one in state.frames):
            frame.env[name] = box
            return
        if name in frame.closure:
            place = cell_place(frame, name)
        frame = None if name in frame.local else frame.outer
    if place is None:
        state.refuse(
            errors.MutationError,
            f"cannot bind {name!r}",
            why="the function that it belongs to has returned.",
            help=("hold the value in a list or an object",),
        )
    put(state, place, box)
