"""A place in the user's text."""

from __future__ import annotations

from srcad.startup.records import dataclass


@dataclass(frozen=True)
class Location:
    """A place in the user's text; lines from 1, columns from 0, as in `ast`.

    `errstate` holds the arguments of the ``with np.errstate(...)`` that surrounds it: what is
    stamped with this place runs under it, in both halves.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""
    errstate: tuple[tuple[str, str], ...] = ()
