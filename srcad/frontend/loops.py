"""Loops: what they carry is found by reading the body until its types settle.

The names that a trip changes are carried.  A *header* says what each carried name is at the start
of a trip: a box whose values become the parameters of the body.  The body is read with a first
guess (what the names are before the loop); where a trip leaves something else, the header is
widened and the body read again.  A name that is not bound before the loop starts as nothing, and
reading it ends the path: so a second reading sees what an earlier trip has left.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from srcad import errors
from srcad.frontend.assignment import assign
from srcad.frontend.boxes import (
    UNBOUND,
    Box,
    IterBox,
    Unbound,
)
from srcad.frontend.control import (
    after_break,
    choice,
    on_tag,
    settle_continue,
)
from srcad.frontend.forms import lower, lowers_statement
from srcad.frontend.headers import (
    Slot,
    assigned_names,
    collectable,
    covers,
    header,
    over,
    slots,
    widened,
)
from srcad.frontend.known import static_items, truth
from srcad.frontend.scope import DEAD, Diverges, NeedsStatic, Session
from srcad.frontend.sequences import Sequences, sequences
from srcad.frontend.statements import lower_statements
from srcad.frontend.unrolling import UNROLL_LIMIT, unroll, unrolled_items
from srcad.ir.builder import Builder
from srcad.ir.core import (
    BREAK,
    NONE,
    RETURN,
    Atom,
    Block,
    Const,
    Value,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.rewrite import substitute
from srcad.records import dataclass

MOST_READINGS = 12
Key = tuple[int, str]


@lowers_statement(ast.For)
def for_(s: Session, node: ast.For) -> None:
    """``for target in iterable: ... else: ...``."""
    iterable = lower(s, node.iter)
    if isinstance(iterable, Value):
        iterable = s.box(iterable)
    items = unrolled_items(s, iterable)
    if items is not None:
        unroll(s, node, items)
        refuse_growing(s, node, [b for b in looped_over(iterable) if b in s.written])
        return
    before, count = s.snapshot(), len(s.builder.ops)
    where = s.builder.where
    try:
        dynamic_for(s, node, iterable)
    except NeedsStatic as problem:
        if not isinstance(iterable, IterBox) or len(s.frames) != len(before):
            raise
        known_items = static_items(s, iterable)
        if known_items is None or len(known_items) > UNROLL_LIMIT:
            raise problem.error from None
        s.restore(before)
        del s.builder.ops[count:]
        s.builder.where = where
        s.frame.exit = NONE
        unroll(s, node, known_items)


def looped_over(box: Box) -> list[Box]:
    """The sequences behind an iterable."""
    if isinstance(box, IterBox):
        return [inner for part in box.parts for inner in looped_over(part)]
    return [box]


def refuse_growing(s: Session, node: ast.For, written: Sequence[object]) -> None:
    """Refuse a loop over a list that its own body writes into."""
    if written:
        s.refuse(
            errors.MutationError,
            "cannot write into a list while looping over it",
            node=node.iter,
            why="the number of trips would change under way.",
            help=("loop over a copy:  for item in list(items):",),
        )


# ---------------------------------------------------------------------- dynamic loops
@dataclass(eq=False)
class Reading:
    """One reading of a loop body."""

    builder: Builder
    finals: list[dict[str, Box]]
    tag: Atom
    tags: frozenset[int]
    test: Block | None = None


@dataclass(eq=False)
class LoopReader:
    """Reads one loop until what it carries has settled."""

    s: Session
    node: ast.For | ast.While
    read: Callable[[], None]
    test: ast.expr | None = None
    headers: dict[Key, Box] = field(default_factory=dict)
    before: list[dict[str, Box]] = field(default_factory=list)

    def settle(self) -> Reading:
        """Read the body until the headers cover what every trip leaves."""
        s = self.s
        self.before = s.snapshot()
        level = len(s.frames) - 1
        names = assigned_names(self.node, s.frame)
        for name in names:
            self.headers[level, name] = header(
                s, self.before[-1].get(name, UNBOUND), user_name(name)
            )
        for _ in range(MOST_READINGS):
            reading = self._once()
            if self._stable(reading, names):
                break
        else:
            s.refuse(
                errors.UnsupportedTypeError,
                "the types in this loop do not settle",
                node=self.node,
                why="every further trip makes another kind of value.",
                help=("give the loop's variables one kind before the loop",),
            )
        return reading

    def _once(self) -> Reading:
        s, frame = self.s, self.s.frame
        s.restore(self.before)
        for (level, name), box in self.headers.items():
            s.frames[level].env[name] = box
            if isinstance(box, Unbound):
                s.frames[level].env.pop(name)
        test = self._test() if self.test is not None else None
        exit_, tags = frame.exit, frame.tags
        frame.exit, frame.tags = NONE, frozenset({NONE})
        with s.block() as builder:
            try:
                self.read()
            except Diverges:
                frame.ends(DEAD)
            tag = settle_continue(s)
        found = frozenset({frame.exit}) if isinstance(frame.exit, int) else frame.tags
        finals = s.snapshot()
        s.restore(self.before)
        frame.exit, frame.tags = exit_, tags
        return Reading(builder, finals, tag, found, test)

    def _test(self) -> Block:
        assert self.test is not None
        with self.s.block() as builder, self.s.at(self.test):
            condition = self.s.atom(lower(self.s, self.test))
        return builder.finish(condition)

    def _stable(self, reading: Reading, names: list[str]) -> bool:
        """Whether the headers cover the reading; if not, widen them."""
        s, stable = self.s, True
        dead = reading.tags == {DEAD}
        for level, final in enumerate(reading.finals):
            for name in dict.fromkeys([*self.before[level], *final]):
                key = (level, name)
                start = self.headers.get(key, self.before[level].get(name, UNBOUND))
                end = final.get(name, UNBOUND)
                if end is start or dead:
                    continue
                if key not in self.headers:
                    local = level == len(reading.finals) - 1 and name not in names
                    if local and isinstance(start, Unbound) and not name.startswith("%"):
                        continue
                    self.headers[key] = header(s, start, user_name(name))
                    stable = False
                if not covers(s, self.headers[key], end):
                    self.headers[key] = widened(s, self.headers[key], end, user_name(name))
                    stable = False
        return stable

    def carried(self, reading: Reading) -> Iterator[tuple[Key, list[Slot]]]:
        """The slots of every carried name, with what enters and what a trip leaves."""
        for (level, name), box in self.headers.items():
            start = self.before[level].get(name, UNBOUND)
            end = reading.finals[level].get(name, UNBOUND)
            yield (level, name), slots(self.s, box, start, end, reading.builder)


def user_name(name: str) -> str | None:
    """The name as a hint, unless it is one of the reader's own."""
    return None if name.startswith("%") else name


def dynamic_for(s: Session, node: ast.For, iterable: Box) -> None:
    """A loop whose trips are counted at the call."""
    seqs = sequences(s, iterable, node.iter)

    def read() -> None:
        assign(s, node.target, seqs.target(s, node.target))
        lower_statements(s, node.body)

    reader = LoopReader(s, node, read)
    reading = reader.settle()
    over_boxes = looped_over(iterable)
    starts = {key: reader.before[key[0]].get(key[1], UNBOUND) for key in reader.headers}
    written = [k for k, b in starts.items() if b in over_boxes and reader.headers[k] in s.written]
    refuse_growing(s, node, written)
    outputs = finish(s, reader, reading, seqs)
    after_loop(s, node.orelse, outputs[0], reading.tags, endless=False)


@lowers_statement(ast.While)
def while_(s: Session, node: ast.While) -> None:
    """``while test: ... else: ...``."""
    if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test)):
        node = _without_walrus(s, node)
    reader = LoopReader(s, node, lambda: lower_statements(s, node.body), node.test)
    first = truth(lower_quietly(s, node.test))
    if first is False:
        lower_statements(s, node.orelse)
        return
    reading = reader.settle()
    assert reading.test is not None
    condition = reading.test.results[0]
    endless = isinstance(condition, Const) and bool(condition.value)
    outputs = finish(s, reader, reading, None)
    after_loop(s, node.orelse, outputs[0], reading.tags, endless=endless)


def lower_quietly(s: Session, node: ast.expr) -> Box:
    """Read an expression into nowhere, to see whether its value is known now."""
    if not isinstance(node, ast.Constant):
        return UNBOUND if not isinstance(node, ast.Name) else lower(s, node)
    return lower(s, node)


def _without_walrus(s: Session, node: ast.While) -> ast.While:
    """``while (x := f()) > 0: body`` as ``while True: if not test: break; body``."""
    if node.orelse:
        s.refuse(
            errors.UnsupportedSyntaxError,
            "cannot read 'while ... else' whose test binds a name",
            why="the test runs once more than the body.",
            node=node.test,
            help=("write 'while True:' with 'break'",),
        )
    leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
    new = ast.While(ast.Constant(True), [leave, *node.body], [])
    for part in (leave.test, leave, leave.body[0], new.test, new):
        ast.copy_location(part, node.test)
    return new


def finish(
    s: Session, reader: LoopReader, reading: Reading, seqs: Sequences | None
) -> tuple[Value, ...]:
    """Append the loop and bind the carried names to what it leaves."""
    groups = list(reader.carried(reading))
    every = [slot for _, group in groups for slot in group]
    gathered = [
        slot
        for slot in every
        if seqs is not None
        and not seqs.backward
        and collectable(slot, reading.builder, every, reading.tag)
    ]
    carried = [slot for slot in every if slot not in gathered]
    for slot in gathered:
        assert isinstance(slot.final, Value)
        slot.collected = reading.builder.ops[slot.position].args[1]  # type: ignore[attr-defined]
        reading.builder.ops[slot.position] = None  # type: ignore[call-overload]
    reading.builder.ops[:] = [op for op in reading.builder.ops if op is not None]
    params = tuple(slot.param for slot in carried)
    results = (
        reading.tag,
        *(slot.final for slot in carried),
        *(slot.collected for slot in gathered),
    )
    inits = tuple(slot.init for slot in carried)
    if seqs is not None:
        body = Block((*seqs.items, *params), tuple(reading.builder.ops), results)
        outputs = s.builder.for_(seqs.args, inits, body, backward=seqs.backward)
    else:
        assert reading.test is not None
        copies = {p: Value(p.type, p.hint) for p in params}
        test = renamed(reading.test, copies)
        body = Block(params, tuple(reading.builder.ops), results)
        outputs = s.builder.while_(
            inits, Block(tuple(copies.values()), test.ops, test.results), body
        )
    loop = s.builder.ops[-1]
    for slot, output in zip(carried, carried_outputs(loop), strict=True):  # type: ignore[arg-type]
        slot.output = output
    for slot, output in zip(gathered, collected_outputs(loop), strict=True):  # type: ignore[arg-type]
        output.hint = slot.param.hint
        slot.output = output
    _bind_outputs(s, reader, groups)
    return outputs


def _bind_outputs(s: Session, reader: LoopReader, groups: list[tuple[Key, list[Slot]]]) -> None:
    s.restore(reader.before)
    for (level, name), group in groups:
        exits = iter(group)
        box = after_header(s, reader.headers[level, name], exits)
        if isinstance(box, Unbound):
            s.frames[level].env.pop(name, None)
        else:
            s.frames[level].env[name] = box


def after_header(s: Session, box: Box, exits: Iterator[Slot]) -> Box:
    """The box of a carried name after the loop."""

    def leave(slot: Slot) -> Box:
        assert slot.output is not None
        if slot.param in s.active:
            s.active.add(slot.output)
        return s.box(slot.output)

    return over(box, exits, leave)


def after_loop(
    s: Session, orelse: list[ast.stmt], tag: Value, tags: frozenset[int], *, endless: bool
) -> None:
    """``else`` runs unless the loop was left; an inner ``return`` goes on outward."""
    frame = s.frame
    leaving = tags & {BREAK, RETURN}
    if endless and not leaving:
        raise Diverges
    if endless and leaving == {RETURN}:
        frame.ends(RETURN)
        return
    if not leaving:
        frame.ends(NONE)
        lower_statements(s, orelse)
        return
    frame.exit, frame.tags = tag, frozenset(leaving | ({NONE} if not endless else frozenset()))
    if orelse and not endless:
        stays = s.emit(operator.lt, tag, Const(BREAK))
        frame.exit = choice(s, stays, Const(NONE), tag)
        on_tag(s, frame.exit, NONE, lambda: lower_statements(s, orelse))
    after_break(s)


def renamed(block: Block, names: dict[Value, Value]) -> Block:
    """The block with free values replaced."""
    return substitute(block, names)
