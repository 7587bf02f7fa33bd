"""Writing through a name that shows one array on one path and another on the other."""

from __future__ import annotations

from collections.abc import Callable

from srcad.frontend.branches.branch import read_branch
from srcad.frontend.branches.phi import join_branches
from srcad.frontend.domain.frames import DEAD, Unreachable
from srcad.frontend.domain.memory import NOWHERE
from srcad.frontend.domain.structure import Done, mapped
from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.origins import current, origin, realised
from srcad.ir.core import UNDEF, Atom, Value

_NAME = "%each"


def is_either(state: Machine, box: AbstractValue) -> bool:
    """Return True if it is known by which test a value shows one array or another."""
    return isinstance(box, Value) and box in state.either and not origin(state, box).is_exact


def in_each(state: Machine, array: Value, write: Callable[[Value], AbstractValue]) -> AbstractValue:
    """Do something with what a value is on either path; what it makes, where the paths meet."""
    either = state.either[array]

    def branch(side: str) -> Callable[[], None]:
        def build() -> None:
            if getattr(either, side) == UNDEF:  # nobody reads it there
                state.frame.env[_NAME] = array
                return
            seen = _on_path(state, either.test, side)
            state.frame.env[_NAME] = write(seen.get(array) or _as_was(state, array, side))

        return build

    left, right = (read_branch(state, branch(side)) for side in ("left", "right"))
    join_branches(state, either.test, left, right)
    if state.frame.exit == DEAD:
        raise Unreachable
    return state.frame.env.pop(_NAME)


def _on_path(state: Machine, test: Atom, side: str) -> dict[Value, Value]:
    """Bind every name that the same test decides to what it is on one path."""
    seen: dict[Value, Value] = {}

    def change(box: AbstractValue) -> AbstractValue | None:
        if (
            not isinstance(box, Value)
            or box not in state.either
            or state.either[box].test is not test
        ):
            return None
        if box not in seen and getattr(state.either[box], side) != UNDEF:
            seen[box] = _as_was(state, box, side)
        return seen.get(box)

    done: Done = {}
    for frame in state.frames:
        for name, box in list(frame.env.items()):
            frame.env[name] = mapped(box, change, done)
    return seen


def _as_was(state: Machine, value: Value, side: str) -> Value:
    """Return the value with the facts known on one path."""
    was: Atom = getattr(state.either[value], side)
    found = origin(state, was) if isinstance(was, Value) else NOWHERE
    if found.is_exact and found.steps is not None:
        root = current(state, next(iter(found.objects)))
        if root is not None:
            return realised(state, root, found.steps, value.hint)
    seen = state.identity(value, type=was.type, hint=value.hint)
    state.either.pop(seen, None)
    if isinstance(was, Value):
        state.origins[seen] = found
        if was in state.either:
            state.either[seen] = state.either[was]
    return seen
