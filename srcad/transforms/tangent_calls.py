"""Tangents of calls: by the rule of the callee, or by the meaning of an IR operation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import fully_active, position
from srcad.analysis.arguments import arguments, differentiable_arguments, is_of_integers, rule_of
from srcad.errors import (
    MissingRuleError,
    SrcadError,
    UnsupportedSyntaxError,
    UnsupportedTypeError,
)
from srcad.ir import primitives
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Block, Call, Const, Display, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.operations import every
from srcad.ir.text import target_name
from srcad.ir.traits import built_parts, is_same, sets_places, sums_at_places
from srcad.rules import tangents
from srcad.rules.registry import qualified_name, row_of
from srcad.rules.row import AlwaysRaisesError, Rule
from srcad.transforms.calls import as_array, chosen_entries, lifted_arg, lifted_operand, times
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.entries import Check
from srcad.transforms.magnitudes import without_magnitudes
from srcad.transforms.masks import guarded_operands, may_insert_infinity, record_mask
from srcad.transforms.missing import asks_for_nan, unless_cut
from srcad.transforms.refusals import (
    missing_rule,
    refuse_missing_cotangents,
    refuse_no_partial,
    refuse_unknown_field,
    unwritten,
)
from srcad.transforms.still import note_terms, stays_still, term_that_moves, zero_at_root
from srcad.transforms.sweep import cotangent_type, is_scalar
from srcad.transforms.tangents import ForwardScope, Tangent
from srcad.transforms.transposed import by_formula, transposed
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.sizes import same
from srcad.types.structures import ListOf, TupleOf, Type, numbers_in

# The shape and dtype of a tangent: those of the result.


def fitted(scope: Any, dot: Atom, op: Call) -> Atom:
    """Return a tangent in the shape and dtype of the result of an elementwise call."""
    wide, narrow = op.result.type, atom_type(dot)
    if not isinstance(wide, Numeric):
        return dot
    if is_scalar(wide):
        is_number = isinstance(narrow, Numeric) and narrow.form != "array"
        return scope.call(np.asarray, dot) if wide.form == "array" and is_number else dot
    wide_ones = {a for a in op.args if getattr(argument_type(a), "shape", None) != ()}
    if not isinstance(narrow, Numeric):
        # Of no known kind: perhaps the tangent of a number, beside an array.
        arrays = {a for a in wide_ones if getattr(argument_type(a), "form", None) == "array"}
        return _widened(scope, dot, op) if arrays and len(op.args) > 1 else dot
    alone = len(wide_ones) <= 1 and (narrow.shape is not None or wide_ones >= {*op.operands})
    if not (_same_shape(wide, narrow) or (alone and narrow.shape != ())):
        dot = _widened(scope, dot, op)
    if (
        wide.kind == "f"
        and narrow.kind != "c"
        and not same_dtype(wide.dtype, narrow.dtype)
        and wide.form == "array"
    ):
        dot = scope.call(np.astype, dot, Const(wide.dtype))
    return dot


def _widened(scope: Any, dot: Atom, op: Call) -> Atom:
    """Return a tangent in the shape of the result."""
    wide = op.result.type
    dot = scope.call(np.broadcast_to, dot, scope.shape(op.result))
    known = isinstance(wide, Numeric) and wide.shape is not None
    return dot if known else scope.call(operator.getitem, dot, Const(()))


def _same_shape(a: Numeric, b: Numeric) -> bool:
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return False
    return all(same(m, n) for m, n in zip(a.shape, b.shape, strict=True))


Push = Callable[[ForwardScope, Call], Tangent]


def push_call(forward: ForwardScope, op: Call) -> None:
    """Append a call, and set the tangent of its result."""
    forward.builder.ops.append(op)
    if forward.tree(op.result) is False:
        return
    op = without_magnitudes(forward.scope.sweep.made, op)
    flows = differentiable_arguments(op).values()
    if all(forward.of(arg) is None for arg in flows):
        return
    forward.builder.where = op.where
    forward.put(op.result, _of_kind(forward.scope, op.result, _pushed(forward, op)))


def _of_kind(scope: ReverseScope, value: Value, dot: Tangent) -> Tangent:
    """Return a tangent that is real, or complex, as the value is."""
    if not isinstance(dot, Value):
        return dot
    type_, given = value.type, dot.type
    if scope.sweep.is_unsettled(type_, given):
        # A list has a list of tangents: directions must not take the place of its items.
        known = None if isinstance(type_, Numeric) else cotangent_type(type_)
        return scope.builder.call(runtime.real_part_like, dot, value, type=known)
    if not isinstance(type_, Numeric):
        return dot
    if type_.is_real and scope.sweep.is_complex(given):
        return scope.call(np.real, dot)
    if type_.kind == "c" and isinstance(given, Numeric) and given.kind == "f":
        return scope.call(np.astype, dot, Const(type_.dtype)) if given.form == "array" else dot
    return dot


def _pushed(forward: ForwardScope, op: Call) -> Tangent:
    try:
        structural = TANGENTS.get(op.target)
    except TypeError:
        structural = None
    if structural is not None:
        return structural(forward, op)
    scope = forward.scope
    rule = rule_of(op.target)
    if rule is None:
        raise missing_rule(scope, op)
    refuse_missing_cotangents(scope, op, rule)
    try:
        if rule.tangent is not None:
            return by_formula(forward, op, rule, rule.tangent, zero=0.0)
        with _zeros_for_excluded(forward, op, rule):
            return _KINDS[rule.kind](forward, op, rule)
    except AlwaysRaisesError:
        raise MissingRuleError(
            f"the rule of {qualified_name(op.target)} raises for these arguments", where=op.where
        ) from None
    except (UnsupportedSyntaxError, UnsupportedTypeError) as problem:
        raise unwritten(op, rule, problem) from None


@contextmanager
def _zeros_for_excluded(forward: ForwardScope, op: Call, rule: Rule) -> Iterator[None]:
    """Put zeros for the tangents of entries that a reduction leaves out: these may be nan."""
    a = op.args[0] if op.args else None
    dot = forward.of(a) if isinstance(a, Value) else None
    if rule.kind != "adjoint" or not isinstance(a, Value) or not isinstance(dot, Value):
        yield
        return
    where = dict(op.kwargs).get("where", Const(None))
    mask: Arg | None = None if where == Const(None) else where
    if row_of(op.target).nan == "left out":
        numbers = forward.builder.call(np.logical_not, forward.builder.call(np.isnan, a))
        mask = numbers if mask is None else forward.builder.call(np.logical_and, numbers, mask)
    if mask is not None:
        forward.dots[a] = forward.builder.call(np.where, mask, dot, Const(0.0))
    try:
        yield
    finally:
        forward.dots[a] = dot


# ------------------------------------------------------------------------------- by rules
def _by_derivative(forward: ForwardScope, op: Call, rule: Rule) -> Tangent:
    """Return the sum of partial derivatives times tangents."""
    scope = forward.scope
    if _move_together(forward, op, rule):
        formula = tangents.FORMULAS[op.target]
        return fitted(scope, by_formula(forward, op, rule, formula, zero=None), op)
    arrays = {place: as_array(scope, arg) for place, arg in arguments(op).items()}
    operands = {place: lifted_operand(scope, op, arg) for place, arg in arrays.items()}
    result = lifted_arg(scope, op.result) if rule.wants_result else op.result
    plain: list[tuple[int | str, Arg, Any]] | None = None
    total: Atom | None = None
    tests: list[Value | None] = []
    for place, arg in arguments(op).items():
        dot = forward.of(arg)
        if dot is None or rule.entry(place) is None:
            continue
        dot = as_array(scope, forward.spelled(arg, dot))
        if dot in scope.sweep.masks:
            entries = _entries(
                scope, op, rule, *guarded_operands(scope, dot, op, rule, operands, result)
            )
        else:
            plain = _entries(scope, op, rule, operands, result) if plain is None else plain
            entries = plain
        partial = next((p for at, _, p in entries if at == place), None)
        refuse_no_partial(op, place, partial)
        if not rule.shipped:
            partial = Check(scope, op, rule, place).partial(partial, operands.values())
        term = _product(scope, op, dot, partial)
        if term is not None:
            term = zero_at_root(scope, op, dot, term)
            tests.append(term_that_moves(scope, op, place, dot))
            total = term if total is None else scope.call(operator.add, total, term)
    found = None if total is None else fitted(scope, total, op)
    note_terms(scope, found, tests)
    return found


def _move_together(forward: ForwardScope, op: Call, rule: Rule) -> bool:
    """Return True if a formula has the tangent of a call without masks, all operands moving."""
    if not rule.shipped or op.target not in tangents.FORMULAS:
        return False
    dots = [forward.of(arg) for arg in arguments(op).values()]
    return all(isinstance(dot, Value) and dot not in forward.scope.sweep.masks for dot in dots)


def _entries(
    scope: Any, op: Call, rule: Rule, operands: dict[int | str, Arg], result: Arg
) -> list[tuple[int | str, Arg, Any]]:
    return chosen_entries(scope, op, rule, operands, [], {"y": result} if rule.wants_result else {})


def _product(scope: Any, op: Call, dot: Atom, partial: Any) -> Atom | None:
    """Multiply a tangent by a partial derivative; masked entries are exact zeros.

    Entries that a mask has replaced by inf or nan stay zero in later products, too: there the
    partial derivative of any function may be nan.
    """
    is_mask = (
        isinstance(partial, Value)
        and isinstance(partial.type, Numeric)
        and partial.type.kind == "b"
    )
    if is_mask and not is_scalar(partial.type):
        term = scope.call(np.where, partial, dot, Const(0.0))
    elif is_mask and asks_for_nan(scope.sweep):
        term = unless_cut(scope, partial, dot)
    else:
        term = times(scope, dot, partial)
    if term is None:
        return None
    mask = scope.sweep.masks.get(dot) if isinstance(dot, Value) else None
    if mask is not None and not is_mask and mask in scope.sweep.inserting:
        term = unless_cut(scope, mask, term)
    found = record_mask(scope, dot, partial, term)
    if found in scope.sweep.masks and (
        mask in scope.sweep.inserting or (is_mask and may_insert_infinity(scope, op))
    ):
        scope.sweep.inserting.add(scope.sweep.masks[found])
    return found


def _by_function(forward: ForwardScope, op: Call, rule: Rule) -> Tangent:
    """Return the function itself, of the tangents."""
    if any(isinstance(arg, Const) and type(arg.value) is str for arg in arguments(op).values()):
        _refuse_as_transposed(forward.scope, op, rule)
    flows = differentiable_arguments(op)
    dots = {
        place: forward.spelled(arg, forward.of(arg))
        for place, arg in arguments(op).items()
        if place in flows and rule.entry(place) is not None and not _is_option(arg)
    }
    return _called(forward, op, dots)


def _refuse_as_transposed(scope: ReverseScope, op: Call, rule: Rule) -> None:
    """Raise an error for a call of a linear function for which its transpose has none.

    With such an option the function of the tangents is another one: ``np.ravel(x, "K")`` is read in
    the memory order of `x`, not in that of its tangent.
    """
    aside = ReverseScope(scope.sweep, Block(), Builder(where=op.where, half="reverse"))
    y_bar = Value(cotangent_type(op.result.type))
    try:
        entries = chosen_entries(aside, op, rule, arguments(op), [y_bar], {})
    except (AlwaysRaisesError, SrcadError):
        return  # known in forward mode only
    for place, _, entry in entries:
        refuse_no_partial(op, place, entry)


def _is_option(arg: Arg) -> bool:
    """Return True if an argument is a constant that is no number."""
    return isinstance(arg, Const) and not isinstance(arg.type, Numeric)


def _called(forward: ForwardScope, op: Call, changed: dict[int | str, Arg]) -> Value:
    """Return the call with some arguments changed."""
    args = [changed.get(k, a) for k, a in enumerate(op.args)]
    kwargs = [(k, changed.get(k, a)) for k, a in op.kwargs]
    return forward.builder.call(op.target, *args, kwargs=kwargs)


def _by_each_factor(forward: ForwardScope, op: Call, rule: Rule) -> Tangent:
    """Return the sum of the products in which one factor is replaced by its tangent."""
    flows = differentiable_arguments(op)
    dots = {place: forward.of(arg) for place, arg in flows.items()}
    if any(isinstance(dot, tuple) for dot in dots.values()):
        return transposed(forward, op, rule)
    total: Atom | None = None
    for place, dot in dots.items():
        if dot is not None and rule.entry(place) is not None:
            term = _called(forward, op, {place: dot})
            total = term if total is None else forward.scope.call(operator.add, total, term)
    return total


def _by_transposition(forward: ForwardScope, op: Call, rule: Rule) -> Tangent:
    """Return srcad's formula for tangents if all results are needed, or the rule's transpose.

    Where no formula is given, or the rank of a result is not known, the transpose is taken.  So it
    is for complex numbers: the formulas are for real ones, and refuse nothing that orders them.
    """
    formula = tangents.FORMULAS.get(op.target) if rule.shipped and not _is_complex(op) else None
    if formula is None or forward.tree(op.result) != fully_active(op.result.type):
        try:
            return transposed(forward, op, rule)
        except MissingRuleError as problem:
            if rule.shipped:
                raise
            raise _without_tangent(op, rule, problem) from None
    return by_formula(forward, op, rule, formula, zero=None)


def _is_complex(op: Call) -> bool:
    """Return True if an operand of a call may be complex."""
    types = (argument_type(arg) for arg in arguments(op).values())
    return any(number.may_be_complex for type_ in types for number in numbers_in(type_))


def _without_tangent(op: Call, rule: Rule, problem: MissingRuleError) -> MissingRuleError:
    name = target_name(rule.about)
    dots = ", ".join(f"{parameter.lstrip('*')}_dot" for parameter in rule.active)
    return MissingRuleError(
        f"{qualified_name(rule.about)} has no rule for tangents, and that for cotangents calls "
        "functions that have no rule",
        where=op.where,
        second=rule.place,
        why=problem.sentence,
        help=f"write one:  @srcad.rules.tangent({name})\n"
        f"def {name.rpartition('.')[2]}_tangent({dots}, y, {', '.join(rule.parameters)}): ...",
    )


_KINDS: dict[str, Callable[[ForwardScope, Call, Rule], Tangent]] = {
    "derivative": _by_derivative,
    "linear": _by_function,
    "bilinear": _by_each_factor,
    "adjoint": _by_transposition,
    "nondifferentiable": lambda forward, op, rule: None,
}


# ------------------------------------------------------------------------------- structures
def _push_build(forward: ForwardScope, op: Call) -> Tangent:
    return tuple(forward.of(part) for part in built_parts(op))


def _push_item(forward: ForwardScope, op: Call) -> Tangent:
    container, key = op.args[0], op.args[1]
    index = position(argument_type(container), key.value) if isinstance(key, Const) else None
    dot = forward.of(container)
    if index is None or not isinstance(dot, tuple):
        if dot is not None:
            refuse_unknown_field(op)
        return _push_getitem(forward, op)
    return dot[index]


def _push_getitem(forward: ForwardScope, op: Call) -> Tangent:
    container, index = op.args
    type_, scope = argument_type(container), forward.scope
    known = position(type_, index.value) if isinstance(index, Const) else None
    dot = forward.of(container)
    if known is not None and isinstance(dot, tuple):
        return dot[known]
    if isinstance(container, Display) and isinstance(index, Const) and isinstance(dot, tuple):
        return dot[index.value]
    whole = forward.spelled(container, dot)
    if isinstance(type_, Numeric) and is_scalar(type_):
        whole = scope.call(np.asarray, whole)
    return scope.call(operator.getitem, whole, index)


def _push_first(forward: ForwardScope, op: Call) -> Tangent:
    return forward.of(op.args[0])


# ------------------------------------------------------------------------------- lists, stores
def _push_list(forward: ForwardScope, op: Call) -> Tangent:
    """Return an operation on lists, on the lists of tangents."""
    flows = differentiable_arguments(op)
    return _called(forward, op, {k: _in_list(forward, op, a) for k, a in flows.items()})


def _in_list(forward: ForwardScope, op: Call, arg: Arg) -> Arg:
    """Return the tangent of a list, or of an item, with the parts that the list's tangents have."""
    if isinstance(arg, Display):
        return forward.spelled(arg, forward.of(arg))
    return forward.full(arg, forward.tree(op.result) if _is_like(arg, op) else None)


def _is_like(arg: Atom, op: Call) -> bool:
    type_: Type = op.result.type
    item = type_.item if isinstance(type_, ListOf) else type_
    given = atom_type(arg)
    given = given.item if isinstance(given, ListOf) else given
    return isinstance(given, TupleOf) == isinstance(item, TupleOf)


def _push_store(forward: ForwardScope, op: Call) -> Tangent:
    """``y[i] = v`` and ``y[i] += v``: the same store into the tangent."""
    array, index, value = op.args
    scope = forward.scope
    if is_of_integers(op.result.type):
        raise UnsupportedTypeError(
            "forward mode does not follow values that are written into an array of integers",
            where=op.where,
            why="floats are cut off there, and integers are not: the derivatives differ.",
            help="make the array one of floats:  np.zeros(n)",
        )
    whole = forward.spelled(array, forward.of(array))
    if is_scalar(op.result.type):
        whole = scope.call(np.asarray, whole)
    dot = forward.of(value)
    stored = Const(0.0) if dot is None else forward.spelled(value, dot)
    return forward.builder.call(op.target, whole, index, stored)


def _push_sum(forward: ForwardScope, op: Call) -> Tangent:
    """``y[i] += v``; without a tangent of `v` nothing happens."""
    return forward.of(op.args[0]) if forward.of(op.args[2]) is None else _push_store(forward, op)


def _push_plus(forward: ForwardScope, op: Call) -> Tangent:
    dots = [forward.spelled(arg, forward.of(arg)) for arg in op.args]
    return forward.builder.call(runtime.add_cotangents, *dots, type=op.result.type)


def _push_or_zeros(forward: ForwardScope, op: Call) -> Tangent:
    dot = forward.spelled(op.args[0], forward.of(op.args[0]))
    return forward.builder.call(runtime.or_zeros, dot, op.args[1], type=op.result.type)


def _push_zero_if_still(forward: ForwardScope, op: Call) -> Tangent:
    bar, test = op.args
    dot = forward.of(bar)
    if not isinstance(dot, Value) or isinstance(test, Display):
        return dot
    is_cut = stays_still(forward.scope.sweep, test)
    return unless_cut(forward.scope, test, dot) if is_cut else dot


TANGENTS: dict[Any, Push] = {
    primitives.build_tuple: _push_build,
    primitives.build_dict: _push_build,
    primitives.build_record: _push_build,
    primitives.item: _push_item,
    primitives.field: _push_item,
    **dict.fromkeys(every(is_same), _push_first),
    primitives.build_list: _push_list,
    primitives.append: _push_list,
    primitives.extended: _push_list,
    primitives.inserted: _push_list,
    primitives.without: _push_list,
    primitives.replaced: _push_list,
    operator.getitem: _push_getitem,
    **dict.fromkeys(every(sets_places), _push_store),
    **dict.fromkeys(every(sums_at_places), _push_sum),
    runtime.rounded_as_in_place: _push_first,
    runtime.or_zeros: _push_or_zeros,
    runtime.add_cotangents: _push_plus,
    runtime.zero_if_still: _push_zero_if_still,
}
