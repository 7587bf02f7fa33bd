"""The tangent of a call by a formula of its own: ``f(*dots, y, *params)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.analysis.activity_trees import part
from srcad.analysis.arguments import arguments, differentiable_arguments
from srcad.errors import RuleError
from srcad.ir.core import Arg, Call, Const, Display, Value
from srcad.rules.row import NoPartial, Rule
from srcad.transforms.calls import lifted_arg
from srcad.transforms.entries import sequence
from srcad.transforms.refusals import refuse_no_partial, refuse_saved, settle_branches
from srcad.transforms.tangents import ForwardScope, Tangent
from srcad.types.structures import TupleOf


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
    return (_one(op, found), None) if rule.saves else _checked(forward, op, rule, found)


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
        return _one(op, found)
    parts = sequence(forward.scope, found)
    if len(parts) != len(op.result.type.items):
        raise RuleError(
            f"the tangent of {rule.target!r} does not return one for each of its results",
            where=op.where,
            why=f"it has {len(op.result.type.items)} results.",
            help="return a tuple, with None for a tangent that is zero",
        )
    dots = tuple(_one(op, part) for part in parts)
    return dots if any(dot is not None for dot in dots) else None


def _one(op: Call, found: Any) -> Tangent:
    marker = found.value if isinstance(found, Const) else found
    if isinstance(marker, NoPartial):
        refuse_no_partial(op, 0, found)
    if marker is None:
        return None
    return found if isinstance(found, Value | Const | tuple) else Const(found)
