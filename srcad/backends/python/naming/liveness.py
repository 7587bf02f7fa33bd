"""Where each variable is alive, as segments of statement positions, with holes.

Positions count statements in print order.  A statement reads and writes at one point, first the
one, then the other; a segment ``(start, end)`` is half open and runs from a write to a read.  The
walk goes backward and keeps, for each variable that is alive, the end of its open segment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from srcad.backends.python.plan.expressions import Nesting, writes_in_place
from srcad.backends.python.plan.statements import (
    Attempt,
    Conditional,
    Do,
    Exit,
    Loop,
    Return,
    Statement,
    arg_atoms,
    defined,
    inner_lists,
    jumps,
)
from srcad.ir.core import Value
from srcad.startup.records import dataclass, field

Segments = dict[Value, list[tuple[int, int]]]


def live_segments(
    params: tuple[Value, ...], body: list[Statement], nesting: Nesting
) -> dict[Value, list[tuple[int, int]]]:
    """Return the segments of every variable, latest first."""
    walker = Liveness(nesting)
    walker.number(body, 1)
    walker.walk(body)
    for param in params:
        walker.define(param, 0)
    return walker.segments


def is_nested(statement: Statement, nesting: Nesting) -> bool:
    """Return True if a statement is part of an expression elsewhere."""
    match statement:
        case Do(result=result, parts=()):
            return result is not None and result in nesting.nested
        case Conditional(choice=choice):
            return choice is not None and choice in nesting.nested
        case _:
            return False


def visible_lists(statement: Statement) -> tuple[list[Statement], ...]:
    """Return the lists of statements that are written inside a statement."""
    if isinstance(statement, Conditional) and statement.choice is not None:
        return ()
    return inner_lists(statement)


@dataclass(eq=False)
class Liveness:
    nesting: Nesting
    points: dict[Statement, tuple[int, int, int]] = field(default_factory=dict)
    inside: dict[Statement, dict[Value, None]] = field(default_factory=dict)
    segments: Segments = field(default_factory=lambda: defaultdict(list))
    live: dict[Value, int] = field(default_factory=dict)
    targets: list[tuple[list[Value], list[Value]]] = field(default_factory=list)

    # ---------------------------------------------------------------------- preparation
    def number(self, statements: list[Statement], position: int) -> int:
        """Give every statement its points: head, middle (between two lists) and end."""
        for statement in statements:
            head = middle = position
            position += 2
            for k, inner in enumerate(visible_lists(statement)):
                if k == 1:
                    middle = position
                    position += 2
                position = self.number(inner, position)
            self.points[statement] = (head, middle, position)
            position += 2
            if isinstance(statement, Loop):
                self.inside[statement] = self._read_inside(statement)
        return position

    def _read_inside(self, loop: Loop) -> dict[Value, None]:
        """Return the variables that an iteration reads and that were set before it."""
        read: dict[Value, None] = {}
        written: set[Value] = set(defined(loop))
        self._collect([*loop.prelude, *loop.body], read, written)
        read.update(dict.fromkeys(self.nesting.leaves([loop.test])))
        written.difference_update(loop.carried)
        return {value: None for value in read if value not in written}

    def _collect(
        self, statements: list[Statement], read: dict[Value, None], written: set[Value]
    ) -> None:
        for statement in statements:
            if is_nested(statement, self.nesting):
                continue
            read.update(dict.fromkeys(self.nesting.leaves_of(statement)))
            written.update(defined(statement))
            if isinstance(statement, Loop):
                read.update(self.inside[statement])
                written.update(statement.carried)
            else:
                for inner in visible_lists(statement):
                    self._collect(inner, read, written)

    # ----------------------------------------------------------------------- primitives
    def use(self, values: Iterable[Value], point: int) -> None:
        """Note reads at a point."""
        for value in values:
            self.live.setdefault(value, point)

    def define(self, value: Value, point: int) -> None:
        """Note a write; an unused variable still needs its place."""
        end = self.live.pop(value, point)
        self._segment(value, point, max(end, point + 1))

    def _segment(self, value: Value, start: int, end: int) -> None:
        known = self.segments[value]
        if known and known[-1][0] <= end:
            known[-1] = (start, max(end, known[-1][1]))
        elif start < end:
            known.append((start, end))

    def _close(self, point: int) -> list[Value]:
        """End all open segments at a boundary; return the values that were live there."""
        for value, end in self.live.items():
            self._segment(value, point, end)
        return list(self.live)

    # ------------------------------------------------------------------------------ walk
    def walk(self, statements: list[Statement]) -> None:
        """Walk a list backwards; `live` is updated from what is alive behind it to before it."""
        for statement in reversed(statements):
            if is_nested(statement, self.nesting):
                continue
            point = self.points[statement][0]
            match statement:
                case Conditional(choice=None):
                    self._conditional(statement)
                case Attempt():
                    self._attempt(statement)
                case Loop():
                    self._loop(statement)
                case Exit(kind=kind):
                    behind, again = self.targets[-1]
                    self.live = dict.fromkeys(behind if kind == "break" else again, point)
                case _:
                    if isinstance(statement, Return):
                        self.live = {}
                    self.use(self._read_late(statement), point + 1)
                    for value in defined(statement):
                        self.define(value, point)
                    self.use(self.nesting.leaves_of(statement), point)

    def _read_late(self, statement: Statement) -> Iterator[Value]:
        """Yield the reads after the result has its name: ``u = v.copy()``, then ``u[i] = x``.

        What is written into may be read on the right, too: ``u[i] = u[i] + x``.
        """
        if isinstance(statement, Do) and writes_in_place(statement):
            op = statement.op
            first = op.args[0] if op.in_place else None
            same = self.nesting.resolve(first) if isinstance(first, Value) else None
            for arg in op.args[1:]:
                found = self.nesting.leaves(arg_atoms(arg))
                yield from (value for value in found if value is not same)

    def _conditional(self, conditional: Conditional) -> None:
        head, middle, end = self.points[conditional]
        after = self._close(end)
        before: dict[Value, int] = {}
        branches = ((conditional.orelse, middle, end), (conditional.then, head, middle))
        for statements, start, stop in branches:
            self.live = {} if jumps(statements) else dict.fromkeys(after, stop)
            self.walk(statements)
            before.update(dict.fromkeys(self._close(start), head))
        self.live = before
        self.use(self.nesting.leaves([conditional.test]), head)

    def _attempt(self, attempt: Attempt) -> None:
        """Keep values that the handler reads live in the whole body, which may raise anywhere."""
        _, middle, end = self.points[attempt]
        after = self._close(end)
        self.live = {} if jumps(attempt.handler) else dict.fromkeys(after, end)
        self.walk(attempt.handler)
        self.define(attempt.error, middle)
        handled = self._close(middle)
        behind = [] if jumps(attempt.body) else after
        self.live = dict.fromkeys([*behind, *handled], middle)
        self.walk(attempt.body)
        self.use(handled, middle)

    def _loop(self, loop: Loop) -> None:
        head, middle, end = self.points[loop]
        after = self._close(end)
        again = list(dict.fromkeys([*after, *self.inside[loop]]))
        self.live = dict.fromkeys(again, end)
        self.targets.append((after, again))
        self.walk(loop.body)
        self.targets.pop()
        self.use(after, middle)
        self.use(self.nesting.leaves([loop.test]), middle)
        self.walk(loop.prelude)
        for value in defined(loop):
            self.define(value, head)
        self.use(again, head)
        self.use(self.nesting.leaves_of(loop), head)
