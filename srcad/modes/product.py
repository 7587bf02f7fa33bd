"""What one compilation made, kept for whoever wants to look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from srcad.ir.core import Function, Location
from srcad.startup.records import dataclass, field


@dataclass(eq=False)
class Product:
    """Text and intermediate forms of one compilation.

    `text` is what runs; of a pullback it is both halves.  `note` says why something is missing in
    a form that was made without arguments.  The user's function is not held: what is compiled for
    it must not keep it alive.
    """

    name: str
    module: str = ""
    text: str = ""
    function: Callable[..., Any] | None = None
    lowered: Function | None = None
    adjoint: Function | None = None
    primal_text: str = ""
    adjoint_text: str = ""
    adjoint_map: Mapping[int, Location] = field(default_factory=dict)
    saved: tuple[str, ...] = ()
    active: frozenset[str] = frozenset()
    note: str = ""
