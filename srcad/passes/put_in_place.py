"""Inlining of small helpers, before differentiation.

A pair of functions for the derivative of three operations is longer than what it stands for, and
slower.  Large helpers stay, and so do those that are called from several places in the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from srcad.ir.core import Atom, Block, Call, Const, Function, Op, Routine, Value, walk
from srcad.ir.inference.builder import result_type
from srcad.ir.substitute import substituted_block
from srcad.passes.copies import copied_block
from srcad.passes.dce import dce
from srcad.passes.simplify import simplify
from srcad.startup.records import replace
from srcad.types.structures import Opaque

# What a call of a pair costs, about 0.3 microseconds for the tuples of results and saved values, is
# that of six operations on numbers; measured on the shared problems in CPython 3.13.
SMALL = 6
SMALL_AND_CALLED_ONCE = 12


def with_small_helpers_in_place(
    function: Function,
    small: int = SMALL,
    called_once: int = SMALL_AND_CALLED_ONCE,
    also: Collection[Routine] = (),
    active: set[Value] | None = None,
) -> Function:
    """Inline the calls of small helpers.

    Parameters
    ----------
    function : Function
        The primal.
    small, called_once : int
        Number of operations up to which a routine is inlined: one without loops and branches, and
        one of any form that has a single call.
    also : collection of Routine
        Routines that are put in place whatever their size.
    active : set of Value, optional
        Values that a derivative flows through; their copies are added.
    """
    active = set() if active is None else active
    order = _callees_first(function)
    if not order:
        return function
    for routine in order:
        assert routine.function is not None
        chosen = _chosen(order, function, small, called_once).union(also)
        routine.function = _placed(routine.function, chosen, active)
        routine.derived.clear()
    return _placed(function, _chosen(order, function, small, called_once).union(also), active)


def _callees_first(function: Function) -> list[Routine]:
    """Return the routines that do not call themselves, those that others call before these."""
    order: list[Routine] = []
    running: list[Routine] = []
    recursive: set[Routine] = set()

    def visit(block: Block) -> None:
        for routine in _called(block):
            if routine in running:
                recursive.update(running[running.index(routine) :])
            elif routine not in order and routine not in recursive:
                running.append(routine)
                assert routine.function is not None
                visit(routine.function.block)
                running.pop()
                order.append(routine)

    visit(function.block)
    return [routine for routine in order if routine not in recursive]


def _called(block: Block) -> dict[Routine, None]:
    calls = (op for op in walk(block) if isinstance(op, Call))
    return {op.target: None for op in calls if isinstance(op.target, Routine)}


def _chosen(order: list[Routine], function: Function, small: int, called_once: int) -> set[Routine]:
    """Return the routines that are put in place."""
    reached = [function.block]
    seen: set[Routine] = set()
    for block in reached:
        for routine in _called(block):
            if routine not in seen and routine.function is not None:
                seen.add(routine)
                reached.append(routine.function.block)
    places = Counter(
        op.target
        for block in reached
        for op in walk(block)
        if isinstance(op, Call) and op.target in seen
    )
    return {routine for routine in order if _is_inlined(routine, places, small, called_once)}


def _is_inlined(
    routine: Routine, places: Mapping[Routine, int], small: int, called_once: int
) -> bool:
    """Return True if a routine is to be inlined.

    It has at most `small` operations, all in one block, or at most `called_once` and one call.
    """
    assert routine.function is not None
    block = simplify(dce(routine.function)).block
    size = sum(1 for _ in walk(block))
    is_straight = all(isinstance(op, Call) for op in block.ops)
    return (is_straight and size <= small) or (size <= called_once and places[routine] == 1)


def _placed(function: Function, chosen: set[Routine], active: set[Value]) -> Function:
    block = _placed_block(function.block, chosen, active)
    return function if block is function.block else replace(function, block=block)


def _placed_block(block: Block, chosen: set[Routine], active: set[Value]) -> Block:
    if chosen.isdisjoint(_called(block)):
        return block
    ops: list[Op] = []
    results: dict[Value, tuple[Atom, ...]] = {}
    mapping: dict[Value, Atom] = {}
    for op in block.ops:
        if not isinstance(op, Call):
            ops.append(op.mapped(lambda inner: _placed_block(inner, chosen, active)))
        elif isinstance(op.target, Routine) and op.target in chosen:
            body = _body(op, mapping, active)
            ops += body.ops
            results[op.result] = body.results
        elif op.args and op.args[0] in results and isinstance(op.args[1], Const):
            assert isinstance(op.args[0], Value)
            atom = mapping[op.result] = results[op.args[0]][op.args[1].value]
            if isinstance(atom, Value):
                atom.hint = op.result.hint or atom.hint  # the name that the caller gave it
        else:
            ops.append(op)
    return substituted_block(Block(block.params, tuple(ops), block.results), mapping)


def _body(call: Call, mapping: Mapping[Value, Atom], active: set[Value]) -> Block:
    """Return a copy of the body of a routine for the arguments of a call."""
    routine = call.target
    assert isinstance(routine, Routine)
    assert routine.function is not None
    given: dict[Value, Atom] = {}
    for param, arg in zip(routine.function.params, call.args, strict=True):
        assert isinstance(arg, Value | Const)
        given[param] = mapping.get(arg, arg) if isinstance(arg, Value) else arg
    body = copied_block(routine.function.block, given)
    pairs = zip(_defined(routine.function.block), _defined(body), strict=True)
    active.update(copy for value, copy in pairs if value in active)
    changed = {
        atom for param, atom in given.items() if isinstance(atom, Value) and atom.type != param.type
    }
    constants = any(isinstance(atom, Const) for atom in given.values())
    if changed or constants:
        _narrow(body.ops)
    return body


def _defined(block: Block) -> Iterator[Value]:
    """Yield all values that a block defines, those in its inner blocks, too."""
    yield from block.params
    for op in block.ops:
        yield from op.results
        for inner in op.blocks:
            yield from _defined(inner)


def _narrow(ops: tuple[Op, ...]) -> None:
    """Infer the types of results again, of arguments of which more is known."""
    for op in ops:
        if isinstance(op, Call) and not op.effect and not isinstance(op.target, Routine):
            found = result_type(op.target, op.args, op.kwargs)
            if not isinstance(found, Opaque):
                op.result.type = found
