"""Results of earlier interpretations of a statement, with the same calls around it.

A loop is read until its types settle, and with it everything inside: loops, ``try`` statements,
calls.  What was found out about these is where the next reading begins; else the readings would
multiply from level to level.  It is a guess like any other: headers are widened where an iteration
leaves something else, and rows and attempts one by one are read the more general way.
"""

from __future__ import annotations

import ast
from typing import Any

from srcad.frontend.machine.machine import Machine


def fixpoint_seeds(s: Machine, anchor: ast.AST, about: str) -> dict[Any, Any]:
    """Return the known results for a statement; `anchor` is a part of it in the user's tree."""
    calls = (frame.site for frame in s.frames)
    # The anchor is held, so that no other one takes its identity.
    return s.fixpoint_seeds.setdefault((about, id(anchor), *calls), (anchor, {}))[1]
