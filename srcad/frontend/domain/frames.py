"""The functions being read: their names, how their statements end, what ends a path."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from srcad import errors
from srcad.frontend.domain.values import UNBOUND, AbstractValue, Frame
from srcad.ir.core import Arg, Location, Value
from srcad.ir.inference.builder import Builder
from srcad.startup.records import dataclass, field
from srcad.types.sources import is_installed

RETURN_NAME = "%return"
# The nodes that stand at a place of their own.
Placed = ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern


class NumbersNeeded(Exception):  # noqa: N818 - a state of the reading, caught where it starts
    """Arithmetic with a number of a subclass of `int` or `float` that is differentiated by."""


class InPlaceNeeded(Exception):  # noqa: N818 - a state of the reading, caught where it starts
    """A function in which all helpers are to be read in place."""


class Unreachable(Exception):  # noqa: N818 - control flow of the reader, not an error
    """The current path ends here: it raises, or it reads a value that is still unknown."""


class NotConstant(Exception):  # noqa: N818 - control flow of the reader, not an error
    """A value had to be known at compile time; a loop over few items may be unrolled instead."""

    def __init__(self, error: errors.SrcadError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(eq=False)
class SavedBox:
    """Something that was read; `box` is what it is after what was read meanwhile."""

    frame: Frame
    name: str
    last: AbstractValue = UNBOUND

    @property
    def box(self) -> AbstractValue:
        """The current value, or the one at the end."""
        return self.frame.env.get(self.name, self.last)


DEAD = -1  # the tag of a path that raises


@dataclass(frozen=True, eq=False)
class Latest:
    """The last store into a dict: its key, and its place in the list of values.

    `object_` is the array that it is, if it was made for this store; `places` belong to the list.
    """

    places: Value
    key: Arg
    place: Value
    value: Value
    object_: Value | None


@dataclass(eq=False)
class Dicts:
    """The places where a dict gets, or is asked for, a key that is known only at run time.

    `opened` are those where that is allowed; `asked` those where it was not, with the refusals.
    `made` are the places where containers of `collections` were left to the call.  `latest` is what
    was stored last, by the list of the values as it is then.
    """

    opened: set[Location | None] = field(default_factory=set)
    made: set[Location | None] = field(default_factory=set)
    asked: list[tuple[errors.SrcadError, Location | None]] = field(default_factory=list)
    latest: dict[Value, Latest] = field(default_factory=dict)

    def is_needed(self, where: Location | None) -> bool:
        """Return True if what is made here has to be read; noted where that was not tried yet."""
        if where not in self.opened:
            self.made.add(where)
        return where in self.opened

    def open(self, refused: errors.SrcadError) -> bool:
        """Allow what was refused, or read what was left, if that was not done before."""
        found = {where for error, where in self.asked if error is refused} or self.made
        new = found - self.opened - {None}
        self.opened |= new
        self.asked.clear()
        self.made.clear()
        return bool(new)


@dataclass(eq=False)
class Inactive:
    """Calls through which no derivative flows: whether they are read, and whether one was not.

    What such a call returns is unknown where it matters (`is_open`), or asked there in the call.
    `unknown` are results that others may hold, `used` what was computed with, `items` what was read
    out of something unknown, `handed` what was given to calls that may keep it; `outermost` is the
    block that runs once a call; `kept` is what functions with a cache have returned.  `hit` is
    the outside array that the latest refused write was to, `hits` are those that calls in loops and
    branches write into.

    `unruled` says that an active call without a rule was refused.  With `on_copies` such calls run
    on copies of their arguments; `refusals` are their errors, by location, in case a derivative
    depends on a result.  `unseen` are the errors of opaque calls that may read what this function
    has put outside, by result.
    """

    are_read: bool = False
    are_asked: bool = False
    left: bool = False
    is_open: bool = False
    unknown: set[Value] = field(default_factory=set)
    used: set[Value] = field(default_factory=set)
    items: set[Value] = field(default_factory=set)
    handed: set[Value] = field(default_factory=set)
    kept: set[AbstractValue] = field(default_factory=set)
    outermost: Builder | None = None
    hit: Value | None = None
    hits: list[tuple[Value, errors.SrcadError]] = field(default_factory=list)
    on_copies: bool = False
    unruled: bool = False
    refusals: dict[Location | None, errors.SrcadError] = field(default_factory=dict)
    unseen: dict[Value, errors.SrcadError] = field(default_factory=dict)

    @property
    def may_open(self) -> bool:
        """True if reading the calls that were left may tell more."""
        return self.left and not self.are_read and not self.are_asked


# ------------------------------------------------------------------------------ places
def own_frame(frames: Sequence[Frame]) -> tuple[Frame | None, Location | None]:
    """Return the innermost function that is no library's, and its call into the library.

    None twice where no function is the user's, or where the innermost one is.
    """
    read = [frame for frame in frames if not frame.trusted]
    if not read or not is_installed(read[-1].file):
        return None, None
    for k in range(len(read) - 1, 0, -1):
        if not is_installed(read[k - 1].file):
            return read[k - 1], read[k].site
    return None, None
