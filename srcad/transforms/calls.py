"""Adjoint of one call: apply the rule of its target to the cotangent of its result."""

from __future__ import annotations

import operator
from types import FunctionType
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.arguments import arguments, differentiable_arguments, rule_of
from srcad.errors import MissingRuleError, SrcadError, UnsupportedSyntaxError, UnsupportedTypeError
from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    Arg,
    Atom,
    Call,
    Const,
    Display,
    Routine,
    Value,
    conjugate,
    values_in,
    walk,
)
from srcad.ir.inference.builder import atom_type
from srcad.ir.traits import is_indexed, is_item
from srcad.rules.gaps import VALUES
from srcad.rules.linalg import OF_FIXED
from srcad.rules.registry import qualified_name
from srcad.rules.row import AlwaysRaisesError, Rule
from srcad.startup.records import replace
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.denominators import bounded_partial, zero_at_limit
from srcad.transforms.entries import Check, entries_of, part_of_rest
from srcad.transforms.magnitudes import without_magnitudes
from srcad.transforms.masks import cut, guarded_operands, record_mask
from srcad.transforms.missing import (
    entries_stay_zero,
    lines_taking_part,
    matrices_stay_zero,
    reduced_with_ones,
    rows_taking_part,
    solved_with_identities,
    unless_cut,
    zeros_stay,
)
from srcad.transforms.refusals import (
    missing_rule,
    refuse_missing_cotangents,
    refuse_no_partial,
    refuse_saved,
    settle_branches,
    unwritten,
)
from srcad.transforms.rule_templates import write_rule
from srcad.transforms.stand_ins import with_stand_ins
from srcad.transforms.still import stays_still, unless_still
from srcad.transforms.structure import ADJOINTS, undo_getitem
from srcad.transforms.sweep import Path, type_at
from srcad.types.numeric import Numeric
from srcad.types.sizes import is_one, same
from srcad.types.structures import OPAQUE, ListOf, TupleOf, Type

_FLOAT64 = Const(np.float64)


def undo_call(scope: ReverseScope, op: Call) -> None:
    """Contribute to the cotangents of a call's arguments."""
    if scope.sweep.facts.active(op.result) is False:
        return
    scope.builder.where = op.where
    bars = scope.take(op.result)
    if not bars:
        return
    op = _with_fixed_weights(scope, without_magnitudes(scope.sweep.made, op))
    if isinstance(op.target, Routine):
        scope.sweep.undo_routine(scope, op, bars)
    elif is_indexed(op.target):
        undo_getitem(scope, op, bars)
    elif op.target is runtime.zero_if_still:
        _undo_zero_if_still(scope, op, bars)
    elif (adjoint := _structural(op)) is not None:
        adjoint(scope, op, bars)
    else:
        _by_rule(scope, op, bars)


def _with_fixed_weights(scope: ReverseScope, op: Call) -> Call:
    """Return a sum over vectors as one of fixed weights, if its weights carry no derivative."""
    fixed = OF_FIXED.get(op.target) if isinstance(op.target, FunctionType) else None
    if fixed is None or scope.sweep.facts.of(op.args[1]) is not False:
        return op
    return replace(op, target=fixed)


def _undo_zero_if_still(scope: ReverseScope, op: Call, bars: dict[Path, Atom]) -> None:
    """Pass the cotangent on, cut to zero where the factor does not move here either."""
    bar, test = bars[()], op.args[1]
    if not isinstance(test, Display) and stays_still(scope.sweep, test):
        bar = unless_cut(scope, test, bar)
    scope.contribute(op.args[0], (), bar)


def _structural(op: Call) -> Any:
    try:
        return ADJOINTS.get(op.target)
    except TypeError:
        return None


def _by_rule(scope: ReverseScope, op: Call, bars: dict[Path, Atom]) -> None:
    if _cannot_happen(op):
        return
    rule = rule_of(op.target)
    if rule is None:
        raise missing_rule(scope, op)
    refuse_missing_cotangents(scope, op, rule)
    if _joins_collected_rows(scope, op):
        scope.contribute(op.args[0], (), bars[()])
        return
    try:
        if rule.kind == "derivative":
            _undo_elementwise(scope, op, rule, bars[()])
        else:
            _undo_by_cotangents(scope, op, rule, bars)
    except AlwaysRaisesError:
        problem = MissingRuleError(
            f"the rule of {qualified_name(op.target)} raises for these arguments", where=op.where
        )
        if not rule.shipped:
            raise problem from None
        _leave_to_run_time(scope, op, problem)
    except (UnsupportedSyntaxError, UnsupportedTypeError) as problem:
        if op.half != "derived":
            raise unwritten(op, rule, problem) from None
        _leave_to_run_time(scope, op, problem)


def _leave_to_run_time(scope: ReverseScope, op: Call, problem: SrcadError) -> None:
    """Write code that raises, in the place of a derivative that cannot be taken.

    It is not reached where the call fails for the same reason as its rule.  And where the rank of
    an operand is unknown a rule writes branches for all ranks, and of those that are never taken
    not all can be differentiated again.
    """
    for arg in differentiable_arguments(op).values():
        for value in values_in(arg):
            message = Const(problem.sentence)
            bar = scope.builder.call(runtime.raise_undecided, message, type=value.type)
            scope.contribute(value, (), bar)


def _cannot_happen(op: Call) -> bool:
    """Return True if a call is in a branch that is never taken: ``@`` of numbers always raises.

    Rules for operands of unknown rank write such branches.
    """
    if op.target not in (operator.matmul, np.matmul):
        return False
    types = [argument_type(arg) for arg in op.args]
    return any(isinstance(t, Numeric) and t.is_scalar for t in types)


def _joins_collected_rows(scope: ReverseScope, op: Call) -> bool:
    """Return True if a call stacks the items that a loop has collected.

    Then the cotangent is a sequence of the items' cotangents as it stands.
    """
    if op.target not in (np.stack, np.array, np.asarray) or not isinstance(op.args[0], Value):
        return False
    options = dict(op.kwargs)
    if options.get("ndmin", Const(0)) != Const(0):
        return False
    axis = options.get("axis", op.args[1] if len(op.args) > 1 else Const(0))
    return op.args[0] in scope.sweep.collected and axis == Const(0)


# ------------------------------------------------------------------------------- elementwise
def _undo_elementwise(scope: ReverseScope, op: Call, rule: Rule, y_bar: Atom) -> None:
    arrays = {place: as_array(scope, arg) for place, arg in arguments(op).items()}
    given = {place: lifted_operand(scope, op, arg) for place, arg in arrays.items()}
    result = lifted_arg(scope, op.result) if rule.wants_result else op.result
    operands, result = guarded_operands(scope, y_bar, op, rule, given, result)
    keywords = {"y": result} if rule.wants_result else {}
    for place, arg, partial in chosen_entries(scope, op, rule, operands, [], keywords):
        array = arrays[place]
        if not isinstance(array, Value) or scope.sweep.facts.of(arg) is False:
            continue
        refuse_no_partial(op, place, partial)
        if not rule.shipped:
            partial = Check(scope, op, rule, place).partial(partial, operands.values())
        partial = conjugated(scope, partial)
        y_bar = _uncast(scope, y_bar)
        factor = bounded_partial(scope, op, place, partial)
        bar = cut(scope, op, y_bar, partial) or times(scope, y_bar, factor)
        if bar is not None:
            if factor is partial:
                bar = zero_at_limit(scope, op, place, y_bar, partial, bar)
            bar = unless_still(scope, op, place, y_bar, bar)
            is_guarded = operands is not given
            bar = zeros_stay(scope, op, y_bar, partial, bar, is_guarded=is_guarded)
            bar = record_mask(scope, y_bar, partial, bar)
            contribute_structure(scope, arg, unbroadcast(scope, op, bar, array))


def as_array(scope: ReverseScope, arg: Arg) -> Arg:
    """Return a list or tuple as the array that an elementwise function makes of it."""
    is_list = isinstance(arg, Display) and arg.kind in ("list", "tuple")
    if isinstance(arg, Value) and isinstance(arg.type, ListOf | TupleOf):
        is_list = scope.sweep.facts.of(arg) is False
    return scope.call(np.asarray, arg) if is_list else arg


def chosen_entries(
    scope: ReverseScope,
    op: Call,
    rule: Rule,
    operands: dict[int | str, Arg],
    leading: list[Any],
    keywords: dict[str, Any],
) -> list[tuple[int | str, Arg, Any]]:
    """Return the entries that a rule returns for a call, each with its place and its argument."""
    positional = [arg for place, arg in operands.items() if isinstance(place, int)]
    named = {name: arg for name, arg in operands.items() if isinstance(name, str)}
    known = {n: a for n, a in named.items() if n in rule.parameters or n in rule.keywords}
    start = len(scope.builder.ops)
    found = write_rule(
        scope.sweep.inline, scope.builder, rule, [*leading, *positional], {**known, **keywords}
    )
    settle_branches(scope, op, start)
    entries = entries_of(scope, op, rule, found)
    chosen = []
    flows = differentiable_arguments(op)
    for place, arg in arguments(op).items():
        where = rule.entry(place)
        if where is not None and place in flows:
            entry = entries[where[0]]
            if where[1] is not None:
                entry = part_of_rest(scope, op, rule, entry, where[1])
            chosen.append((place, arg, entry))
    return chosen


def _uncast(scope: ReverseScope, y_bar: Atom) -> Atom:
    """Return a cotangent of complex numbers as it was before it was made complex."""
    if not isinstance(y_bar, Value) or getattr(y_bar.type, "kind", "") != "c":
        return y_bar
    made = next((op for op in reversed(scope.builder.ops) if y_bar in op.results), None)
    if isinstance(made, Call) and made.target is np.astype and isinstance(made.args[0], Value):
        given = made.args[0]
        return given if getattr(given.type, "kind", "") == "f" else y_bar
    return y_bar


def conjugated(scope: ReverseScope, partial: Any) -> Any:
    """Return the conjugate of a partial derivative, by which a cotangent goes back.

    With the inner product ``Re(conj(u) * v)`` it is the adjoint of multiplying a tangent.
    """
    value = partial.value if isinstance(partial, Const) else partial
    if isinstance(value, complex | np.complexfloating):
        return Const(conjugate(value))
    if isinstance(partial, Value) and scope.sweep.is_complex(partial.type):
        return scope.call(np.conjugate, partial)
    return partial


def times(scope: ReverseScope, y_bar: Atom, partial: Any) -> Atom | None:
    """``y_bar * partial``; None if that is certainly nothing."""
    if partial is None or (isinstance(partial, Const) and partial.value is None):
        return None
    if not isinstance(partial, Value | Const):
        partial = Const(partial)
    if isinstance(partial, Const) and isinstance(partial.value, int | float):
        if partial.value == 0:
            return None
        if partial.value == 1:
            return y_bar
        if partial.value == -1:
            return scope.call(operator.neg, y_bar)
    return scope.call(operator.mul, y_bar, partial)


def lifted_operand(scope: ReverseScope, op: Call, arg: Arg) -> Arg:
    """Return an operand as the derivative of a call reads it; a narrow scalar in float64.

    The plain call computes in float64 there.  A product of the partial derivatives of several
    calls would be one of narrow scalars, since a seed is a Python number, which has no dtype.
    """
    if isinstance(arg, Value) and _is_narrow(arg.type) and _is_double(op.result.type):
        return scope.call(np.float64, arg)
    return lifted_arg(scope, arg)


def _is_narrow(type_: Type) -> bool:
    """Return True for a NumPy scalar that is, or may be, a real float of less than 64 bits."""
    if not isinstance(type_, Numeric) or not type_.is_scalar or type_.is_python:
        return False
    dtypes = [dtype for dtype in type_.dtypes if dtype.kind == "f"]
    is_double_at_most = type_.is_real and all(dtype.itemsize <= 8 for dtype in dtypes)
    return is_double_at_most and any(dtype.itemsize < 8 for dtype in dtypes)


def _is_double(type_: Type) -> bool:
    """Return True if a result is, or may be, made of float64 or complex128."""
    doubles = (np.float64, np.complex128)
    return isinstance(type_, Numeric) and any(d in doubles for d in type_.dtypes)


def lifted_arg(scope: ReverseScope, arg: Arg) -> Arg:
    """Return an argument as the reverse half reads it: active integer arrays as floats."""
    if not isinstance(arg, Value) or scope.sweep.facts.active(arg) is False:
        return arg
    type_ = arg.type
    if not isinstance(type_, Numeric) or type_.is_python or type_.kind not in "iu":
        return arg
    return scope.call(
        np.astype if type_.form == "array" else np.float64,
        arg,
        *((_FLOAT64,) if type_.form == "array" else ()),
    )


def unbroadcast(scope: ReverseScope, op: Call, bar: Atom, arg: Value) -> Atom:
    """Sum a cotangent of a result's shape over the axes along which an operand was broadcast."""
    wide, narrow = op.result.type, arg.type
    if not isinstance(wide, Numeric) or not isinstance(narrow, Numeric):
        return _at_run_time(scope, op, bar, arg)
    if wide.shape is None or narrow.shape is None:
        return _at_run_time(scope, op, bar, arg)
    if len(narrow.shape) > len(wide.shape):  # the plain call raises: ``math.log`` of an array
        return bar
    extra = len(wide.shape) - len(narrow.shape)
    kept: list[int] = []
    for k, (m, n) in enumerate(zip(wide.shape[extra:], narrow.shape, strict=True)):
        if same(m, n):
            continue
        if is_one(n) is not True:
            return _at_run_time(scope, op, bar, arg)
        if is_one(m) is not True:
            kept.append(k)
    if extra > 0:
        bar = _summed(scope, bar, tuple(range(extra)), whole=extra == len(wide.shape))
    if kept:
        axis: Arg = Const(kept[0]) if len(kept) == 1 else _axes(tuple(kept))
        bar = scope.call(np.sum, bar, axis=axis, keepdims=Const(True))
    return bar


def _at_run_time(scope: ReverseScope, op: Call, bar: Atom, arg: Value) -> Atom:
    """Leave it to the call, unless the other operands are numbers without axes."""
    others = [a for a in op.args if a is not arg]
    shapes = [getattr(argument_type(a), "shape", None) for a in others]
    if all(shape == () for shape in shapes):
        return bar
    wide, narrow = op.result.type, arg.type
    if isinstance(wide, Numeric) and isinstance(narrow, Numeric) and narrow.shape == ():
        return scope.call(np.sum, bar)
    return scope.call(runtime.unbroadcast, bar, arg)


def _axes(axes: tuple[int, ...]) -> Display:
    return Display("tuple", tuple(Const(k) for k in axes))


def _summed(scope: ReverseScope, bar: Atom, axes: tuple[int, ...], *, whole: bool) -> Value:
    if whole:
        return scope.call(np.sum, bar)
    return scope.call(np.sum, bar, axis=Const(axes[0]) if len(axes) == 1 else _axes(axes))


# ------------------------------------------------------------------------------- the rest
def _undo_by_cotangents(scope: ReverseScope, op: Call, rule: Rule, bars: dict[Path, Atom]) -> None:
    lifted = differentiable_arguments(op)
    operands = {
        k: lifted_operand(scope, op, a) if k in lifted else a for k, a in arguments(op).items()
    }
    y_bar = seed_of(op.result, with_values(scope, op, bars))
    operands = rows_taking_part(scope, op, rule, y_bar, operands)
    operands, result = reduced_with_ones(scope, op, rule, y_bar, operands)
    if result is op.result:
        operands, result = solved_with_identities(scope, op, rule, y_bar, operands)
    if result is op.result:
        operands, result = lines_taking_part(scope, op, rule, y_bar, operands)
    if result is op.result:
        operands, result, y_bar = with_stand_ins(scope, op, rule, y_bar, operands)
    leading = leading_of(scope, op, rule, y_bar, result)
    for place, arg, entry in chosen_entries(scope, op, rule, operands, leading, {}):
        if scope.sweep.facts.of(arg) is not False:
            refuse_no_partial(op, place, entry)
            if rule.has_entries_of_users:
                entry = Check(scope, op, rule, place).entry(arg, entry)
            entry = entries_stay_zero(scope, op, rule, y_bar, entry)
            entry = matrices_stay_zero(scope, op, rule, y_bar, arg, entry)
            contribute_structure(scope, arg, entry)


def with_values(scope: ReverseScope, op: Call, bars: dict[Path, Atom]) -> dict[Path, Atom]:
    """Return the cotangents of a decomposition, that of its values as zeros if others are used.

    The rule takes values without a cotangent as unused: then vectors of equal values are those of a
    projector, and otherwise perhaps of a function of the matrix.
    """
    place = _place_of_values(op)
    if place is None or not isinstance(op.result.type, TupleOf) or (place,) in bars:
        return bars
    calls = [call for call in walk(scope.sweep.primal.block) if isinstance(call, Call)]
    of_values = {
        call.result: found
        for call in calls
        if (found := _place_of_values(call)) is not None
        and call is not op
        and scope.sweep.facts.active(call.result) is not False
    }
    if not any(_reads_values(call, of_values) for call in calls):
        return bars
    return {**bars, (place,): scope.zeros(op.result, (place,))}


def _place_of_values(op: Call) -> int | None:
    """Return which result of a call are eigenvalues or singular values; None if none is."""
    try:
        return VALUES.get(op.target)
    except TypeError:
        return None


def _reads_values(call: Call, of_values: dict[Value, int]) -> bool:
    """Return True if a call reads the values of a decomposition, or all of its results."""
    if (is_item(call.target) or is_indexed(call.target)) and len(call.args) == 2:
        holder, key = call.args
        if isinstance(holder, Value) and isinstance(holder.type, TupleOf):
            return holder in of_values and key == Const(of_values[holder])
    return any(value in of_values for value in call.operands)


def leading_of(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Any, result: Arg | None = None
) -> list[Any]:
    """Return the leading arguments of a rule: the cotangent of the result, and the result."""
    if not rule.wants_result:
        return [y_bar]
    if rule.saves:
        bars = y_bar.items
        if bars[1] != Const(None):
            refuse_saved(op, rule)
        return [bars[0], scope.item(op.result, 0), scope.item(op.result, 1, hint="saved")]
    if rule.primal is None:
        return [y_bar, op.result if result is None else result]
    pair = scope.builder.call(
        rule.primal, *op.args, kwargs=op.kwargs, type=TupleOf((op.result.type, OPAQUE))
    )
    return [y_bar, op.result, scope.item(pair, 1)]


def seed_of(result: Value, bars: dict[Path, Atom]) -> Any:
    """Return the cotangent that a rule receives: a tuple with None for untouched results."""
    if not isinstance(result.type, TupleOf):
        return bars[()]
    return _display(result.type, (), bars)


def _display(type_: TupleOf, path: Path, bars: dict[Path, Atom]) -> Display:
    items: list[Arg] = []
    for k, item in enumerate(type_.items):
        here = (*path, k)
        if isinstance(item, TupleOf):
            items.append(_display(item, here, bars))
        else:
            items.append(bars.get(here, Const(None)))
    return Display("tuple", tuple(items))


def contribute_structure(scope: ReverseScope, arg: Arg, entry: Any) -> None:
    """Contribute what a rule returned for one argument: atoms, None, or sequences of such."""
    if entry is None or (isinstance(entry, Const) and entry.value is None):
        return
    if isinstance(entry, Display):
        entry = entry.items
    if isinstance(entry, tuple | list):
        _contribute_sequence(scope, arg, entry)
        return
    atom = entry if isinstance(entry, Value | Const) else Const(entry)
    if not isinstance(arg, Display):
        scope.contribute(arg, (), atom)
        return
    whole = isinstance(atom_type(atom), TupleOf)
    for k, one in enumerate(arg.items):
        if scope.sweep.facts.of(one) is not False:
            part = scope.item(atom, k) if whole else scope.call(operator.getitem, atom, Const(k))
            contribute_structure(scope, one, part)


def _contribute_sequence(scope: ReverseScope, arg: Arg, entry: tuple[Any, ...] | list[Any]) -> None:
    """Contribute a written-out sequence of cotangents to the items of an argument."""
    if isinstance(arg, Display):
        for one, part in zip(arg.items, entry, strict=True):
            contribute_structure(scope, one, part)
    elif isinstance(arg, Value) and isinstance(arg.type, ListOf):
        scope.contribute(arg, (), scope.build_list(*entry))
    elif isinstance(arg, Value):
        _contribute_items(scope, arg, (), entry)


def _contribute_items(
    scope: ReverseScope, arg: Value, path: Path, entry: tuple[Any, ...] | list[Any]
) -> None:
    """Contribute to the items of a structure, and to those of the structures inside."""
    for k, part in enumerate(entry):
        here = (*path, k)
        if isinstance(part, tuple | list) and isinstance(type_at(arg.type, here), TupleOf):
            _contribute_items(scope, arg, here, part)
        elif isinstance(part, tuple | list):
            scope.contribute(arg, here, scope.build_list(*part))
        elif part is not None:
            scope.contribute(arg, here, part)
