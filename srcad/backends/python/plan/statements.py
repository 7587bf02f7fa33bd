"""The statements of the written program, before they have names.

They stand between the IR and Python: control flow has its final shape, but variables are still
values.  `nesting` decides which values become parts of larger expressions, `names` which values
share a variable; `writer` prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from srcad.ir.core import Arg, Atom, Call, Display, For, Location, Try, Value, While
from srcad.startup.records import dataclass, field


@dataclass(eq=False)
class Do:
    """A call.  `result` is None if it is unused; `parts` unpack a tuple where it is made."""

    op: Call
    result: Value | None
    parts: tuple[Value | None, ...] = ()


@dataclass(eq=False)
class Copy:
    """Assign in parallel: every source is read before any target is written."""

    targets: list[Value]
    sources: list[Atom]
    where: Location | None = None


@dataclass(eq=False)
class Append:
    """Append one item (a tuple where there are several) to a list that only we hold."""

    target: Value
    items: list[Atom]


@dataclass(eq=False)
class Increment:
    """Count an iteration."""

    target: Value


@dataclass(eq=False)
class Reverse:
    """Turn around a list that was collected backward."""

    target: Value


@dataclass(eq=False)
class Conditional:
    """``if test``.  With `choice`, both branches only assign that value: it is an expression."""

    test: Atom
    then: list[Statement]
    orelse: list[Statement]
    where: Location | None = None
    half: str = "primal"
    choice: Value | None = None


@dataclass(eq=False)
class Attempt:
    """``try`` with one ``except`` clause, which binds `error`."""

    op: Try
    body: list[Statement]
    handler: list[Statement]
    error: Value


Pattern = Value | tuple["Pattern | None", ...]


@dataclass(eq=False)
class Head:
    """The targets and sequences of a ``for``: one pattern per sequence.

    `aligned` says that all sequences are known to have the same length once those that are
    `limited` have been cut to `count` items.
    """

    patterns: list[Pattern | None] = field(default_factory=list)
    seqs: list[Arg] = field(default_factory=list)
    limited: list[bool] = field(default_factory=list)
    count: Atom | None = None
    aligned: bool = True


@dataclass(eq=False)
class Loop:
    """A loop.  A `while` evaluates `prelude` and then `test` before each iteration.

    `carried` are the variables that live on from iteration to iteration (the counters and lists
    too).
    """

    op: For | While
    body: list[Statement]
    carried: list[Value]
    prelude: list[Statement]
    test: Atom
    head: Head


@dataclass(eq=False)
class Exit:
    """``break`` or ``continue``."""

    kind: Literal["break", "continue"]


@dataclass(eq=False)
class Return:
    """The end of the function."""

    values: list[Atom]


Statement = Do | Copy | Append | Increment | Reverse | Conditional | Attempt | Loop | Exit | Return


def jumps(statements: list[Statement]) -> bool:
    """Return True if control never falls off the end of the list."""
    if not statements:
        return False
    match statements[-1]:
        case Exit() | Return():
            return True
        case Conditional(then=then, orelse=orelse, choice=None):
            return jumps(then) and jumps(orelse)
        case Attempt(body=body, handler=handler):
            return jumps(body) and jumps(handler)
        case _:
            return False


def arg_atoms(arg: Arg) -> Iterator[Atom]:
    """Yield the atoms inside an argument."""
    if isinstance(arg, Display):
        for item in arg.items:
            yield from arg_atoms(item)
    else:
        yield arg


def head_atoms(statement: Statement) -> Iterator[Atom]:
    """Yield the atoms that a statement itself reads (not the statements inside it)."""
    match statement:
        case Do(op=op):
            for arg in (*op.args, *(arg for _, arg in op.kwargs)):
                yield from arg_atoms(arg)
        case Copy(sources=atoms) | Return(values=atoms):
            yield from atoms
        case Append(target=target, items=items):
            yield from items
            yield target
        case Increment(target=target) | Reverse(target=target):
            yield target
        case Conditional(test=test):
            yield test
        case Loop(head=head):
            for arg in head.seqs if head.count is None else (*head.seqs, head.count):
                yield from arg_atoms(arg)


def inner_lists(statement: Statement) -> tuple[list[Statement], ...]:
    match statement:
        case Conditional(then=then, orelse=orelse):
            return (then, orelse)
        case Attempt(body=body, handler=handler):
            return (body, handler)
        case Loop(prelude=prelude, body=body):
            return (prelude, body)
        case _:
            return ()


def users_place_of(statement: Statement) -> Location | None:
    """Return the user's place that a statement comes from."""
    match statement:
        case Do(op=op) | Loop(op=op) | Attempt(op=op):
            return op.where
        case Conditional(where=where) | Copy(where=where):
            return where
        case _:
            return None


def errstate_of(statement: Statement) -> tuple[tuple[str, str], ...] | None:
    """Return the ``np.errstate`` that a statement runs under; None where it makes no difference."""
    where = users_place_of(statement)
    if where is None:
        placed = isinstance(statement, Do | Conditional | Attempt | Loop | Return)
        return () if placed else None
    return where.errstate


def pattern_values(pattern: Pattern | None) -> Iterator[Value]:
    """Yield the values that a loop target binds."""
    if isinstance(pattern, tuple):
        for part in pattern:
            yield from pattern_values(part)
    elif pattern is not None:
        yield pattern


def defined(statement: Statement) -> Iterator[Value]:
    """Yield the values that a statement itself binds."""
    match statement:
        case Do(result=result, parts=parts):
            if parts:
                yield from (part for part in parts if part is not None)
            elif result is not None:
                yield result
        case Copy(targets=targets):
            yield from targets
        case Attempt(error=error):
            yield error
        case Conditional(choice=choice):
            if choice is not None:
                yield choice
        case Loop(head=head):
            for pattern in head.patterns:
                yield from pattern_values(pattern)
        case _:
            return


def half_of(statement: Statement) -> str:
    match statement:
        case Do(op=op) | Loop(op=op) | Attempt(op=op):
            return op.half
        case Conditional(half=half):
            return half
        case _:
            return "primal"


def line_of(statement: Statement) -> object:
    """Return the line of the user's text that a statement stands for."""
    where = users_place_of(statement)
    return (where.file, where.line) if where is not None else None


def has_effect(statement: Do | Conditional) -> bool:
    """Return True if a statement, or one inside it, must run where it stands."""
    if isinstance(statement, Do):
        return statement.op.effect
    branches = (*statement.then, *statement.orelse)
    return any(has_effect(s) for s in branches if isinstance(s, Do | Conditional))


def statement_value(statement: Statement) -> Value | None:
    match statement:
        case Do(result=result):
            return result
        case Conditional(choice=choice):
            return choice
        case _:
            return None
