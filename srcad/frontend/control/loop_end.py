"""The end of a loop: append it to the IR, and bind names to its results."""

from __future__ import annotations

import operator

from srcad.frontend.branches.joined_objects import settle_aliases
from srcad.frontend.branches.loop_variables import LoopVariable, collectable
from srcad.frontend.control.fixpoint import Iteration, LoopReader
from srcad.frontend.domain.structure import Done, mapped
from srcad.frontend.domain.values import AbstractValue, RepeatedView, Unbound
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.definite_assignment import note_outputs
from srcad.frontend.operations.sequences import Sequences
from srcad.frontend.store.array_versions import bound_if
from srcad.frontend.store.origins import note_layout_of
from srcad.ir.core import RETURN, Block, Const, Value, carried_outputs, collected_outputs
from srcad.ir.substitute import substituted_block


def finish(
    state: Machine, reader: LoopReader, iteration: Iteration, seqs: Sequences | None
) -> tuple[Value, ...]:
    """Append the loop and bind the carried names to its results."""
    groups = list(reader.carried(iteration))
    every = list({variable.param: variable for _, group in groups for variable in group}.values())
    gathered = [
        variable
        for variable in every
        if seqs is not None
        and not seqs.backward
        and collectable(variable, iteration.builder, every, iteration.tag)
    ]
    carried = [variable for variable in every if variable not in gathered]
    for variable in gathered:
        assert isinstance(variable.final, Value)
        variable.collected = iteration.builder.ops[variable.position].args[1]  # type: ignore[attr-defined]
        iteration.builder.ops[variable.position] = None  # type: ignore[call-overload]
    iteration.builder.ops[:] = [op for op in iteration.builder.ops if op is not None]
    params = tuple(variable.param for variable in carried)
    results = (
        iteration.tag,
        *(variable.final for variable in carried),
        *(variable.collected for variable in gathered),
    )
    inits = tuple(variable.init for variable in carried)
    if seqs is not None:
        body = Block((*seqs.items, *params), tuple(iteration.builder.ops), results)
        outputs = state.builder.for_(
            seqs.args, inits, body, backward=seqs.backward, segments=seqs.segments
        )
    else:
        assert iteration.test is not None
        copies = {p: Value(p.type, p.hint) for p in params}
        test = renamed(iteration.test, copies)
        body = Block(params, tuple(iteration.builder.ops), results)
        outputs = state.builder.while_(
            inits, Block(tuple(copies.values()), test.ops, test.results), body
        )
    loop = state.builder.ops[-1]
    for variable, output in zip(carried, carried_outputs(loop), strict=True):  # type: ignore[arg-type]
        variable.output = output
        output.type = reader.lasting.get(variable.param, output.type)
    for variable, output in zip(gathered, collected_outputs(loop), strict=True):  # type: ignore[arg-type]
        output.hint = variable.param.hint
        variable.output = output
    note_outputs(state, every, None if seqs is None else seqs.args)
    tag = outputs[0] if RETURN in iteration.tags else None
    _bind_outputs(state, reader, every, tag)
    for variable in every:
        if isinstance(variable.output, Value) and reader.memory.is_rebound_each_iteration(
            variable, iteration.finals
        ):
            no_trip = state.emit(operator.eq, outputs[1], Const(0))
            state.either[variable.output] = reader.memory.before_or_after(variable, no_trip)
    return outputs


def _bind_outputs(
    state: Machine, reader: LoopReader, every: list[LoopVariable], tag: Value | None
) -> None:
    """Bind the names to what a loop leaves; nothing is bound where its tag says ``return``."""
    state.restore(reader.before)
    outputs = {variable.param: variable.output for variable in every if variable.output is not None}
    _note_outputs(state, every, tag)
    memory = reader.memory
    memory.after(outputs)
    roots = {start: outputs.get(p, p) for start, p in memory.carried_roots(reader.headers).items()}

    def leave(leaf: AbstractValue) -> AbstractValue | None:
        if isinstance(leaf, RepeatedView):
            if tag is None:
                return memory.opened(leaf, roots)
            goes_on = state.emit(operator.ne, tag, Const(RETURN))
            return bound_if(state, goes_on, lambda: memory.opened(leaf, roots))
        return state.box(outputs[leaf]) if isinstance(leaf, Value) and leaf in outputs else None

    done: Done = {}
    for (level, name), header_ in reader.headers.items():
        box = mapped(header_, leave, done)
        if isinstance(box, Unbound):
            state.frames[level].env.pop(name, None)
        else:
            state.frames[level].env[name] = box
    settle_aliases(state, [((before,), after) for before, after in done.values()])


def _note_outputs(state: Machine, every: list[LoopVariable], tag: Value | None) -> None:
    for variable in every:
        if variable.output is not None:
            note_layout_of(state, variable.output, variable.init, variable.final)
            if tag is not None and variable.final in state.partial:
                state.partial.add(variable.output)  # where the function has returned there is none
            if variable.param in state.active:
                state.active.add(variable.output)


def renamed(block: Block, names: dict[Value, Value]) -> Block:
    """Return the block with free values replaced."""
    return substituted_block(block, names)
