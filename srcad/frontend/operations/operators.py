"""Operators on numbers, arrays and sequences."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import by_case, negation, on_each_side
from srcad.frontend.domain.predicates import is_list, is_static_number, text_class
from srcad.frontend.domain.values import (
    AbstractValue,
    Choice,
    Constant,
    DictValue,
    FunctionValue,
    IteratorValue,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.machine.constants import as_tuple, raises, truth
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
    Meaning,
    apply,
    evaluate,
    evaluates,
    means,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import evaluate_next
from srcad.frontend.operations import lists
from srcad.frontend.operations.special_methods import dispatches_to_class, of_objects, special
from srcad.frontend.prelude import builtins
from srcad.frontend.store.aliases import note_repeated
from srcad.frontend.store.origins import note_container
from srcad.ir.core import Value
from srcad.ir.traits import law_of_operator
from srcad.rules.registry import operator_of, row_of
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, Opaque, Type

MOST_WRITTEN_OUT = 256  # items of a list that is repeated


@evaluates(ast.BinOp)
def binary(state: Machine, node: ast.BinOp) -> AbstractValue:
    """``left op right``; a long chain is read from its left end without recursion."""
    chain: list[ast.BinOp] = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    box = evaluate(state, chain[-1].left)
    for part in reversed(chain):
        box, right = evaluate_next(state, box, part.right)
        with state.at(part):
            box = operate(state, operator_of(type(part.op)), box, right)
    return box


def operate(
    state: Machine, target: Callable[[Any, Any], Any], left: AbstractValue, right: AbstractValue
) -> AbstractValue:
    """Return a binary operation on boxes: folded where both are known, structural on sequences."""
    if isinstance(left, Choice):
        return by_case(state, left, lambda part: operate(state, target, part, right))
    if isinstance(right, Choice):
        return by_case(state, right, lambda part: operate(state, target, left, part))
    state.use_as_number(left, right)
    hidden = any(isinstance(b, Constant) and b.atom in state.hidden for b in (left, right))
    if (
        isinstance(left, Constant)
        and isinstance(right, Constant)
        and not hidden
        and _folds(left, right)
    ):
        with suppress(Exception):  # it fails at the call, as in the plain call
            return Constant(target(left.value, right.value))
    found = of_objects(state, target, left, right)
    if found is not None:
        return found
    left, right = as_tuple(left), as_tuple(right)
    _check_joined(state, left, right)
    _check_joined(state, right, left)
    found = _sequence_operation(state, target, left, right) or _filled(state, target, left, right)
    if found is not None:
        return found
    left, right = arrays_beside_arrays(state, left, right)
    for box in (left, right):
        if isinstance(
            box, TupleValue | DictValue | RecordValue | FunctionValue | IteratorValue
        ) or (isinstance(box, ListValue) and not isinstance(_other(box, left, right), Value)):
            return _structured_operand(state, target, left, right)
    type_ = OPAQUE if dispatches_to_class(target, left, right) else None
    return state.box(state.emit(target, left, right, type=type_))


def _as_function(target: Callable[[Any, Any], Any]) -> Meaning:
    """``operator.add(a, b)``: ``a + b``, of objects and sequences, too."""

    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        return operate(state, target, *args) if len(args) == 2 and not kwargs else None

    return special


for _node in ast.operator.__subclasses__():
    means(operator_of(_node))(_as_function(operator_of(_node)))


def arrays_beside_arrays(
    state: Machine, left: AbstractValue, right: AbstractValue
) -> tuple[AbstractValue, AbstractValue]:
    """Return a list or tuple beside an array as the array that NumPy makes of it.

    A rule adds and multiplies what it has; both mean something else of a list.
    """
    if not state.is_active(left, right):
        return left, right
    is_array = [isinstance(box, Value) and _is_array(box.type) for box in (left, right)]
    if is_array == [True, False] and _is_sequence(right):
        return left, state.emit(np.array, right)
    if is_array == [False, True] and _is_sequence(left):
        return state.emit(np.array, left), right
    return left, right


def _is_array(type_: Type) -> bool:
    return isinstance(type_, Numeric) and type_.form == "array"


def _is_sequence(box: AbstractValue) -> bool:
    return is_list(box) or isinstance(box, TupleValue | ListValue)


def _filled(
    state: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue | None:
    """``template % values`` or ``text + text``; None where the left operand is no text."""
    text = text_class(left)
    joins = law_of_operator(target) == "sum" and text == text_class(right)
    if text is not None and (joins or law_of_operator(target) == "remainder"):
        return state.emit(target, left, right, effect=not joins, type=Opaque(text))
    unknown = isinstance(left, Value) and isinstance(left.type, Opaque)
    if unknown and isinstance(right, Constant) and law_of_operator(target) == "remainder":
        return state.box(state.emit(target, left, right, effect=True))
    return None


def _check_joined(state: Machine, one: AbstractValue, other: AbstractValue) -> None:
    """Refuse an active list beside a value of unknown type: a list or an array."""
    unknown = isinstance(one, Value) and isinstance(one.type, Opaque)
    if unknown and state.is_active(other) and (is_list(other) or isinstance(other, TupleValue)):
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot tell whether lists are joined or arrays are added here",
            why="one operand is a list, and the type of the other is known only at run time.",
            help=("make it an array first:  np.array(...)", "or a list:  list(...)"),
        )


def _other(box: AbstractValue, left: AbstractValue, right: AbstractValue) -> AbstractValue:
    return right if box is left else left


def _structured_operand(
    state: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue:
    """Apply an operator to a tuple, list or dict: a method of Python's, or NumPy's."""
    if target is operator.or_ and isinstance(left, DictValue) and isinstance(right, DictValue):
        merged = dict(zip((*left.keys, *right.keys), (*left.items, *right.items), strict=True))
        return DictValue(tuple(merged), tuple(merged.values()))
    return state.box(state.emit(target, left, right))


def _folds(left: Constant, right: Constant) -> bool:
    """Return True if an operation on two constants is done now: integers, flags and text are."""
    kinds = (int, str, tuple, bytes, type(None))
    classes = (type, types.UnionType, type(None))
    if isinstance(left.value, classes) and isinstance(right.value, classes):
        return True
    return isinstance(left.value, kinds) and isinstance(right.value, kinds)


def _sequence_operation(
    state: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue | None:
    for kind in (TupleValue, ListValue):
        if law_of_operator(target) == "sum" and isinstance(left, kind) and isinstance(right, kind):
            return kind((*left.items, *right.items))
    if law_of_operator(target) == "sum" and is_list(left) and is_list(right):
        return lists.concatenated(state, left, right)
    if law_of_operator(target) == "product":
        return _repeated(state, left, right)
    return None


def _repeated(state: Machine, left: AbstractValue, right: AbstractValue) -> AbstractValue | None:
    """``items * count``."""
    sequences = (TupleValue, ListValue)
    items, count = (left, right) if is_list(left) or isinstance(left, sequences) else (right, left)
    times = count.value if isinstance(count, Constant) else None
    few = isinstance(times, int) and times * len(getattr(items, "items", ())) <= MOST_WRITTEN_OUT
    if isinstance(items, TupleValue | ListValue) and isinstance(times, int) and few:
        return type(items)(items.items * times)
    type_ = count.type if isinstance(count, Value) else None
    whole = isinstance(type_, Numeric) and type_.is_scalar and type_.kind in "iu"
    if not is_list(items) or not (whole or isinstance(times, int)):
        return None
    holder = state.atom(items)
    if state.is_active(items):
        result = apply(state, Constant(builtins.multiplied), (items, count), {})
    else:
        result = state.emit(operator.mul, holder, count)
    if isinstance(result, Value):
        note_container(state, result)
        note_repeated(state, result, holder)
    return result


@evaluates(ast.UnaryOp)
def unary(state: Machine, node: ast.UnaryOp) -> AbstractValue:
    """``-x``, ``+x``, ``~x``, ``not x``."""
    return _unary(state, node.op, evaluate(state, node.operand))


def _unary(state: Machine, op: ast.unaryop, operand: AbstractValue) -> AbstractValue:
    if isinstance(operand, Choice):
        return on_each_side(state, operand, lambda part: _unary(state, op, part))
    target = operator_of(type(op))
    names = row_of(target).special
    own = special(state, operand, names[0]) if names else None
    if own is not None:
        return own
    if isinstance(op, ast.Not):
        known = truth(state, operand)
        return Constant(not known) if known is not None else negation(state, operand)
    state.use_as_number(operand)
    if (
        isinstance(operand, Constant)
        and operand.atom not in state.hidden
        and (isinstance(operand.value, int) or is_static_number(operand))
    ):
        try:
            return Constant(target(operand.value))
        except TypeError as error:
            raises(state, TypeError, str(error))
    return state.box(state.emit(target, operand))
