"""Whose memory the carried names of a loop are, at the start of every iteration.

A carried array begins an iteration as one of three things.  *Exact*: a version of the array that it
was before the loop.  *Own*: an array that no other name shares; which one may differ from iteration
to iteration (``u, un = un, u``), and `Machine.began` has those from outside the function among
them.  *Any*: one of several arrays, perhaps also that of another name.  A view of a carried array
is not carried: it is taken anew at the start of every iteration (`Taken`).

The first guess is `own` where no other name shares the array, else `exact`; where an iteration
leaves something else the guess is weakened, and the body read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from srcad.frontend.branches.loop_variables import LoopVariable
from srcad.frontend.domain.memory import Either, Origin
from srcad.frontend.domain.structure import components, parts_of_view, with_parts
from srcad.frontend.domain.values import AbstractValue, Code, Env, RepeatedView, Structure
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.cells import same_parts
from srcad.frontend.store.known_layout import layout
from srcad.frontend.store.origins import inner_values, note_layout_of, origin, realised
from srcad.frontend.store.ownership import is_captured, is_held_outside, with_beginnings
from srcad.ir.core import Value
from srcad.ir.memory import has_storage
from srcad.startup.records import dataclass, field
from srcad.types.structures import OPAQUE

# The carried values and views in a header.

Leaf = Value | RepeatedView


def carried_leaves(box: AbstractValue) -> Iterator[Leaf]:
    """Yield the carried values and views of a header."""
    if isinstance(box, Value | RepeatedView):
        yield box
    elif isinstance(box, Structure | Code):
        for item in parts_of_view(box):
            yield from carried_leaves(item)


def pairs(header: AbstractValue, other: AbstractValue) -> Iterator[tuple[Leaf, AbstractValue]]:
    """Yield the leaves of a header, each with what stands in its place in another box."""
    if isinstance(header, Value | RepeatedView):
        yield header, other
    elif isinstance(header, Structure | Code):
        same = _alike(header, other)
        for k, item in enumerate(parts_of_view(header)):
            yield from pairs(item, parts_of_view(other)[k] if same else other)


def _alike(a: Structure | Code, b: AbstractValue) -> bool:
    if isinstance(a, Structure):
        return isinstance(b, Structure) and len(a.items) == len(b.items)
    return same_parts(a, b)


Key = tuple[int, str]


Made = dict[tuple[AbstractValue, int], AbstractValue]


EXACT, OWN, ANY = "exact", "own", "any"


@dataclass(eq=False)
class CarriedMemory:
    """Assumptions about the memory of a loop's carried names."""

    state: Machine
    before: list[Env]
    modes: dict[Value, str] = field(default_factory=dict)
    known: dict[int, tuple[AbstractValue, AbstractValue]] = field(default_factory=dict)
    mixed: Value = field(default_factory=lambda: Value(OPAQUE, "mixed"))
    outer: set[Value] = field(default_factory=set)
    counts: Counter[Value] = field(default_factory=Counter)
    structures: Counter[int] = field(default_factory=Counter)
    roots: dict[Value, Value] = field(default_factory=dict)
    apart: set[int] = field(default_factory=set)
    foreign: Value | None = None

    def __post_init__(self) -> None:
        for env in self.before:
            for box in env.values():
                self._note_structures(box)
                for value in inner_values(box):
                    self._note_outer(value)

    def _note_structures(self, box: AbstractValue) -> None:
        if isinstance(box, Structure):
            self.structures[id(box)] += 1
        for part in components(box):
            self._note_structures(part)

    def _note_outer(self, value: Value) -> None:
        found = origin(self.state, value)
        self.outer |= found.everything
        self.counts.update(found.everything)
        if found.steps == () and found.objects:
            self.roots[next(iter(found.objects))] = value

    # ------------------------------------------------------------------------- first guesses
    def header(self, start: AbstractValue) -> AbstractValue | None:
        """Return the header of a value whose memory another carried name shows too, or a view."""
        if id(start) in self.known and id(start) not in self.apart:
            return self.known[id(start)][1]
        if isinstance(start, Value):
            found = origin(self.state, start)
            if found.is_exact and found.steps:
                (object_,) = found.objects
                if object_ in self.roots:
                    return RepeatedView(self.roots[object_], found.steps, start)
        return None

    def note(self, start: AbstractValue, header: AbstractValue) -> None:
        """Note the first guess for a name that starts as `start`."""
        if isinstance(start, Value) and isinstance(header, Value):
            if not has_storage(start):
                return
            found = origin(self.state, start)
            mode = OWN if self._is_alone(found.objects) else EXACT
            self._assume(header, mode, found)
            note_layout_of(self.state, header, start)
            self.known[id(start)] = (start, header)
        elif isinstance(start, Structure | Code) and isinstance(header, Structure | Code):
            self.known[id(start)] = (start, header)

    def _is_alone(self, objects: frozenset[Value]) -> bool:
        """Return True if only one name shows any of these arrays before the loop."""
        return sum(self.counts[o] for o in objects) <= 1

    def _assume(self, param: Value, mode: str, found: Origin) -> None:
        self.modes[param] = mode
        holds = found.holds & self._tokens()
        if found.holds:
            holds |= {self.mixed}
        if mode == OWN:
            self.state.origins[param] = Origin(frozenset({param}), (), holds)
            began = with_beginnings(self.state, found.objects)
            self.state.began[param] = began.difference(self.modes)  # not an earlier parameter
        elif mode == EXACT:
            self.state.origins[param] = Origin(found.objects, found.steps, holds)
        else:
            objects = self._lasting(found.objects) | {self.mixed}
            self.state.origins[param] = Origin(objects, None, holds)

    def _tokens(self) -> set[Value]:
        """Return the arrays that are there when an iteration starts."""
        return self.outer | set(self.modes) | {self.mixed}

    def _lasting(self, objects: frozenset[Value]) -> frozenset[Value]:
        """Return the arrays that are there when the next iteration starts, under other names too.

        An array from outside the function has no name before the loop if the body reads it first.
        """
        return (objects & self._tokens()) | self._held_outside(objects)

    def _held_outside(self, objects: frozenset[Value]) -> frozenset[Value]:
        """Return the arrays owned outside the function among these and their earlier versions."""
        every = with_beginnings(self.state, objects)
        held = {one for one in every if is_held_outside(self.state, one)}
        lasting = {one for one in held if one in self.outer or is_captured(self.state, one)}
        if held > lasting:  # made by each iteration anew: one stands for all
            self.foreign = self.foreign or next(iter(held - lasting))
            self.state.inactive.unknown.add(self.foreign)
            lasting.add(self.foreign)
        return frozenset(lasting)

    # ------------------------------------------------------------------------------- trips
    def opened(self, header: AbstractValue, roots: dict[Value, Value]) -> AbstractValue:
        """Return the value of a name at the start of an iteration.

        `roots` are the carried arrays.
        """
        if isinstance(header, RepeatedView):
            root = roots.get(header.root, header.root)
            header.now = origin(self.state, root).objects
            return realised(self.state, root, header.steps, header.start.hint)
        if isinstance(header, Structure | Code) and any(
            isinstance(x, RepeatedView) for x in carried_leaves(header)
        ):
            return with_parts(header, tuple(self.opened(p, roots) for p in parts_of_view(header)))
        return header

    def carried_roots(self, headers: dict[Key, AbstractValue]) -> dict[Value, Value]:
        """Return the parameter of every carried array, by the value that it was before the loop."""
        found: dict[Value, Value] = {}
        for (level, name), header in headers.items():
            start = self.before[level].get(name)
            if start is not None:
                for leaf, box in pairs(header, start):
                    if isinstance(leaf, Value) and isinstance(box, Value):
                        found[box] = leaf
        return found

    # --------------------------------------------------------------------------- settling
    def wrong(self, headers: dict[Key, AbstractValue], finals: list[Env]) -> set[Leaf]:
        """Return the leaves with other memory at the end of an iteration than was assumed."""
        ends = list(self._ends(headers, finals))
        found = {leaf for leaf, box in ends if not self._holds(leaf, box)}
        found |= self._split(ends)
        others = {
            o for v in self._others(headers, finals) for o in origin(self.state, v).everything
        }
        shown: dict[Value, set[Value]] = {}
        for leaf, box in ends:
            if isinstance(leaf, Value):
                for o in self._objects(box):
                    shown.setdefault(o, set()).add(leaf)
        for leaf, box in ends:
            if isinstance(leaf, Value) and self.modes.get(leaf) == OWN:
                objects = {o for v in inner_values(box) for o in origin(self.state, v).objects}
                if not objects.isdisjoint(others) or any(shown[o] != {leaf} for o in objects):
                    found.add(leaf)
        return found

    def _ends(
        self, headers: dict[Key, AbstractValue], finals: list[Env]
    ) -> Iterator[tuple[Leaf, AbstractValue]]:
        for (level, name), header in headers.items():
            end = finals[level].get(name)
            if end is not None:
                yield from pairs(header, end)

    def _others(self, headers: dict[Key, AbstractValue], finals: list[Env]) -> Iterator[Value]:
        """Yield the values of names that are there before the loop and not carried."""
        for level, env in enumerate(self.before):
            for name in env:
                if (level, name) not in headers and name in finals[level]:
                    yield from inner_values(finals[level][name])

    def _objects(self, box: AbstractValue) -> frozenset[Value]:
        return frozenset().union(*(origin(self.state, v).everything for v in inner_values(box)))

    def _split(self, ends: list[tuple[Leaf, AbstractValue]]) -> set[Leaf]:
        """Return the parameters of several names that an iteration leaves as different arrays."""
        first: dict[Leaf, AbstractValue] = {}
        found: set[Leaf] = set()
        for leaf, box in ends:
            if first.setdefault(leaf, box) is not box:
                found.add(leaf)
        return found

    def _holds(self, leaf: Leaf, end: AbstractValue) -> bool:
        if isinstance(leaf, RepeatedView):
            if not isinstance(end, Value):
                return False
            found = origin(self.state, end)
            return found.steps == leaf.steps and found.objects == leaf.now
        mode = self.modes.get(leaf)
        if mode is None:
            return not has_storage(leaf) or not self._objects(end)
        if mode == ANY:
            return self._lasting(self._objects(end)) <= origin(self.state, leaf).everything
        if not isinstance(end, Value):
            return not self._objects(end)
        found, guess = origin(self.state, end), origin(self.state, leaf)
        if found.holds & self._tokens() > guess.holds or (found.holds and not guess.holds):
            return False
        if mode == OWN:
            if not self._held_outside(found.objects) <= self.state.began[leaf]:
                return False
            asked = self.state.layouts.get(leaf)
            return asked is None or layout(self.state, end) == asked
        return (found.objects, found.steps) == (guess.objects, guess.steps)

    def weakened(
        self, key: Key, header: AbstractValue, end: AbstractValue, wrong: set[Leaf], made: Made
    ) -> AbstractValue:
        """Return the header with the next weaker guess for what was wrong.

        `made` are the new guesses so far: what has several names stays one object.
        """
        start = self.before[key[0]].get(key[1])
        firsts = dict(pairs(header, start)) if start is not None else {}

        def change(box: AbstractValue, at_end: AbstractValue) -> AbstractValue:
            if (box, id(at_end)) in made:
                return made[box, id(at_end)]
            if isinstance(box, Structure | Code):
                parts, same = parts_of_view(box), _alike(box, at_end)
                items = tuple(
                    change(part, parts_of_view(at_end)[k] if same else at_end)
                    for k, part in enumerate(parts)
                )
                same = all(a is b for a, b in zip(items, parts, strict=True))
                made[box, id(at_end)] = box if same else with_parts(box, items)
                return made[box, id(at_end)]
            if not isinstance(box, Value | RepeatedView) or box not in wrong:
                return box
            first = firsts.get(box)
            mode, found = self._weaker(box, at_end, first)
            like = box if isinstance(box, Value) else box.start
            param = Value(like.type, like.hint)
            if like in self.state.active:
                self.state.active.add(param)
            self._assume(param, mode, found)
            made[box, id(at_end)] = param
            return param

        return change(header, end)

    def _weaker(
        self, leaf: Leaf, end: AbstractValue, first: AbstractValue | None
    ) -> tuple[str, Origin]:
        """Return the next weaker guess for a leaf."""
        ends = [origin(self.state, v) for v in inner_values(end)]
        starts = [] if first is None else [origin(self.state, v) for v in inner_values(first)]
        objects = frozenset().union(*(o.objects for o in (*ends, *starts)))
        holds = frozenset().union(*(o.holds for o in (*ends, *starts)))
        mode = self.modes.get(leaf, ANY) if isinstance(leaf, Value) else ANY
        if mode != ANY and isinstance(leaf, Value) and isinstance(end, Value):
            guess = origin(self.state, leaf)
            if holds and not guess.holds:
                return mode, Origin(guess.objects, guess.steps, holds | guess.holds)
            if mode == OWN and not self._held_outside(objects) <= self.state.began[leaf]:
                return OWN, Origin(objects | self.state.began[leaf], None, holds)
        everything = objects | holds
        if mode == EXACT and self._is_alone(everything & self.outer):
            return OWN, Origin(objects, None, holds)
        return ANY, Origin(everything, None, holds)

    def renewed(self, key: Key, old: AbstractValue, new: AbstractValue, end: AbstractValue) -> None:
        """Begin the new parameters of a widened header with what was assumed."""
        start = self.before[key[0]].get(key[1])
        alone = self.structures[id(start)] == 1
        before = [leaf for leaf in carried_leaves(old) if isinstance(leaf, Value)]
        for leaf, box in pairs(new, end):
            if isinstance(leaf, Value) and leaf not in self.modes and has_storage(leaf):
                if len(before) == 1 and isinstance(new, Value):
                    mode = self.modes.get(before[0], OWN)
                    self._assume(leaf, mode, origin(self.state, before[0]))
                    continue
                objects = self._objects(box).union(*(origin(self.state, v).objects for v in before))
                if alone and isinstance(old, Structure) and isinstance(new, Value):
                    self._assume(leaf, OWN, Origin(objects, (), objects))  # a list that has grown
                    continue
                self._assume(leaf, ANY if before else OWN, Origin(objects, None))

    def after(self, outputs: dict[Value, Value]) -> None:
        """Record the memory of the loop's results."""
        state = self.state
        places = {p: frozenset({o}) for p, o in outputs.items() if self.modes.get(p) == OWN}
        for param, output in outputs.items():
            mode = self.modes.get(param)
            if mode is not None:
                found = origin(state, param)
                moved = [
                    frozenset().union(*(places.get(o, frozenset({o})) for o in objects))
                    for objects in (found.objects, found.holds)
                ]
                state.origins[output] = Origin(moved[0], found.steps, moved[1])
                if param in state.began:
                    state.began[output] = state.began[param]

    def is_rebound_each_iteration(self, variable: LoopVariable, finals: list[Env]) -> bool:
        """Return True if every iteration makes a new array for a name."""
        if self.modes.get(variable.param) != ANY or not isinstance(variable.final, Value):
            return False
        found = origin(self.state, variable.final)
        if not found.is_exact or not found.objects.isdisjoint(self._tokens()):
            return False
        shown = [v for env in finals for box in env.values() for v in inner_values(box)]
        return (
            all(
                v is variable.final or origin(self.state, v).everything.isdisjoint(found.objects)
                for v in shown
            )
            and sum(v is variable.final for v in shown) == 1
        )

    def before_or_after(self, variable: LoopVariable, no_trip: Value) -> Either:
        """Return the value of such a name after the loop: the one before, or a new array."""
        state, output = self.state, variable.output
        assert output is not None
        made = Value(output.type, output.hint)
        state.origins[made] = Origin(frozenset({made}))
        state.made_in_loops.append(made)
        before = (
            origin(state, variable.init).everything
            if isinstance(variable.init, Value)
            else frozenset()
        )
        state.origins[output] = Origin(before | {made}, None)
        return Either(no_trip, variable.init, made)
