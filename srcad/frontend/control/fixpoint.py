"""Fixpoint iteration over the loop-carried variables of a loop.

The names that an iteration changes are carried.  A *header* says what each carried name is at the
start of an iteration: a box whose values become the parameters of the body.  The body is read with
a first guess (what the names are before the loop); where an iteration leaves something else, the
header is widened and the body read again.  A name that is not bound before the loop starts as
nothing, and reading it ends the path: so a second iteration sees what an earlier iteration has
left.

A sum of arrays that begins as 0 or None has a header of unknown shape.  After one iteration or more
it has the type that the first iteration leaves, if another one that begins with this type leaves it
again: the body is read once more with it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator

from srcad import errors
from srcad.frontend.branches.carried_memory import CarriedMemory, Key, Made, carried_leaves
from srcad.frontend.branches.conditional import settle_continue
from srcad.frontend.branches.joined_objects import settle_aliases
from srcad.frontend.branches.loop_header import (
    Same,
    assigned_names,
    has_no_shape,
    header,
    is_array_of_known_lengths,
    is_steady,
    loses_shape,
    subsumes,
    type_subsumes,
    widened,
    wider_header,
)
from srcad.frontend.branches.loop_variables import LoopVariable, loop_variables
from srcad.frontend.domain.frames import DEAD, Unreachable
from srcad.frontend.domain.representation import representing_type
from srcad.frontend.domain.structure import is_mutable, mutable_parts, parts_of_view, values_of
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    Code,
    Env,
    Stale,
    Structure,
    Unbound,
)
from srcad.frontend.machine.dispatch import evaluate
from srcad.frontend.machine.machine import Machine, fixpoint_seeds
from srcad.frontend.operations.definite_assignment import may_be_unbound, note_header
from srcad.frontend.outside.places import begins_empty, is_place, refuse_in_test
from srcad.frontend.store.cells import same_parts
from srcad.frontend.store.runtime_keys import tested
from srcad.ir.core import NONE, Atom, Block, Value
from srcad.ir.inference.builder import Builder
from srcad.startup.records import dataclass, field
from srcad.types.structures import Type

MOST_ITERATIONS = 12


Rows = list[tuple[tuple[AbstractValue, ...], AbstractValue]]


@dataclass(eq=False)
class Iteration:
    """The result of one interpretation of a loop body."""

    builder: Builder
    finals: list[dict[str, AbstractValue]]
    tag: Atom
    tags: frozenset[int]
    test: Block | None = None


@dataclass(eq=False)
class LoopReader:
    """Interprets one loop until its carried variables reach a fixpoint."""

    state: Machine
    node: ast.For | ast.While
    read: Callable[[], None]
    test: ast.expr | None = None
    headers: dict[Key, AbstractValue] = field(default_factory=dict)
    has_iterations: Callable[[], bool] = lambda: False  # certainly, perhaps by an assumption
    before: list[dict[str, AbstractValue]] = field(default_factory=list)
    memory: CarriedMemory = field(init=False)
    lasting: dict[Value, Type] = field(default_factory=dict)  # types after one iteration or more

    def settle(self) -> Iteration:
        """Interpret the body until the headers subsume the values after each iteration."""
        state = self.state
        self.before = state.snapshot()
        self.memory = CarriedMemory(state, self.before)
        level = len(state.frames) - 1
        names = assigned_names(self.node, state.frame)
        for name in names:
            self._carry((level, name))
        anchor = self.node.iter if isinstance(self.node, ast.For) else self.node.test
        known = fixpoint_seeds(state, anchor, "headers")
        self._expect(known)
        first: Iteration | None = None
        count = len(state.written_objects)
        for _ in range(MOST_ITERATIONS):
            del state.written_objects[count:]  # parameters of an earlier reading are no arrays
            iteration = self._once()
            first = first or iteration
            if self._stable(iteration, names):
                found = self._lasting_types(first)
                if found == self.lasting:
                    break
                self.lasting = found
        else:
            state.refuse(
                errors.UnsupportedTypeError,
                "the types in this loop do not settle",
                node=self.node,
                why="every further iteration makes another kind of value.",
                help=("give the loop's variables one kind before the loop",),
            )
        for key, box in self.headers.items():
            if isinstance(box, Value) and is_steady(box.type):
                known[key] = box.type, box in state.active
        return iteration

    def _lasting_types(self, first: Iteration) -> dict[Value, Type]:
        """Return the types of carried arrays after any iteration, where a header has no shape."""
        if self.lasting:
            return {p: t for p, t in self.lasting.items() if p in self.headers.values()}
        types: dict[Key, tuple[Value, Type]] = {}
        for (level, name), header_ in self.headers.items():
            end = first.finals[level].get(name, UNBOUND)
            if isinstance(header_, Value) and isinstance(end, Value) and has_no_shape(header_.type):
                type_ = representing_type(end)
                if is_array_of_known_lengths(type_):
                    types[level, name] = header_, type_
        if not types or not self.has_iterations():
            return {}
        again = self._once_from(types)
        return {
            header_: type_
            for (level, name), (header_, type_) in types.items()
            if _is_of_type(again.finals[level].get(name, UNBOUND), type_)
        }

    def _once_from(self, types: dict[Key, tuple[Value, Type]]) -> Iteration:
        """Interpret the body with headers of these types."""
        headers = dict(self.headers)
        for key, (known, type_) in types.items():
            narrow = Value(type_, known.hint)
            if known in self.state.active:
                self.state.active.add(narrow)
            self.memory.renewed(key, known, narrow, narrow)
            self.headers[key] = narrow
        count = len(self.state.written_objects)
        try:
            return self._once()
        finally:
            self.headers = headers
            del self.state.written_objects[count:]

    def _expect(self, ends: dict[Key, tuple[Type, bool]]) -> None:
        """Begin with the headers in which an earlier one has ended, where they are as wide."""
        state = self.state
        for key in ends:
            if key not in self.headers:
                self._carry(key)
        shared = Counter(map(id, self.headers.values()))
        for key, (type_, active) in ends.items():
            known = self.headers[key]
            if isinstance(known, Value) and loses_shape(known.type, type_):
                continue  # it begins as 0 there
            wider = wider_header(state, known, type_, active=active, hint=user_name(key[1]))
            if wider is not None and shared[id(known)] == 1:
                self.headers[key] = wider
                start = self.before[key[0]].get(key[1], UNBOUND)
                self.memory.renewed(key, known, wider, start)

    def _carry(self, key: Key) -> None:
        """Make a name loop-carried; its header is its value before the loop."""
        level, name = key
        start = self.before[level].get(name, UNBOUND)
        if isinstance(start, Unbound) and is_place(name) and not begins_empty(self.state, name):
            self.headers[key] = Stale(start, self.state.builder.where)
            return
        self.headers[key] = header(self.state, start, user_name(name), self.memory)

    def _open(self) -> None:
        """Bind the names as they are at the start of an iteration."""
        state = self.state
        state.restore(self.before)
        roots = self.memory.carried_roots(self.headers)
        for (level, name), box in self.headers.items():
            state.frames[level].env[name] = self.memory.opened(box, roots)
            note_header(state, self.before[level].get(name, UNBOUND), state.frames[level].env[name])
            if isinstance(box, Unbound):
                state.frames[level].env.pop(name)

    def _once(self) -> Iteration:
        state, frame = self.state, self.state.frame
        test = self._test() if self.test is not None else None
        exit_, tags = frame.exit, frame.tags
        frame.exit, frame.tags = NONE, frozenset({NONE})
        with state.block() as builder:
            self._open()
            try:
                self.read()
            except Unreachable:
                frame.ends(DEAD)
            tag = settle_continue(state)
        found = frozenset({frame.exit}) if isinstance(frame.exit, int) else frame.tags
        finals = state.snapshot()
        state.restore(self.before)
        frame.exit, frame.tags = exit_, tags
        return Iteration(builder, finals, tag, found, test)

    def _test(self) -> Block:
        assert self.test is not None
        count = self.state.outside.count
        with self.state.block() as builder, self.state.at(self.test):
            self._open()
            condition = self.state.atom(tested(self.state, evaluate(self.state, self.test)))
            if self.state.outside.count != count:
                refuse_in_test(self.state)
        return builder.finish(condition)

    def _stable(self, iteration: Iteration, names: list[str]) -> bool:
        """Return True if the headers subsume the values after the iteration; else widen them."""
        state, stable, same = self.state, True, Same()
        dead = iteration.tags == {DEAD}
        becomes_active = self._becomes_active(iteration)
        for level, final in enumerate(iteration.finals):
            for name in dict.fromkeys([*self.before[level], *final]):
                key = (level, name)
                start = self.headers.get(key, self.before[level].get(name, UNBOUND))
                end = final.get(name, UNBOUND)
                if end is start or dead:
                    continue
                if key not in self.headers:
                    local = level == len(iteration.finals) - 1 and name not in names
                    if local and isinstance(start, Unbound) and not name.startswith("%"):
                        continue
                    self._carry(key)
                    stable = False
                known = self.headers[key]
                if becomes_active and _is_of_unknown_shape(state, known, end):
                    stable = False  # it may be active, and of a known shape, in the next iteration
                elif not subsumes(state, known, end):
                    self.headers[key] = widened(state, known, end, user_name(name), same)
                    self.memory.renewed(key, known, self.headers[key], end)
                    stable = stable and self._is_bound_first(key, known, end)
        if dead:
            return stable
        stable = stable and self._memory_holds(iteration)
        return self._keeps_objects(iteration) and stable

    def _becomes_active(self, iteration: Iteration) -> bool:
        """Return True if an inactive header is active at the end of the loop body."""
        active = self.state.active
        return any(
            isinstance(header_, Value) and header_ not in active and end in active
            for (level, name), header_ in self.headers.items()
            if isinstance(end := iteration.finals[level].get(name), Value)
        )

    def _is_bound_first(self, key: Key, known: AbstractValue, end: AbstractValue) -> bool:
        """Return True if every iteration assigns the name before reading it."""
        state, (level, name) = self.state, key
        if (
            not isinstance(known, Unbound)
            or name.startswith("%")
            or name in state.frames[level].missed
        ):
            return False
        values = values_of(end) if isinstance(end, Value | Structure | Code) else ()
        sure = not any(v in state.partial or may_be_unbound(state, v) for v in values)
        return sure and not list(mutable_parts(end))

    def _keeps_objects(self, iteration: Iteration) -> bool:
        """Return True if every object of the headers is one object before and after the body."""
        rows: Rows = []
        ends: dict[int, AbstractValue] = {}
        for level, final in enumerate(iteration.finals):
            for name in dict.fromkeys([*self.before[level], *final]):
                start, end = self.before[level].get(name, UNBOUND), final.get(name, UNBOUND)
                known = self.headers.get((level, name))
                if known is None:
                    rows += [((part, part), part) for part in mutable_parts(start)]
                else:
                    rows += objects(start, end, known)
        if self._forget_first_bindings(rows, iteration.finals):
            return False
        for (start, end), known in rows:
            if ends.setdefault(id(known), end) is not end and is_mutable(end):
                self.memory.apart.add(id(start))
                for key in self.headers:
                    self._carry(key)
                return False
        return not settle_aliases(self.state, rows)

    def _memory_holds(self, iteration: Iteration) -> bool:
        """Return True if an iteration keeps the assumed memory; otherwise assume less."""
        wrong = self.memory.wrong(self.headers, iteration.finals)
        made: Made = {}
        for key, box in self.headers.items():
            if any(leaf in wrong for leaf in carried_leaves(box)):
                end = iteration.finals[key[0]].get(key[1], UNBOUND)
                self.headers[key] = self.memory.weakened(key, box, end, wrong, made)
        return not wrong

    def _forget_first_bindings(self, rows: Rows, finals: list[Env]) -> bool:
        """Check that a name that the body binds to a shared object is not read before."""
        changed = False
        for (level, name), known in self.headers.items():
            if self.before[level].get(name, UNBOUND) is not UNBOUND or isinstance(known, Stale):
                continue
            end = finals[level].get(name, UNBOUND)
            if _shares(rows, end):
                self.headers[level, name] = Stale(end, self.state.builder.where)
                changed = True
        return changed

    def carried(self, iteration: Iteration) -> Iterator[tuple[Key, list[LoopVariable]]]:
        """Yield the variables of each carried name, with initial and next values."""
        for (level, name), box in self.headers.items():
            start = self.before[level].get(name, UNBOUND)
            end = iteration.finals[level].get(name, UNBOUND)
            yield (level, name), loop_variables(self.state, box, start, end, iteration.builder)


def _is_of_type(box: AbstractValue, type_: Type) -> bool:
    return isinstance(box, Value) and type_subsumes(type_, representing_type(box))


def _shares(rows: Rows, box: AbstractValue) -> bool:
    """Return True if an object in a box goes by another name that is there before the loop."""
    others = {id(end) for (start, end), _ in rows if not isinstance(start, Unbound)}
    return any(id(part) in others for part in mutable_parts(box))


def objects(
    start: AbstractValue, end: AbstractValue, known: AbstractValue
) -> Iterator[tuple[tuple[AbstractValue, ...], AbstractValue]]:
    """Yield the objects in a header, each before the loop and after an iteration."""
    if is_mutable(known):
        yield (start, end), known
    if isinstance(known, Structure | Code):
        for k, part in enumerate(parts_of_view(known)):
            yield from objects(_part(start, known, k), _part(end, known, k), part)


def _part(box: AbstractValue, known: AbstractValue, k: int) -> AbstractValue:
    return parts_of_view(box)[k] if same_parts(box, known) else UNBOUND


def user_name(name: str) -> str | None:
    """Return the name as a hint, unless it is one of the reader's own."""
    return None if name.startswith("%") else name


def _is_of_unknown_shape(state: Machine, known: AbstractValue, end: AbstractValue) -> bool:
    """Return True if an inactive array is assigned an inactive value of unknown shape."""
    if not isinstance(known, Value) or not isinstance(end, Value):
        return False
    return loses_shape(known.type, end.type) and state.active.isdisjoint((known, end))
