"""Data flow from the results of opaque calls (`runtime.call_on_copies`) to those of a function.

Their derivative is unknown.  If a result of the function depends on one, other than through
`stop_gradient`, the error of the call is raised.  Files and objects that a call may write into
count as its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from srcad import runtime
from srcad.analysis.activity import Facts, activity
from srcad.analysis.activity_trees import Activity
from srcad.analysis.arguments import arguments, rule_of
from srcad.errors import SrcadError
from srcad.frontend.domain.frames import Inactive
from srcad.frontend.domain.predicates import is_nondifferentiable
from srcad.ir import primitives
from srcad.ir.core import Arg, Block, Call, Const, Function, Routine, Value, values_in, walk
from srcad.ir.memory import has_storage
from srcad.ir.operations import operation_of
from srcad.ir.traits import (
    is_indexed,
    is_known_part,
)
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque, TupleOf, Type, is_text


def refuse_uses(inactive: Inactive, block: Block, known: frozenset[Routine] = frozenset()) -> None:
    """Raise the error of the first opaque call on which a result of the block depends."""
    if not inactive.on_copies and not inactive.unseen:
        return
    calls = [op for op in walk(block) if isinstance(op, Call)]
    for op in (op for op in calls if op.result in inactive.unseen):
        arrays = [v for v in op.operands if op.effect and has_storage(v)]
        if _reaches_result(block, [op.result, *arrays, *_written(calls, op)]):
            raise inactive.unseen[op.result]
    for op in filter(_runs_on_copies, calls):
        if _reaches_result(block, [op.result, *_written(calls, op)]):
            raise inactive.refusals[op.where]
    routines = {op.target for op in calls if isinstance(op.target, Routine)} - known
    for routine in routines:
        if routine.function is not None:
            refuse_uses(inactive, routine.function.block, known | routines)


def are_results_stopped(inactive: Inactive, refused: SrcadError) -> bool:
    """Return True if results of opaque calls are used by `stop_gradient` only.

    Then `refused` has another cause and is the error to raise; not if it is about the same line,
    where the use of the result may not have been lowered yet.
    """
    lines = {(where.file, where.line) for where in inactive.refusals if where is not None}
    if refused.where is not None and (refused.where.file, refused.where.line) in lines:
        return False
    ops = inactive.outermost.ops if inactive.outermost is not None else []
    calls = [op for op in walk(Block((), tuple(ops), ())) if isinstance(op, Call)]
    pending = {op.result for op in calls if _runs_on_copies(op)}
    for op in calls:
        if op.target is primitives.stop or pending.isdisjoint(op.operands):
            continue
        if not (is_known_part(op.target) or is_indexed(op.target)):
            return False
        pending.add(op.result)
    return bool(inactive.refusals)


def _runs_on_copies(op: Call) -> bool:
    return op.target is runtime.call_on_copies or op.target is runtime.call_method_on_copies


def _reaches_result(block: Block, sources: Iterable[Value]) -> bool:
    function = Function("", (), block)
    marked: dict[Value, Activity] = dict.fromkeys(sources, True)
    flow = partial(_flow, frozenset(marked))
    found = activity(function, marked, [True] * len(block.results), told=flow)
    return any(found.of(atom) is not False for atom in block.results)


def _flow(marked: frozenset[Value], op: Call, facts: Facts) -> Activity | None:
    """Return True if floats in the result of a call may depend on a marked value."""
    if op.target is primitives.stop:
        return False
    if op.result in marked:
        return True
    if _runs_on_copies(op):
        return facts.varied.get(op.result, False)
    if rule_of(op.target) is not None and not is_nondifferentiable(op.target, op.operands):
        return None
    type_ = op.result.type
    counts = isinstance(type_, Numeric) and type_.kind in "biu"
    if counts or is_text(type_) or is_nondifferentiable(op.target, op.operands):
        return False
    return any(facts.of(arg) is not False for arg in arguments(op).values())


def _written(calls: Sequence[Call], opaque: Call) -> list[Value]:
    """Return the values that may alias memory or files written by an opaque call.

    These are its operands and the containers that they were read from; for an operand from a loop
    or a branch, all objects of the function.  Results of unknown calls with the same file name
    count, too.
    """
    made = {op.result: op for op in calls}
    found: list[Value] = []
    names: list[Arg] = []
    _note_names(names, opaque)
    pending = [*_objects([opaque]), *_that_name(calls, names)]
    while pending:
        value = pending.pop()
        if value not in found:
            found.append(value)
            op = made.get(value)
            pending += _objects(calls if op is None else [op])
            if op is not None:
                _note_names(names, op)
        if not pending:
            pending = [v for v in _that_name(calls, names) if v not in found]
    return found


def _note_names(names: list[Arg], op: Call) -> None:
    names += [arg for arg in arguments(op).values() if _is_name(arg) and arg not in names]


def _that_name(calls: Sequence[Call], names: Sequence[Arg]) -> list[Value]:
    """Return the results of unknown calls that have one of the names as an argument."""
    return [
        op.result
        for op in calls
        if _may_read_files(op) and not is_text(op.result.type)
        for arg in arguments(op).values()
        if _is_name(arg) and any(_may_be_equal(arg, name) for name in names)
    ]


def _may_read_files(op: Call) -> bool:
    """Return True for an unknown call; ``p["w"]`` is known, though it has a text operand."""
    known = rule_of(op.target) is not None or operation_of(op.target) is not None
    return not _runs_on_copies(op) and (op.effect or not known)


def _is_name(arg: Arg) -> bool:
    if isinstance(arg, Const):
        return isinstance(arg.value, str | bytes)
    return isinstance(arg, Value) and is_text(arg.type)


def _may_be_equal(a: Arg, b: Arg) -> bool:
    return a == b or not (isinstance(a, Const) and isinstance(b, Const))


def _objects(calls: Iterable[Call]) -> list[Value]:
    """Return the operands that may be, or contain, mutable objects."""
    operands = (v for op in calls for arg in arguments(op).values() for v in values_in(arg))
    return [v for v in operands if _may_hold_objects(v.type)]


def _may_hold_objects(type_: Type) -> bool:
    """Return True unless the type consists of numbers, numeric arrays and texts."""
    match type_:
        case Opaque():
            return not is_text(type_)
        case ListOf(item):
            return _may_hold_objects(item)
        case TupleOf(items):
            return any(map(_may_hold_objects, items))
        case Numeric():
            return type_.kind == "O"
    return False
