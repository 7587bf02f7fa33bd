"""Recursion: derive calls of functions that stay functions.

A routine gets a pair of its own: a primal that returns its results and what it saved, and an
adjoint that takes what was saved and the cotangents of the results.  The calls inside call the
pair again, so the pair is closed under recursion; it is kept on the routine, one for each choice
of active parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from srcad.analysis.activity import activity
from srcad.analysis.activity_trees import Activity, both, fully_active
from srcad.analysis.binding import possibly_undefined
from srcad.ir.core import Atom, Block, Call, Function, Op, Routine, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_block
from srcad.startup.records import dataclass, replace
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.refusals import refuse_texts
from srcad.transforms.split import PullbackParts, split_pullback
from srcad.transforms.sweep import Path, Sweep, cotangent_type, homes_of
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, ListOf, PlacesOf, TupleOf, Type

# Structures of residuals hold None for what a branch that was not taken would have saved; so do
# their cotangents.  These are the parameters and the results of a routine that are such.
_HOLLOW_PARAMS = "hollow parameters"
_HOLLOW_RESULTS = "hollow results"


@dataclass(eq=False)
class Pair:
    """A routine's primal and adjoint, and which parameters the adjoint has a result for."""

    primal: Routine
    adjoint: Routine
    active: tuple[int, ...]
    bars: tuple[Type, ...]


def undo_routine_call(scope: ReverseScope, op: Call, bars: dict[Path, Atom]) -> None:
    """Contribute to the cotangents of the arguments of a routine."""
    routine = op.target
    assert isinstance(routine, Routine)
    assert routine.function is not None
    assert isinstance(op.result.type, TupleOf)
    pairs = zip(op.args, routine.function.params, strict=True)
    pattern = tuple(both(scope.sweep.facts.of(a), fully_active(p.type)) for a, p in pairs)
    pair = pair_of(scope.sweep, routine, pattern)
    full = Value(TupleOf((*op.result.type.items, OPAQUE)), op.result.hint)
    saved = Value(OPAQUE, "saved")
    scope.sweep.calls[op.result] = (pair.primal, full, saved)
    seeds = [scope.packed(op.result, (k,), bars) for k in range(len(op.result.type.items))]
    back = scope.builder.call(pair.adjoint, saved, *seeds, type=TupleOf(pair.bars))
    for k, position in enumerate(pair.active):
        bar = scope.item(back, k, type=pair.bars[k])
        scope.contribute(op.args[position], (), bar)


def pair_of(sweep: Sweep, routine: Routine, pattern: tuple[Activity, ...]) -> Pair:
    """Return the pair of a routine for a choice of active parameters, derived once."""
    if pattern in routine.derived:
        found = routine.derived[pattern]
        assert isinstance(found, Pair)
        return found
    assert routine.function is not None
    active = tuple(k for k, tree in enumerate(pattern) if tree is not False)
    params = routine.function.params
    bars = tuple(of_any_form(cotangent_type(params[k].type, pattern[k])) for k in active)
    pair = Pair(
        Routine(f"{routine.name}_primal", user=routine.user),
        Routine(f"{routine.name}_adjoint", user=routine.user),
        active,
        bars,
    )
    routine.derived[pattern] = pair
    hollow = routine.derived.get(_HOLLOW_PARAMS, ())
    returned = routine.derived.get(_HOLLOW_RESULTS, ())
    pair.primal.derived[_HOLLOW_PARAMS] = hollow
    pair.adjoint.derived[_HOLLOW_PARAMS] = (0, *(1 + k for k in returned))
    pair.primal.derived[_HOLLOW_RESULTS] = (*returned, len(routine.function.block.results))
    found = tuple(k for k, position in enumerate(active) if position in hollow)
    pair.adjoint.derived[_HOLLOW_RESULTS] = found
    _fill(pair, sweep, routine, pattern)
    return pair


def derived_routine(
    routine: Routine, suffix: str, pattern: Hashable, derive: Callable[[Function], Function]
) -> Routine:
    """Another routine made of one, for a pattern of its parameters; it may call itself."""
    key = (suffix, pattern)
    if key not in routine.derived:
        assert routine.function is not None
        made = routine.derived[key] = Routine(f"{routine.name}_{suffix}", user=routine.user)
        made.function = replace(derive(routine.function), name=made.name)
    found: Routine = routine.derived[key]
    return found


def of_any_form(type_: Type) -> Type:
    """Return the type of a returned cotangent, where a Python float may be a NumPy scalar."""
    match type_:
        case Numeric(shape=()):
            return type_.of_shape((), "any")
        case TupleOf(items):
            return type_.of(tuple(of_any_form(t) for t in items))
        case ListOf(item) if not isinstance(type_, PlacesOf):
            return ListOf(of_any_form(item))
    return type_


def hollow_params(routine: Routine) -> tuple[int, ...]:
    """Return the parameters of a routine that are structures some parts of which may be None."""
    found: tuple[int, ...] = routine.derived.get(_HOLLOW_PARAMS, ())
    return found


def mark_hollow(routine: Routine, made: Routine, order: Sequence[int]) -> None:
    """Mark the hollow structures of a routine, and their tangents, in the one with tangents.

    `order` are the parameters that have a tangent.
    """
    assert routine.function is not None
    params, results = len(routine.function.params), len(routine.function.block.results)
    given = routine.derived.get(_HOLLOW_PARAMS, ())
    dots = (params + j for j, k in enumerate(order) if k in given)
    made.derived[_HOLLOW_PARAMS] = (*given, *dots)
    found = routine.derived.get(_HOLLOW_RESULTS, ())
    made.derived[_HOLLOW_RESULTS] = (*found, *(results + k for k in found))


def copy_hollow(routine: Routine, made: Routine) -> None:
    """Mark the hollow structures of a routine in one with the same parameters and results."""
    for key in (_HOLLOW_PARAMS, _HOLLOW_RESULTS):
        made.derived[key] = routine.derived.get(key, ())


def _fill(pair: Pair, outer: Sweep, routine: Routine, pattern: tuple[Activity, ...]) -> None:
    assert routine.function is not None
    function = outer.prepared(routine.function)
    results = function.block.results
    wanted = [fully_active(atom_type(atom)) for atom in results]
    varied = dict(zip(function.params, pattern, strict=True))
    hollow = [function.params[k] for k in routine.derived.get(_HOLLOW_PARAMS, ())]
    refuse_texts(function, varied, wanted)
    sweep = Sweep(
        activity(function, varied, wanted),
        homes_of(function),
        possibly_undefined(function.block, hollow),
        outer.inline,
        function,
        outer.undo,
        outer.undo_routine,
        outer.prepared,
        outer.finish,
    )
    scope = ReverseScope(sweep, function.block, Builder(half="reverse", where=function.where))
    seeds: list[Value] = []
    for k, (atom, tree) in enumerate(zip(results, wanted, strict=True)):
        seed = Value(of_any_form(cotangent_type(atom_type(atom), tree)), "y_bar")
        seeds.append(seed)
        if k in routine.derived.get(_HOLLOW_RESULTS, ()):
            _contribute_hollow(scope, atom, seed)
        else:
            scope.contribute(atom, (), seed)
    sweep.undo(scope)
    gradients = []
    for k in pair.active:
        param = function.params[k]
        sweep.facts.useful[param] = pattern[k]
        gradients.append(scope.pack(param, scope.take(param)))
    block = Block((), (*function.block.ops, *scope.builder.ops), (*results, *gradients))
    derived = Function(function.name, (*function.params, *seeds), block, function.where)
    parts = split_pullback(
        sweep.finish(derived, sweep), function.params, tuple(seeds), len(results), hollow
    )
    _install(pair, parts, len(results))


def _contribute_hollow(scope: ReverseScope, atom: Atom, seed: Value) -> None:
    """Contribute a structure with parts that may be None."""
    type_ = atom_type(atom)
    if not isinstance(type_, TupleOf):
        scope.contribute(atom, (), seed)
        return
    for k, item in enumerate(type_.items):
        if fully_active(item) is not False:
            part = scope.child(type_, seed, k)
            scope.sweep.lazy.add(part)
            scope.contribute(atom, (k,), part)


def _install(pair: Pair, parts: PullbackParts, count: int) -> None:
    """Pack the saved values into one, which the primal passes to the reverse function."""
    results = parts.primal.block.results
    saved_type = TupleOf(tuple(atom_type(atom) for atom in results[count:]))
    builder = Builder(ops=list(parts.primal.block.ops), where=parts.primal.where)
    packed = builder.build_tuple(*results[count:], hint="saved")
    pair.primal.function = replace(
        parts.primal, name=pair.primal.name, block=builder.finish(*results[:count], packed)
    )
    given = Value(saved_type, "saved")
    unpack = Builder(where=parts.adjoint.where, half="reverse")
    mapping: dict[Value, Atom] = {}
    for k, value in enumerate(parts.saved):
        part = unpack.item(given, k, hint=value.hint, type=value.type)
        mapping[value] = part
    body = substituted_block(parts.adjoint.block, mapping)
    seeds = parts.adjoint.params[len(parts.saved) :]
    block = Block((), (*unpack.ops, *body.ops), body.results)
    pair.adjoint.function = Function(pair.adjoint.name, (given, *seeds), block, parts.adjoint.where)


def with_primal_calls(function: Function, sweep: Sweep) -> Function:
    """Call the primal of a pair wherever the reverse half reads its saved values."""
    if not sweep.calls:
        return function
    mapping: dict[Value, Atom] = {old: full for old, (_, full, _) in sweep.calls.items()}
    block = _recalled(function.block, sweep)
    return replace(function, block=substituted_block(block, mapping))


def _recalled(block: Block, sweep: Sweep) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        if not isinstance(op, Call):
            ops.append(op.mapped(lambda inner: _recalled(inner, sweep)))
        elif op.result in sweep.calls:
            primal, full, saved = sweep.calls[op.result]
            ops.append(replace(op, target=primal, result=full))
            assert isinstance(full.type, TupleOf)
            last = len(full.type.items) - 1
            Builder(ops, op.where, op.half).item(full, last, result=saved)
        else:
            ops.append(op)
    return replace(block, ops=tuple(ops))
