"""Recursion: derive calls of functions that stay functions.

A routine gets a pair of its own: a primal that returns its results and what it saved, and an
adjoint that takes what was saved and the cotangents of the results.  The calls inside call the
pair again, so the pair is closed under recursion; it is kept on the routine, one for each choice
of active parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial

from srcad.analysis.activity import activity, asked_of_helper, pattern_of_call
from srcad.analysis.activity_trees import Activity, fully_active
from srcad.analysis.binding import possibly_undefined
from srcad.ir.called_lengths import in_lengths_of_call
from srcad.ir.core import Atom, Block, Call, Const, Function, Op, Routine, Value, values_in, walk
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_block
from srcad.ir.traits import is_part, law_of
from srcad.passes.dce import dce
from srcad.passes.forward_stores import with_fewer_stores
from srcad.passes.hoist import hoisted
from srcad.rules.registry import row_of
from srcad.startup.records import dataclass, field, replace
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.denominators import decay_of
from srcad.transforms.functions_of_rules import with_helpers_inlined
from srcad.transforms.gradients import converted
from srcad.transforms.masks import arrives, is_cut, walked_back
from srcad.transforms.mirror import Mirrors, with_old_reads, worth_mirroring
from srcad.transforms.missing import asks_for_nan, towards_selection
from srcad.transforms.refusals import refuse_texts
from srcad.transforms.residuals import close
from srcad.transforms.selection_masks import has_selection_mask
from srcad.transforms.split import PullbackParts, split_pullback, with_cheap_recomputed
from srcad.transforms.sweep import Path, Sweep, bar_hint, cotangent_type, homes_of, type_at
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.structures import OPAQUE, ListOf, PlacesOf, TupleOf, Type

# Structures of residuals hold None for what a branch that was not taken would have saved; so do
# their cotangents.  These are the parameters and the results of a routine that are such.
_HOLLOW_PARAMS = "hollow parameters"
_HOLLOW_RESULTS = "hollow results"


@dataclass(eq=False)
class Pair:
    """A routine's primal and adjoint, and which parameters the adjoint has a result for.

    Of the parameters that it may `cut`, the routine may leave out entries.
    """

    primal: Routine
    adjoint: Routine
    active: tuple[int, ...]
    bars: tuple[Type, ...]
    cut: set[int] = field(default_factory=set)


def undo_routine_call(scope: ReverseScope, op: Call, bars: dict[Path, Atom]) -> None:
    """Contribute to the cotangents of the arguments of a routine."""
    routine = op.target
    assert isinstance(routine, Routine)
    assert routine.function is not None
    assert isinstance(op.result.type, TupleOf)
    asked = asked_of_helper if routine.helper else pattern_of_call
    pattern = asked(op, scope.sweep.facts)
    pair = pair_of(scope.sweep, routine, pattern)
    _note_cuts(scope, op, routine, pair, bars)
    full = Value(TupleOf((*op.result.type.items, OPAQUE)), op.result.hint)
    saved = Value(OPAQUE, _name_of_saved(scope.sweep, op))
    scope.sweep.calls[op.result] = (pair.primal, full, saved)
    seeds = [scope.packed(op.result, (k,), bars) for k in range(len(op.result.type.items))]
    types = tuple(map(in_lengths_of_call(routine, op.args), pair.bars))
    back = scope.builder.call(pair.adjoint, saved, *seeds, type=TupleOf(types))
    for k, position in enumerate(pair.active):
        bar = scope.item(back, k, type=types[k], hint=bar_hint(routine.function.params[position]))
        scope.contribute(op.args[position], (), bar)


def _name_of_saved(sweep: Sweep, op: Call) -> str:
    """Return the name of a call's saved values, after its result."""
    read = sweep.read_by.get(op.result, ())
    name = next((call.result.hint for call in read if call.result.hint), None)
    return "saved" if name is None else f"saved_{name}"


def _note_cuts(
    scope: ReverseScope, op: Call, routine: Routine, pair: Pair, bars: dict[Path, Atom]
) -> None:
    """Record a helper that must be inlined, because a mask drops entries of its values.

    Where entries of its result, or of what it is given, are left out, their cotangents are strong
    zeros: `masks`, `missing` and `denominators` have to see the operations on both sides.
    """
    helpers, sweep = scope.sweep.helpers, scope.sweep
    if not routine.helper:
        return
    items = [call.result for call in sweep.read_by.get(op.result, ())]
    seeds = [bar for bar in bars.values() if isinstance(bar, Value)]
    if any(bar in sweep.masks or bar in sweep.taking_part for bar in seeds) or any(
        is_cut_later(sweep, value) for value in items if sweep.facts.active(value) is not False
    ):
        helpers.in_place.add(routine)
    for position in pair.cut:
        seen, ends = walked_back(sweep, values_in(op.args[position]), _has_finite_partials)
        helpers.cut |= seen
        if not ends.issubset(sweep.primal.params):  # a partial on the way may be infinite
            helpers.in_place.add(routine)


def _has_finite_partials(call: Call) -> bool:
    """Return True for moves, casts and sums, and for products with numbers of the program."""
    law = law_of(call.target)
    if law == "product":
        factors = [arg.value for arg in call.args if isinstance(arg, Const)]
        return any(isinstance(c, int | float) and abs(c) < math.inf for c in factors)
    is_moved = row_of(call.target).entries == "moved" or is_part(call.target)
    return is_moved or law in ("cast", "sum", "difference", "negative", "positive", "total")


def is_cut_later(sweep: Sweep, value: Value) -> bool:
    """Return True if something that reads a value may leave out entries, or divides by it."""
    if value in sweep.helpers.cut or arrives(sweep, value, towards_selection):
        return True
    return (
        is_cut(sweep, value)
        or has_selection_mask(sweep, value)
        or decay_of(sweep, value) is not None
    )


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
        _derived_from(routine, "primal"),
        _derived_from(routine, "adjoint"),
        active,
        bars,
    )
    routine.derived[pattern] = pair
    pair.adjoint.primal = pair.primal
    hollow = routine.derived.get(_HOLLOW_PARAMS, ())
    returned = routine.derived.get(_HOLLOW_RESULTS, ())
    pair.primal.derived[_HOLLOW_PARAMS] = hollow
    pair.adjoint.derived[_HOLLOW_PARAMS] = (0, *(1 + k for k in returned))
    pair.primal.derived[_HOLLOW_RESULTS] = (*returned, len(routine.function.block.results))
    found = tuple(k for k, position in enumerate(active) if position in hollow)
    pair.adjoint.derived[_HOLLOW_RESULTS] = found
    _fill(pair, sweep, routine, pattern)
    return pair


def _derived_from(routine: Routine, what: str) -> Routine:
    return Routine(
        f"{routine.name}_{what}",
        user=routine.user,
        helper=routine.helper,
        of=routine if routine.of is None else routine.of,
    )


def derived_routine(
    routine: Routine, suffix: str, pattern: Hashable, derive: Callable[[Function], Function]
) -> Routine:
    """Another routine made of one, for a pattern of its parameters; it may call itself."""
    key = (suffix, pattern)
    if key not in routine.derived:
        assert routine.function is not None
        made = routine.derived[key] = _derived_from(routine, suffix)
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
    function = hoisted(outer.prepared(routine.function), pair.active)
    results = function.block.results
    wanted = [fully_active(atom_type(atom)) for atom in results]
    varied = dict(zip(function.params, pattern, strict=True))
    function = with_helpers_inlined(function, varied, wanted, outer.inline)
    hollow = [function.params[k] for k in routine.derived.get(_HOLLOW_PARAMS, ())]
    refuse_texts(function, varied, wanted)
    sweep_with = partial(_swept, pair, outer, routine, varied, hollow)
    made, seeds = sweep_with(function, None)
    mirrors = worth_mirroring(function, made)
    if mirrors is not None:
        function, mirrors = with_old_reads(function, mirrors)
        made, seeds = sweep_with(function, mirrors)
    made = with_fewer_stores(dce(close(made)))
    made = with_cheap_recomputed(made, function.params, seeds, len(results))
    parts = split_pullback(made, function.params, seeds, len(results), hollow)
    _install(pair, parts, len(results))


def _swept(
    pair: Pair,
    outer: Sweep,
    routine: Routine,
    varied: dict[Value, Activity],
    hollow: list[Value],
    function: Function,
    mirrors: Mirrors | None,
) -> tuple[Function, tuple[Value, ...]]:
    """Return a function with its reverse half, and the cotangents of its results that it takes."""
    results = function.block.results
    wanted = [fully_active(atom_type(atom)) for atom in results]
    sweep = Sweep(
        activity(function, varied, wanted, whole=routine.helper),
        homes_of(function),
        possibly_undefined(function.block, hollow),
        outer.inline,
        function,
        outer.undo,
        outer.undo_routine,
        outer.prepared,
        outer.simplified,
        mirrors=mirrors,
        helpers=outer.helpers,
        is_routine=True,
    )
    if asks_for_nan(outer):
        sweep.asks_for_nan = True
    scope = ReverseScope(sweep, function.block, Builder(half="reverse", where=function.where))
    seeds: list[Value] = []
    for k, (atom, tree) in enumerate(zip(results, wanted, strict=True)):
        name = bar_hint(atom) if isinstance(atom, Value) else None
        seed = Value(of_any_form(cotangent_type(atom_type(atom), tree)), name or "result_bar")
        seeds.append(seed)
        if k in routine.derived.get(_HOLLOW_RESULTS, ()):
            _contribute_hollow(scope, atom, seed)
        else:
            scope.contribute(atom, (), seed)
    sweep.undo(scope)
    gradients = []
    for k in pair.active:
        param = function.params[k]
        sweep.facts.useful[param] = varied[param]
        taken = scope.take(param)
        found = [bar for bar in taken.values() if isinstance(bar, Value)]
        if is_cut_later(sweep, param) or any(
            bar in sweep.masks or bar in sweep.taking_part for bar in found
        ):
            pair.cut.add(k)
        for path, bar in taken.items():
            taken[path] = _of_declared_dtype(scope, param, path, bar)
        gradients.append(scope.pack(param, taken))
    block = Block((), (*function.block.ops, *scope.builder.ops), (*results, *gradients))
    derived = Function(function.name, (*function.params, *seeds), block, function.where)
    return sweep.simplified(derived, sweep), tuple(seeds)


def _of_declared_dtype(scope: ReverseScope, param: Value, path: Path, bar: Atom) -> Atom:
    """Return the cotangent of an array in its dtype, which callers rely on."""
    type_ = type_at(param.type, path)
    target, found = cotangent_type(type_), atom_type(bar)
    if not isinstance(target, Numeric) or target.form != "array" or target.dtype is None:
        return bar
    if isinstance(found, Numeric) and same_dtype(found.dtype, target.dtype):
        return bar
    return converted(scope, type_, bar, scope.at(param, path), None)


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
    """Pack the saved values into one, which the primal passes to the reverse function.

    They are in the order in which they are made: parameters first.
    """
    results = parts.primal.block.results
    made = [*parts.primal.params, *(v for op in walk(parts.primal.block) for v in op.results)]
    place = {value: k for k, value in enumerate(made)}
    rows = sorted(
        zip(parts.saved, results[count:], strict=True),
        key=lambda row: place.get(row[1], 0) if isinstance(row[1], Value) else 0,
    )
    saved = [atom for _, atom in rows]
    builder = Builder(ops=list(parts.primal.block.ops), where=parts.primal.where)
    packed = builder.build_tuple(*saved, hint="saved")
    pair.primal.function = replace(
        parts.primal, name=pair.primal.name, block=builder.finish(*results[:count], packed)
    )
    given = Value(TupleOf(tuple(map(atom_type, saved))), "saved")
    unpack = Builder(where=parts.adjoint.where, half="reverse")
    mapping: dict[Value, Atom] = {}
    for k, (value, _) in enumerate(rows):
        mapping[value] = unpack.item(given, k, hint=value.hint, type=value.type)
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
