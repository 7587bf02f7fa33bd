"""Backends: from a finished function of the IR to something executable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from srcad.errors import place_of
from srcad.ir.core import Function, Location
from srcad.startup.records import dataclass

Run = Callable[..., Any]
MISFIT = object()  # returned by a `Tested` for arguments of another pattern


class NotCovered(Exception):  # noqa: N818 - no error: it says who writes the function instead
    """A backend does not cover a function; the default backend writes it.

    Attributes
    ----------
    reason : str
        The construct that is not covered, as a noun phrase.
    where : Location, optional
        Its location in the user's code.
    is_choice : bool
        Whether the backend covers the function, but its code would be slower.
    """

    def __init__(
        self, reason: str = "", where: Location | None = None, *, is_choice: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.where = where
        self.is_choice = is_choice

    def __str__(self) -> str:
        """Return the reason with file and line."""
        if self.where is None or not self.where.file:
            return self.reason
        return f"{self.reason} ({place_of(self.where.file, self.where.line)})"


class Written(Protocol):
    """A function as text, and the place of the user's that each line comes from."""

    @property
    def text(self) -> str:
        """The text that is shown."""

    @property
    def line_map(self) -> Mapping[int, Location]:
        """The user's place of the lines that have one."""


class Tested(Protocol):
    """A compiled function that checks dtypes, memory orders and lengths of its arrays.

    Attributes
    ----------
    count : int
        The number of arguments.
    arrays : dict
        The parameters that are checked: names by the positions of the arguments.
    """

    count: int
    arrays: Mapping[int, str]

    def require(self, tests: Sequence[str]) -> bool:
        """Add checks of lengths, in terms of the names in `arrays`.

        Returns False if the function has been compiled without them.
        """

    def run(self, *arguments: Any) -> Any:
        """Return the result, or `MISFIT`."""


@dataclass(frozen=True)
class Backend:
    """One way to write a function as source code and to run it.

    Attributes
    ----------
    name : str
        The name by which it is asked for.
    prepare : callable
        ``prepare(function)`` takes a function after all passes that every backend shares, and
        returns what is written.  It raises `NotCovered` for what the backend does not cover.
    write : callable
        ``write(prepared, name)`` returns the text, the line map, and whatever `load` needs.
    load : callable
        ``load(written, label)`` returns what is called: with the arguments of the function, for
        its results.  `label` says whose derivative it is, in tracebacks.
    configure : callable, optional
        ``configure(options)`` returns the backend with these options.
    is_strict : bool
        Whether it is an error for the user if a function is not covered.
    warns : bool
        Whether what runs gives NumPy's floating-point warnings, as `numpy.errstate` asks.
    """

    name: str
    prepare: Callable[[Function], Any]
    write: Callable[[Any, str], Any]
    load: Callable[[Any, str], Run]
    configure: Callable[[Any], Backend] | None = None
    is_strict: bool = False
    warns: bool = True
