"""Reading a loop's body until what it carries has settled, and writing the loop down.

The names that a trip changes are carried.  A *header* says what each carried name is at the start
of a trip: a box whose values become the parameters of the body.  The body is read with a first
guess (what the names are before the loop); where a trip leaves something else, the header is
widened and the body read again.  A name that is not bound before the loop starts as nothing, and
reading it ends the path: so a second reading sees what an earlier trip has left.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Iterator

from srcad import errors
from srcad.frontend.branches.branch import settle_continue
from srcad.frontend.branches.carried_memory import Key, Made, Memory, leaves
from srcad.frontend.branches.joined_objects import settle_aliases
from srcad.frontend.branches.loop_header import (
    Same,
    Slot,
    assigned_names,
    collectable,
    covered_by,
    covers,
    header,
    is_steady,
    slots,
    widened,
)
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    Code,
    Done,
    Stale,
    Structure,
    Taken,
    Unbound,
    is_mutable,
    mapped,
    mutable_parts,
    parts_of,
    values_of,
)
from srcad.frontend.machine.dispatch import lower
from srcad.frontend.machine.fixpoint_seeds import learned
from srcad.frontend.machine.machine import DEAD, Env, Machine, Unreachable
from srcad.frontend.operations.definite_assignment import is_unsure, note_header, note_outputs
from srcad.frontend.operations.sequences import Sequences
from srcad.frontend.outside.places import begins_empty, is_place, refuse_in_test
from srcad.frontend.store.cells import same_parts
from srcad.frontend.store.either import bound_if
from srcad.frontend.store.origins import note_laid_out
from srcad.frontend.store.runtime_keys import tested
from srcad.ir.core import (
    NONE,
    RETURN,
    Atom,
    Block,
    Const,
    Value,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.inference.builder import Builder
from srcad.ir.rewrite import substitute
from srcad.startup.records import dataclass, field
from srcad.types.structures import Type

MOST_READINGS = 12
Rows = list[tuple[tuple[AbstractValue, ...], AbstractValue]]


@dataclass(eq=False)
class Reading:
    """One reading of a loop body."""

    builder: Builder
    finals: list[dict[str, AbstractValue]]
    tag: Atom
    tags: frozenset[int]
    test: Block | None = None


@dataclass(eq=False)
class LoopReader:
    """Reads one loop until what it carries has settled."""

    s: Machine
    node: ast.For | ast.While
    read: Callable[[], None]
    test: ast.expr | None = None
    headers: dict[Key, AbstractValue] = field(default_factory=dict)
    before: list[dict[str, AbstractValue]] = field(default_factory=list)
    memory: Memory = field(init=False)

    def settle(self) -> Reading:
        """Read the body until the headers cover what every trip leaves."""
        s = self.s
        self.before = s.snapshot()
        self.memory = Memory(s, self.before)
        level = len(s.frames) - 1
        names = assigned_names(self.node, s.frame)
        for name in names:
            self._carry((level, name))
        anchor = self.node.iter if isinstance(self.node, ast.For) else self.node.test
        known = learned(s, anchor, "headers")
        self._expect(known)
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
        for key, box in self.headers.items():
            if isinstance(box, Value) and is_steady(box.type):
                known[key] = box.type, box in s.active
        return reading

    def _expect(self, ends: dict[Key, tuple[Type, bool]]) -> None:
        """Begin with the headers in which an earlier reading has ended, where they are as wide."""
        s = self.s
        for key in ends:
            if key not in self.headers:
                self._carry(key)
        shared = Counter(map(id, self.headers.values()))
        for key, (type_, active) in ends.items():
            known = self.headers[key]
            wider = covered_by(s, known, type_, active=active, hint=user_name(key[1]))
            if wider is not None and shared[id(known)] == 1:
                self.headers[key] = wider
                start = self.before[key[0]].get(key[1], UNBOUND)
                self.memory.renewed(key, known, wider, start)

    def _carry(self, key: Key) -> None:
        """Make a name one that is carried: its header is what it is before the loop."""
        level, name = key
        start = self.before[level].get(name, UNBOUND)
        if isinstance(start, Unbound) and is_place(name) and not begins_empty(self.s, name):
            self.headers[key] = Stale(start, self.s.builder.where)
            return
        self.headers[key] = header(self.s, start, user_name(name), self.memory)

    def _open(self) -> None:
        """Bind the names as they are at the start of a trip."""
        s = self.s
        s.restore(self.before)
        roots = self.memory.carried_roots(self.headers)
        for (level, name), box in self.headers.items():
            s.frames[level].env[name] = self.memory.opened(box, roots)
            note_header(s, self.before[level].get(name, UNBOUND), s.frames[level].env[name])
            if isinstance(box, Unbound):
                s.frames[level].env.pop(name)

    def _once(self) -> Reading:
        s, frame = self.s, self.s.frame
        test = self._test() if self.test is not None else None
        exit_, tags = frame.exit, frame.tags
        frame.exit, frame.tags = NONE, frozenset({NONE})
        with s.block() as builder:
            self._open()
            try:
                self.read()
            except Unreachable:
                frame.ends(DEAD)
            tag = settle_continue(s)
        found = frozenset({frame.exit}) if isinstance(frame.exit, int) else frame.tags
        finals = s.snapshot()
        s.restore(self.before)
        frame.exit, frame.tags = exit_, tags
        return Reading(builder, finals, tag, found, test)

    def _test(self) -> Block:
        assert self.test is not None
        count = self.s.outside.count
        with self.s.block() as builder, self.s.at(self.test):
            self._open()
            condition = self.s.atom(tested(self.s, lower(self.s, self.test)))
            if self.s.outside.count != count:
                refuse_in_test(self.s)
        return builder.finish(condition)

    def _stable(self, reading: Reading, names: list[str]) -> bool:
        """Whether the headers cover the reading; if not, widen them."""
        s, stable, same = self.s, True, Same()
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
                    self._carry(key)
                    stable = False
                known = self.headers[key]
                if not covers(s, known, end):
                    self.headers[key] = widened(s, known, end, user_name(name), same)
                    self.memory.renewed(key, known, self.headers[key], end)
                    stable = stable and self._is_bound_first(key, known, end)
        if dead:
            return stable
        stable = stable and self._memory_holds(reading)
        return self._keeps_objects(reading) and stable

    def _is_bound_first(self, key: Key, known: AbstractValue, end: AbstractValue) -> bool:
        """Whether a trip certainly binds a name before it reads it: what was there is not seen."""
        s, (level, name) = self.s, key
        if not isinstance(known, Unbound) or name.startswith("%") or name in s.frames[level].missed:
            return False
        values = values_of(end) if isinstance(end, Value | Structure | Code) else ()
        sure = not any(v in s.partial or is_unsure(s, v) for v in values)
        return sure and not list(mutable_parts(end))

    def _keeps_objects(self, reading: Reading) -> bool:
        """Whether every object of the headers is one object before the loop and after a trip."""
        rows: Rows = []
        ends: dict[int, AbstractValue] = {}
        for level, final in enumerate(reading.finals):
            for name in dict.fromkeys([*self.before[level], *final]):
                start, end = self.before[level].get(name, UNBOUND), final.get(name, UNBOUND)
                known = self.headers.get((level, name))
                if known is None:
                    rows += [((part, part), part) for part in mutable_parts(start)]
                else:
                    rows += objects(start, end, known)
        if self._forget_first_bindings(rows, reading.finals):
            return False
        for (start, end), known in rows:
            if ends.setdefault(id(known), end) is not end and is_mutable(end):
                self.memory.apart.add(id(start))
                for key in self.headers:
                    self._carry(key)
                return False
        return not settle_aliases(self.s, rows)

    def _memory_holds(self, reading: Reading) -> bool:
        """Whether a trip leaves the names in the memory that was guessed; if not, guess less."""
        wrong = self.memory.wrong(self.headers, reading.finals)
        made: Made = {}
        for key, box in self.headers.items():
            if any(leaf in wrong for leaf in leaves(box)):
                end = reading.finals[key[0]].get(key[1], UNBOUND)
                self.headers[key] = self.memory.weakened(key, box, end, wrong, made)
        return not wrong

    def _forget_first_bindings(self, rows: Rows, finals: list[Env]) -> bool:
        """A name that only a trip binds, to an object with another name, is not read before."""
        changed = False
        for (level, name), known in self.headers.items():
            if self.before[level].get(name, UNBOUND) is not UNBOUND or isinstance(known, Stale):
                continue
            end = finals[level].get(name, UNBOUND)
            if _shares(rows, end):
                self.headers[level, name] = Stale(end, self.s.builder.where)
                changed = True
        return changed

    def carried(self, reading: Reading) -> Iterator[tuple[Key, list[Slot]]]:
        """The slots of every carried name, with what enters and what a trip leaves."""
        for (level, name), box in self.headers.items():
            start = self.before[level].get(name, UNBOUND)
            end = reading.finals[level].get(name, UNBOUND)
            yield (level, name), slots(self.s, box, start, end, reading.builder)


def _shares(rows: Rows, box: AbstractValue) -> bool:
    """Whether an object in a box goes by another name that is there before the loop."""
    others = {id(end) for (start, end), _ in rows if not isinstance(start, Unbound)}
    return any(id(part) in others for part in mutable_parts(box))


def objects(
    start: AbstractValue, end: AbstractValue, known: AbstractValue
) -> Iterator[tuple[tuple[AbstractValue, ...], AbstractValue]]:
    """The objects in a header, each with what it is before the loop and after a trip."""
    if is_mutable(known):
        yield (start, end), known
    if isinstance(known, Structure | Code):
        for k, part in enumerate(parts_of(known)):
            yield from objects(_part(start, known, k), _part(end, known, k), part)


def _part(box: AbstractValue, known: AbstractValue, k: int) -> AbstractValue:
    return parts_of(box)[k] if same_parts(box, known) else UNBOUND


def user_name(name: str) -> str | None:
    """The name as a hint, unless it is one of the reader's own."""
    return None if name.startswith("%") else name


def finish(
    s: Machine, reader: LoopReader, reading: Reading, seqs: Sequences | None
) -> tuple[Value, ...]:
    """Append the loop and bind the carried names to what it leaves."""
    groups = list(reader.carried(reading))
    every = list({slot.param: slot for _, group in groups for slot in group}.values())
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
    note_outputs(s, every, seqs)
    tag = outputs[0] if RETURN in reading.tags else None
    _bind_outputs(s, reader, every, tag)
    for slot in every:
        if isinstance(slot.output, Value) and reader.memory.is_bound_anew(slot, reading.finals):
            no_trip = s.emit(operator.eq, outputs[1], Const(0))
            s.either[slot.output] = reader.memory.before_or_after(slot, no_trip)
    return outputs


def _bind_outputs(s: Machine, reader: LoopReader, every: list[Slot], tag: Value | None) -> None:
    """Bind the names to what a loop leaves; nothing is bound where its tag says ``return``."""
    s.restore(reader.before)
    outputs = {slot.param: slot.output for slot in every if slot.output is not None}
    _note_outputs(s, every, tag)
    memory = reader.memory
    memory.after(outputs)
    roots = {start: outputs.get(p, p) for start, p in memory.carried_roots(reader.headers).items()}

    def leave(leaf: AbstractValue) -> AbstractValue | None:
        if isinstance(leaf, Taken):
            if tag is None:
                return memory.opened(leaf, roots)
            goes_on = s.emit(operator.ne, tag, Const(RETURN))
            return bound_if(s, goes_on, lambda: memory.opened(leaf, roots))
        return s.box(outputs[leaf]) if isinstance(leaf, Value) and leaf in outputs else None

    done: Done = {}
    for (level, name), header_ in reader.headers.items():
        box = mapped(header_, leave, done)
        if isinstance(box, Unbound):
            s.frames[level].env.pop(name, None)
        else:
            s.frames[level].env[name] = box
    settle_aliases(s, [((before,), after) for before, after in done.values()])


def _note_outputs(s: Machine, every: list[Slot], tag: Value | None) -> None:
    for slot in every:
        if slot.output is not None:
            note_laid_out(s, slot.output, slot.init, slot.final)
            if tag is not None and slot.final in s.partial:
                s.partial.add(slot.output)  # where the function has returned there is none
            if slot.param in s.active:
                s.active.add(slot.output)


def renamed(block: Block, names: dict[Value, Value]) -> Block:
    """The block with free values replaced."""
    return substitute(block, names)
