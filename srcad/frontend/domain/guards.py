"""Guards: assumptions of compiled code about the user's objects besides its arguments."""

from __future__ import annotations

from typing import Any, Literal

from srcad.ir.core import Value
from srcad.startup.records import dataclass
from srcad.types.sources import Path

GuardKind = Literal[
    "is",
    "code",
    "equals",
    "class",
    "contiguous",
    "backward",
    "memory",
    "has",
    "lacks",
    "absent",
    "keys",
    "length",
    "set",
    "unset",
    "empty",
    "same",
    "apart",
    "alike",
]


@dataclass(frozen=True, eq=False)
class Guard:
    """The object at `path` still is the expected one.

    ``"is"``: the same object; ``"code"``: a function with the same code object; ``"equals"``: the
    same constant (type and value); ``"class"``: an instance of exactly the same class;
    ``"contiguous"``: an array whose entries lie next to each other; ``"backward"``: an array that
    runs backwards along these axes; ``"memory"``: arrays that may be written into, or not;
    ``"has"`` and ``"lacks"``: an object with, or without, this attribute; ``"absent"``: one where
    it is not found without asking its class; ``"set"`` and
    ``"unset"``: a dict with, or without, this key; ``"keys"``: a dict with these keys;
    ``"length"``: a list of this length; ``"empty"``: a cell that holds nothing;
    ``"same"`` and ``"apart"``: one object with those at these other paths, or all different ones;
    ``"alike"``: a value that its snapshot fits (`srcad.frontend.domain.surroundings`).
    """

    path: Path
    kind: GuardKind
    expected: Any

    def says(self, path: Path, kind: GuardKind, expected: Any) -> bool:
        """Return True if it says this already; of attributes it speaks of one each."""
        of_one = kind in ("has", "lacks", "absent", "keys", "set", "unset", "same", "apart")
        alike = self.expected == expected if of_one else True
        return alike and self.kind == kind and self.path == path


@dataclass(frozen=True, eq=False)
class Capture:
    """A further parameter of the compiled function, read at `path` when it is called."""

    value: Value
    path: Path
