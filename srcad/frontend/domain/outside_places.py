"""Locations outside a function, and opaque calls that may have changed their contents."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from srcad import errors
from srcad.frontend.domain.values import Constant
from srcad.frontend.source.effects import Effects
from srcad.ir.core import Value
from srcad.startup.records import dataclass, field
from srcad.types.sources import Path


@dataclass(frozen=True, eq=False)
class OpaqueEffect:
    """A call that was left as it stands: what it may change, and how to refuse that.

    `unread` is what could have been read instead.
    """

    effects: Effects
    error: errors.SrcadError
    in_loop: bool
    unread: Any = None


Key = tuple[int, str, Hashable]


@dataclass(frozen=True, eq=False)
class OutsidePlace:
    """The attribute `name` of an object, a global or a cell of that name.

    `owner` is what tells it from others of that name; `by` is the object through which it is
    written, reached at the call by `holder`; `content` leads to what it holds first.
    """

    owner: Any
    kind: str
    name: str
    holder: Path
    content: Path
    by: Any

    @property
    def key(self) -> Key:
        """The key that identifies the place."""
        return id(self.owner), self.kind, self.name


@dataclass(frozen=True, eq=False)
class WorkArray:
    """A captured array that the function writes into, and the error that refuses the write."""

    place: OutsidePlace
    error: errors.SrcadError


@dataclass(frozen=True, eq=False)
class UnseenRead:
    """An opaque call of user code that may read a location outside the function.

    `result` is that of the call; `code` are the functions and objects that it was given; `places`
    held something active at the call; a `repeated` call stands in a loop or branch.
    """

    result: Value
    code: tuple[Any, ...]
    places: frozenset[Key]
    repeated: bool
    error: errors.SrcadError


@dataclass(eq=False)
class Outside:
    """The places that a function reads and writes.

    `holders` are the dicts, lists and data classes, by identity, that are not taken apart; `first`
    are the places whose first content is read when the call starts; `unread` are the managers that
    must be read; `work` are the arrays that the function writes into: all of these outlive a
    reading.  `refused` are the arrays that were refused, perhaps since it was not known yet that
    they are written into; `versions` are the first versions of those in `work`.
    `seen` are all that were read or written, by the paths that lead there; `written` are the names
    of those written, `arrays` the names of those that were given an array; `given` are arrays that
    were handed out for good.  `doubts` are the calls that may have changed something; `inner` are
    the paths that were read in loops and branches.
    `active` are the places to which something active was written.  `code` are the functions and
    objects of the user's that an object made here may run, `all_code` those of all of them;
    `unseen` are the opaque calls that run some.
    """

    holders: dict[int, Any] = field(default_factory=dict)
    first: dict[Key, OutsidePlace] = field(default_factory=dict)
    seen: dict[Key, dict[Path, OutsidePlace]] = field(default_factory=dict)
    written: dict[Key, str] = field(default_factory=dict)
    arrays: set[str] = field(default_factory=set)
    given: set[Value] = field(default_factory=set)
    unread: set[Any] = field(default_factory=set)
    doubts: list[OpaqueEffect] = field(default_factory=list)
    inner: set[Path] = field(default_factory=set)
    work: dict[Key, WorkArray] = field(default_factory=dict)
    refused: list[WorkArray] = field(default_factory=list)
    versions: dict[Value, WorkArray] = field(default_factory=dict)
    active: set[Key] = field(default_factory=set)
    code: dict[Value, tuple[Any, ...]] = field(default_factory=dict)
    all_code: dict[int, Any] = field(default_factory=dict)
    unseen: list[UnseenRead] = field(default_factory=list)
    count: int = 0
    token: Constant = field(default_factory=lambda: Constant(None))

    def next(self) -> Outside:
        """For a further reading."""
        return Outside(self.holders, self.first, unread=self.unread, work=self.work)

    def follow(self, error: errors.SrcadError) -> bool:
        """Treat the array of a refused write as a work array; False if it cannot be one."""
        found = next((one for one in self.refused if one.error is error), None)
        if found is None or found.place.key in self.work:
            return False
        self.work[found.place.key] = found
        return True
