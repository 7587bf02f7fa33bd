"""Loop-carried variables: initial value, value after an iteration, final value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from srcad.frontend.domain.representation import is_representable
from srcad.frontend.domain.structure import parts_of_view
from srcad.frontend.domain.values import UNBOUND, AbstractValue, Code, Conflict, Structure, Unbound
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.cells import same_parts
from srcad.frontend.store.runtime_keys import with_run_time_keys
from srcad.ir.core import NONE, UNDEF, Atom, Call, Const, Value, free_values, values_in
from srcad.ir.inference.builder import Builder
from srcad.ir.traits import appends
from srcad.startup.records import dataclass
from srcad.types.structures import ListOf, Undefined


@dataclass(eq=False)
class LoopVariable:
    """One carried value: parameter of the body, initial value, next value, and result."""

    param: Value
    init: Atom
    final: Atom
    output: Value | None = None
    collected: Atom = UNDEF
    position: int = -1


def loop_variables(
    state: Machine, known: AbstractValue, start: AbstractValue, end: AbstractValue, body: Builder
) -> list[LoopVariable]:
    """Return the variables of a header, with their values before and after an iteration."""
    if isinstance(known, Value):
        return [LoopVariable(known, _entering(state, start), _leaving(state, end, body))]
    if isinstance(known, Structure | Code):
        result: list[LoopVariable] = []
        for k, item in enumerate(parts_of_view(known)):
            parts = [_part(box, k, known) for box in (start, end)]
            result += loop_variables(state, item, parts[0], parts[1], body)
        return result
    return []


def _part(box: AbstractValue, k: int, known: AbstractValue) -> AbstractValue:
    known, box = with_run_time_keys(known, box)
    if isinstance(known, Structure):
        fits = isinstance(box, Structure) and len(box.items) == len(known.items)
    else:
        fits = same_parts(box, known)
    return parts_of_view(box)[k] if fits else UNBOUND


def _entering(state: Machine, box: AbstractValue) -> Atom:
    return UNDEF if isinstance(box, Unbound | Conflict) else state.atom(box)


def _leaving(state: Machine, box: AbstractValue, body: Builder) -> Atom:
    if isinstance(box, Unbound) or not is_representable(box):
        return UNDEF
    outer, state.builder = state.builder, body
    try:
        return state.atom(box)
    finally:
        state.builder = outer


def collectable(
    variable: LoopVariable, body: Builder, every: list[LoopVariable], tag: Atom
) -> bool:
    """Return True if a carried list grows from empty by one item per iteration."""
    if not isinstance(variable.param.type, ListOf) or not isinstance(variable.final, Value):
        return False
    if not _is_empty_list(variable.init):
        return False
    position = next((k for k, op in enumerate(body.ops) if variable.final in op.results), None)
    if position is None:
        return False
    op = body.ops[position]
    if not isinstance(op, Call) or not appends(op.target):
        return False
    if op.args[0] is not variable.param:
        return False
    used = [v for k, other in enumerate(body.ops) if k != position for v in _uses(other)]
    others = [v for o in every if o is not variable for v in values_in(o.final)]
    if any(v in (variable.param, variable.final) for v in (*used, *others, *values_in(tag))):
        return False
    variable.position = position
    return isinstance(tag, Const) and tag.value == NONE


def _uses(op: Any) -> Iterator[Value]:
    yield from op.operands
    for block in op.blocks:
        yield from free_values(block)


def _is_empty_list(init: Atom) -> bool:
    return (
        isinstance(init, Value)
        and isinstance(init.type, ListOf)
        and isinstance(init.type.item, Undefined)
    )
