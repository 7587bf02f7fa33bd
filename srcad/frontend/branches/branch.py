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


def read_branch(s: Machine, build: Callable[[], None], builder: Builder | None = None) -> Branch:
    """Read statements into a block of their own (or on into `builder`) and undo their names."""
    frame = s.frame
    before, exit_, tags = s.snapshot(), frame.exit, frame.tags
    outer, s.builder = s.builder, builder or Builder(where=s.builder.where, half=s.builder.half)
    frame.exit, frame.tags = NONE, frozenset({NONE})
    try:
        try:
            build()
        except Unreachable:
            frame.ends(DEAD)
        branch = Branch(s.builder, s.snapshot(), frame.exit, frame.tags)
    finally:
        s.builder = outer
    s.restore(before)
    frame.exit, frame.tags = exit_, tags
    return branch


def continued(s: Machine, branch: Branch, build: Callable[[], None]) -> Branch:
    """Read further statements at the end of a branch."""
    before = s.snapshot()
    s.restore(branch.envs)
    result = read_branch(s, build, branch.builder)
    s.restore(before)
    return result


def read_branch_value(
    s: Machine, build: Callable[[], AbstractValue]
) -> tuple[Branch, AbstractValue]:
    """Read a branch of an expression into a block of its own."""
    before = s.snapshot()
    frame = s.frame
    exit_, tags = frame.exit, frame.tags
    with s.block() as builder:
        try:
            box = build()
            ended: int | Value = exit_
        except Unreachable:
            box, ended = Constant(None), DEAD
    branch = Branch(builder, s.snapshot(), ended, tags)
    s.restore(before)
    frame.exit, frame.tags = exit_, tags
    return branch, box
