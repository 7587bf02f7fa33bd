"""From the IR to statements: control flow gets its final shape.

A branch that ends with a known exit tag becomes a native ``break`` or ``continue``, what follows it
is no longer nested, and a conditional at the end of a function returns from both branches.  Where a
tag is known only at run time it stays a variable that is tested: always right, less pretty.
"""

from __future__ import annotations

import operator

from srcad.backends.python.plan import loops, terminators
from srcad.backends.python.plan.statements import (
    Attempt,
    Conditional,
    Copy,
    Do,
    Exit,
    Head,
    Loop,
    Reverse,
    Statement,
    jumps,
)
from srcad.backends.python.plan.uses import (
    Uses,
    collected_uses,
    ends_with_known_tag,
    item_readers,
    leaf_tags,
    may_break,
    tuple_width,
)
from srcad.ir.core import (
    BREAK,
    NONE,
    UNDEF,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Op,
    Routine,
    Try,
    Value,
    While,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.inference.builder import Builder
from srcad.ir.primitives import identity
from srcad.ir.traits import built_parts, is_item, is_same, is_structure
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, ListOf, TupleOf


@dataclass(eq=False)
class Structured:
    """A function as statements; `alias` says which values are just other names of an atom."""

    params: tuple[Value, ...]
    body: list[Statement]
    alias: dict[Value, Atom]
    uses: Uses


def structure(function: Function) -> Structured:
    """Give a function the shape of a Python program."""
    uses = collected_uses(function.block)
    structurer = Structurer(uses)
    unpacked = structurer.saved_parts(function)
    body = [*unpacked, *structurer.block(function.block, terminators.FunctionEnd())]
    return Structured(function.params, body, structurer.alias, uses)


@dataclass(eq=False)
class Structurer:
    """The walk over the blocks."""

    uses: Uses
    alias: dict[Value, Atom] = field(default_factory=dict)
    merged: dict[Value, tuple[Value, int]] = field(default_factory=dict)
    removed: set[Call] = field(default_factory=set)
    stands_for_others: set[Value] = field(default_factory=set)

    def block(self, block: Block, end: terminators.End) -> list[Statement]:
        statements: list[Statement] = []
        for k, op in enumerate(block.ops):
            if isinstance(op, If):
                self._merge_outputs(op)
            if isinstance(op, If) and end.leaves:
                if k == len(block.ops) - 1 and end.takes(block.results, op):
                    return statements + self._both_branches(
                        op, terminators.Mapped(end, op.outputs, block.results)
                    )
                guard = self._guard_after(block, k)
                if guard is not None and self._skips(op, guard, block, end):
                    return statements + self._guarded(op, guard, block, end)
            statements += self.op(op)
        return statements + end.finish(block.results)

    def needs(self, output: Value) -> bool:
        """Return True if an output is a variable that is read, itself or by another name."""
        return output not in self.alias and (
            self.uses.is_read(output) or output in self.stands_for_others
        )

    def _merge_outputs(self, op: If) -> None:
        """Merge an output with another one that is equal wherever it is defined."""
        rows = list(zip(op.outputs, op.then.results, op.orelse.results, strict=True))
        for output, *yielded in rows:
            if UNDEF not in yielded:
                continue
            for other, *kept in rows:
                if other is output or other in self.alias:
                    continue
                if all(a is UNDEF or a is b for a, b in zip(yielded, kept, strict=True)):
                    self.alias[output] = other
                    if self.uses.is_read(output):
                        self.stands_for_others.add(other)
                    break

    def _both_branches(self, op: If, end: terminators.End) -> list[Statement]:
        then, orelse = self.block(op.then, end), self.block(op.orelse, end)
        if isinstance(op, Try):
            return [Attempt(op, then, orelse, op.error)]
        if jumps(then):
            return [Conditional(op.test, then, [], op.where, op.half), *orelse]
        return [Conditional(op.test, then, orelse, op.where, op.half)]

    # ------------------------------------------------------- code behind a possible exit
    def _guard_after(self, block: Block, k: int) -> tuple[int, If] | None:
        """Return the guard ``If(tag == 0)`` right behind a conditional that may leave, if any."""
        op = block.ops[k]
        if len(block.ops) != k + 3 or not isinstance(op, If):
            return None
        test, guard = block.ops[k + 1], block.ops[k + 2]
        if not isinstance(test, Call) or not isinstance(guard, If) or guard.test is not test.result:
            return None
        if test.target is not operator.eq or test.args[0] not in op.outputs or guard.orelse.ops:
            return None
        tag = test.args[0]
        if test.args[1] != Const(NONE) or len(self.uses.readers[test.result]) != 1:
            return None
        if not isinstance(tag, Value) or leaf_tags(tag, self.uses) is None:
            return None
        readers = self.uses.readers[tag]
        known = guard.orelse.results.count(tag) + block.results.count(tag)
        if any(r is not None and r is not test for r in readers) or readers.count(None) != known:
            return None
        return (op.outputs.index(tag), guard)

    def _skips(self, op: If, guard: tuple[int, If], block: Block, end: terminators.End) -> bool:
        """Return True if a path that leaves before the guard can jump past what the guard holds."""
        index, rest = guard
        left = [Const(BREAK) if k == index else atom for k, atom in enumerate(op.outputs)]
        return ends_with_known_tag(op, index) and terminators.Away(
            end, op.outputs, rest, block.results
        ).skips(left)

    def _guarded(
        self, op: If, guard: tuple[int, If], block: Block, end: terminators.End
    ) -> list[Statement]:
        index, rest = guard
        tag = op.outputs[index]
        results = [Const(NONE) if atom is tag else atom for atom in block.results]
        behind = terminators.Mapped(end, rest.outputs, results)
        away = terminators.Away(end, op.outputs, rest, block.results)
        leaving = self._both_branches(op, terminators.GuardEnd(op.outputs, index, away, self))
        return leaving + self.block(rest.then, behind)

    # --------------------------------------------------------------------------- single ops
    def op(self, op: Op) -> list[Statement]:
        match op:
            case Call():
                return self._call(op)
            case If():
                join = terminators.JoinAssignments(op.outputs, self)
                then, orelse = self.block(op.then, join), self.block(op.orelse, join)
                if isinstance(op, Try):
                    return [Attempt(op, then, orelse, op.error)]
                return (
                    [Conditional(op.test, then, orelse, op.where, op.half)]
                    if then or orelse
                    else []
                )
            case For() | While():
                return self._loop(op)
            case _:
                raise TypeError(f"no statement for {type(op).__name__}")

    def _call(self, op: Call) -> list[Statement]:
        if op in self.removed:
            return []
        if is_same(op.target) and isinstance(op.args[0], Value | Const):
            self.alias[op.result] = op.args[0]
            return []
        if not self.uses.is_read(op.result):
            return [Do(op, None)]
        if is_item(op.target) or (is_structure(op.target) and built_parts(op) == op.args):
            return [Do(op, op.result)]
        if isinstance(op.target, Routine) and tuple_width(op.result, self.uses) == 1:
            return [Do(op, self._only_part(op.result))]
        return [Do(op, op.result, self.unpacked(op.result, at_least=2))]

    def _only_part(self, value: Value) -> Value:
        """Return the value of part 0: a routine with one result returns it bare."""
        calls = (item_readers(value, self.uses) or {}).get(0)
        if not calls:
            return value
        self.removed.update(calls)
        for call in calls[1:]:
            self.alias[call.result] = calls[0].result
        return calls[0].result

    def unpacked(self, value: Value, at_least: int = 1) -> tuple[Value | None, ...]:
        """Return the parts of a tuple that is only read by parts, to be bound at once."""
        readers = item_readers(value, self.uses)
        width = tuple_width(value, self.uses)
        if readers is None or width is None or len(readers) < at_least:
            return ()
        parts: list[Value | None] = [None] * width
        for key, calls in readers.items():
            parts[key] = calls[0].result
            self.removed.update(calls)
            for call in calls[1:]:
                self.alias[call.result] = calls[0].result
        return tuple(parts)

    def saved_parts(self, function: Function) -> list[Statement]:
        """Unpack the values that a primal has saved, which are the first parameter."""
        first = function.params[0] if function.params else None
        if first is None or first.hint != "saved" or not isinstance(first.type, TupleOf):
            return []
        parts = self.unpacked(first, at_least=2)
        given = Call(target=identity, args=(first,), result=Value(first.type), half="reverse")
        return [Do(given, given.result, parts)] if parts else []

    # -------------------------------------------------------------------------------- loops
    def _loop(self, op: For | While) -> list[Statement]:
        carried = self._carried(op)
        lists = self._lists(op)
        tag, trips = self._counters(op, lists)
        end = terminators.LoopEnd(op, self.uses, lists, carried, tag, trips)
        head = Head() if isinstance(op, While) else loops.loop_head(op, self)
        prelude: list[Statement] = []
        test: Atom = Const(True)
        if isinstance(op, While):
            self.alias.update(zip(op.test.params, op.body.params, strict=True))
            prelude = [s for inner in op.test.ops for s in self.op(inner)]
            test = op.test.results[0]
        body = self.block(op.body, end)
        if body and isinstance(body[-1], Exit) and body[-1].kind == "continue":
            body.pop()
        variables = [op.carried[k] for k in carried]
        variables += [v for v in (tag, trips) if v is not None]
        variables += [target for target, _ in lists]
        for target, _ in lists:
            loops.hoist_append(body, target, op, self.alias)
        loop = Loop(op, body, variables, prelude, test, head)
        return [*self._inits(op, end), loop, *self._after(op, end)]

    def _carried(self, op: For | While) -> list[int]:
        """Return the carried values that change and are read.

        The others get an alias.
        """
        kept = []
        for k, (param, out) in enumerate(zip(op.carried, carried_outputs(op), strict=True)):
            if op.body.results[1 + k] is param and op.inits[k] != UNDEF:
                self.alias[param] = op.inits[k]
            elif any(self.uses.is_read(v) for v in (out, param, *self._tested(op, k))):
                kept.append(k)
            self.alias[out] = param
        return kept

    def _tested(self, op: For | While, k: int) -> tuple[Value, ...]:
        return (op.test.params[k],) if isinstance(op, While) else ()

    def _lists(self, op: For | While) -> list[tuple[Value, list[int]]]:
        """Return the lists to fill: one of tuples where one loop reads several of them together."""
        groups: dict[object, list[int]] = {}
        outputs = collected_outputs(op)
        for k, out in enumerate(outputs):
            readers = self.uses.readers.get(out, [])
            if not readers:
                continue
            reader = readers[0]
            together = len(readers) == 1 and isinstance(reader, For) and out in reader.seqs
            groups.setdefault(reader if together else out, []).append(k)
        result = []
        for members in groups.values():
            target = outputs[members[0]]
            if len(members) > 1:
                target = Value(ListOf(OPAQUE), "saved")
                for position, k in enumerate(members):
                    self.merged[outputs[k]] = (target, position)
            result.append((target, members))
        return result

    def _counters(
        self, op: For | While, lists: list[tuple[Value, list[int]]]
    ) -> tuple[Value | None, Value | None]:
        """Return the tag and the number of iterations, where they need variables of their own."""
        tag, trips = op.outputs[:2]
        counted = self.uses.is_read(trips) and self._measure(op, lists) is None
        return (tag if self.uses.is_read(tag) else None, trips if counted else None)

    def _measure(self, op: For | While, lists: list[tuple[Value, list[int]]]) -> Arg | None:
        """Return a sequence that is as long as the loop had iterations."""
        if lists:
            return lists[0][0]
        if isinstance(op, While) or may_break(op, self.uses) or len(op.seqs) != 1:
            return None
        (seq,) = op.seqs
        is_array = isinstance(seq, Value) and isinstance(seq.type, Numeric)
        is_range = isinstance(seq, Display) and seq.kind == "range"
        return seq if op.count is None and (is_array or is_range) else None

    def _inits(self, op: For | While, end: terminators.LoopEnd) -> list[Statement]:
        statements: list[Statement] = []
        targets = [op.carried[k] for k in end.carried]
        sources = [op.inits[k] for k in end.carried]
        if end.tag is not None:
            targets.append(end.tag)
            sources.append(Const(NONE))
        if end.trips is not None:
            targets.append(end.trips)
            sources.append(Const(0))
        if targets:
            statements.append(Copy(targets, sources))
        for target, _ in end.lists:
            builder = Builder(where=op.where, half=op.half)
            builder.build_list(result=target)
            statements += [Do(made, target) for made in builder.ops if isinstance(made, Call)]
        return statements

    def _after(self, op: For | While, end: terminators.LoopEnd) -> list[Statement]:
        statements: list[Statement] = []
        if isinstance(op, For) and op.backward:
            statements += [Reverse(target) for target, _ in end.lists]
        trips = op.outputs[1]
        if self.uses.is_read(trips) and end.trips is None:
            measure = self._measure(op, end.lists)
            assert measure is not None
            count = Call(target=len, args=(measure,), result=trips, where=op.where, half=op.half)
            statements.append(Do(count, trips))
        return statements
