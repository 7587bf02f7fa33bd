"""Nodes of the reader's own: code that is read when the statements that it made come to it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.dispatch import evaluates, executes
from srcad.frontend.machine.machine import Machine


class Deferred(ast.expr):
    """An expression of the reader's own, inside statements that it makes: `read` reads it."""

    _fields = ()

    def __init__(self, read: Callable[[Machine], AbstractValue]) -> None:
        super().__init__()
        self.read = read
        self._calls = True  # for all that is known


class DeferredSteps(ast.stmt):
    """Statements of the reader's own, left for later: `read` reads them."""

    _fields = ()

    def __init__(self, read: Callable[[Machine], None]) -> None:
        super().__init__()
        self.read = read


@executes(DeferredSteps)
def deferred_steps(state: Machine, node: DeferredSteps) -> None:
    """Read the deferred code."""
    node.read(state)


@evaluates(Deferred)
def deferred(state: Machine, node: Deferred) -> AbstractValue:
    return node.read(state)
