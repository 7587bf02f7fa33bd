"""One branch of a conditional: read into a block of its own, its names undone."""

from __future__ import annotations

from collections.abc import Callable

from srcad.frontend.domain.frames import DEAD, Unreachable
from srcad.frontend.domain.values import AbstractValue, Constant, Env
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import NONE, Value
from srcad.ir.inference.builder import Builder
from srcad.startup.records import dataclass


@dataclass(eq=False)
class Branch:
    """One branch after it was read: its ops, its names, how it ended."""

    builder: Builder
    envs: list[Env]
    exit: int | Value
    tags: frozenset[int]

    @property
    def is_left(self) -> bool:
        """True if the code after the join is certainly not reached from here."""
        return isinstance(self.exit, int) and self.exit != NONE


def read_branch(
    state: Machine, build: Callable[[], None], builder: Builder | None = None
) -> Branch:
    """Read statements into a block of their own (or on into `builder`) and undo their names."""
    frame = state.frame
    before, exit_, tags = state.snapshot(), frame.exit, frame.tags
    outer, state.builder = (
        state.builder,
        builder or Builder(where=state.builder.where, half=state.builder.half),
    )
    frame.exit, frame.tags = NONE, frozenset({NONE})
    try:
        try:
            build()
        except Unreachable:
            frame.ends(DEAD)
        branch = Branch(state.builder, state.snapshot(), frame.exit, frame.tags)
    finally:
        state.builder = outer
    state.restore(before)
    frame.exit, frame.tags = exit_, tags
    return branch


def continued(state: Machine, branch: Branch, build: Callable[[], None]) -> Branch:
    """Read further statements at the end of a branch."""
    before = state.snapshot()
    state.restore(branch.envs)
    result = read_branch(state, build, branch.builder)
    state.restore(before)
    return result


def read_branch_value(
    state: Machine, build: Callable[[], AbstractValue]
) -> tuple[Branch, AbstractValue]:
    """Read a branch of an expression into a block of its own."""
    before = state.snapshot()
    frame = state.frame
    exit_, tags = frame.exit, frame.tags
    with state.block() as builder:
        try:
            box = build()
            ended: int | Value = exit_
        except Unreachable:
            box, ended = Constant(None), DEAD
    branch = Branch(builder, state.snapshot(), ended, tags)
    state.restore(before)
    frame.exit, frame.tags = exit_, tags
    return branch, box
