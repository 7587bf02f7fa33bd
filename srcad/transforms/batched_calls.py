"""One call, of operands of which some have a leading axis of directions.

An elementwise call aligns the ranks of its operands.  A store and a read get an index for all
directions in front.  What its row says of a target is said as a formula, like a rule.  For
everything else a loop takes one direction after the other, and stacks what comes out.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from srcad import runtime
from srcad.analysis.arguments import arguments, rule_of
from srcad.analysis.dependence import carrying
from srcad.errors import SrcadError
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Call, Const, Display, Value
from srcad.ir.library_operations import is_elementwise
from srcad.ir.traits import (
    built_parts,
    is_shape,
    is_structure,
    measures,
)
from srcad.rules.batching_products import formula_for
from srcad.rules.row import AlwaysRaisesError
from srcad.transforms.batched_forms import in_fewer_products
from srcad.transforms.batched_loops import looped
from srcad.transforms.batched_parts import BATCHES
from srcad.transforms.batched_values import BatchedScope, rank
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf


def batch_call(scope: BatchedScope, op: Call) -> None:
    """Append a call, and set the replacement of its result."""
    args = (*op.args, *(a for _, a in op.kwargs))
    if not any(scope.tree(a) is not False for a in args):
        scope.builder.ops.append(op)
        return
    if scope.tree(op.result) is False:
        _ask(scope, op)
        return
    found = _batched(scope, op)
    scope.put(op.result, looped(scope, op) if found is None else found)


def _batched(scope: BatchedScope, op: Call) -> Atom | None:
    """Return the call with the axis; None where no way is known."""
    try:
        special = BATCHES.get(op.target)
    except TypeError:
        return None
    if special is not None:
        found = special(scope, op)
        return _by_formula(scope, op) if found is None else found
    if is_structure(op.target):
        return _build(scope, op)
    if is_elementwise(op.target):
        return _elementwise(scope, op)
    return _by_formula(scope, op)


def _ask(scope: BatchedScope, op: Call) -> None:
    """Make a call with the same result for every direction once, for the first one."""
    if is_shape(op.target) and isinstance(argument_type(op.args[0]), Numeric):
        whole = scope.builder.shape(scope.of(op.args[0]))
        rest = Display("slice", (Const(1), Const(None), Const(None)))
        scope.builder.call(operator.getitem, whole, rest, result=op.result)
        return
    args = [_first(scope, a) if _measures(op) else scope.of(a) for a in op.args]
    kwargs = [(name, scope.of(a)) for name, a in op.kwargs]
    scope.builder.call(op.target, *args, kwargs=kwargs, result=op.result, effect=op.effect)


def _measures(op: Call) -> bool:
    """Return True if a call asks for the shape of one of its operands."""
    return measures(op.target) or op.target is runtime.or_zeros


def _first(scope: BatchedScope, arg: Arg) -> Arg:
    """Return an array of the first direction; a list has the same length in every one."""
    if scope.tree(arg) is not True or not isinstance(argument_type(arg), Numeric):
        return scope.of(arg)
    return scope.builder.call(operator.getitem, scope.of(arg), Const(0), type=argument_type(arg))


# ------------------------------------------------------------------------------- entry by entry
def _elementwise(scope: BatchedScope, op: Call) -> Atom | None:
    """All operands brought to one rank, in front of their axes that of the directions."""
    ranks = [rank(argument_type(a)) for a in op.args]
    if op.kwargs:
        return None
    args = _aligned(scope, op.args, ranks)
    if args is None:
        return None
    terms, found = in_fewer_products(scope, op)
    if found is None:
        found = scope.builder.call(op.target, *args)
    if terms and isinstance(found, Value):
        scope.shared.terms[found] = terms
    return found


def _aligned(
    scope: BatchedScope, args: tuple[Arg, ...], ranks: list[int | None]
) -> list[Arg] | None:
    """Return the operands so that NumPy broadcasts those of one direction with each other."""
    unknown = [k for k, r in enumerate(ranks) if r is None]
    alone = len(args) == 1 or all(r == 0 for k, r in enumerate(ranks) if k not in unknown[:1])
    if unknown:
        carries = scope.tree(args[unknown[0]]) is not False
        if not alone or len(unknown) > 1 or not carries:
            return None
        if any(scope.tree(a) is not False for k, a in enumerate(args) if k != unknown[0]):
            return None
        return [scope.of(a) for a in args]
    most = max(r for r in ranks if r is not None)
    pairs = zip(args, ranks, strict=True)
    return [
        scope.of(a) if scope.tree(a) is False else scope.reshaped(scope.of(a), r or 0, most)
        for a, r in pairs
    ]


# ------------------------------------------------------------------------------- formulas
def _by_formula(scope: BatchedScope, op: Call) -> Atom | None:
    """By the formula for the target, if the ranks of what has the axis are known."""
    formula: Any = formula_for(op.target)
    places = [(k, a) for k, a in arguments(op).items() if scope.tree(a) is not False]
    if isinstance(formula, Mapping):
        formula = formula.get(_name_of(op, places[0][0])) if len(places) == 1 else None
    if formula is None or not all(_is_known(a) for _, a in places):
        return None
    args = [_all_wide(scope, a) for a in op.args]
    kwargs = {name: _all_wide(scope, a) for name, a in op.kwargs}
    start = len(scope.builder.ops)
    try:
        found = scope.shared.inline(scope.builder, formula, args, kwargs)
    except (AlwaysRaisesError, SrcadError):
        found = None
    if isinstance(found, Value) and _fits(scope, op, found):
        return found
    del scope.builder.ops[start:]
    return None


def _all_wide(scope: BatchedScope, arg: Arg) -> Arg:
    """Return an argument for a formula: of a sequence all items have the axis, or none."""
    tree = scope.tree(arg)
    if tree is False or not isinstance(arg, Display):
        return scope.of(arg)
    return scope.full(arg, carrying(argument_type(arg)))


def _fits(scope: BatchedScope, op: Call, found: Value) -> bool:
    """Return True if the result of a formula has as many axes as it must have."""
    wanted = rank(scope.wide(op.result.type))
    if isinstance(op.result.type, Numeric) and not isinstance(found.type, Numeric):
        return False
    return wanted is None or rank(found.type) in (None, wanted)


def _name_of(op: Call, place: int | str) -> str:
    """Return the parameter that takes the argument at a place."""
    rule = rule_of(op.target)
    if isinstance(place, str) or rule is None:
        return str(place)
    return rule.parameters[place] if place < len(rule.parameters) else ""


def _is_known(arg: Arg) -> bool:
    """Return True if the ranks of all arrays in an argument are known."""
    if isinstance(arg, Display):
        return all(map(_is_known, arg.items))
    type_ = argument_type(arg)
    if isinstance(type_, ListOf):
        type_ = type_.item
    return isinstance(type_, Numeric) and type_.shape is not None


def _build(scope: BatchedScope, op: Call) -> Atom | None:
    """Return a structure of parts with and without the axis."""
    parts = [scope.of(part) for part in built_parts(op)]
    args = (*op.args[: len(op.args) - len(parts)], *parts)
    wide = scope.wide(op.result.type, scope.tree(op.result))
    return scope.builder.call(op.target, *args, type=wide)
