"""Strong zeros for missing data: a selection that leaves them out cuts the cotangent to zero.

`np.nansum`, a `where` on `np.isnan` and their like select entries, and the cotangent of the others
is exactly zero.  On its way back it meets partial derivatives that are nan there, because the data
are: ``0 * nan`` must not come of it.  So it is with every mask that does not depend on what the
derivative is taken by: it may tell where data are missing, wherever it was made.  A mask that does
depend on it (``p > 0``) counts where it asks for nan, or selects entries that are computed from an
array of data, as in ``np.where(p * x < np.inf, p * x, 0.0)``: those may be nan or infinite, too.
Only the calls that lead to such a selection pay for that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.arguments import arguments, rule_of
from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    Routine,
    Value,
    values_in,
    walk,
)
from srcad.ir.inference.builder import atom_type
from srcad.ir.library_operations import is_elementwise
from srcad.ir.traits import (
    is_checkpoint,
    is_indexed,
    is_store,
)
from srcad.rules.registry import row_of
from srcad.rules.row import Rule
from srcad.startup.records import replace
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.entries import sequence
from srcad.transforms.masks import arrives, walked_back
from srcad.transforms.sweep import Sweep, is_scalar, zero_of
from srcad.types.numeric import Numeric
from srcad.types.structures import Fixed, ListOf, TupleOf, Type


def zeros_stay(
    scope: ReverseScope, op: Call, y_bar: Atom, partial: Any, bar: Atom, *, is_guarded: bool
) -> Atom:
    """Return the product of a cotangent and a partial derivative, 0 where it was left out.

    It is the product as it stands unless the result of `op` is on the way to where entries are
    left out.  There the test of the selection is carried along, if it is known: a cotangent may be
    zero by value, too, and the product of a zero by underflow and an infinite partial is nan.
    Nothing is written if the mask of `y_bar` guards the operands: the partial is finite there.
    """
    if not isinstance(y_bar, Value) or not isinstance(bar, Value) or bar is y_bar:
        return bar
    taking_part = scope.sweep.taking_part
    test = taking_part.get(y_bar)
    is_mask = isinstance(partial, Value) and _is_bool(partial.type)
    if is_mask or not isinstance(partial, Value):
        is_known = test is not None or not arrives(scope.sweep, op.result, towards_selection)
        if is_mask and is_known:
            test = partial if test is None else scope.call(np.logical_and, test, partial)
        if test is not None:
            taking_part[bar] = test
        return bar
    if not isinstance(partial.type, Numeric):
        return bar
    if not arrives(scope.sweep, op.result, towards_selection):
        return bar
    if test is None:
        test = scope.call(operator.ne, unsigned(scope, y_bar), Const(0.0))
    if not (is_guarded and scope.sweep.masks.get(y_bar) is test):
        bar = unless_cut(scope, test, bar)
    taking_part[bar] = test
    return bar


def unless_cut(scope: ReverseScope, test: Atom, bar: Atom) -> Value:
    """Return ``bar`` where a test is True, and exact zeros elsewhere."""
    if not is_scalar(atom_type(test)) or not is_scalar(atom_type(bar)):
        return scope.call(np.where, test, bar, Const(0.0))
    zero = zero_of(atom_type(bar))
    return scope.builder.if_(test, Block(results=(bar,)), Block(results=(zero,)))[0]


def rows_taking_part(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Any, operands: dict[int | str, Arg]
) -> dict[int | str, Arg]:
    """Zero the entries of a contraction's operands that meet zero cotangents only."""
    if (
        rule.entries not in ("contracted", "crossed", "evaluated")
        or not isinstance(y_bar, Value)
        or is_scalar(op.result.type)
        or not arrives(scope.sweep, op.result, towards_selection)
    ):
        return operands
    if rule.entries == "evaluated":
        return _points_taking_part(scope, op, rule, y_bar, operands)
    x = operands.get(0)
    ranks = [_rank(value) for value in (x, operands.get(1), y_bar)]
    # Of `matmul`, `dot` and `inner`, rows of the first operand are rows of the result.
    is_stacked = rule.order == "stacks" and not op.kwargs
    if not is_stacked or ranks not in ([2, 1, 1], [2, 2, 1], [2, 2, 2]):
        return _entries_taking_part(scope, op, rule, y_bar, operands)
    assert isinstance(x, Value)
    rows = scope.call(operator.ne, y_bar, Const(0.0))
    if ranks[2] == 2:
        rows = scope.call(np.any, rows, axis=Const(1))
    column = scope.call(np.expand_dims, rows, Const(1))
    return {**operands, 0: scope.call(np.where, column, x, Const(0.0))}


def _points_taking_part(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Value, operands: dict[int | str, Arg]
) -> dict[int | str, Arg]:
    """Return the operands with ones for the points at which a zero cotangent stands.

    The result has the shape of the points: there are rules for one row of coefficients only.
    """
    places = (*(k for k, name in enumerate(rule.parameters) if name == "x"), "x")
    place = next((k for k in places if k in operands), None)
    x = None if place is None else operands[place]
    if place is None or not isinstance(x, Value) or is_scalar(x.type):
        return operands
    if _rank(op.result) not in (None, _rank(x)):
        return operands
    test = scope.call(operator.ne, y_bar, Const(0.0))
    return {**operands, place: scope.call(np.where, test, x, Const(1.0))}


def _entries_taking_part(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Value, operands: dict[int | str, Arg]
) -> dict[int | str, Arg]:
    """Return the operands with zeros in entries that contribute to no nonzero cotangent.

    The rule counts these contributions, as it sums products: of flags in place of the cotangent,
    and ones in place of the operands.  Where it takes differences, numbers stand for the operands
    that do not cancel: sines of different integers have no sum or difference that is 0.
    """
    arrays = {k: a for k, a in operands.items() if rule.entry(k) is not None and _has_arrays(a)}
    if not rule.shipped or rule.function is None:
        return operands
    test = scope.call(operator.ne, y_bar, Const(0.0))
    flags = scope.call(np.astype, test, Const(np.float64))
    stand_ins = _sines if rule.entries == "crossed" else _ones
    ones = {k: _on_arrays(a, lambda x, _: stand_ins(scope, x), ()) for k, a in arrays.items()}
    given = {**operands, **ones}
    positional = [arg for place, arg in given.items() if isinstance(place, int)]
    named = {name: arg for name, arg in given.items() if isinstance(name, str)}
    known = {n: a for n, a in named.items() if n in rule.parameters or n in rule.keywords}
    leading = [flags, op.result] if rule.kind == "adjoint" else [flags]
    found = scope.sweep.inline(scope.builder, rule.function, [*leading, *positional], known)
    entries = [found] if rule.single else sequence(scope, found)

    def unless_unused(array: Arg, counts: Any) -> Arg:
        if not isinstance(counts, Value):
            return array
        takes_part = scope.call(operator.ne, counts, Const(0.0))
        return scope.call(np.where, takes_part, array, Const(0.0))

    zeroed = dict(operands)
    active = [k for k, a in arrays.items() if scope.sweep.facts.of(arguments(op)[k]) is not False]
    for place, arg in arrays.items():
        if active == [place] and not isinstance(arg, Display):
            continue  # no other operand has a cotangent, which would be a sum of its entries
        index, offset = rule.entry(place) or (0, None)
        counts = entries[index]
        counts = counts if offset is None else sequence(scope, counts)[offset]
        items = sequence(scope, counts) if isinstance(arg, Display) else counts
        zeroed[place] = _on_arrays(arg, unless_unused, items)
    return zeroed


def _has_arrays(arg: Arg) -> bool:
    """Return True for an array, and for a list of arrays."""
    types_ = map(argument_type, arg.items if isinstance(arg, Display) else (arg,))
    return all(isinstance(type_, Numeric) and not is_scalar(type_) for type_ in types_)


def _on_arrays(arg: Arg, change: Callable[[Arg, Any], Arg], others: Any) -> Arg:
    """Apply a function of two arrays to an array, or to each array of a list."""
    if not isinstance(arg, Display):
        return change(arg, others)
    others = others or [None] * len(arg.items)
    return replace(arg, items=tuple(map(change, arg.items, others)))


def _ones(scope: ReverseScope, array: Arg) -> Value:
    """Emit ones in the shape of an array."""
    return scope.call(np.ones, scope.call(np.shape, array))


def _sines(scope: ReverseScope, array: Arg) -> Value:
    """Emit the sines of 1, 2, 3 and so on, in the shape of an array."""
    stop = scope.call(operator.add, scope.call(np.size, array), Const(1))
    entries = scope.call(np.sin, scope.call(np.arange, Const(1), stop))
    return scope.call(np.reshape, entries, scope.call(np.shape, array))


def _distinct_numbers(scope: ReverseScope, array: Arg) -> Value:
    """Emit distinct numbers between 0 and 1 in the shape of an array.

    Their logarithms and roots are real, and lines of them have variance and correlation.
    """
    quarters = scope.call(operator.mul, _sines(scope, array), Const(0.25))
    return scope.call(operator.add, quarters, Const(0.5))


def reduced_with_ones(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Any, operands: dict[int | str, Arg]
) -> tuple[dict[int | str, Arg], Arg]:
    """Return the operand and the result of what reduces axes, ones where the cotangent is zero."""
    x = operands.get(0)
    if rule.saves or rule.primal is not None or not isinstance(x, Value):
        return operands, op.result
    axes, keeps = _axes_away(op, rule, x)
    along = _axis_along(op, rule, x) if axes is None else None
    if (axes is None and along is None) or not isinstance(y_bar, Value):
        return operands, op.result
    if not arrives(scope.sweep, op.result, towards_selection):
        return operands, op.result
    test = scope.call(operator.ne, y_bar, Const(0.0))
    if along is not None:
        x = scope.call(np.where, _any_from_here(scope, test, along), x, Const(1.0))
        return {**operands, 0: x}, scope.call(np.where, test, op.result, Const(1.0))
    assert axes is not None
    wide = test if keeps else scope.call(np.expand_dims, test, axes)
    # A function of which little is known may divide by the variance, which equal numbers lack.
    other = Const(1.0) if rule.entries == "reduced" else _distinct_numbers(scope, x)
    x = scope.call(np.where, wide, x, other)
    return {**operands, 0: x}, scope.call(np.where, test, op.result, Const(1.0))


def lines_taking_part(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Any, operands: dict[int | str, Arg]
) -> tuple[dict[int | str, Arg], Arg]:
    """Return the operand and the result, other numbers in lines that meet zero cotangents only.

    A line is all along an axis, as for ``softmax``, or one variable, as for ``cov``.  The numbers
    are not all alike: a line of equal ones has no correlation and no standard score.
    """
    x = operands.get(0)
    is_array = isinstance(x, Value) and (_rank(x) or 0) > 0
    if rule.entries not in ("lines", "paired") or not is_array or not isinstance(y_bar, Value):
        return operands, op.result
    if not arrives(scope.sweep, op.result, towards_selection):
        return operands, op.result
    assert isinstance(x, Value)
    test = scope.call(operator.ne, y_bar, Const(0.0))
    if rule.entries == "lines":
        axis = _option(op, rule, "axis") or _default(rule, "axis")
        test = wide = scope.call(np.any, test, axis=axis, keepdims=Const(True))
    else:
        second, rowvar = _option(op, rule, "y"), _option(op, rule, "rowvar") or Const(True)
        is_alone = second in (None, Const(None))
        if _rank(x) != 2 or not isinstance(rowvar, Const) or not (is_alone or _rank(second) == 1):
            return operands, op.result
        square = scope.call(np.atleast_2d, test)  # the covariance of one variable is a number
        sides = [scope.call(np.any, square, axis=Const(k)) for k in (0, 1)]
        wide = scope.call(np.logical_or, *sides)
        if not is_alone:
            assert isinstance(second, Value)
            ends = (Const(None), Const(-1), Const(None)), (Const(-1), Const(None), Const(None))
            wide, last = (scope.call(operator.getitem, wide, Display("slice", e)) for e in ends)
            place = next(k for k, arg in arguments(op).items() if arg is second)
            second = scope.call(np.where, last, operands[place], _sines(scope, second))
            operands = {**operands, place: second}
        wide = scope.call(np.expand_dims, wide, Const(1)) if rowvar.value else wide
    x = scope.call(np.where, wide, x, _sines(scope, x))
    return {**operands, 0: x}, scope.call(np.where, test, op.result, Const(1.0))


def solved_with_identities(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Any, operands: dict[int | str, Arg]
) -> tuple[dict[int | str, Arg], Arg]:
    """Return the operands and the result of a stack of systems, others where they are left out.

    Of a system whose solution has a zero cotangent the matrix is the identity, and the solution 0.
    """
    a = operands.get(0)
    if rule.entries != "stacked" or not _is_system(op) or not isinstance(a, Value):
        return operands, op.result
    test = _matrices_taking_part(scope, op, a, y_bar)
    if test is None:
        return operands, op.result
    size = scope.call(operator.getitem, scope.builder.shape(a), Const(-1))
    column = _in_rank(scope, test, (_rank(a) or 0) - 2, 2)
    solution = _in_rank(scope, test, (_rank(a) or 0) - 2, _core_rank(op, a))
    a = scope.call(np.where, column, a, scope.call(np.eye, size))
    return {**operands, 0: a}, scope.call(np.where, solution, op.result, Const(0.0))


def matrices_stay_zero(
    scope: ReverseScope, op: Call, rule: Rule, y_bar: Any, arg: Arg, entry: Any
) -> Any:
    """Return the cotangent of a stack of matrices, 0 where the cotangent of its result is 0."""
    if rule.entries != "stacked" or not isinstance(entry, Value) or not isinstance(arg, Value):
        return entry
    test = _matrices_taking_part(scope, op, arg, y_bar)
    if test is None:
        return entry
    if _is_system(op):  # its matrices have the axes of all stacks
        return scope.call(runtime.unbroadcast, entry, arg)
    return unless_cut(scope, _in_rank(scope, test, (_rank(arg) or 0) - 2, 2), entry)


def _is_system(op: Call) -> bool:
    """Return True if a call of stacks takes right sides beside matrices."""
    second = argument_type(op.args[1]) if len(op.args) > 1 else None
    return isinstance(second, Numeric) and not is_scalar(second)


def _matrices_taking_part(scope: ReverseScope, op: Call, a: Value, y_bar: Any) -> Value | None:
    """Emit a flag for each matrix of a stack, False where the cotangents of its results are 0.

    None for a single matrix, where the number of axes is unknown, and where no entry is left out.
    """
    rank = _rank(a)
    if rank is None or rank <= 2:
        return None
    results = [op.result]
    if isinstance(op.result.type, TupleOf):
        results = [call.result for call in scope.sweep.read_by.get(op.result, ())]
    if not any(arrives(scope.sweep, value, towards_selection) for value in results):
        return None
    found: Value | None = None
    for bar in y_bar.items if isinstance(y_bar, Display) else (y_bar,):
        if not isinstance(bar, Value):
            continue
        own = getattr(bar.type, "shape", None)
        if own is None or len(own) < rank - 2:
            return None
        flags = scope.call(operator.ne, bar, Const(0.0))
        core = tuple(range(rank - 2, len(own)))
        if core:
            flags = scope.call(np.any, flags, axis=Const(core if len(core) > 1 else core[0]))
        found = flags if found is None else scope.call(np.logical_or, found, flags)
    return found


def _core_rank(op: Call, a: Value) -> int:
    """Return the number of axes of the result for one matrix of a stack."""
    return (_rank(op.result) or 0) - ((_rank(a) or 0) - 2)


def _in_rank(scope: ReverseScope, flags: Value, rank: int, core: int) -> Value:
    """Emit flags of stacks with axes of length 1 for those of a matrix, a vector or a number."""
    if core == 0:
        return flags
    return scope.call(np.expand_dims, flags, Const(tuple(range(rank, rank + core))))


def entries_stay_zero(scope: ReverseScope, op: Call, rule: Rule, y_bar: Any, entry: Any) -> Any:
    """Return the cotangent of an operand of a scalar call, 0 where the result has cotangent 0."""
    if rule.kind not in ("adjoint", "bilinear") or not isinstance(y_bar, Value):
        return entry
    if not isinstance(entry, Value) or not isinstance(entry.type, Numeric):
        return entry
    if not is_scalar(op.result.type) or not is_scalar(y_bar.type):
        return entry
    if not arrives(scope.sweep, op.result, towards_selection):
        return entry
    return unless_cut(scope, scope.call(operator.ne, y_bar, Const(0.0)), entry)


def _axes_away(call: Call, rule: Rule, value: Value) -> tuple[Arg | None, bool]:
    """Return the axes that a call reduces, and whether they stay with length 1.

    None if the result does not keep the others as they are, or if that is unknown.
    """
    names = (*rule.parameters, *rule.keywords)
    if rule.kind != "adjoint" or "axis" not in names:
        return None, False
    axis = _option(call, rule, "axis") or _default(rule, "axis")
    keeps = _option(call, rule, "keepdims") or Const(False)
    items = axis.items if isinstance(axis, Display) else (axis,)
    if not all(isinstance(item, Const) and type(item.value) is int for item in items):
        return None, False
    if not isinstance(keeps, Const) or type(keeps.value) is not bool:
        return None, False
    before, after = _rank(value), _rank(call.result)
    if keeps.value:
        known = "keepdims" in names and (before == after if before and after else True)
        return (axis, True) if known and rule.entries == "reduced" else (None, False)
    if before is None or after is None:
        return (axis if rule.entries == "reduced" else None), False
    return (axis if before - after == len(items) else None), False


def _option(call: Call, rule: Rule, name: str) -> Arg | None:
    """Return the argument for a parameter of a rule, by position or keyword."""
    given = arguments(call)
    place = rule.parameters.index(name) if name in rule.parameters else name
    return given.get(place, given.get(name))


def _default(rule: Rule, name: str) -> Const:
    """Return the default value of a parameter, as the rule has it; None if it has none."""
    assert rule.function is not None
    default = signature(rule.function).parameters[name].default
    return Const(None if default is Parameter.empty else default)


def _axis_along(call: Call, rule: Rule, value: Value) -> Const | None:
    """Return the axis of a cumulative function; None of a number, of which it makes a vector."""
    if rule.entries != "running" or is_scalar(value.type):
        return None
    given = arguments(call)
    place = rule.parameters.index("axis") if "axis" in rule.parameters else "axis"
    axis = given.get(place, given.get("axis"))
    if axis is None and _rank(value) is not None and _rank(value) == _rank(call.result):
        axis = Const(0)
    known = isinstance(axis, Const) and type(axis.value) is int
    includes = given.get("include_initial", Const(False))
    return axis if known and includes == Const(False) else None  # type: ignore[return-value]


def _any_from_here(scope: ReverseScope, test: Value, axis: Const) -> Value:
    """Emit a reversed cumulative *any* of flags along an axis."""
    backward = scope.call(np.flip, test, axis)
    counts = scope.call(np.cumsum, scope.call(np.astype, backward, Const(np.float64)), axis)
    return scope.call(operator.ne, scope.call(np.flip, counts, axis), Const(0.0))


def _rank(value: Arg | None) -> int | None:
    type_ = value.type if isinstance(value, Value) else None
    known = isinstance(type_, Numeric) and type_.shape is not None
    return len(type_.shape) if known and isinstance(type_, Numeric) and type_.shape else None


def unsigned(scope: ReverseScope, y_bar: Value) -> Arg:
    """Return the negated operand of a cotangent, or the cotangent itself: both are 0 together."""
    maker = next((op for op in reversed(scope.builder.ops) if y_bar in op.results), None)
    is_negative = isinstance(maker, Call) and maker.target is operator.neg
    return maker.args[0] if is_negative and isinstance(maker, Call) else y_bar


def towards_selection(sweep: Sweep, value: Value) -> list[Value] | None:
    """Return the readers of a value that keep its places, or None where entries are left out."""
    if value in _cut_by_branches(sweep):
        return None
    if is_scalar(value.type) and not _may_cut_numbers(sweep):
        return []
    readers = sweep.read_by.get(value, ())
    if any(_leaves_out(sweep, call, value) for call in readers):
        return None
    onward = [call.result for call in readers if _keeps_places(sweep, call, value)]
    if not _may_cut_numbers(sweep):
        return onward
    crossings = sweep.crossings
    onward += crossings.onward.get(value, ())
    if not is_scalar(value.type):
        return onward
    if any(arrives(sweep, v, _towards_whole_cut) for v in onward if not is_scalar(v.type)):
        return None
    # The cotangent of a number that many entries read is not zero where one of them is left out.
    return [
        v
        for v in onward
        if not crossings.is_deeper(v, value) and (is_scalar(v.type) or isinstance(v.type, ListOf))
    ]


def _towards_whole_cut(sweep: Sweep, value: Value) -> list[Value] | None:
    """Return the readers of a value, or None at a selection of a whole array by one flag."""
    readers = sweep.read_by.get(value, ())
    for call in readers:
        mask = _mask_of(call, value)
        is_flag = mask is not None and is_scalar(argument_type(mask)) and call.target is np.where
        if is_flag and _leaves_out(sweep, call, value):
            return None
    return [call.result for call in readers if is_elementwise(call.target)]


def asks_for_nan(sweep: Sweep) -> bool:
    """Return True if anything in the primal tells where something is nan."""
    if sweep.asks_for_nan is None:
        sweep.asks_for_nan = any(map(_is_question, sweep.made.values())) or any(
            _asks_in_routine(call.target) for call in sweep.made.values()
        )
    return sweep.asks_for_nan


_ASKS = "whether it asks for nan"


def _asks_in_routine(target: Any) -> bool:
    """Return True if a helper, or one that it calls, tells where something is nan."""
    if not isinstance(target, Routine) or target.function is None:
        return False
    if _ASKS not in target.derived:
        target.derived[_ASKS] = False
        calls = [op for op in walk(target.function.block) if isinstance(op, Call)]
        target.derived[_ASKS] = any(_is_question(op) or _asks_in_routine(op.target) for op in calls)
    return bool(target.derived[_ASKS])


def _cut_by_branches(sweep: Sweep) -> frozenset[Value]:
    """Return the values that a branch reads which may leave out nan."""
    if sweep.cut is None:
        sweep.cut = frozenset(
            value
            for op, values in sweep.crossings.branches
            if not is_checkpoint(op) and _may_skip_nan(sweep, op.test)
            for value in values
        )
    return sweep.cut


def _may_cut_numbers(sweep: Sweep) -> bool:
    """Return True if single numbers, too, may be left out, by a branch or a question."""
    return asks_for_nan(sweep) or bool(_cut_by_branches(sweep))


def _may_skip_nan(sweep: Sweep, test: Atom) -> bool:
    """Return True if a branch asks for nan, or for an entry of a mask that may know of it."""
    if not isinstance(test, Value):
        return False
    if tests_for_nan(sweep, test):
        return True
    return arrives(sweep, test, _back_to_mask) and not arrives(sweep, test, _back_to_derived)


def _back_to_mask(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along flags to an entry of a boolean array or of a list of flags.

    A list that a loop collects is no such list: its items are followed into the loop.
    """
    origins = sweep.crossings.origins.get(value, [])
    call = sweep.made.get(value)
    entries = [*origins, *(call.args[:1] if call and is_indexed(call.target) else ())]
    collected = sweep.collected
    if any(_is_mask(argument_type(arg)) and arg not in collected for arg in entries):
        return None
    back = [*origins, *(call.operands if call else ())]
    return [v for v in back if _is_bool(v.type) or v in collected]


def _keeps_places(sweep: Sweep, call: Call, value: Value) -> bool:
    """Return True if the entries of a value, or its rows, are still apart in the result."""
    if call.result in _cut_by_branches(sweep) and rule_of(call.target) is not None:
        return True
    if row_of(call.target).entries == "contracted" and not is_scalar(call.result.type):
        return call.args[0] is value or (_rank(value) or 0) > 1
    if is_elementwise(call.target):
        return True
    if row_of(call.target).entries == "evaluated" and _argument(call, "x") is value:
        return not is_scalar(value.type)
    if row_of(call.target).entries == "stacked":
        return (_rank(value) or 0) > 2
    if is_indexed(call.target) and call.args[0] is not value:
        return False
    rule = rule_of(call.target)
    if rule is None or rule.kind == "nondifferentiable":
        return False
    if getattr(call.result.type, "shape", None) == ():
        return _may_cut_numbers(sweep)
    return rule.kind == "linear" or "axis" in (*rule.parameters, *rule.keywords)


def _leaves_out(sweep: Sweep, call: Call, value: Value) -> bool:
    """Return True if a call passes over entries of a value that may be nan."""
    if row_of(call.target).nan == "left out":
        return True
    if any(key == "where" and _may_hide_nan(sweep, arg, value) for key, arg in call.kwargs):
        return True
    mask = _mask_of(call, value)
    if mask is None or mask is value or not _may_hide_nan(sweep, mask, value):
        return False
    return not _is_nan_in_both(sweep, call, value)


def _mask_of(call: Call, value: Value) -> Arg | None:
    """Return the mask or index of the entries that a call takes or overwrites; None without one."""
    row = row_of(call.target)
    if row.selects in row.parameters:
        return _argument(call, row.selects)
    if is_store(call.target, "array") and call.args[0] is value:
        return call.args[1]
    return None


def _argument(call: Call, name: str) -> Arg | None:
    """Return the argument of a parameter of the rule, given by position or by name."""
    given, parameters = arguments(call), row_of(call.target).parameters
    place = parameters.index(name) if name in parameters else name
    return given.get(place, given.get(name))


def _is_nan_in_both(sweep: Sweep, call: Call, value: Value) -> bool:
    """Return True if ``np.where(x > 0, f(x), g(x))`` is nan wherever one of its branches is."""
    if call.target is not np.where or len(call.args) != 3:
        return False
    made = sweep.made.get(call.args[0]) if isinstance(call.args[0], Value) else None
    if made is None or row_of(made.target).answers != "order":
        return False
    other = call.args[2] if call.args[1] is value else call.args[1]
    return _read_entry_by_entry(sweep, value, _is_any) <= _read_entry_by_entry(
        sweep, other, _propagates_nan
    )


def _read_entry_by_entry(sweep: Sweep, start: Arg, goes_on: Callable[[Call], bool]) -> set[Value]:
    """Return the values that an argument is computed from entry by entry, over several calls."""
    starts = [start] if isinstance(start, Value) else []
    return walked_back(sweep, starts, lambda call: is_elementwise(call.target) and goes_on(call))[1]


def _is_any(call: Call) -> bool:
    return True


def _propagates_nan(call: Call) -> bool:
    """Return True if the result is nan wherever an operand is, as it is not for ``nan ** 0``."""
    return row_of(call.target).nan == "stays"


def _may_hide_nan(sweep: Sweep, mask: Arg, value: Value) -> bool:
    """Return True if a mask may tell where a value is nan.

    Of an index, whether one of its parts may.
    """
    if isinstance(mask, Display) and any(_may_hide_nan(sweep, item, value) for item in mask.items):
        return True
    if tests_for_nan(sweep, mask):
        return True
    if not _is_mask(argument_type(mask)):
        return False
    is_derived = any(arrives(sweep, one, _back_to_derived) for one in values_in(mask))
    return not is_derived or arrives(sweep, value, _back_to_data)


def _back_to_data(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along derived values to an array of numbers that is given, and not derived by."""
    call = sweep.made.get(value)
    if sweep.facts.varied.get(value, False) is False and not _is_part_or_made(call):
        return None if _is_data(value) else []
    if call is None:
        return sweep.crossings.origins.get(value, [])
    return None if any(_is_data(c) for c in _constants(call)) else list(call.operands)


def _is_part_or_made(call: Call | None) -> bool:
    """Return True if a call makes an array of no numbers that are given, or reads a part of one."""
    if call is None:
        return False
    row = row_of(call.target)
    return is_indexed(call.target) or row.entries == "made" or row.law == "zeros"


def _constants(call: Call) -> list[Const]:
    return [arg for arg in arguments(call).values() if isinstance(arg, Const)]


def _is_data(arg: Atom) -> bool:
    """Return True for an array with axes that may hold nan."""
    type_ = argument_type(arg)
    return isinstance(type_, Numeric) and type_.shape != () and type_.kind not in "biu"


def _is_mask(type_: Type) -> bool:
    """Return True for the type of a boolean array, or of a list or index that holds one."""
    if isinstance(type_, Numeric):
        return type_.kind == "b" and type_.shape != ()
    if isinstance(type_, ListOf):
        return _is_mask(type_.item) or _is_bool(type_.item)
    if isinstance(type_, TupleOf):
        return any(map(_is_mask, type_.items)) or (
            bool(type_.items) and all(map(_is_bool, type_.items))
        )
    return False


def _is_bool(type_: Type) -> bool:
    if isinstance(type_, Fixed):
        return isinstance(type_.value, bool)
    return isinstance(type_, Numeric) and type_.kind == "b"


def _back_to_derived(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along the calls to a value on which the derivative by something depends."""
    if sweep.facts.varied.get(value, False) is not False:
        return None
    call = sweep.made.get(value)
    origins = sweep.crossings.origins.get(value, ())
    return [*origins, *(() if call is None else call.operands)]


def tests_for_nan(sweep: Sweep, mask: Arg) -> bool:
    """Return True if a mask tells where something is nan."""
    return any(arrives(sweep, value, _back_to_question) for value in values_in(mask))


def _back_to_question(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along all that carries no derivative to a question for nan."""
    if sweep.facts.varied.get(value, False) is not False:
        return []
    call = sweep.made.get(value)
    if call is None:
        return sweep.crossings.origins.get(value, [])
    return None if _is_question(call) else list(call.operands)


def _is_question(call: Call) -> bool:
    """Return True if a call tells where something is nan or infinite."""
    answers = row_of(call.target).answers
    if answers == "equality":
        own = call.half != "primal" and call.args[1] == Const(0.0)  # made by `zeros_stay`
        return own or call.args[0] is call.args[1]
    return answers == "nan"
