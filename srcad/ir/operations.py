"""Metadata of operations (memory, exceptions, result type, text), declared next to each one.

Passes and analyses ask an operation's row and never for its name.  The rows of our own operations
stand beside their meanings in `primitives`, those of Python's operators, of some functions of
NumPy and of our helpers in `library_operations`; what has no row is a call of which only the
table of rules may know more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from srcad.ir.core import Arg, Call
from srcad.startup.records import dataclass
from srcad.types.structures import Type

Classes = tuple[type[BaseException], ...]
ANYTHING: Classes = (BaseException,)
NOTHING: Classes = ()
EVERY = slice(None)
ALL_BUT_LAST = "a[:-1]"
Meaning = TypeVar("Meaning", bound=Callable[..., Any])


# ------------------------------------------------------------------------------- memory
@dataclass(frozen=True, eq=False)
class Memory:
    """Memory effect of an operation.  The base class means: no memory, or no information."""


@dataclass(frozen=True, eq=False)
class Fresh(Memory):
    """The result is new memory that others may write into later."""


@dataclass(frozen=True, eq=False)
class Builds(Memory):
    """The result is a new container of the operands from one on.

    Those before it say what kind of container it is.  One that is `open` may be changed later.
    """

    first: int = 0
    is_open: bool = False


Change = Literal[
    "sets", "adds", "sets in view", "adds in view", "appends", "extends", "inserts", "removes"
]


@dataclass(frozen=True, eq=False)
class NewVersion(Memory):
    """The result is a new version of the first operand; the old version is unchanged.

    What is written is `buffered` if it may show what it is written into.  Where it is not, one
    place may be written twice.
    """

    of: Literal["array", "list"]
    does: Change
    buffered: bool = False


@dataclass(frozen=True, eq=False)
class PartOf(Memory):
    """The result is, or shows, something that lies in the first operand.

    It stands at an index, or at a key or name that is known at compile time; a position in a tuple
    is a key.
    """

    at: Literal["index", "key", "name"] = "index"


@dataclass(frozen=True, eq=False)
class SameAs(Memory):
    """The result is the first operand."""


@dataclass(frozen=True, eq=False)
class Gathers(Memory):
    """The result is a new container with the contents of an operand."""

    operand: int = 0


NONE = Memory()


# --------------------------------------------------------------------------------- rows
@dataclass(frozen=True, eq=False, kw_only=True)
class Operation:
    """Metadata of one operation.

    Its `memory` is what it does with memory.  `result` gives the type of its result, where that is
    not found by running it.  It may raise what it `raises` where that is caught.

    A call that nobody reads is `owed` if it must run for the error that it may raise; None says
    that it is where the lengths of its operands do not fit.  A program is not owed the errors of
    structures, of lists and of stores that nobody reads, although `raises` may list some.

    Of the operand `asks_of` it reads nothing but its shape (``a.shape``), something made of its
    lengths, or its lengths and dtype, as `asks_for` says.  It `answers` a question if its result is
    a flag.  `flows` are the operands whose derivatives reach the result; None leaves
    that to the table of rules.  It `hands_on` what decides what comes next: a callee that is an
    operand, or an error.  It is `pure` if it only computes, although the table may not know it.  Of
    operands that are objects it may run the `special` methods.

    Python has it `written` as an expression of its operands ``a``, ``b``, ``c``, and `stored` as a
    statement that changes the first.  A person would have its result `called` so.
    """

    memory: Memory = NONE
    result: Callable[[tuple[Arg, ...]], Type | None] | None = None
    raises: Classes | Callable[[Call], Classes] = ANYTHING
    owed: bool | Callable[[Call], bool] | None = False
    asks_of: int | None = None
    asks_for: Literal["shape", "lengths", "likeness"] = "lengths"
    answers: bool = False
    flows: slice | tuple[int, ...] | None = None
    hands_on: Literal["callee", "error"] | None = None
    pure: bool = True
    special: tuple[str, ...] = ()
    written: str | None = None
    stored: str | None = None
    called: str | None = None

    def raised_by(self, op: Call) -> Classes:
        """Return the exceptions that a call may raise inside a ``try``."""
        return self.raises if isinstance(self.raises, tuple) else self.raises(op)

    def __call__(self, meaning: Meaning) -> Meaning:
        """Put the row beside a meaning: `operation_of` finds it there."""
        _rows[meaning] = self
        _effects[meaning] = self.memory
        return meaning


_rows: dict[Any, Operation] = {}
_effects: dict[Any, Memory] = {}  # of the rows: asked most of all


def operation_of(target: Any) -> Operation | None:
    """Return the row of a callee, or None."""
    try:
        return _rows.get(target)
    except TypeError:
        return None


def every(question: Callable[[Any], bool]) -> tuple[Any, ...]:
    """Return all operations that satisfy a predicate."""
    return tuple(target for target in _rows if question(target))


def memory_effect(target: Any) -> Memory:
    """Return the memory effect of a callee, as far as its row tells it."""
    try:
        return _effects.get(target, NONE)
    except TypeError:  # it cannot be hashed
        return NONE
