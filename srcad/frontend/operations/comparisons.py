"""Comparisons: of numbers and structures, ``is``, ``in``, and chains of them."""

from __future__ import annotations

import ast
import contextlib
import operator
from typing import Any, TypeGuard

from srcad.frontend.branches.choices import choose, negation, on_each_side
from srcad.frontend.domain.predicates import is_of_users
from srcad.frontend.domain.values import (
    AbstractValue,
    Choice,
    Conflict,
    Constant,
    DictValue,
    Holder,
    ListValue,
    TupleValue,
)
from srcad.frontend.machine.constants import (
    as_tuple,
    is_found,
    is_settled,
    pinned_count,
    truth,
)
from srcad.frontend.machine.dispatch import evaluate, evaluates
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import evaluate_next
from srcad.frontend.operations import outside_containers
from srcad.frontend.operations.identity import identity
from srcad.frontend.operations.special_methods import of_objects, special
from srcad.frontend.store.stale import refuse_to_hold
from srcad.frontend.store.structures import is_of_library
from srcad.ir.core import Value
from srcad.rules.registry import (
    operator_of,
    row_of,
)
from srcad.types.numeric import BOOL, Numeric
from srcad.types.sizes import same
from srcad.types.structures import Opaque

_LONG = 12  # operands that stand in one another's branches


@evaluates(ast.Compare)
def comparison(state: Machine, node: ast.Compare) -> AbstractValue:
    """Compare ``a < b < c``: each operand once, the rest only if the first holds.

    A long one of names and constants, which may be read twice, is ``a < b and b < c and ...``.
    """
    inner = node.comparators[:-1]
    if len(inner) >= _LONG and all(isinstance(one, ast.Name | ast.Constant) for one in inner):
        return evaluate(state, _pairs(node))
    return _compared(state, evaluate(state, node.left), node.ops, node.comparators)


def _pairs(node: ast.Compare) -> ast.BoolOp:
    lefts = [node.left, *node.comparators[:-1]]
    pairs: list[ast.expr] = [
        ast.copy_location(ast.Compare(left, [op], [right]), node)
        for left, op, right in zip(lefts, node.ops, node.comparators, strict=True)
    ]
    return ast.copy_location(ast.BoolOp(ast.And(), pairs), node)


def _compared(
    state: Machine, left: AbstractValue, ops: list[ast.cmpop], others: list[ast.expr]
) -> AbstractValue:
    if len(ops) == 1 and isinstance(ops[0], ast.In | ast.NotIn):
        found = _is_global(state, left, others[0])
        if found is not None:
            return Constant(found == isinstance(ops[0], ast.In))
    left, right = evaluate_next(state, left, others[0])
    first = compare(state, ops[0], left, right)
    if len(ops) == 1:
        return first
    known = truth(state, first)
    if known is not None:
        return _compared(state, right, ops[1:], others[1:]) if known else first
    return choose(
        state,
        state.atom(first),
        lambda: _compared(state, right, ops[1:], others[1:]),
        lambda: first,
    )


def _is_global(state: Machine, name: AbstractValue, node: ast.expr) -> bool | None:
    """Return True if a name of the module is there, for ``name in globals()``; else None."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id != "globals" or node.args or node.keywords:
        return None
    if not isinstance(name, Constant) or type(name.value) is not str:
        return None
    function = evaluate(state, node.func)
    frame = state.frame
    while frame.path is None and frame.outer is not None:
        frame = frame.outer
    is_builtin = isinstance(function, Constant) and function.value is globals
    is_written = any(key[0] == id(frame.globals) for key in state.outside.written)
    if not is_builtin or frame.path is None or is_written:
        return None
    is_there = name.value in frame.globals
    holder = (*frame.path, ("attr", "__globals__"))
    state.guard(holder, "set" if is_there else "unset", name.value)
    return is_there


def compare(
    state: Machine, op: ast.cmpop, left: AbstractValue, right: AbstractValue
) -> AbstractValue:
    if isinstance(left, Conflict) or isinstance(right, Conflict):
        refuse_to_hold(state, left if isinstance(left, Conflict) else right)
    if isinstance(left, Choice):
        return on_each_side(state, left, lambda part: compare(state, op, part, right))
    if isinstance(right, Choice):
        return on_each_side(state, right, lambda part: compare(state, op, left, part))
    if isinstance(op, ast.Is | ast.IsNot):
        return identity(state, left, right, negated=isinstance(op, ast.IsNot))
    if isinstance(op, ast.In | ast.NotIn):
        return _membership(state, left, right, negated=isinstance(op, ast.NotIn))
    own = of_objects(state, operator_of(type(op)), left, right)
    return _compared_values(state, operator_of(type(op)), left, right) if own is None else own


def _compared_values(
    state: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue:
    left, right = as_tuple(pinned_count(state, left)), as_tuple(pinned_count(state, right))
    if (
        isinstance(left, Constant)
        and isinstance(right, Constant)
        and left.atom is right.atom is None
    ):
        known_now = is_settled(state, left) and is_settled(state, right)
        with contextlib.suppress(Exception):  # it fails at the call, as in the plain call
            if known_now:
                return Constant(bool(target(left.value, right.value)))
    if (
        isinstance(left, TupleValue)
        and isinstance(right, TupleValue)
        and row_of(target).answers == "equality"
    ):
        return _compared_tuples(state, target, left, right)
    if any(
        isinstance(b, Constant) and (b.value is None or isinstance(b.value, str))
        for b in (left, right)
    ):
        other = right if isinstance(left, Constant) else left
        if isinstance(other, Value) and isinstance(other.type, Numeric) and _is_number(other.type):
            return Constant(target is operator.ne)
    if state.frame.trusted and target is operator.eq:
        decided = _same_lengths(left, right)
        if decided is not None:
            return Constant(decided)
    return state.emit(target, left, right)


def _is_number(type_: Numeric) -> bool:
    """Return True if something is certainly a number: no array, text, date or None."""
    return type_.form in ("python", "numpy", "number") and type_.kind in "biufc"


def _same_lengths(left: AbstractValue, right: AbstractValue) -> bool | None:
    """Return True if two lengths are equal, as far as a rule may take for granted."""
    values = [
        b.type.value if isinstance(b, Value) and isinstance(b.type, Numeric) else None
        for b in (left, right)
    ]
    if values[0] is None or values[1] is None:
        return None
    return same(values[0], values[1])


def _compared_tuples(
    state: Machine, target: Any, left: TupleValue, right: TupleValue
) -> AbstractValue:
    if len(left.items) != len(right.items):
        return Constant(target is operator.ne)
    result: AbstractValue = Constant(True)
    for a, b in zip(left.items, right.items, strict=True):
        equal = compare(state, ast.Eq(), a, b)
        if truth(state, equal) is False:
            return Constant(target is operator.ne)
        if truth(state, equal) is None:
            result = (
                equal if truth(state, result) is True else state.emit(operator.and_, result, equal)
            )
    if target is operator.eq:
        return result
    known = truth(state, result)
    return Constant(not known) if known is not None else state.not_(result)


def _membership(
    state: Machine, item: AbstractValue, container: AbstractValue, *, negated: bool
) -> AbstractValue:
    if isinstance(container, Holder):
        return outside_containers.has_item(state, container, item, negated=negated)
    item = _settled_tuple(state, item)
    if isinstance(item, Constant) and is_settled(state, item):
        if isinstance(container, DictValue):
            return Constant((item.value in container.keys) != negated)
        parts = container.items if isinstance(container, TupleValue | ListValue) else ()
        if parts and all(isinstance(p, Constant) and is_settled(state, p) for p in parts):
            held = [p.value for p in parts if isinstance(p, Constant)]
            return Constant((item.value in held) != negated)
        if _is_held(container):
            return is_found(state, item, container, negated=negated)
    own = special(state, container, "__contains__", item) if is_of_library(container) else None
    unknown = isinstance(container, Value) and isinstance(container.type, Opaque)
    result = own or state.contains(container, item, effect=unknown, type=BOOL)
    return negation(state, result) if negated else result


def _is_held(container: AbstractValue) -> TypeGuard[Constant]:
    """Return True for a constant of a class with the default ``in``."""
    if not isinstance(container, Constant) or container.path is not None:
        return False
    return not is_of_users(container)


def _settled_tuple(state: Machine, box: AbstractValue) -> AbstractValue:
    """Fold a tuple of constants, ``(2, 1)``, into one constant."""
    box = pinned_count(state, box)
    if not isinstance(box, TupleValue) or box.source is not None:
        return box
    items = [_settled_tuple(state, item) for item in box.items]
    if all(isinstance(item, Constant) and is_settled(state, item) for item in items):
        return Constant(tuple(item.value for item in items if isinstance(item, Constant)))
    return box
