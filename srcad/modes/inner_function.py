"""A function that is called through a derivative inside a function that is read.

It is read into a block of its own, whose parameters are the arguments to differentiate by;
everything else that it names is simply in scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from srcad import errors, runtime
from srcad.analysis.opaque_results import refuse_uses
from srcad.arguments.request import Request
from srcad.frontend.domain.frames import InPlaceNeeded, Unreachable
from srcad.frontend.domain.memory import Origin
from srcad.frontend.domain.structure import (
    Done,
    is_mutable,
    mapped,
    mutable_parts,
    rebuilt,
    values_of,
)
from srcad.frontend.domain.values import (
    AbstractValue,
    AttributesValue,
    Constant,
    RecordValue,
    Stale,
    Structure,
    TupleValue,
    ViewValue,
)
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.attributes import read_attribute
from srcad.frontend.prelude.containers import Mapping as ReadMapping
from srcad.frontend.store.origins import inner_values, may_be_array, origin
from srcad.frontend.store.ownership import with_beginnings
from srcad.frontend.store.structures import is_of_library
from srcad.ir.core import Atom, Block, Call, Function, Op, Value, free_values
from srcad.ir.inference.builder import Builder
from srcad.ir.memory import has_storage
from srcad.ir.substitute import substituted_block
from srcad.modes import nested_wrt
from srcad.modes.nested_wrt import Key
from srcad.startup.records import is_record
from srcad.transforms.vjp import stamped_ops
from srcad.types.numeric import Numeric
from srcad.types.objects import attributes
from srcad.types.structures import ListOf


def _by_attributes(
    state: Machine, box: AbstractValue, around: tuple[object, ...] = ()
) -> AbstractValue:
    """Return an object of which the outer derivative needs nothing as a record of its numbers."""
    held = attributes(box.value) if isinstance(box, Constant) else None
    if held is None or not isinstance(box, Constant) or any(box.value is one for one in around):
        return box
    if box.path is not None and hasattr(box.value, "__dict__"):
        state.guard((*box.path, ("attr", "__dict__")), "keys", [*vars(box.value)])
    around = (*around, box.value)
    read = (read_attribute(state, box, name) for name in held[0])
    parts = tuple(_by_attributes(state, part, around) for part in read)
    return RecordValue(type(box.value), held[0], parts)


# Writes of an inner differentiated call into its arguments.
#
# A derivative leaves its arguments alone, as a gradient leaves those of its caller: arrays,
# lists, dicts and data classes that the function writes into are others than those that were
# passed. So each must go by one name only: where another argument, or the function itself, may
# know it by another one, the call is refused. Other objects are written into, as they are by a
# plain gradient.

Pair = tuple[AbstractValue, AbstractValue]


class InnerWrites:
    """The arguments of a call as they were passed, and as the function sees them.

    Attributes
    ----------
    boxes, params
        What was passed, and the parameters that stand for what is differentiated by.
    inner
        What the function sees; the first `count` ops of its block make that.
    """

    def __init__(
        self, state: Machine, boxes: Mapping[Key, AbstractValue], params: Mapping[Key, Value]
    ) -> None:
        self.state, self.boxes, self.params = state, boxes, params
        self.names, self.objects = state.snapshot(), state.objects.copy()
        self.start = len(state.written_objects), len(state.written)
        self.copied: list[AbstractValue] = []
        self.hidden: list[AbstractValue] = []

    def given(self) -> dict[Key, AbstractValue]:
        """Make what the function sees, at the start of its block."""
        state, done = self.state, Done()
        boxes = {k: _copied(state, box, self.copied, done) for k, box in self.boxes.items()}
        self.count = len(state.builder.ops)
        self.inner = boxes | {k: state.box(param) for k, param in self.params.items()}
        return self.inner

    def is_to_be_read_again(self) -> bool:
        """Return True if anything that was passed was written into.

        If so, take back what was read.
        """
        state, arrays, self.hidden = self.state, self._written(), [*self._objects()]
        shared = [a for a, b in self._pairs() if a is b]
        self.copied = [a for a in shared if _is_hit(state, a, arrays) or _is_one_of(a, self.hidden)]
        if not self.hidden and not self.copied:
            return False
        state.restore(self.names)
        state.objects = self.objects.copy()
        del state.written_objects[self.start[0] :], state.written[self.start[1] :]
        return True

    @contextmanager
    def hiding(self, function: AbstractValue) -> Iterator[AbstractValue]:
        """Hide the arguments that are written into; yields the function without them."""
        if not self.hidden:
            yield function
            return
        state = self.state
        marks = [(box, Stale(box, state.builder.where)) for box in self.hidden]
        done: Done = {id(box): (box, mark) for box, mark in marks}
        for frame in state.frames:
            frame.env = {name: mapped(box, _nothing, done) for name, box in frame.env.items()}
        yield mapped(function, _nothing, done)
        back: Done = {id(new): (new, old) for old, new in done.values() if new is not old}
        for frame in state.frames:
            frame.env = {name: mapped(box, _nothing, back) for name, box in frame.env.items()}

    # ------------------------------------------------------------------ the check
    def check(self, name: str, block: Block) -> None:
        """Refuse writes into what is outside, and into what goes by several names."""
        state, arrays, objects = self.state, self._written(), [*self._objects()]
        if not arrays and not objects:
            return
        if arrays & self._outside():
            state.refuse(
                errors.MutationError,
                "cannot write into an array from outside the differentiated function",
                why="it would change with every gradient.",
                help=("write into a copy:  y = y.copy()", "or pass the array as an argument"),
            )
        own = {*self.params.values(), *(v for op in block.ops[: self.count] for v in op.results)}
        inside = free_values(Block((), block.ops[self.count :], ()))
        read = [v for v in dict.fromkeys(inside) if v not in own]
        self._check_objects(name, objects, read)
        leaves = [(a, b) for a, b in self._pairs() if not _has_pairs(a, b)]
        given = [(v, _is_hit(state, b, arrays)) for a, b in leaves for v in inner_values(a)]
        for k, (one, is_hit) in enumerate(given):
            if is_hit and not (isinstance(one.type, Numeric) and not may_be_array(one)):
                others = [v for v, _ in (*given[:k], *given[k + 1 :])]
                self._compare(name, one, [*others, *read])

    def note_shared(self, kept: Sequence[Value]) -> None:
        """Note that what is kept of the arguments is who they are, if they were not copied."""
        state, arrays = self.state, self._written()
        for a, b in self._pairs() if kept else ():
            if a is b or _has_pairs(a, b) or not isinstance(b, Value) or _is_hit(state, b, arrays):
                continue
            there = frozenset().union(*(origin(state, v).everything for v in inner_values(a)))
            for value in kept:
                known = origin(state, value)
                if not known.everything.isdisjoint(origin(state, b).everything):
                    state.origins[value] = Origin(known.everything | there, None)

    def _check_objects(
        self, name: str, objects: Sequence[AbstractValue], read: Sequence[Value]
    ) -> None:
        """Refuse a list, dict or object that is written into and goes by another name, too."""
        state = self.state
        parts = [part for box in self.boxes.values() for part in mutable_parts(box)]
        for one in objects:
            shown = origin(state, one).objects if isinstance(one, Value) else frozenset()
            others = [v for v in (*parts, *read) if isinstance(v, Value) and v is not one]
            known = sum(part is one for part in parts) > 1 or _is_one_of(one, read)
            if (
                known
                or not _is_one_of(one, self.hidden)
                or any(origin(state, v).everything & shown for v in others)
            ):
                _refuse(state, name, "goes by another name, too")

    def _compare(self, name: str, one: Value, others: Sequence[Value]) -> None:
        state = self.state
        several = [v for v in others if may_be_array(v) or not isinstance(v.type, Numeric)]
        laid = any(key.startswith("%base") for frame in state.frames for key in frame.env)
        for other in several:
            common = origin(state, one).everything & origin(state, other).everything
            if other is one or (laid and common):
                _refuse(state, name)
        if several or isinstance(one.type, ListOf):
            state.emit(runtime.check_separate_memory, one, *several, effect=True)

    # ------------------------------------------------------------------ what was written into
    def _pairs(self) -> Iterator[Pair]:
        """Yield the parts of an argument, each beside the part that the function sees."""
        for key, box in self.boxes.items():
            yield from _pairs(box, self.inner[key])

    def _written(self) -> frozenset[Value]:
        return with_beginnings(self.state, frozenset(self.state.written_objects[self.start[0] :]))

    def _objects(self) -> Iterator[AbstractValue]:
        """Yield the containers and objects that were passed, and others that were written."""
        changed = self.state.written[self.start[1] :]
        for a, b in self._pairs():
            if _is_one_of(b, changed) and _keeps_its_value(a, b):
                yield from (a,) if _has_pairs(a, b) else mutable_parts(a)

    def _outside(self) -> frozenset[Value]:
        held = frozenset(self._held())
        return with_beginnings(self.state, held) - frozenset(self.params.values())

    def _held(self) -> Iterator[Value]:
        boxes = [box for env in self.names for box in env.values()]
        for box in [*boxes, *self.boxes.values()]:
            for value in inner_values(box):
                yield from origin(self.state, value).everything


def _pairs(outer: AbstractValue, inner: AbstractValue) -> Iterator[Pair]:
    yield outer, inner
    if _has_pairs(outer, inner):
        assert isinstance(outer, Structure)
        assert isinstance(inner, Structure)
        for a, b in zip(outer.items, inner.items, strict=True):
            yield from _pairs(a, b)


def _has_pairs(outer: AbstractValue, inner: AbstractValue) -> bool:
    """Return True if two boxes are the same structure, other than a written object."""
    if not isinstance(outer, Structure) or type(outer) is not type(inner):
        return False
    alike = len(outer.items) == len(inner.items)
    return alike and (outer is not inner or _has_copies(outer))


def _keeps_its_value(outer: AbstractValue, inner: AbstractValue) -> bool:
    """Return True if an object that the function writes into stays as it was for who passed it."""
    kept = outer is not inner or isinstance(outer, Value) or _has_copies(outer)
    return kept and is_mutable(outer)


def _has_copies(box: AbstractValue) -> bool:
    """Return True if a derivative has its own structure in place of a written one."""
    if isinstance(box, RecordValue):
        return is_record(box.cls) or issubclass(box.cls, tuple) or is_of_library(box)
    return isinstance(box, Structure) and not isinstance(box, ViewValue | AttributesValue)


def _is_one_of(box: AbstractValue, boxes: Sequence[AbstractValue]) -> bool:
    return any(box is one for one in boxes)


def _is_hit(state: Machine, box: AbstractValue, written: frozenset[Value]) -> bool:
    return isinstance(box, Value) and not written.isdisjoint(origin(state, box).everything)


def _nothing(_: AbstractValue) -> None:
    """Leave a part as it is."""


def _copied(
    state: Machine, box: AbstractValue, parts: Sequence[AbstractValue], done: Done
) -> AbstractValue:
    """Return the same, with copies of some parts."""
    if id(box) not in done:
        done[id(box)] = box, _copy(state, box, parts, done)
    return done[id(box)][1]


def _copy(
    state: Machine, box: AbstractValue, parts: Sequence[AbstractValue], done: Done
) -> AbstractValue:
    if isinstance(box, Structure) and _has_copies(box):
        items = tuple(_copied(state, item, parts, done) for item in box.items)
        same = all(a is b for a, b in zip(items, box.items, strict=True))
        return box if same and not _is_one_of(box, parts) else rebuilt(box, items)
    if not isinstance(box, Value) or not _is_one_of(box, parts):
        return box
    if may_be_array(box):
        return state.emit(np.copy, box, hint=box.hint)
    own = state.builder.identity(
        box, type=box.type, hint=box.hint
    )  # what is written is a new version
    if box in state.active:
        state.active.add(own)
    return own


def _refuse(
    state: Machine, name: str, problem: str = "shares memory with another array"
) -> NoReturn:
    state.refuse(
        errors.MutationError,
        f"{name!r} writes into an argument that {problem}",
        why="the write would have to be seen there, too.",
        help=("pass a copy of it:  copy.deepcopy(x)",)
        if "name" in problem
        else ("pass a copy of it:  x.copy()",),
    )


class InnerFunction:
    """A function that was read into a block; its derivative is written into the outer one.

    Attributes
    ----------
    boxes
        All arguments, by position or name.
    atoms, params
        The arguments that it is differentiated by, and the parameters that stand for them.
    result, y, aux
        What it returns; the part of that which is differentiated, and the part which is not.
    value : atom
        `y`, as one value.
    kept : sequence of Value
        Values made inside that something outside has come to hold (the aux, names, lists).
    """

    def __init__(
        self,
        state: Machine,
        request: Request,
        function: AbstractValue,
        args: tuple[AbstractValue, ...],
        kwargs: dict[str, AbstractValue],
        places: Sequence[nested_wrt.Key],
    ) -> None:
        self.state = state
        if (
            state.helpers is not None and state.helpers.kept
        ):  # pairs of pairs are right, and nobody can read them
            raise InPlaceNeeded
        boxes: dict[nested_wrt.Key, AbstractValue] = dict(enumerate(args))
        boxes.update(kwargs.items())
        boxes.update((place, _by_attributes(state, boxes[place])) for place in places)
        self.boxes = boxes
        state.use_as_number(*(boxes[place] for place in places))
        self.atoms = [state.atom(boxes[place]) for place in places]
        self.params = [_parameter(a, place) for a, place in zip(self.atoms, places, strict=True)]
        state.active.update(self.params)
        writes = InnerWrites(state, boxes, dict(zip(places, self.params, strict=True)))
        returns = self._read(request, function, writes, len(args))
        if writes.is_to_be_read_again():
            with writes.hiding(function) as hidden:
                returns = self._read(request, hidden, writes, len(args))
        self.name = nested_wrt.name_of_box(function)
        body = Block((), tuple(self.builder.ops), ())
        writes.check(self.name, body)
        if not returns:
            arguments: dict[Value, Atom] = dict(zip(self.params, self.atoms, strict=True))
            append_ops(state, substituted_block(body, arguments).ops)
            raise Unreachable
        writes.note_shared(self.kept)

    def _read(
        self, request: Request, function: AbstractValue, writes: InnerWrites, count: int
    ) -> bool:
        """Read a call of the function; return False if every path through it raises."""
        state = self.state
        with state.block() as self.builder:
            given = writes.given()
            named = {k: box for k, box in given.items() if isinstance(k, str)}
            try:
                self.result = apply(state, function, tuple(given[k] for k in range(count)), named)
            except Unreachable:
                return False
            self.y, self.aux = self._split(request)
            self.value = state.atom(self.y)
            self.kept = self._escaping()
        return True

    def _split(self, request: Request) -> tuple[AbstractValue, AbstractValue | None]:
        if not request.has_aux:
            return self.result, None
        if isinstance(self.result, TupleValue) and len(self.result.items) == 2:
            return self.result.items
        return self.state.refuse(
            errors.NonScalarOutputError,
            "has_aux=True needs a function that returns a pair",
            help=("return the differentiated part and the rest:  return y, aux",),
        )

    def _escaping(self) -> list[Value]:
        made = {*self.params, *(v for op in self.builder.ops for v in op.results)}
        boxes = [box for _, box in self.state.reachable()]
        held = [*boxes, self.y, *([] if self.aux is None else [self.aux])]
        found = [v for b in held for v in values_of(b) if v in made]
        return list(dict.fromkeys(v for v in found if v is not self.value))

    # -------------------------------------------------------------- as a function of the IR
    def with_pair(self) -> Function:
        """Return the function with the value as its result, or with a pair of it and all kept."""
        if not self.kept:
            return self._function(self.builder.ops, (self.value,))
        builder = Builder(ops=list(self.builder.ops), where=self.state.builder.where)
        pair = builder.build_tuple(self.value, builder.build_tuple(*self.kept))
        return self._function(builder.ops, (pair,))

    def with_all(self) -> Function:
        """Return the function with the value and all that is kept as its results."""
        return self._function(self.builder.ops, (self.value, *self.kept))

    def _function(self, ops: Sequence[Op], results: tuple[Atom, ...]) -> Function:
        block = Block((), tuple(ops), results)
        refuse_uses(self.state.inactive, block)
        return Function(self.name, tuple(self.params), block, self.state.builder.where)

    # -------------------------------------------------------------- written into the outer block
    def write(self, made: Function, given: Mapping[Value, Atom] | None = None) -> Block:
        """Append the ops of what was made of the function; `given` are its further parameters."""
        mapping: dict[Value, Atom] = dict(zip(self.params, self.atoms, strict=True))
        block = substituted_block(made.block, {**mapping, **(given or {})})
        append_ops(self.state, block.ops)
        return block

    def rename_pair(self, block: Block) -> None:
        """Let what is held go by its names, where the derived function has others for it."""
        found = [block.results[0]]
        if self.kept:
            found, kept = (_parts(block, atom) for atom in (found[0], _parts(block, found[0])[1]))
            found = [found[0], *kept]
        self.rename(found)

    def rename(self, found: Sequence[Atom]) -> None:
        """Note where the value and all that is kept are found."""
        for old, new in zip((self.value, *self.kept), found, strict=True):
            if isinstance(old, Value) and new is not old:
                self.state.builder.identity(new, result=old)


def _parts(block: Block, built: Atom) -> list[Atom]:
    """Return the atoms that a tuple was built of."""
    made = next(op for op in block.ops if built in op.results)
    assert isinstance(made, Call)
    return list(made.args)  # type: ignore[arg-type]


def append_ops(state: Machine, ops: Sequence[Op]) -> None:
    """Append ops that were derived, and note which of their results carry derivatives.

    In the formula of a rule they belong to the half that the rule is written into.
    """
    half = state.builder.half
    for op in ops if half == "primal" else stamped_ops(ops, half):
        state.builder.ops.append(op)
        if _carries(state, op):
            state.active.update(v for v in op.results if not _is_flag(v))


def _carries(state: Machine, op: Op) -> bool:
    if isinstance(op, Call):
        return any(state.carries(op.target, [v], r) for v in op.operands for r in op.results)
    inside = (v for block in op.blocks for v in free_values(block))
    return any(v in state.active for v in (*op.operands, *inside))


def _is_flag(value: Value) -> bool:
    return getattr(value.type, "kind", "") == "b"


def _parameter(atom: Atom, place: nested_wrt.Key) -> Value:
    hint = atom.hint if isinstance(atom, Value) else None
    return Value(atom.type, hint or (place if isinstance(place, str) else None))


def own(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return the same parts under names of their own, which no other write reaches."""
    if isinstance(box, Structure):
        return rebuilt(box, tuple(own(state, item) for item in box.items))
    if not isinstance(box, Value) or not has_storage(box):
        return box
    renamed = state.builder.identity(box, type=box.type, hint=box.hint)
    if box in state.active:
        state.active.add(renamed)
    return renamed


def with_keys(box: AbstractValue, gradient: AbstractValue) -> AbstractValue:
    """Give the gradient by a dict with run-time keys the keys of that dict."""
    if not isinstance(box, Structure) or not isinstance(gradient, Structure):
        return gradient
    if isinstance(box, RecordValue) and issubclass(box.cls, ReadMapping):
        places, _, *fields = box.items
        return rebuilt(gradient, (places, gradient.items[1], *fields))
    if len(box.items) != len(gradient.items):
        return gradient
    parts = zip(box.items, gradient.items, strict=True)
    return rebuilt(gradient, tuple(with_keys(one, part) for one, part in parts))
