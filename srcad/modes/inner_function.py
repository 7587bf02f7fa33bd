"""A function that is called through a derivative inside a function that is read.

It is read into a block of its own, whose parameters are the arguments to differentiate by;
everything else that it names is simply in scope.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Sequence

from srcad import errors
from srcad.arguments.request import Request
from srcad.frontend.domain.frames import Unreachable
from srcad.frontend.domain.structure import rebuilt, values_of
from srcad.frontend.domain.values import AbstractValue, RecordValue, Structure, TupleValue
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude.containers import Mapping
from srcad.ir.core import Atom, Block, Call, Function, Op, Value, free_values
from srcad.ir.inference.builder import Builder
from srcad.ir.memory import has_storage
from srcad.ir.substitute import substituted_block
from srcad.modes import inner_writes, nested_wrt


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
        s: Machine,
        request: Request,
        function: AbstractValue,
        args: tuple[AbstractValue, ...],
        kwargs: dict[str, AbstractValue],
        places: Sequence[nested_wrt.Key],
    ) -> None:
        self.s = s
        boxes: dict[nested_wrt.Key, AbstractValue] = dict(enumerate(args))
        boxes.update(kwargs.items())
        self.boxes = boxes
        s.use_as_number(*(boxes[place] for place in places))
        self.atoms = [s.atom(boxes[place]) for place in places]
        self.params = [_parameter(a, place) for a, place in zip(self.atoms, places, strict=True)]
        s.active.update(self.params)
        writes = inner_writes.InnerWrites(s, boxes, dict(zip(places, self.params, strict=True)))
        returns = self._read(request, function, writes, len(args))
        if writes.is_to_be_read_again():
            with writes.hiding(function) as hidden:
                returns = self._read(request, hidden, writes, len(args))
        self.name = nested_wrt.name_of_box(function)
        body = Block((), tuple(self.builder.ops), ())
        writes.check(self.name, body)
        if not returns:
            arguments: dict[Value, Atom] = dict(zip(self.params, self.atoms, strict=True))
            append_ops(s, substituted_block(body, arguments).ops)
            raise Unreachable
        writes.note_shared(self.kept)

    def _read(
        self,
        request: Request,
        function: AbstractValue,
        writes: inner_writes.InnerWrites,
        count: int,
    ) -> bool:
        """Read a call of the function; return False if every path through it raises."""
        s = self.s
        with s.block() as self.builder:
            given = writes.given()
            named = {k: box for k, box in given.items() if isinstance(k, str)}
            try:
                self.result = apply(s, function, tuple(given[k] for k in range(count)), named)
            except Unreachable:
                return False
            self.y, self.aux = self._split(request)
            self.value = s.atom(self.y)
            self.kept = self._escaping()
        return True

    def _split(self, request: Request) -> tuple[AbstractValue, AbstractValue | None]:
        if not request.has_aux:
            return self.result, None
        if isinstance(self.result, TupleValue) and len(self.result.items) == 2:
            return self.result.items
        return self.s.refuse(
            errors.NonScalarOutputError,
            "has_aux=True needs a function that returns a pair",
            help=("return what is differentiated and the rest:  return y, aux",),
        )

    def _escaping(self) -> list[Value]:
        made = {*self.params, *(v for op in self.builder.ops for v in op.results)}
        boxes = [box for _, box in self.s.reachable()]
        held = [*boxes, self.y, *([] if self.aux is None else [self.aux])]
        found = [v for b in held for v in values_of(b) if v in made]
        return list(dict.fromkeys(v for v in found if v is not self.value))

    # -------------------------------------------------------------- as a function of the IR
    def with_pair(self) -> Function:
        """Return the function with the value as its result, or with a pair of it and all kept."""
        if not self.kept:
            return self._function(self.builder.ops, (self.value,))
        builder = Builder(ops=list(self.builder.ops), where=self.s.builder.where)
        pair = builder.build_tuple(self.value, builder.build_tuple(*self.kept))
        return self._function(builder.ops, (pair,))

    def with_all(self) -> Function:
        """Return the function with the value and all that is kept as its results."""
        return self._function(self.builder.ops, (self.value, *self.kept))

    def _function(self, ops: Sequence[Op], results: tuple[Atom, ...]) -> Function:
        block = Block((), tuple(ops), results)
        return Function(self.name, tuple(self.params), block, self.s.builder.where)

    # -------------------------------------------------------------- written into the outer block
    def write(
        self, made: Function, given: collections.abc.Mapping[Value, Atom] | None = None
    ) -> Block:
        """Append the ops of what was made of the function; `given` are its further parameters."""
        mapping: dict[Value, Atom] = dict(zip(self.params, self.atoms, strict=True))
        block = substituted_block(made.block, {**mapping, **(given or {})})
        append_ops(self.s, block.ops)
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
                self.s.builder.identity(new, result=old)


def _parts(block: Block, built: Atom) -> list[Atom]:
    """Return the atoms that a tuple was built of."""
    made = next(op for op in block.ops if built in op.results)
    assert isinstance(made, Call)
    return list(made.args)  # type: ignore[arg-type]


def append_ops(s: Machine, ops: Sequence[Op]) -> None:
    """Append ops that were derived, and note which of their results carry derivatives."""
    for op in ops:
        s.builder.ops.append(op)
        if _carries(s, op):
            s.active.update(v for v in op.results if not _is_flag(v))


def _carries(s: Machine, op: Op) -> bool:
    if isinstance(op, Call):
        return any(s.carries(op.target, [v], r) for v in op.operands for r in op.results)
    inside = (v for block in op.blocks for v in free_values(block))
    return any(v in s.active for v in (*op.operands, *inside))


def _is_flag(value: Value) -> bool:
    return getattr(value.type, "kind", "") == "b"


def _parameter(atom: Atom, place: nested_wrt.Key) -> Value:
    hint = atom.hint if isinstance(atom, Value) else None
    return Value(atom.type, hint or (place if isinstance(place, str) else None))


def own(s: Machine, box: AbstractValue) -> AbstractValue:
    """Return the same parts under names of their own, which no other write reaches."""
    if isinstance(box, Structure):
        return rebuilt(box, tuple(own(s, item) for item in box.items))
    if not isinstance(box, Value) or not has_storage(box):
        return box
    renamed = s.builder.identity(box, type=box.type, hint=box.hint)
    if box in s.active:
        s.active.add(renamed)
    return renamed


def with_keys(box: AbstractValue, gradient: AbstractValue) -> AbstractValue:
    """Give the gradient by a dict with run-time keys the keys of that dict."""
    if not isinstance(box, Structure) or not isinstance(gradient, Structure):
        return gradient
    if isinstance(box, RecordValue) and issubclass(box.cls, Mapping):
        places, _, *fields = box.items
        return rebuilt(gradient, (places, gradient.items[1], *fields))
    if len(box.items) != len(gradient.items):
        return gradient
    parts = zip(box.items, gradient.items, strict=True)
    return rebuilt(gradient, tuple(with_keys(one, part) for one, part in parts))
