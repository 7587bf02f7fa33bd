"""Which values are written inside the expression that uses them, as a person would nest them.

One pass per list of statements.  A value that is used once *waits* until its reader comes; what
cannot be moved past the statement at hand (an effect, a write in place, a compound statement)
stops waiting and stays a statement where it stands.  So nothing moves into a loop or out of an
branch, and no read moves past a write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from srcad.backends.python.plan.expressions import Nesting, is_point, writes_in_place
from srcad.backends.python.plan.statements import (
    Append,
    Attempt,
    Conditional,
    Copy,
    Do,
    Increment,
    Loop,
    Return,
    Statement,
    errstate_of,
    half_of,
    has_effect,
    inner_lists,
    line_of,
    statement_value,
)
from srcad.backends.python.plan.structure import Structured
from srcad.ir.core import UNDEF, Atom, Value
from srcad.ir.inference.raising import fails_for_values
from srcad.ir.traits import (
    costs_nothing,
    is_builder,
    is_part,
    is_shape,
    law_of_operator,
)
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric

# Queries on single statements: which may be reordered, and which keep a name.

_OURS = frozenset({"saved", "trips", "tag"})


def only_converts(origin: Do | Conditional, value: Value) -> bool:
    """Return True if a value is its operand in another kind: ``return float(a_bar), x_bar``."""
    if not isinstance(origin, Do) or len(origin.op.args) != 1:
        return False
    (operand,) = origin.op.args
    return isinstance(operand, Value) and operand.hint == value.hint


def is_users(hint: str | None) -> bool:
    """Return True if a name in the primal half is the user's, not one for what a loop counts."""
    return hint is not None and hint not in _OURS and not hint.endswith("_saved")


def is_one_line(conditional: Conditional) -> bool:
    """Return True if the user wrote a conditional in one line."""
    return conditional.where is not None and conditional.where.line == conditional.where.end_line


def writes_into(do: Do, value: Value, nesting: Nesting) -> bool:
    """Return True if the call writes into the storage of `value`, which therefore needs a name."""
    if not writes_in_place(do):
        return False
    first = do.op.args[0]
    return isinstance(first, Value) and nesting.resolve(first) is value


def divides(statement: Statement) -> bool:
    return isinstance(statement, Do) and law_of_operator(statement.op.target) == "quotient"


def is_transparent(statement: Statement) -> bool:
    """Return True if expressions may move past a statement (a copy: if it sets none of them)."""
    match statement:
        case Do(op=op):
            return not op.effect and not op.in_place
        case Conditional(choice=choice):
            return choice is not None and not has_effect(statement)
        case Copy() | Append() | Increment():
            return True
        case _:
            return False


_MAX_DEPTH = 40
_MAX_OPS = {"primal": 60, "reverse": 24}
_MAX_OPS_ACROSS_LINES = 5
_MAX_BRANCH = 8


def nest(
    structured: Structured,
    into_copies: frozenset[Value] = frozenset(),
    before: Nesting | None = None,
) -> Nesting:
    """Decide; values in `into_copies` may also move into the assignment that ends their block."""
    nesting = Nesting(structured.alias)
    if before is not None:
        nesting.known_reads = before.known_reads
    nester = Nester(nesting, into_copies)
    nester.count(structured.body)
    nester.block(structured.body)
    return nester.nesting


@dataclass(eq=False)
class Nester:
    nesting: Nesting
    into_copies: frozenset[Value]
    uses: Counter[Value] = field(default_factory=Counter)
    size: dict[Value, tuple[int, int]] = field(default_factory=dict)
    tested_twice: set[Value] = field(default_factory=set)
    repeated: set[Value] = field(default_factory=set)
    carried: set[Value] = field(default_factory=set)
    failing: set[Value] = field(default_factory=set)
    attempts: int = 0
    sealed: bool = False

    def count(self, statements: list[Statement]) -> None:
        """Count how often each value is written."""
        for statement in statements:
            if isinstance(statement, Conditional):
                statement.choice = None
            for value in self.nesting.reads(statement):
                self.uses[value] += 1
            if isinstance(statement, Do):
                continue
            if isinstance(statement, Loop):
                self.carried.update(statement.carried)
                tested = self.nesting.resolve(statement.test)
                if isinstance(tested, Value):
                    self.uses[tested] += 1
            for inner in inner_lists(statement):
                self.count(inner)
            if isinstance(statement, Conditional):
                self._note_short_circuit(statement)

    def _note_short_circuit(self, conditional: Conditional) -> None:
        """Count one use of `a` in ``a and b``, where the IR has two."""
        test = self.nesting.resolve(conditional.test)
        if not isinstance(test, Value):
            return
        for branch in (conditional.then, conditional.orelse):
            only = branch[0] if len(branch) == 1 else None
            sources = only.sources if isinstance(only, Copy) else []
            if len(sources) == 1 and self.nesting.resolve(sources[0]) is test:
                self.tested_twice.add(test)

    def block(
        self, statements: list[Statement], tail: Atom | None = None, moves: bool = False
    ) -> None:
        """One list; `tail` is read behind it, `moves` lets values move into its last copy."""
        waiting: dict[Value, Do | Conditional] = {}
        sealed = self.attempts > 0 and any(isinstance(s, Append | Increment) for s in statements)
        self._repeat_cheap_calls(statements, tail)
        for statement in statements:
            self._inside(statement)
            self.sealed = sealed
            consumed = self._consume(statement, waiting, moves)
            self._settle(statement, waiting, consumed)
            value = self._nestable(statement)
            self._keep_failures_in_order(statement, waiting, consumed, value)
            if value is None or value in self.nesting.nested:
                continue
            assert isinstance(statement, Do | Conditional)
            waiting[value] = statement
        if tail is not None:
            value_or_const = self.nesting.resolve(tail)
            if isinstance(value_or_const, Value) and value_or_const in waiting:
                self.nesting.nested[value_or_const] = waiting[value_or_const]

    def _repeat_cheap_calls(self, statements: list[Statement], tail: Atom | None) -> None:
        """``len(x)``, ``x.shape[0]``, ``x.T`` are written again rather than named."""
        shapes = {s.result for s in statements if isinstance(s, Do) and is_shape(s.op.target)}
        cheap = [s for s in statements if isinstance(s, Do) and self._is_cheap(s, shapes)]
        self._forget_unread_lengths(statements)
        if not cheap:
            return
        here: Counter[Atom] = Counter()
        for statement in statements:
            here.update(self.nesting.reads(statement))
        if tail is not None:
            here[self.nesting.resolve(tail)] += 1
        for do in cheap:
            result = do.result
            if result is not None and 1 != self.uses[result] == here[result]:
                self.nesting.nested[result] = do
                self.size[result] = (1, 1)
                self.repeated.add(result)

    def _forget_unread_lengths(self, statements: list[Statement]) -> None:
        """``len(x)`` that only counted the iterations of a loop that is written without it."""
        for statement in statements:
            result = statement.result if isinstance(statement, Do) else None
            if result is None or self.uses[result]:
                continue
            assert isinstance(statement, Do)
            if statement.op.target is len:
                self.nesting.nested[result] = statement

    def _is_cheap(self, do: Do, shapes: set[Value | None]) -> bool:
        """Return True if a call only reads the shape of an unchanged array, or transposes it."""
        if do.result is None or do.result.hint is not None or do.op.kwargs or not do.op.args:
            return False
        operand = do.op.args[0]
        value = self.nesting.resolve(operand) if isinstance(operand, Value) else None
        if not isinstance(value, Value) or value in self.carried:
            return False
        if is_part(do.op.target):
            return value in shapes
        is_array = isinstance(value.type, Numeric) and value.type.form == "array"
        cheap = costs_nothing(do.op.target) or do.op.target is np.transpose
        return is_array and len(do.op.args) == 1 and cheap

    def _inside(self, statement: Statement) -> None:
        match statement:
            case Loop():
                self.block(statement.prelude, tail=statement.test)
                self.block(statement.body)
            case Attempt():
                self.attempts += 1
                self.block(statement.body)
                self.attempts -= 1
                self.block(statement.handler)
            case Conditional():
                moves = self._may_be_choice(statement)
                self.block(statement.then, moves=moves)
                self.block(statement.orelse, moves=moves)
                if (
                    moves
                    and self._is_reduced(statement.then)
                    and self._is_reduced(statement.orelse)
                ):
                    last = statement.then[-1]
                    assert isinstance(last, Copy)
                    statement.choice = last.targets[0]

    # ---------------------------------------------------------------------- consumption
    def _consume(
        self, reader: Statement, waiting: dict[Value, Do | Conditional], moves: bool
    ) -> set[Value]:
        depth = ops = 0
        consumed: set[Value] = set()
        repeated = isinstance(reader, Do) and reader.result in self.repeated
        for value in self.nesting.reads(reader) if waiting else ():
            if value not in waiting or (repeated and not self._is_shape(waiting[value], value)):
                continue  # what is written again and again reads a name, not an expression
            inner_depth, inner_ops = self.size[value]
            limit = _MAX_OPS["primal" if half_of(reader) == "primal" else "reverse"]
            fits = inner_depth < _MAX_DEPTH and ops + inner_ops < limit
            if fits and self._may_move(value, waiting, reader, moves):
                self.nesting.nested[value] = waiting[value]
                consumed.add(value)
                depth, ops = max(depth, inner_depth), ops + inner_ops
        for value in consumed:
            del waiting[value]
        if isinstance(reader, Do | Conditional):
            result = reader.choice if isinstance(reader, Conditional) else reader.result
            if result is not None:
                self.size[result] = (depth + 1, ops + 1)
        return consumed

    def _is_shape(self, statement: Do | Conditional, value: Value) -> bool:
        """Return True if a value is the shape of a named array that no statement changes."""
        asks = isinstance(statement, Do) and is_shape(statement.op.target)
        return asks and self.size[value] == (1, 1)

    def _may_move(
        self, value: Value, waiting: dict[Value, Do | Conditional], reader: Statement, moves: bool
    ) -> bool:
        if (errstate_of(reader) or ()) != (errstate_of(waiting[value]) or ()):
            return False
        if isinstance(reader, Copy) and self.sealed:
            return False  # what may fail comes before what is noted of the trip
        if isinstance(reader, Copy):
            return moves or value in self.into_copies
        if isinstance(reader, Do) and writes_into(reader, value, self.nesting):
            return False
        origin = waiting[value]
        if value.hint is None or half_of(origin) == "primal":
            return True
        if isinstance(reader, Return):
            return len(reader.values) == 1 or only_converts(origin, value)
        if isinstance(reader, Do) and is_builder(reader.op.target):
            return only_converts(origin, value)
        if line_of(origin) == line_of(reader):
            return True
        is_next = next(reversed(waiting)) is value
        return is_next and self.size[value][1] <= _MAX_OPS_ACROSS_LINES

    def _settle(
        self, statement: Statement, waiting: dict[Value, Do | Conditional], consumed: set[Value]
    ) -> None:
        """Whatever cannot move past this statement stops waiting."""
        if isinstance(statement, Copy):
            targets = set(statement.targets)
            self._stop(waiting, lambda leaf: leaf in targets)
        elif isinstance(statement, Do) and statement.op.in_place and is_point(statement.op.result):
            self._stop(waiting, is_point)
        elif not is_transparent(statement):
            waiting.clear()
            return
        last = next(reversed(waiting), None)
        if last is not None and has_effect(waiting[last]):
            del waiting[last]

    def _stop(
        self, waiting: dict[Value, Do | Conditional], touched: Callable[[Value], bool]
    ) -> None:
        for value in list(waiting):
            if any(touched(leaf) for leaf in self.nesting.leaves_of(waiting[value])):
                del waiting[value]

    def _keep_failures_in_order(
        self,
        statement: Statement,
        waiting: dict[Value, Do | Conditional],
        consumed: set[Value],
        value: Value | None,
    ) -> None:
        """Keep the errors of the primal in order with later operations that may raise."""
        fails = isinstance(statement, Do) and fails_for_values(statement.op)
        primal = half_of(statement) == "primal"
        if fails and (value is None if primal else divides(statement)):
            for one in self.failing.intersection(waiting):
                del waiting[one]
        if (fails and primal) or not self.failing.isdisjoint(consumed):
            self.failing.update(() if value is None else (value,))

    # ----------------------------------------------------------------------- candidates
    def _nestable(self, statement: Statement) -> Value | None:
        """Return the value that a statement would give to the expression of its reader."""
        match statement:
            case Do(op=op, result=result, parts=()):
                if result is None or writes_in_place(statement):
                    return None
                once = self.uses[result] == 1 + (result in self.tested_twice)
                named = op.half == "primal" and is_users(result.hint)
                named = named and result not in self.into_copies
                return result if once and not named else None
            case Conditional(choice=Value() as choice):
                return choice if self.uses[choice] == 1 and choice.hint is None else None
            case _:
                return None

    # ------------------------------------------------------------ conditional expressions
    def _may_be_choice(self, conditional: Conditional) -> bool:
        """Return True if both branches only compute one value, in one line of the user's."""
        if not conditional.then or not conditional.orelse:
            return False
        first, second = conditional.then[-1], conditional.orelse[-1]
        if not isinstance(first, Copy) or not isinstance(second, Copy):
            return False
        if len(first.targets) != 1 or first.targets != second.targets:
            return False
        if UNDEF in (*first.sources, *second.sources):
            return False
        if first.targets[0].hint is not None and not is_one_line(conditional):
            return False
        return all(
            self._is_plain_branch(branch) for branch in (conditional.then, conditional.orelse)
        )

    def _is_plain_branch(self, branch: list[Statement]) -> bool:
        return len(branch) <= _MAX_BRANCH and all(
            self._nestable(s) is not None
            if isinstance(s, Do)
            else isinstance(s, Conditional) and self._may_be_choice(s)
            for s in branch[:-1]
        )

    def _is_reduced(self, branch: list[Statement]) -> bool:
        return all(statement_value(s) in self.nesting.nested for s in branch[:-1])
