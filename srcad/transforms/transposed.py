"""Transposition of rules: the tangent of a call that has a rule for cotangents only.

What a rule returns is linear in the cotangent of the result.  So the cotangents, multiplied with
the tangents of the arguments, are one number whose derivative by the cotangent is the tangent of
the result.  Reverse mode takes it, before the call; what it does not need is dead code.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.activity import Facts, activity
from srcad.analysis.activity_trees import part
from srcad.analysis.arguments import arguments, differentiable_arguments
from srcad.errors import RuleError, UnsupportedSyntaxError, UnsupportedTypeError
from srcad.ir import primitives
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Block, Call, Const, Display, Function, If, Op, Value, walk
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_block
from srcad.rules.registry import qualified_name
from srcad.rules.row import NoPartial, Rule
from srcad.startup.identifiers import dotted
from srcad.startup.records import changed, replace
from srcad.transforms.calls import chosen_entries, leading_of, lifted_arg, seed_of
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.entries import Check, sequence
from srcad.transforms.refusals import refuse_no_partial, refuse_saved, settle_branches
from srcad.transforms.stand_ins import (
    StandIns,
    stand_ins,
    tangent_of_numbers,
    tangent_that_counts,
)
from srcad.transforms.sweep import (
    Path,
    Sweep,
    cotangent_type,
    is_scalar,
    item_type,
    leaf_paths,
    type_at,
)
from srcad.transforms.tangents import ForwardScope, Tangent
from srcad.transforms.vjp import vjp
from srcad.types.numeric import FLOAT, Numeric
from srcad.types.structures import ListOf, TupleOf, Type

# Tangent of a call by a formula of its own: ``f(*dots, y, *params)``.


def by_formula(
    forward: ForwardScope, op: Call, rule: Rule, formula: Callable[..., Any], zero: float | None
) -> Tangent:
    """Return the tangent of the result of a call.

    The formula gets one tangent for each active parameter, a tuple of them for ``*rest``; `zero`
    stands for those that are nothing.
    """
    scope, places = forward.scope, arguments(op)
    flows = differentiable_arguments(op)
    dots = _dots(forward, op, rule, zero)
    lifted = {k: lifted_arg(scope, a) if k in flows else a for k, a in places.items()}
    positional = [arg for place, arg in lifted.items() if isinstance(place, int)]
    named = {place: arg for place, arg in lifted.items() if isinstance(place, str)}
    start = len(forward.builder.ops)
    if rule.saves:
        refuse_read_of_saved(forward, op, rule)
    y = scope.item(op.result, 0) if rule.saves else op.result
    found = scope.sweep.inline(
        forward.builder, formula, [*dots, lifted_arg(scope, y), *positional], named
    )
    settle_branches(scope, op, start)
    if rule.saves:
        return _one(scope, op, found, (0,)), None
    return _checked(forward, op, rule, found)


def refuse_read_of_saved(forward: ForwardScope, op: Call, rule: Rule) -> None:
    """Refuse the tangent of a call of which a derivative reads what it saves: it has none."""
    if part(forward.tree(op.result), 1) is not False:
        refuse_saved(op, rule)


def _dots(forward: ForwardScope, op: Call, rule: Rule, zero: float | None) -> list[Arg]:
    """Return the tangents of the active parameters, in order."""
    found: dict[str, Arg] = {}
    rest: list[Arg] = []
    for place, arg in arguments(op).items():
        entry = rule.entry(place)
        if entry is None:
            continue
        dot = forward.of(arg)
        one = Const(None) if dot is None and zero is None else forward.spelled(arg, dot)
        if entry[1] is None:
            found[rule.active[entry[0]]] = one
        else:
            rest.append(one)
    absent = Const(zero)
    return [
        Display("tuple", tuple(rest)) if name.startswith("*") else found.get(name, absent)
        for name in rule.active
    ]


def _checked(forward: ForwardScope, op: Call, rule: Rule, found: Any) -> Tangent:
    """Return the tangents that a formula returned: one for each of several results."""
    if not isinstance(op.result.type, TupleOf):
        return _one(forward.scope, op, found)
    parts = sequence(forward.scope, found)
    if len(parts) != len(op.result.type.items):
        raise RuleError(
            f"the tangent of {rule.target!r} does not return one for each of its results",
            where=op.where,
            why=f"it has {len(op.result.type.items)} results.",
            help="return a tuple, with None for a tangent that is zero",
        )
    dots = tuple(_one(forward.scope, op, part, (k,)) for k, part in enumerate(parts))
    return dots if any(dot is not None for dot in dots) else None


def _one(scope: ReverseScope, op: Call, found: Any, path: tuple[int, ...] = ()) -> Tangent:
    marker = found.value if isinstance(found, Const) else found
    if isinstance(marker, NoPartial):
        refuse_no_partial(op, 0, found)
    if marker is None:
        return None
    if isinstance(found, Value) and scope.is_lazy(found):
        return scope.filled(found, op.result, path)
    return found if isinstance(found, Value | Const | tuple) else Const(found)


def transposed(forward: ForwardScope, op: Call, rule: Rule) -> Tangent:
    scope = forward.scope
    paths = list(leaf_paths(op.result.type, forward.tree(op.result)))
    if rule.saves:
        refuse_read_of_saved(forward, op, rule)
        paths = [path for path in paths if path[0] == 0]
    bars = {path: Value(cotangent_type(type_at(op.result.type, path))) for path in paths}
    inside = ReverseScope(scope.sweep, Block(), Builder(where=op.where))
    flows = differentiable_arguments(op)
    operands = {k: lifted_arg(scope, a) if k in flows else a for k, a in arguments(op).items()}
    other = stand_ins(scope, op, rule, operands)
    total = _total(forward, inside, op, rule, bars, other)
    if total is None:
        return None
    block = inside.builder.finish(total)
    given = tuple(bars.values())
    _refuse_stops(op, block, given)
    free = tuple(value for value in block.free if value not in given)
    weighted = Function("transposed", (*given, *free), block, op.where)
    made = vjp(weighted, list(range(len(given))), scope.sweep.inline, seed=Const(1.0))
    # the result does not depend on the cotangent; the value itself has its shape and dtype
    values = {bar: _as_floats(forward, scope.at(op.result, path)) for path, bar in bars.items()}
    names = dict(zip(made.params, (*given, *free), strict=True))
    written = substituted_block(made.block, {p: values.get(v, v) for p, v in names.items()})
    forward.builder.ops.extend(map(_of_tangents, written.ops))
    found = dict(zip(paths, written.results[1:], strict=True))
    if other is not None:
        found = {path: tangent_of_numbers(scope, other, dot) for path, dot in found.items()}
    return _structure(op.result.type, (), found)


def _as_floats(forward: ForwardScope, value: Value) -> Value:
    """Return an array, of integers as floats: its cotangents have that dtype."""
    type_ = value.type
    if not isinstance(type_, Numeric) or type_.form != "array" or type_.kind not in "iu":
        return value
    return forward.builder.call(np.astype, value, Const(np.float64))


def _refuse_stops(op: Call, block: Block, moving: Sequence[Value]) -> None:
    """Refuse to transpose a rule that applies `stop_gradient` to its cotangent."""
    free = tuple(value for value in block.free if value not in moving)
    rule = Function("transposed", (*moving, *free), block, op.where)
    facts = activity(rule, dict.fromkeys(moving, True), [True], told=_depends)
    for one in walk(block):
        if isinstance(one, Call) and one.target is primitives.stop and _depends(one, facts):
            name = qualified_name(op.target)
            raise UnsupportedSyntaxError(
                f"cannot derive a tangent from the rule of {name}, which stops its cotangent",
                where=one.where,
                why="forward mode transposes the rule, and nothing would flow back here.",
                help=(
                    f"write the tangent, too:  @srcad.rules.tangent({dotted(name)})",
                    "or give srcad.stop_gradient the arguments alone",
                ),
            )


def _depends(op: Call, facts: Facts) -> bool:
    """Return True if a call has an operand that depends on the cotangent."""
    return any(facts.of(arg) is not False for arg in arguments(op).values())


def _of_tangents(op: Op) -> Op:
    """Return an op of the half that is derived, with all inside it."""
    inside = op.mapped(lambda block: replace(block, ops=tuple(map(_of_tangents, block.ops))))
    return changed(inside, half="reverse")


def _structure(type_: Type, path: Path, found: dict[Path, Atom]) -> Tangent:
    if isinstance(type_, TupleOf):
        return tuple(_structure(t, (*path, k), found) for k, t in enumerate(type_.items))
    dot = found.get(path)
    return None if dot == Const(None) else dot


def _total(
    forward: ForwardScope,
    inside: ReverseScope,
    op: Call,
    rule: Rule,
    bars: dict[Path, Value],
    other: StandIns | None,
) -> Atom | None:
    """Return the sum of the products of each returned cotangent and the tangent beside it."""
    flows = differentiable_arguments(op)
    operands = {k: lifted_arg(inside, a) if k in flows else a for k, a in arguments(op).items()}
    y_bar = seed_of(op.result, dict(bars))
    leading = leading_of(inside, op, rule, y_bar, other.result if other else None)
    operands = other.operands if other else operands
    total: Atom | None = None
    for place, arg, entry in chosen_entries(inside, op, rule, operands, leading, {}):
        dot = forward.of(arg)
        if dot is not None:
            refuse_no_partial(op, place, entry)
            if not rule.shipped:
                _refuse_tuple_on_one_path(inside, op, rule, entry)
            if rule.has_entries_of_users:
                entry = Check(inside, op, rule, place).entry(arg, entry)
            if other is not None and isinstance(dot, Value | Const):
                dot = tangent_that_counts(forward.scope, other, place, dot)
            total = _with_product(forward, inside, op, total, arg, entry, dot)
    return total


def _refuse_tuple_on_one_path(inside: ReverseScope, op: Call, rule: Rule, entry: Any) -> None:
    """Refuse to transpose what a rule returns on some paths only as a tuple of one."""
    made = next((o for o in inside.builder.ops if isinstance(o, If) and entry in o.results), None)
    k = 0 if made is None else made.results.index(entry)
    arms = () if made is None else (made.then.results[k], made.orelse.results[k])
    if any(isinstance(atom_type(arm), TupleOf) for arm in arms):
        problem = f"the rule of {qualified_name(rule.about)} returns on one path what it does not"
        raise UnsupportedTypeError(
            f"{problem} on another: forward mode cannot tell what that is",
            where=op.where,
            second=rule.place,
            why="a tuple of one cotangent, and a cotangent, are two things.",
            help="return the cotangent itself on every path, or zeros:  np.zeros_like(x)",
        )


def _with_product(
    forward: ForwardScope,
    inside: ReverseScope,
    op: Call,
    total: Atom | None,
    arg: Arg,
    entry: Any,
    dot: Tangent,
) -> Atom | None:
    if dot is None or entry is None or (isinstance(entry, Const) and entry.value is None):
        return total
    if isinstance(entry, Display):
        entry = entry.items
    if isinstance(dot, tuple):
        for k, one in enumerate(dot):
            if one is not None:
                part = entry[k] if isinstance(entry, tuple | list) else _part(inside, entry, k)
                total = _with_product(forward, inside, op, total, _item(arg, k), part, one)
        return total
    product = _product(inside, op, argument_type(arg), entry, dot)
    return product if total is None else inside.call(operator.add, total, product)


def _product(inside: ReverseScope, op: Call, type_: Type, entry: Any, dot: Atom) -> Atom:
    """Return the sum of the products of all numbers in a cotangent and a tangent."""
    if isinstance(type_, ListOf) and isinstance(type_.item, Numeric):
        if isinstance(entry, tuple | list):
            entry = inside.build_list(*entry)
        return _over_lists(inside, type_.item, entry, dot)
    if isinstance(entry, tuple | list) or not isinstance(type_, Numeric):
        raise _unsupported(op)
    entry = entry if isinstance(entry, Value | Const) else Const(entry)
    if inside.is_lazy(entry):
        entry = inside.call(runtime.or_zeros, entry, dot)
    product = _times(inside.builder, inside.sweep, entry, dot)
    return product if is_scalar(atom_type(product)) else inside.call(np.sum, product)


def _times(builder: Builder, sweep: Sweep, entry: Atom, dot: Atom) -> Value:
    """Return the product of two real numbers.

    Of complex ones the inner product, ``Re(conj(u) * v)``.
    """
    if not sweep.is_complex(atom_type(entry)) and not sweep.is_complex(atom_type(dot)):
        return builder.call(operator.mul, entry, dot)
    if sweep.is_complex(atom_type(dot)):
        dot = builder.call(np.conjugate, dot)
    return builder.call(np.real, builder.call(operator.mul, entry, dot))


def _over_lists(inside: ReverseScope, item: Type, entry: Atom, dot: Atom) -> Atom:
    """Return the sum of the products of the items of two lists."""
    builder = inside.builder
    body = Builder(where=builder.where, half=builder.half)
    bar, one = (Value(item_type(atom_type(a), item, True)) for a in (entry, dot))
    total = Value(FLOAT)
    product = _times(body, inside.sweep, bar, one)
    if not is_scalar(product.type):
        product = body.call(np.sum, product)
    block = body.finish(Const(0), body.call(operator.add, total, product), params=(bar, one, total))
    return builder.for_((entry, dot), (Const(0.0),), block)[2]


def _part(inside: ReverseScope, entry: Atom, k: int) -> Atom:
    if isinstance(atom_type(entry), TupleOf):
        return inside.item(entry, k)
    return inside.call(operator.getitem, entry, Const(k))


def _item(arg: Arg, k: int) -> Arg:
    """Return the part of an argument, as far as its type goes."""
    if isinstance(arg, Display):
        return arg.items[k]
    type_ = argument_type(arg)
    assert isinstance(type_, TupleOf)
    return Value(type_.items[k])


def _unsupported(op: Call) -> UnsupportedTypeError:
    return UnsupportedTypeError(
        f"forward mode of {qualified_name(op.target)} with a list of unknown length is not known",
        where=op.where,
        why="its rule gives the cotangents of the items one by one.",
        help=("make the list an array first:  np.stack(rows)", "or use reverse mode"),
    )
