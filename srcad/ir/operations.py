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
from srcad.rules import registry as table
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


def memory_of(target: Any) -> Memory:
    """What a call of something does with memory, as far as its row says."""
    try:
        row = _rows.get(target)
    except TypeError:
        return NONE
    return NONE if row is None else row.memory


# ---------------------------------------------------------------------------- questions
def is_store(target: Any, of: Literal["array", "list"] | None = None) -> bool:
    """Whether the result is a new version of the first operand: of any, an array or a list."""
    memory = memory_of(target)
    return isinstance(memory, NewVersion) and of in (None, memory.of)


def sets_places(target: Any) -> bool:
    """Whether places of an array are given other values: ``array[index] = value``."""
    memory = memory_of(target)
    return isinstance(memory, NewVersion) and memory.of == "array" and memory.does == "sets"


def adds_at_places(target: Any) -> bool:
    """Whether something is added at places of an array, none of them named twice."""
    memory = memory_of(target)
    return isinstance(memory, NewVersion) and memory.does == "adds" and memory.buffered


def is_builder(target: Any) -> bool:
    """Whether the result is a new container of the operands."""
    return isinstance(memory_of(target), Builds)


def is_structure(target: Any) -> bool:
    """Whether the result is a tuple, dict or record of the operands: each part has its place."""
    memory = memory_of(target)
    return isinstance(memory, Builds) and not memory.is_open


def is_known_part(target: Any) -> bool:
    """Whether the result is a part of a structure at a position, key or name that is known."""
    memory = memory_of(target)
    return isinstance(memory, PartOf) and memory.at != "index"


def is_item(target: Any) -> bool:
    """Whether the result is a part of a tuple or dict at a position or key that is known."""
    memory = memory_of(target)
    return isinstance(memory, PartOf) and memory.at == "key"


def is_attribute(target: Any) -> bool:
    """Whether the result is what an object has by a name that is known."""
    memory = memory_of(target)
    return isinstance(memory, PartOf) and memory.at == "name"


def is_part(target: Any) -> bool:
    """Whether the result is read out of the first operand."""
    return isinstance(memory_of(target), PartOf)


def is_same(target: Any) -> bool:
    """Whether the result is the first operand itself, by another name."""
    return isinstance(memory_of(target), SameAs)


def shows_operand(target: Any, *, certain: bool = True) -> bool:
    """Whether the result shows the first operand: always, or unless it has to be copied."""
    memory = table.memory_of(target)
    return memory in ("view", "read-only view") if certain else memory == "view or copy"


def is_read_only(target: Any) -> bool:
    """Whether the result shows the first operand and cannot be written into."""
    return table.memory_of(target) == "read-only view"


def built_parts(op: Call) -> tuple[Arg, ...]:
    """The operands that a container is built of."""
    memory = memory_of(op.target)
    return op.args[memory.first :] if isinstance(memory, Builds) else ()


def puts_in(target: Any) -> Literal["item", "items"] | None:
    """Whether a store puts its last operand into a list: as one item, or as its items."""
    memory = memory_of(target)
    if not isinstance(memory, NewVersion) or memory.of != "list" or memory.does == "removes":
        return None
    return "items" if memory.does == "extends" else "item"


def asks_for_shape(target: Any) -> bool:
    """Whether the result is known from the lengths and the dtype of the first operand alone."""
    row = operation_of(target)
    return row is not None and row.asks_of == 0


def measures(target: Any) -> bool:
    """Whether the result is a length of the first operand, or made of its lengths."""
    row = operation_of(target)
    return row is not None and row.asks_of == 0 and row.asks_for != "likeness"


def is_shape(target: Any) -> bool:
    """Whether the result is a tuple of the lengths of the first operand."""
    row = operation_of(target)
    return row is not None and row.asks_of == 0 and row.asks_for == "shape"


def joins_keys(target: Any) -> bool:
    """Whether the result is a dict of given keys, and of values that stand in another operand."""
    memory = memory_of(target)
    return isinstance(memory, Gathers) and memory.operand == 1


def never_returns(target: Any) -> bool:
    """Whether a call does nothing but raise."""
    row = operation_of(target)
    return row is not None and row.hands_on == "error"


def calls_operand(target: Any) -> bool:
    """Whether a call is one of its first operand, whatever that is."""
    row = operation_of(target)
    return row is not None and row.hands_on == "callee"


def answers(target: Any) -> bool:
    """Whether the result is a flag that answers a question: a comparison, a test."""
    row = operation_of(target)
    return row is not None and row.answers


def is_inert(target: Any) -> bool:
    """Whether the result only tells of the operands, by lengths or one answer for all entries."""
    row = operation_of(target)
    return measures(target) or (row is not None and row.answers and row.flows == ())


def costs_nothing(target: Any) -> bool:
    """Whether the result is a part, another name or a length of something at hand."""
    row = operation_of(target)
    if row is None:
        return False
    return measures(target) or isinstance(row.memory, PartOf | SameAs)


def keeps_structure(target: Any) -> bool:
    """Whether the parts of the result are those of the operands, place by place or item by item."""
    row = operation_of(target)
    if row is None or not row.flows:
        return False
    memory = row.memory
    if isinstance(memory, NewVersion):
        return memory.of == "list"
    return isinstance(memory, SameAs) or (isinstance(memory, Builds) and memory.is_open)


def is_stop(target: Any) -> bool:
    """Whether the result is the first operand, but no derivative flows through it."""
    row = operation_of(target)
    return row is not None and isinstance(row.memory, SameAs) and row.flows == ()


def appends(target: Any) -> bool:
    """Whether the result is a list with one more item at its end."""
    memory = memory_of(target)
    return isinstance(memory, NewVersion) and memory.does == "appends"


def sets_item(target: Any) -> bool:
    """Whether the result is a list, or dict, with another item at an index or key."""
    memory = memory_of(target)
    return isinstance(memory, NewVersion) and memory.of == "list" and memory.does == "sets"


def stays_apart(target: Any) -> bool:
    """Whether two equal calls stay two: what they make may be written into later."""
    memory = memory_of(target)
    return isinstance(memory, Fresh | NewVersion) or (isinstance(memory, Builds) and memory.is_open)
