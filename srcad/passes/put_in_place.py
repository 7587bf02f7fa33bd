"""Inlining of small helpers, before differentiation.

A pair of functions for the derivative of three operations is longer than what it stands for, and
slower.  Large helpers stay, and so do those that are called from several places in the text.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

from srcad.ir.called_lengths import in_lengths_of_call
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
    choose = functools.partial(_chosen, order, function, functools.cache(_size), small, called_once)
    for routine in order:
        assert routine.function is not None
        routine.function = _placed(routine.function, choose().union(also), active)
        routine.derived.clear()
    return _placed(function, choose().union(also), active)


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


def _chosen(
    order: list[Routine],
    function: Function,
    size: Callable[[Function], tuple[int, bool]],
    small: int,
    called_once: int,
) -> set[Routine]:
    """Return the routines that are put in place.

    Those with at most `small` operations, all in one block, or at most `called_once` and one call.
    """
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
    found = set()
    for routine in order:
        assert routine.function is not None
        count, is_straight = size(routine.function)
        if (is_straight and count <= small) or (count <= called_once and places[routine] == 1):
            found.add(routine)
    return found


def _size(function: Function) -> tuple[int, bool]:
    """Return the number of operations of a function, and whether they are in one block."""
    block = simplify(dce(function)).block
    return sum(1 for _ in walk(block)), all(isinstance(op, Call) for op in block.ops)


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
    inside = in_lengths_of_call(routine, tuple(given.values()))
    body = copied_block(routine.function.block, given, inside)
    pairs = zip(_defined(routine.function.block), _defined(body), strict=True)
    active.update(copy for value, copy in pairs if value in active)
    if any(isinstance(a, Const) or a.type != inside(param.type) for param, a in given.items()):
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
