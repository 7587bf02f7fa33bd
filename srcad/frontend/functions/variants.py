"""A recursive function as it was read for one kind of arguments, and what else it is handed."""

from __future__ import annotations

from srcad import errors
from srcad.frontend.branches.loop_header import subsumes
from srcad.frontend.domain.structure import shown_parts
from srcad.frontend.domain.values import AbstractValue, Code, Structure
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.cells import Read, is_one_thing
from srcad.ir.core import Block, Call, Function, Op, Routine, Value, free_values, walk
from srcad.ir.substitute import substituted_block, with_blocks
from srcad.startup.records import dataclass, field, replace


@dataclass(eq=False)
class Variant:
    """A recursive function for one kind of arguments.

    While it is being read it is `running`: calls of it inside itself (or inside functions that it
    calls) use what is known of its result so far, and what they find may widen `headers`.
    `extra` are values of the surroundings that it reads, and the parameters that they are inside;
    every call hands them on.  `is_endless` says that no path through it returns: a path ends where
    it is called.
    """

    headers: dict[str, AbstractValue]
    routine: Routine
    around: Read
    result: AbstractValue | None = None
    running: bool = True
    changed: bool = False
    is_endless: bool = False
    extra: dict[Value, Value] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

    @property
    def function(self) -> Function:
        """The function that was read, once it was."""
        assert self.routine.function is not None
        return self.routine.function

    def stands(self, s: Machine, around: Read) -> bool:
        """Return True if it was read where its surroundings were these."""
        return len(self.around) == len(around) and all(
            name == other and (is_one_thing(s, a, b) or self._is_left_alone(a, b))
            for (name, a), (other, b) in zip(self.around, around, strict=True)
        )

    def _is_left_alone(self, before: AbstractValue, now: AbstractValue) -> bool:
        """Return True if a value of the surroundings is not read: it may be another one by now."""
        values = isinstance(before, Value) and isinstance(now, Value)
        return values and not self.running and before not in self.extra

    def fits(self, s: Machine, bound: dict[str, AbstractValue]) -> bool:
        """Return True if it serves these arguments."""
        if not self.running and not set(self.extra) <= {c.value for c in s.captures}:
            return False  # what it reads of its surroundings may be another value by now
        names = self.headers.keys() == bound.keys()
        return names and all(subsumes(s, self.headers[n], bound[n]) for n in self.headers)


def with_outside_parameters(
    s: Machine, variant: Variant, body: Block, inner: list[Variant]
) -> None:
    """Turn the captured values of the function into parameters.

    Of the functions that were read meanwhile (`inner`), those that call this one hand it all on.
    """
    variant.running = False
    params = tuple(v for box in variant.headers.values() for v in values_in_order(box))
    free = [v for v in free_values(body) if v not in params]
    if any(v in s.partial or v in s.perhaps_unbound for v in free):
        s.refuse(
            errors.UnsupportedTypeError,
            f"cannot hand what one path only has made to the recursive {variant.routine.name!r}",
            why="it is handed on at every call, and is not there on the other paths.",
            help=("pass it as an argument",),
        )
    through = _that_reach(variant.routine, inner)
    added = {other: _add_parameters(s, other, free) for other in through}
    for other, missing in added.items():
        body = _with_arguments(body, other.routine, missing)
        for caller in through:
            _pass_on(caller, other.routine, missing)
    variant.extra = _copies(s, free)
    body = substituted_block(body, variant.extra)
    routine = variant.routine
    extra = tuple(variant.extra.values())
    routine.function = Function(routine.name, (*params, *extra), body, s.builder.where)
    for caller in (variant, *through):
        _pass_on(caller, routine, free)


def _that_reach(routine: Routine, among: list[Variant]) -> list[Variant]:
    """Return the variants that call a routine, directly or through others of them."""
    called = {
        v: {op.target for op in walk(v.function.block) if isinstance(op, Call)} for v in among
    }
    found: list[Variant] = []
    while True:
        targets = {routine, *(v.routine for v in found)}
        more = [v for v in among if v not in found and called[v] & targets]
        if not more:
            return found
        found += more


def _copies(s: Machine, values: list[Value]) -> dict[Value, Value]:
    copies = {v: Value(v.type, v.hint) for v in values}
    s.active.update(copy for value, copy in copies.items() if value in s.active)
    return copies


def _add_parameters(s: Machine, variant: Variant, values: list[Value]) -> list[Value]:
    """Let a function that was read already take these values, too; those that it did not take."""
    missing = [v for v in values if v not in variant.extra]
    added, function = _copies(s, missing), variant.function
    variant.extra |= added
    variant.routine.function = replace(function, params=(*function.params, *added.values()))
    return missing


def _pass_on(caller: Variant, routine: Routine, values: list[Value]) -> None:
    """Add outside values, as the caller knows them, to the calls of a routine in a function."""
    function, extra = caller.function, [caller.extra[v] for v in values]
    block = _with_arguments(function.block, routine, extra)
    caller.routine.function = replace(function, block=block)


def _with_arguments(block: Block, routine: Routine, extra: list[Value]) -> Block:
    """Return a block in which the calls of a routine have further arguments."""
    if not extra:
        return block

    def changed(op: Op) -> Op:
        if isinstance(op, Call):
            return replace(op, args=(*op.args, *extra)) if op.target is routine else op
        return with_blocks(op, tuple(_with_arguments(one, routine, extra) for one in op.blocks))

    return replace(block, ops=tuple(map(changed, block.ops)))


def values_in_order(box: AbstractValue) -> list[Value]:
    """Return the values that a box is made of, as its parts stand in it."""
    if isinstance(box, Value):
        return [box]
    if isinstance(box, Structure | Code):
        return [v for part in shown_parts(box) for v in values_in_order(part)]
    return []
