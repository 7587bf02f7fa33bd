"""Names of which nobody knows any more what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from srcad import errors
from srcad.frontend.boxes import Stale
from srcad.ir.core import Value

if TYPE_CHECKING:
    from srcad.frontend.scope import Session


def refuse_stale(s: Session, box: Stale) -> NoReturn:
    """Refuse to read memory that was written through another name."""
    hint = box.value.hint if isinstance(box.value, Value) else None
    name = f"{hint!r}" if hint else "this"
    line = f" in line {box.where.line}" if box.where is not None else ""
    s.refuse(
        errors.MutationError,
        f"cannot tell what {name} holds after the write{line}",
        why="it may be, or share memory with, what was written into, or not.",
        help=("take a copy before the write:  y = x.copy()",),
    )
