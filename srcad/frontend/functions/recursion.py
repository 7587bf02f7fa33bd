"""Functions that call themselves: each becomes a `Routine`, lowered once per kind of arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.branches.loop_header import header, subsumes, widened
from srcad.frontend.domain.frames import NotConstant, Unreachable
from srcad.frontend.domain.representation import representing_type
from srcad.frontend.domain.structure import Done, mapped, mutable_parts, parts_of_view
from srcad.frontend.domain.values import (
    AbstractValue,
    Code,
    Constant,
    Env,
    Frame,
    Stale,
    Structure,
    TupleValue,
)
from srcad.frontend.functions.inlining import read_body, size_of, size_of_enclosing
from srcad.frontend.machine.dispatch import unless_refused
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.aliases import doubtful
from srcad.frontend.store.array_versions import refuse_hidden
from srcad.frontend.store.cells import Read, are_identical, free_variables_of
from srcad.frontend.store.origins import inner_values, origin
from srcad.frontend.store.ownership import check_owner, with_beginnings
from srcad.frontend.store.written_arguments import before_write
from srcad.ir.core import (
    NONE,
    Atom,
    Block,
    Call,
    Const,
    Function,
    Op,
    Routine,
    Value,
    free_values,
    walk,
)
from srcad.ir.memory import has_storage
from srcad.ir.substitute import substituted_block
from srcad.startup.records import dataclass, field, replace
from srcad.types.numeric import Numeric
from srcad.types.sizes import static_value
from srcad.types.structures import OPAQUE, TupleOf

# A recursive function as it was read for one kind of arguments, and what else it is handed.


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

    def stands(self, state: Machine, around: Read) -> bool:
        """Return True if it was read where its surroundings were these."""
        return len(self.around) == len(around) and all(
            name == other and (are_identical(state, a, b) or self._keeps_its_value(a, b))
            for (name, a), (other, b) in zip(self.around, around, strict=True)
        )

    def _keeps_its_value(self, before: AbstractValue, now: AbstractValue) -> bool:
        """Return True if a value of the surroundings is not read: it may be another one by now."""
        values = isinstance(before, Value) and isinstance(now, Value)
        return values and not self.running and before not in self.extra

    def fits(self, state: Machine, bound: dict[str, AbstractValue]) -> bool:
        """Return True if it serves these arguments."""
        if not self.running and not set(self.extra) <= {c.value for c in state.captures}:
            return False  # what it reads of its surroundings may be another value by now
        names = self.headers.keys() == bound.keys()
        return names and all(subsumes(state, self.headers[n], bound[n]) for n in self.headers)


def with_outside_parameters(
    state: Machine, variant: Variant, body: Block, inner: list[Variant]
) -> None:
    """Turn the captured values of the function into parameters.

    Of the functions that were read meanwhile (`inner`), those that call this one hand it all on.
    """
    variant.running = False
    params = tuple(v for box in variant.headers.values() for v in values_in_order(box))
    free = [v for v in free_values(body) if v not in params]
    if any(v in state.partial or v in state.perhaps_unbound for v in free):
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot hand what one path only has made to the recursive {variant.routine.name!r}",
            why="it is handed on at every call, and is not there on the other paths.",
            help=("pass it as an argument",),
        )
    through = _that_reach(variant.routine, inner)
    added = {other: _add_parameters(state, other, free) for other in through}
    for other, missing in added.items():
        body = _with_arguments(body, other.routine, missing)
        for caller in through:
            _pass_on(caller, other.routine, missing)
    variant.extra = _copies(state, free)
    body = substituted_block(body, variant.extra)
    routine = variant.routine
    extra = tuple(variant.extra.values())
    routine.function = Function(routine.name, (*params, *extra), body, state.builder.where)
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


def _copies(state: Machine, values: list[Value]) -> dict[Value, Value]:
    copies = {v: Value(v.type, v.hint) for v in values}
    state.active.update(copy for value, copy in copies.items() if value in state.active)
    return copies


def _add_parameters(state: Machine, variant: Variant, values: list[Value]) -> list[Value]:
    """Let a function that was read already take these values, too; those that it did not take."""
    missing = [v for v in values if v not in variant.extra]
    added, function = _copies(state, missing), variant.function
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
        return op.mapped(lambda one: _with_arguments(one, routine, extra))

    return replace(block, ops=tuple(map(changed, block.ops)))


def values_in_order(box: AbstractValue) -> list[Value]:
    """Return the values that a box is made of, as its parts stand in it."""
    if isinstance(box, Value):
        return [box]
    if isinstance(box, Structure | Code):
        return [v for part in parts_of_view(box) for v in values_in_order(part)]
    return []


MOST_VARIANTS = 8
MOST_ITERATIONS = 8


MOST_RUNNING = 3  # readings within each other, each for other surroundings
MOST_UNROLLED = 512  # calls of one recursion that are read one by one


@dataclass(eq=False)
class Unrolled:
    """A recursion with static arguments, unrolled call by call.

    `refused` is why it is no routine, `calls` are those that were read; those without a static
    argument count for many, as nothing but a variable around them can tell where they end.
    """

    refused: Exception
    calls: int = 0


def call_recursive(
    state: Machine, callee: Any, bound: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Call a recursive function by reference; None if it is to be read here instead.

    That is where it goes down a structure: every call has a smaller one, or a part of the last.
    And where it cannot be a routine, as it writes into its surroundings, but may end by itself at
    compile time, as it has static arguments: ``fib(7)`` that stores its results in a dict.
    """
    size, around = size_of((*callee.parts, *bound.values())), size_of_enclosing(state, callee.key)
    if around is not None and size < around:
        return None
    unrolled: Unrolled | None = None if around is None else state.unrolled.get(callee.key)
    if unrolled is None:
        may_end = any(_is_static(box) for box in bound.values())
        if not size and not may_end:
            return call_routine(state, callee, bound)
        outside = state.outside.count
        found = _routine_unless_refused(state, callee, bound)
        if not isinstance(found, Exception):
            return found
        if not may_end and around is None and isinstance(found, errors.SrcadError):
            return None
        if not may_end or state.outside.count != outside:
            raise found
        around_it = free_variables_of(callee.node, callee.frame.outer)
        _pin_counts([*bound.values(), *(box for _, box in around_it)])
        state.unrolled[callee.key] = unrolled = Unrolled(found)
    counted = any(_is_static(box) or isinstance(box, Constant) for box in bound.values())
    unrolled.calls += 1 if counted else MOST_UNROLLED // 16
    if unrolled.calls > MOST_UNROLLED:
        raise unrolled.refused
    return None


def _is_static(box: AbstractValue) -> bool:
    """Return True if an argument is static and may decide the depth of the recursion."""
    if isinstance(box, TupleValue):
        return any(map(_is_static, box.items))
    if isinstance(box, Value):
        return isinstance(box.type, Numeric) and box.type.value is not None
    return isinstance(box, Constant) and box.value is not None and not callable(box.value)


def _pin_counts(boxes: Iterable[AbstractValue]) -> None:
    """Make the integers and lengths of the first call static: they may decide the depth."""
    for box in boxes:
        if isinstance(box, Value) and isinstance(box.type, Numeric):
            for extent in (box.type.value, *(box.type.shape or ())):
                static_value(extent)


def _routine_unless_refused(
    state: Machine, callee: Any, bound: dict[str, AbstractValue]
) -> AbstractValue | Exception:
    """Call a recursive function as a routine; return its refusal, with the state restored."""
    problems: list[NotConstant] = []

    def call() -> AbstractValue:
        try:
            return call_routine(state, callee, bound)
        except NotConstant as problem:
            problems.append(problem)
            raise problem.error from None

    found = unless_refused(state, call)
    return problems[-1] if problems and isinstance(found, errors.SrcadError) else found


def call_routine(state: Machine, callee: Any, bound: dict[str, AbstractValue]) -> AbstractValue:
    """Call a recursive function by reference."""
    variants: list[Variant] = state.routines.setdefault(callee.key, [])
    around = free_variables_of(callee.node, callee.frame.outer)
    here = [variant for variant in variants if variant.stands(state, around)]
    for variant in here:
        if variant.fits(state, bound):
            return _call(state, variant, bound)
    if len(variants) >= MOST_VARIANTS or sum(v.running for v in variants) >= MOST_RUNNING:
        refuse_unsettled(state, callee)
    for variant in variants:
        _refuse_written(state, callee, variant, around)
    running = next((v for v in here if v.running), None)
    if running is not None:
        running.headers = {
            name: box if subsumes(state, box, bound[name]) else widened(state, box, bound[name])
            for name, box in running.headers.items()
        }
        running.changed = True
        raise Unreachable
    headers = {name: header(state, box) for name, box in bound.items()}
    for box in headers.values():
        doubtful(state, box)
    variant = Variant(headers, Routine(callee.frame.name), around)
    variants.append(variant)
    try:
        _settle(state, callee, variant)
    except BaseException:  # whatever ends the reading: nobody may call what was not read to its end
        variants.remove(variant)
        raise
    return _call(state, variant, bound)


def refuse_unsettled(state: Machine, callee: Any) -> NoReturn:
    """Refuse a recursion whose every call has another kind of arguments or result."""
    state.refuse(
        errors.UnsupportedTypeError,
        f"the kinds of values in the recursive {callee.frame.name!r} do not settle",
        why="every call of it has another kind of arguments or result.",
        help=("give them one kind",),
    )


def _settle(state: Machine, callee: Any, variant: Variant) -> None:
    """Read the function until its parameters and result cover every call inside it.

    Functions that were read meanwhile relied on what was known then: they are forgotten whenever
    it has to be read again.
    """
    written = state.outside.count
    for _ in range(MOST_ITERATIONS):
        variant.changed = False
        earlier = {key: list(known) for key, known in state.routines.items()}
        before, count = state.snapshot(), len(state.written_objects)
        assumed, state.assumed = state.assumed, {}  # it is called where other tests hold, too
        try:
            with state.block() as builder:
                atom = _result_without_recursion(state, callee, variant)
        finally:
            state.assumed = assumed
        if state.outside.count != written:
            refuse_writes(state, callee, "an object outside")
        _refuse_writes(state, callee, before)
        state.restore(before)
        _note_written(variant, state.written_objects[count:])
        if atom is None and not (variant.changed or variant.is_endless or _is_open(state, variant)):
            variant.is_endless = variant.changed = True
        if not variant.changed:
            break
        for key, known in state.routines.items():
            known[:] = [v for v in known if v in earlier.get(key, ())]
    else:
        refuse_unsettled(state, callee)
    if atom is None and not variant.is_endless:
        raise Unreachable
    inner = [
        v
        for key, known in state.routines.items()
        for v in known
        if v is not variant and v not in earlier.get(key, ())
    ]
    with_outside_parameters(
        state, variant, Block((), tuple(builder.ops), (atom or Const(None),)), inner
    )


def _is_open(state: Machine, variant: Variant) -> bool:
    """Return True if another function is being read of whose result nothing is known yet."""
    running = [
        v for known in state.routines.values() for v in known if v.running and v is not variant
    ]
    return any(v.result is None and not v.is_endless for v in running)


def _result_without_recursion(state: Machine, callee: Any, variant: Variant) -> Atom | None:
    """Return the result of the function as far as its own calls are known.

    None if it always raises.
    """
    given = [v for box in variant.headers.values() for v in values_in_order(box)]
    state.inactive.unknown.update(
        v for v in given if v.type == OPAQUE
    )  # whose it is differs by call
    try:
        result = read_body(state, callee.node, _frame_for(callee.frame, variant.headers))
    except Unreachable:
        return None
    if variant.result is None:
        variant.result, variant.changed = header(state, result), True
    elif not subsumes(state, variant.result, result):
        variant.result, variant.changed = widened(state, variant.result, result), True
    return state.atom(result)


def _note_written(variant: Variant, objects: list[Value]) -> None:
    """Note the parameters into whose arrays a reading has written."""
    written = {
        name
        for name, box in variant.headers.items()
        if not set(objects).isdisjoint(values_in_order(box))
    }
    if not written <= variant.written:
        variant.written |= written
        variant.changed = True


def _forget_written(state: Machine, variant: Variant, bound: dict[str, AbstractValue]) -> None:
    """After a call, nobody knows what the arrays hold into which the function writes."""
    values = [v for name in variant.written for v in inner_values(bound[name]) if has_storage(v)]
    objects = frozenset[Value]().union(*(origin(state, value).everything for value in values))
    if not objects:
        return
    for value in values:
        before_write(state, value)
    check_owner(state, objects)

    def change(box: AbstractValue) -> AbstractValue | None:
        if not isinstance(box, Value) or origin(state, box).everything.isdisjoint(objects):
            return None
        return Stale(box, state.builder.where, by=variant.routine.name)

    done: Done = {}
    for frame in state.frames:
        for name, box in list(frame.env.items()):
            frame.env[name] = mapped(box, change, done)
    refuse_hidden(state, with_beginnings(state, objects))


def _refuse_written(state: Machine, callee: Any, variant: Variant, around: Read) -> None:
    """Refuse a recursion whose further call finds something in its surroundings written into."""
    for (name, before), (other, now) in zip(variant.around, around, strict=False):
        changed = variant.running and name == other and before is not now
        if changed and next(mutable_parts(now), None) is not None:
            refuse_writes(state, callee, repr(name))


def refuse_writes(state: Machine, callee: Any, what: str) -> NoReturn:
    """Refuse a recursion that writes into something that is not its own."""
    state.refuse(
        errors.MutationError,
        f"the recursive {callee.frame.name!r} writes into {what}",
        why="srcad follows the result of a recursive function, not its writes.",
        help=(
            "return the new value instead",
            "or let functools.cache remember the results",
        ),
    )


def _refuse_writes(state: Machine, callee: Any, before: list[Env]) -> None:
    """Refuse a recursion that writes into an object of its surroundings."""
    for frame, env in zip(state.frames, before, strict=True):
        for name, box in env.items():
            if frame.env.get(name) is not box:
                refuse_writes(state, callee, repr(name))


def _frame_for(frame: Frame, headers: dict[str, AbstractValue]) -> Frame:
    return replace(frame, env=dict(headers), exit=NONE, tags=frozenset(), functions=[])


def _arguments(state: Machine, known: AbstractValue, given: AbstractValue) -> list[Atom]:
    if isinstance(known, Value):
        return [state.atom(given)]
    if isinstance(known, Structure | Code):
        pairs = zip(parts_of_view(known), parts_of_view(given), strict=True)
        return [a for x, y in pairs for a in _arguments(state, x, y)]
    return []


def _call(state: Machine, variant: Variant, bound: dict[str, AbstractValue]) -> AbstractValue:
    result = variant.result
    if result is None and not variant.is_endless:
        raise Unreachable
    args = [
        a for name, known in variant.headers.items() for a in _arguments(state, known, bound[name])
    ]
    if result is None:
        state.emit(variant.routine, *args, *variant.extra, effect=True, type=OPAQUE)
        raise Unreachable
    shape = representing_type(result)
    value = state.emit(variant.routine, *args, *variant.extra, type=TupleOf((shape,)))
    active = any(v in state.active for v in values_in_order(result)) or value in state.active
    if active:
        state.active.add(value)
    out = state.item(value, 0, type=shape)
    _forget_written(state, variant, bound)
    return state.box(out)
