"""What is true of an operation, said once: where the operation stands.

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
    """What a call does with memory; by itself: its result has none, or nobody knows."""


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


Change = Literal["sets", "adds", "appends", "extends", "inserts", "removes"]


@dataclass(frozen=True, eq=False)
class NewVersion(Memory):
    """The result is the first operand after a change; the old version stays what it was.

    What is written is `buffered` if it may show what it is written into.  Where it is not, one
    place may be written twice.
    """

    of: Literal["array", "list"]
    does: Change
    buffered: bool = False


@dataclass(frozen=True, eq=False)
class PartOf(Memory):
    """The result is, or shows, something that lies in the first operand.

    It stands at an index, or at a key or name that is known now; a position in a tuple is a key.
    """

    at: Literal["index", "key", "name"] = "index"


@dataclass(frozen=True, eq=False)
class SameAs(Memory):
    """The result is the first operand."""


@dataclass(frozen=True, eq=False)
class Gathers(Memory):
    """The result is a new container of what an operand holds."""

    operand: int = 0


NONE = Memory()


# --------------------------------------------------------------------------------- rows
@dataclass(frozen=True, eq=False, kw_only=True)
class Operation:
    """One operation.

    memory
        What it does with memory.
    result
        The type of its result by its operands, where that is not found by running it.

    Raises
    ------
        What it may raise where that is caught.
    owed
        Whether a call that nobody reads must run for the error that it may raise; None if that is
        so where the lengths of its operands do not fit.  A program is not owed the errors of
        structures, of lists and of stores that nobody reads, although `raises` may list some.
    asks_of, asks_for
        The operand of which it reads nothing but its shape (``a.shape``), something made of its
        lengths, or its lengths and dtype.
    answers
        Whether its result is the answer to a question that no derivative flows through.
    flows
        The operands whose derivatives reach the result; None if the table of rules says.
    hands_on
        What decides what comes next: a callee that is an operand, or an error that is raised.
    pure
        Whether it only computes, although the table of rules may not know it.
    written
        How Python writes it, with ``a``, ``b``, ``c`` for the operands; None as a call, or only as
        a statement.
    stored
        How Python writes it as a statement that changes its first operand.
    called
        What a person would call its result.
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
    written: str | None = None
    stored: str | None = None
    called: str | None = None

    def may_raise(self, op: Call) -> Classes:
        """What a call may raise where that is caught."""
        return self.raises if isinstance(self.raises, tuple) else self.raises(op)

    def __call__(self, meaning: Meaning) -> Meaning:
        """Put the row beside a meaning: `operation_of` finds it there."""
        _rows[meaning] = self
        return meaning


_rows: dict[Any, Operation] = {}


def operation_of(target: Any) -> Operation | None:
    """The row of what is called, or None."""
    try:
        return _rows.get(target)
    except TypeError:
        return None


def every(question: Callable[[Any], bool]) -> tuple[Any, ...]:
    """What a question about an operation is answered with yes for."""
    return tuple(target for target in _rows if question(target))


def memory_effect(target: Any) -> Memory:
    """What a call of something does with memory, as far as its row says."""
    try:
        row = _rows.get(target)
    except TypeError:
        return NONE
    return NONE if row is None else row.memory
