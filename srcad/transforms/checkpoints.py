"""Checkpointing: save only the inputs of a part of the program, and run it again.

A checkpoint is an `If` on `CHECKPOINT`.  The reverse sweep undoes it as if all that it computes
were in scope, like any other op; when residuals are brought into scope, the reverse block gets a
copy of the ops in front, closed against what undoes them.  So what the block around it has to keep
is what the copy reads: the values from before the checkpoint.

A loop over ``checkpointed_range`` becomes a loop over segments, each of them a checkpoint around
the same loop over a part of the range.  On several levels the inner loop is treated the same way.
The schedules with the fewest iterations made again for a number of checkpoints are those of
`revolve` (Griewank and Walther 2000, https://doi.org/10.1145/347837.347846); segments of equal
length cost at most one run more for each level, and can be read.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NoReturn

import numpy as np

from srcad import runtime
from srcad.analysis.trips import may_exit
from srcad.errors import UnsupportedSyntaxError
from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    CHECKPOINT,
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
    Half,
    If,
    Op,
    Value,
    While,
    carried_outputs,
    collected_outputs,
    walk,
)
from srcad.ir.inference.builder import Builder
from srcad.ir.memory import is_one_of
from srcad.ir.operations import Operation
from srcad.ir.primitives import apply
from srcad.ir.substitute import substituted_atom, substituted_block, substituted_ops, with_blocks
from srcad.ir.traits import is_known_part, never_returns
from srcad.passes.dce import dce
from srcad.startup.identifiers import module_of
from srcad.startup.records import replace
from srcad.startup.short_tracebacks import on_purpose
from srcad.types.numeric import INT, Numeric
from srcad.types.structures import OPAQUE, Opaque


# -------------------------------------------------- checkpoints: lengths of segments, generators
def at_least_one(count: int, what: str) -> int:
    """Check a count: at least 1 iteration per segment, and at least 1 level."""
    if operator.index(count) < 1:
        raise on_purpose(ValueError(f"{what!r} of a checkpointed range is at least 1, not {count}"))
    return count


def segment(trips: int, levels: int = 1, every: int | None = None) -> int:
    """Return the iterations of one segment of a loop, which may be cut into shorter ones.

    The number of parts is the same on all levels, so that the sum of what all levels keep is least;
    the shortest segments have `every` iterations where that is given.
    """
    shortest = every or 1
    count = max(-(-trips // shortest), 1)
    parts = levels + (every is None)
    return int(shortest * math.ceil(count ** ((parts - 1) / parts)))


def random_state(generator: Any) -> Any:
    """Return the state of a generator of random numbers: of NumPy's, old or new, or of `random`."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.getstate()


def set_random_state(generator: Any, state: Any) -> Any:
    """Give a generator a state, and return the one that it had."""
    before = random_state(generator)
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.setstate(state)
    return before


Operation(flows=(), owed=True, called="every")(at_least_one)
Operation(flows=(), called="every")(segment)


# Replay of random draws in a checkpoint: restore the generator, which draws the same again.
#
# The state of each generator is taken before the checkpoint runs first, which costs next to
# nothing to keep. When its ops run again, the generators are given these states, and afterwards
# the ones that they had: so for the user's program every number is drawn once.

_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_STATES = frozenset({random_state, set_random_state, runtime.shuffled})
_MAKERS = (
    np.random.default_rng, np.random.RandomState, random.Random, np.random.Generator,
    np.random.SeedSequence, np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937,
    np.random.Philox, np.random.SFC64,
)  # fmt: skip
_NOT_DRAWS = frozenset({"seed", "spawn"})  # what they do depends on more than the state
_QUIET = frozenset({"builtins", "_operator"})


def generator_of(op: Call, block: Block) -> Arg | None:
    """Return the generator from which a call draws.

    None where it is no draw, or of another kind.
    """
    target, given = op.target, op.args[0] if op.args else None
    if is_one_of(target, _STATES):
        return given
    if target is apply and isinstance(given, Value):
        method = next((o for o in walk(block) if given in o.results), None)
        if not isinstance(method, Call) or not is_known_part(method.target):
            return None
        given, name = method.args[0], method.args[1]
        is_draw = isinstance(name, Const) and name.value not in _NOT_DRAWS
        return given if is_draw and _is_generator(given) else None
    if getattr(target, "__name__", "") in _NOT_DRAWS:
        return None
    holder = getattr(target, "__self__", None)
    if type(holder) in _GENERATORS:
        return Const(holder)
    is_method = "random" in module_of(target) or hasattr(target, "__objclass__")
    return given if given is not None and is_method and _is_generator(given) else None


def _is_generator(arg: Arg) -> bool:
    if isinstance(arg, Const):
        return type(arg.value) in _GENERATORS
    type_ = argument_type(arg)
    return isinstance(type_, Opaque) and type_.cls in _GENERATORS


def generators_made(block: Block) -> set[Value]:
    """Return random generators, and their seeds, that are constructed from integers."""
    made: set[Value] = set()
    for op in walk(block):
        if isinstance(op, Call) and any(op.target is one for one in _MAKERS):
            given = (*op.args, *(arg for _, arg in op.kwargs))
            if given and all(_is_of_integers(arg, made) for arg in given):
                made.add(op.result)
    return made


def _is_of_integers(arg: Arg, made: AbstractSet[Value]) -> bool:
    """Return True for integers, lists of integers, and generators constructed from these."""
    if isinstance(arg, Display):
        return all(_is_of_integers(item, made) for item in arg.items)
    if isinstance(arg, Const) and isinstance(arg.value, tuple):
        return all(type(item) is int for item in arg.value)
    type_ = argument_type(arg)
    is_int = isinstance(type_, Numeric) and type_.kind == "i" and type_.is_scalar
    return is_int or (isinstance(arg, Value) and arg in made)


def keeps_generators(op: Call) -> bool:
    """Return True if a call with an effect certainly draws nothing, such as one of Python's."""
    target: Any = op.target
    return target is not apply and module_of(target) in _QUIET


def states(generators: Sequence[Arg], near: Op) -> tuple[list[Op], list[Value]]:
    """Return the calls that save the states of generators before an operation, and these states."""
    builder = Builder([], near.where, near.half)
    found = [
        builder.call(random_state, one, effect=True, type=OPAQUE, hint="state")
        for one in generators
    ]
    return builder.ops, found


def drawn_again(
    ops: Sequence[Op], generators: Sequence[Arg], states: Sequence[Value], half: Half
) -> tuple[Op, ...]:
    """Ops between what gives generators their earlier states, and what takes these back.

    Two of them may be one object: so the last one is the first to be put back.
    """
    before, after = Builder([], ops[0].where, half), Builder([], ops[-1].where, half)
    pairs = zip(generators, states, strict=True)
    found = [
        before.call(set_random_state, one, state, effect=True, type=OPAQUE, hint="state")
        for one, state in pairs
    ]
    for one, state in reversed(list(zip(generators, found, strict=True))):
        after.call(set_random_state, one, state, effect=True, type=OPAQUE)
    return (*before.ops, *ops, *after.ops)


def all_generators(
    draws: Mapping[Value, Call], block: Block, inside: Mapping[Value, Value]
) -> list[Arg] | None:
    """Return the generators of some draws that are not made inside the block, each once.

    None where one is made inside in another way than from integers.
    """
    made = generators_made(block)
    found: list[Arg] = []
    for op in draws.values():
        one = generator_of(op, block)
        if one is None or (one in inside and one not in made):
            return None
        if one not in found and one not in made:
            found.append(one)
    return found


def with_ops_again(
    primal: If, before: Sequence[Op], after: Sequence[Op], reverse: If
) -> tuple[list[Op], If]:
    """Return the reverse of a checkpoint: the ops it reads once more, then their undoing.

    `before` are the ops of the checkpoint with what they save, `after` those that undo them.  The
    first result are ops that go in front of the checkpoint itself.
    """
    block = Block((), tuple(before))
    names = {value: Value(value.type, value.hint) for value in _defined(block)}
    effects = {op.result: op for op in walk(block) if isinstance(op, Call) and op.effect}
    copies = renamed(block, names, again=True).ops
    undone = substituted_block(Block((), tuple(after), reverse.then.results), names)
    pruned = _pruned(copies, undone)
    read = {op.result for op in walk(pruned) if isinstance(op, Call)}
    needed = [op for value, op in effects.items() if names[value] in read]
    if all(map(_may_run_twice, needed)):
        kept = {names[op.result] for op in needed}
        return [], replace(reverse, then=_with_effects(pruned, kept))
    return _with_draws(primal, reverse, block, names, effects, needed, copies, undone)


def _with_draws(
    primal: If,
    reverse: If,
    block: Block,
    names: Mapping[Value, Value],
    effects: Mapping[Value, Call],
    needed: Sequence[Call],
    copies: Sequence[Op],
    undone: Block,
) -> tuple[list[Op], If]:
    """Return the same where numbers are drawn: all draws are repeated, in order."""
    others = {v: op for v, op in effects.items() if not _may_run_twice(op)}
    makers = generators_made(block) & others.keys()
    others = {v: op for v, op in others.items() if v not in makers}
    found = {v: op for v, op in others.items() if generator_of(op, block) is not None}
    for op in needed:
        if op.result in others and op.result not in found:
            _refuse_effect(op)
    for value, op in others.items():
        if value not in found and not keeps_generators(op):
            _refuse_effect(op)
    generators = all_generators(found, block, names)
    if generators is None:
        _refuse_generator(next(iter(found.values())))
    early, before = states(generators, primal)
    kept = {names[v] for v in (*makers, *found, *(op.result for op in needed))}
    first = _with_effects(Block((), tuple(copies)), kept).ops
    again = drawn_again(first, generators, before, "again")
    return early, replace(reverse, then=_pruned(again, undone))


def _pruned(copies: Sequence[Op], undone: Block) -> Block:
    """Return the copies, as far as they are read, in front of what undoes them."""
    whole = Block((), (*copies, *undone.ops), undone.results)
    return dce(Function("", (), whole)).block


def _with_effects(block: Block, kept: Container[Value]) -> Block:
    """Return the block with some calls marked as having an effect."""
    ops: list[Op] = []
    for op in block.ops:
        if isinstance(op, Call) and op.result in kept:
            op = replace(op, effect=True)
        ops.append(op.mapped(lambda inner: _with_effects(inner, kept)))
    return replace(block, ops=tuple(ops))


def _defined(block: Block) -> list[Value]:
    """All that is defined in a block, at any depth."""
    found = list(block.params)
    for op in block.ops:
        found += op.results
        for inner in op.blocks:
            found += _defined(inner)
    return found


def renamed(block: Block, names: Mapping[Value, Value], *, again: bool = False) -> Block:
    """Return a block in which values have other names, also where they are defined.

    `again` marks the ops as computed once more.
    """
    ops = substituted_ops(block.ops, names)
    results = tuple(substituted_atom(atom, names) for atom in block.results)
    return _redefined(Block(block.params, ops, results), names, again=again)


def _redefined(block: Block, names: Mapping[Value, Value], *, again: bool) -> Block:
    params = tuple(names.get(p, p) for p in block.params)
    ops = tuple(_redefined_op(op, names, again=again) for op in block.ops)
    return Block(params, ops, block.results)


def _redefined_op(op: Op, names: Mapping[Value, Value], *, again: bool) -> Op:
    half: Half = "again" if again and op.half == "primal" else op.half
    outputs = tuple(names.get(v, v) for v in op.results)
    blocks = tuple(_redefined(block, names, again=again) for block in op.blocks)
    if isinstance(op, Call):
        return replace(op, result=outputs[0], half=half, effect=op.effect and not again)
    inner = with_blocks(op, blocks)
    assert isinstance(inner, If | For | While)
    return replace(inner, outputs=outputs, half=half)


def _may_run_twice(op: Call) -> bool:
    """Return True if a call with an effect may run again unnoticed: it checks, or raises."""
    if is_one_of(op.target, runtime.CHECKS) or never_returns(op.target):
        return True
    return isinstance(op.target, type) and issubclass(op.target, BaseException)


def _refuse_effect(op: Call) -> NoReturn:
    """Refuse a checkpoint of operations that must run only once."""
    raise UnsupportedSyntaxError(
        "cannot run this a second time for a checkpoint",
        where=op.where,
        why="it has an effect, and the derivative needs what it, or a draw beside it, returned.",
        help=("call it before the checkpoint, and pass its result in",),
    )


def _refuse_generator(op: Call) -> NoReturn:
    """Refuse to draw again from a generator that is made inside a checkpoint."""
    raise UnsupportedSyntaxError(
        "cannot draw these random numbers a second time for a checkpoint",
        where=op.where,
        why="the generator is made inside the checkpoint.",
        help=("make the generator before, and pass it in",),
    )


# ------------------------------------------------------------------------------- loops
def in_segments(function: Function) -> Function:
    """Return the function with its loops over ``checkpointed_range`` cut into checkpoints."""
    read = {v for op in walk(function.block) for v in op.operands}
    read.update(v for op in walk(function.block) for b in op.blocks for v in b.free)
    read.update(v for v in function.block.results if isinstance(v, Value))
    return replace(function, block=_cut(function.block, read))


def _cut(block: Block, read: Container[Value]) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        inner = op.mapped(lambda b: _cut(b, read))
        if isinstance(inner, For) and inner.segments:
            _Segments(inner, ops, read).run()
        else:
            ops.append(inner)
    return replace(block, ops=tuple(ops))


class _Segments:
    """Builds one loop over segments.

    ``for i in range(start, stop, step): ...`` becomes ``for first in range(start, stop, n * step)``
    with a checkpoint around ``for i in range(first, min(first + n * step, stop), step): ...``.
    `read` are the values that anything in the function reads.
    """

    def __init__(self, op: For, ops: list[Op], read: Container[Value]) -> None:
        self.op, self.read = op, read
        self.outer = Builder(ops, op.where, op.half)
        self.inside = Builder([], op.where, op.half)
        self.first = Value(INT, "first")
        self.start, self.stop, self.step = self._bounds()

    def run(self) -> None:
        """Append the loop over segments; its results are those of the original loop."""
        op, outer = self.op, self.outer
        stride = self._stride()
        carried = tuple(Value(p.type, p.hint) for p in op.carried)
        tag, trips, *results = self._checkpoint(stride, carried)
        body = Builder([*self.inside.ops], op.where, op.half)
        width, lists = len(carried), collected_outputs(op)
        inits, after = [*op.inits], results[:width]
        sums = [Value(INT, "trips")] if op.outputs[1] in self.read else []
        for total in sums:
            inits.append(Const(0))
            after.append(body.call(operator.add, total, trips, type=INT))
        whole = tuple(Value(output.type, output.hint) for output in lists)
        for output, all_, more in zip(lists, whole, results[width:], strict=True):
            inits.append(outer.build_list(type=output.type))
            after.append(body.extended(all_, more, type=output.type))
        left = tag if may_exit(op) else Const(NONE)
        block = body.finish(left, *after, params=(self.first, *carried, *sums, *whole))
        counted = op.outputs[1] if sums else Value(INT, "trips")
        trip = Value(INT, "segments")
        totals = (counted,) if sums else ()
        outputs = (op.outputs[0], trip, *carried_outputs(op), *totals, *lists)
        seq = Display("range", (self.start, self.stop, stride))
        outer.ops.append(
            For(
                seqs=(seq,),
                inits=tuple(inits),
                body=block,
                outputs=outputs,
                where=op.where,
                half=op.half,
            )
        )

    def _bounds(self) -> tuple[Arg, Arg, Arg]:
        """Return the bounds of the range.

        Those of its positions where the sign of the step is open.
        """
        (seq,) = self.op.seqs
        assert isinstance(seq, Display)
        start, stop, step = seq.items
        if isinstance(step, Const):
            return start, stop, step
        position, body = Value(INT, "k"), Builder([], self.op.where, self.op.half)
        moved = body.call(operator.mul, position, step, type=INT)
        item = body.call(operator.add, start, moved, type=INT)
        body.stop(item, result=self.op.items[0])  # an index, however it came about
        block = self.op.body
        params, ops = (position, *block.params[1:]), (*body.ops, *block.ops)
        self.op = replace(self.op, body=Block(params, ops, block.results))
        return Const(0), self._count(start, stop, step), Const(1)

    def _count(self, start: Arg, stop: Arg, step: Arg) -> Atom:
        if start == Const(0) and step == Const(1) and not isinstance(stop, Display):
            return stop
        if step == Const(1):
            return self.outer.call(operator.sub, stop, start, type=INT, hint="n")
        items = self.outer.call(range, start, stop, step, type=Opaque(range))
        return self.outer.call(len, items, type=INT, hint="n")

    def _stride(self) -> Atom:
        """How far apart the beginnings of two segments are."""
        every, levels = self.op.segments
        length = every
        if every == Const(None) or levels != Const(1):
            count = self._count(self.start, self.stop, self.step)
            given: tuple[Atom, ...] = (levels,) if levels != Const(1) else ()
            given = given if every == Const(None) else (levels, every)
            length = self.outer.call(segment, count, *given, type=INT, hint="every")
        if self.step == Const(1):
            return length
        return self.outer.call(operator.mul, length, self.step, type=INT, hint="stride")

    def _checkpoint(self, stride: Atom, inits: tuple[Value, ...]) -> tuple[Value, ...]:
        """Append one segment, with new values for its results."""
        op, inside = self.op, Builder([], self.op.where, self.op.half)
        assert isinstance(self.step, Const)
        end = inside.call(operator.add, self.first, stride, type=INT)
        nearer = min if self.step.value > 0 else max
        end = inside.call(nearer, end, self.stop, type=INT, hint="last")
        seq = Display("range", (self.first, end, self.step))
        results = tuple(Value(v.type, v.hint) for v in op.outputs)
        every, levels = op.segments
        assert isinstance(levels, Const)
        fewer = (every, Const(levels.value - 1)) if levels.value > 1 else ()
        inside.ops.append(replace(op, seqs=(seq,), inits=inits, outputs=results, segments=fewer))
        then = _cut(inside.finish(*results), results)
        outputs = tuple(Value(v.type, v.hint) for v in results)
        orelse = Block((), (), (UNDEF,) * len(outputs))
        self.inside.ops.append(
            If(
                test=CHECKPOINT,
                then=then,
                orelse=orelse,
                outputs=outputs,
                where=op.where,
                half=op.half,
            )
        )
        return outputs
