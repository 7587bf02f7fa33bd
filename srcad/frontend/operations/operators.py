"""Operators, comparisons and conditions; the arms of a short circuit are read apart."""

from __future__ import annotations

import ast
import contextlib
import operator
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from srcad import errors
from srcad.frontend.branches.choices import asked, by_case, choose, negation
from srcad.frontend.domain import holder
from srcad.frontend.domain.predicates import is_static_number, text_class
from srcad.frontend.domain.values import (
    AbstractValue,
    Choice,
    Conflict,
    Constant,
    DictValue,
    FunctionValue,
    IteratorValue,
    ListValue,
    RecordValue,
    TupleValue,
    is_mutable,
)
from srcad.frontend.machine.constants import as_tuple, is_found, is_settled, pinned, raises, truth
from srcad.frontend.machine.dispatch import lower, lower_next, lowers
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import outside_containers
from srcad.frontend.operations.containers import is_list, joined
from srcad.frontend.operations.objects import of_objects, special
from srcad.frontend.prelude import builtins
from srcad.frontend.store.aliases import repeat
from srcad.frontend.store.origins import note_container
from srcad.frontend.store.ownership import refuse_identity
from srcad.frontend.store.stale import refuse_to_hold
from srcad.frontend.store.structures import is_of_library
from srcad.ir import primitives
from srcad.ir.core import Value
from srcad.types.numeric import BOOL, Numeric
from srcad.types.sizes import same
from srcad.types.structures import Opaque

MOST_WRITTEN_OUT = 256  # items of a list that is repeated
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@lowers(ast.BinOp)
def binary(s: Machine, node: ast.BinOp) -> AbstractValue:
    """``left op right``; a long chain is read from its left end without recursion."""
    chain: list[ast.BinOp] = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    box = lower(s, chain[-1].left)
    for part in reversed(chain):
        box, right = lower_next(s, box, part.right)
        with s.at(part):
            box = operate(s, BINARY[type(part.op)], box, right)
    return box


def operate(
    s: Machine, target: Callable[[Any, Any], Any], left: AbstractValue, right: AbstractValue
) -> AbstractValue:
    """A binary operation on boxes: folded where both are known, structural on sequences."""
    if isinstance(left, Choice):
        return by_case(s, left, lambda part: operate(s, target, part, right))
    if isinstance(right, Choice):
        return by_case(s, right, lambda part: operate(s, target, left, part))
    if isinstance(left, Constant) and isinstance(right, Constant) and _folds(left, right):
        with suppress(Exception):  # it fails at the call, as in the plain call
            return Constant(target(left.value, right.value))
    found = of_objects(s, target, left, right)
    if found is not None:
        return found
    left, right = as_tuple(left), as_tuple(right)
    _check_joined(s, left, right)
    _check_joined(s, right, left)
    found = _sequence_operation(s, target, left, right) or _filled(s, target, left, right)
    if found is not None:
        return found
    for box in (left, right):
        if isinstance(
            box, TupleValue | DictValue | RecordValue | FunctionValue | IteratorValue
        ) or (isinstance(box, ListValue) and not isinstance(_other(box, left, right), Value)):
            return _structured_operand(s, target, left, right)
    return s.box(s.emit(target, left, right))


def _filled(
    s: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue | None:
    """``template % values`` or ``text + text``; None where the left operand is no text."""
    text = text_class(left)
    joins = target is operator.add and text == text_class(right)
    if text is not None and (joins or target is operator.mod):
        return s.emit(target, left, right, effect=not joins, type=Opaque(text))
    unknown = isinstance(left, Value) and isinstance(left.type, Opaque)
    if unknown and isinstance(right, Constant) and target is operator.mod:
        return s.box(s.emit(target, left, right, effect=True))
    return None


def _check_joined(s: Machine, one: AbstractValue, other: AbstractValue) -> None:
    """Refuse an active list beside what only the call knows: it may be a list, or an array."""
    unknown = isinstance(one, Value) and isinstance(one.type, Opaque)
    if unknown and s.is_active(other) and (is_list(other) or isinstance(other, TupleValue)):
        s.refuse(
            errors.UnsupportedTypeError,
            "cannot tell what is joined or added here",
            why="one operand is a list; of the other only the call knows what it is.",
            help=("make it an array first:  np.array(...)", "or a list:  list(...)"),
        )


def _other(box: AbstractValue, left: AbstractValue, right: AbstractValue) -> AbstractValue:
    return right if box is left else left


def _structured_operand(
    s: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue:
    """An operator whose operand is a tuple, list or dict: a method of Python's, or NumPy's."""
    if target is operator.or_ and isinstance(left, DictValue) and isinstance(right, DictValue):
        merged = dict(zip((*left.keys, *right.keys), (*left.items, *right.items), strict=True))
        return DictValue(tuple(merged), tuple(merged.values()))
    return s.box(s.emit(target, left, right))


def _folds(left: Constant, right: Constant) -> bool:
    """Whether an operation on two constants is done now: integers, flags and text are."""
    kinds = (int, str, tuple, bytes, type(None))
    classes = (type, types.UnionType, type(None))
    if isinstance(left.value, classes) and isinstance(right.value, classes):
        return True
    return isinstance(left.value, kinds) and isinstance(right.value, kinds)


def _sequence_operation(
    s: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue | None:
    for kind in (TupleValue, ListValue):
        if target is operator.add and isinstance(left, kind) and isinstance(right, kind):
            return kind((*left.items, *right.items))
    if target is operator.add and is_list(left) and is_list(right):
        return joined(s, left, right)
    if target is operator.mul:
        return _repeated(s, left, right)
    return None


def _repeated(s: Machine, left: AbstractValue, right: AbstractValue) -> AbstractValue | None:
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
    holder = s.atom(items)
    if s.is_active(items):
        result = s.invoke(s, Constant(builtins.multiplied), (items, count), {})
    else:
        result = s.emit(operator.mul, holder, count)
    if isinstance(result, Value):
        note_container(s, result)
        repeat(s, result, holder)
    return result


@lowers(ast.UnaryOp)
def unary(s: Machine, node: ast.UnaryOp) -> AbstractValue:
    """``-x``, ``+x``, ``~x``, ``not x``."""
    return _unary(s, node.op, lower(s, node.operand))


def _unary(s: Machine, op: ast.unaryop, operand: AbstractValue) -> AbstractValue:
    if isinstance(operand, Choice):
        return asked(s, operand, lambda part: _unary(s, op, part))
    name = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}.get(type(op))
    own = special(s, operand, name) if name is not None else None
    if own is not None:
        return own
    if isinstance(op, ast.Not):
        known = truth(s, operand)
        return Constant(not known) if known is not None else negation(s, operand)
    target = UNARY[type(op)]
    if isinstance(operand, Constant) and (
        isinstance(operand.value, int) or is_static_number(operand)
    ):
        try:
            return Constant(target(operand.value))
        except TypeError as error:
            raises(s, TypeError, str(error))
    return s.box(s.emit(target, operand))


@lowers(ast.Compare)
def comparison(s: Machine, node: ast.Compare) -> AbstractValue:
    """``a < b < c``: each operand once, the rest only if the first holds."""
    return _compared(s, lower(s, node.left), node.ops, node.comparators)


def _compared(
    s: Machine, left: AbstractValue, ops: list[ast.cmpop], others: list[ast.expr]
) -> AbstractValue:
    left, right = lower_next(s, left, others[0])
    first = compare(s, ops[0], left, right)
    if len(ops) == 1:
        return first
    known = truth(s, first)
    if known is not None:
        return _compared(s, right, ops[1:], others[1:]) if known else first
    return choose(s, s.atom(first), lambda: _compared(s, right, ops[1:], others[1:]), lambda: first)


def compare(s: Machine, op: ast.cmpop, left: AbstractValue, right: AbstractValue) -> AbstractValue:
    """One comparison."""
    if isinstance(left, Conflict) or isinstance(right, Conflict):
        refuse_to_hold(s, left if isinstance(left, Conflict) else right)
    if isinstance(left, Choice):
        return asked(s, left, lambda part: compare(s, op, part, right))
    if isinstance(right, Choice):
        return asked(s, right, lambda part: compare(s, op, left, part))
    if isinstance(op, ast.Is | ast.IsNot):
        return _identity(s, left, right, negated=isinstance(op, ast.IsNot))
    if isinstance(op, ast.In | ast.NotIn):
        return _membership(s, left, right, negated=isinstance(op, ast.NotIn))
    own = of_objects(s, COMPARE[type(op)], left, right)
    return _compared_values(s, COMPARE[type(op)], left, right) if own is None else own


def _compared_values(
    s: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue:
    left, right = as_tuple(left), as_tuple(right)
    if (
        isinstance(left, Constant)
        and isinstance(right, Constant)
        and left.atom is right.atom is None
    ):
        known_now = is_settled(s, left) and is_settled(s, right)
        with contextlib.suppress(Exception):  # it fails at the call, as in the plain call
            if known_now:
                return Constant(bool(target(left.value, right.value)))
    if (
        isinstance(left, TupleValue)
        and isinstance(right, TupleValue)
        and target in (operator.eq, operator.ne)
    ):
        return _compared_tuples(s, target, left, right)
    if any(
        isinstance(b, Constant) and (b.value is None or isinstance(b.value, str))
        for b in (left, right)
    ):
        other = right if isinstance(left, Constant) else left
        if isinstance(other, Value) and isinstance(other.type, Numeric) and _is_number(other.type):
            return Constant(target is operator.ne)
    if s.frame.trusted and target is operator.eq:
        decided = _same_lengths(left, right)
        if decided is not None:
            return Constant(decided)
    return s.emit(target, left, right)


def _is_number(type_: Numeric) -> bool:
    """Whether something is certainly a number: no array, text or date, nor nothing at all."""
    return type_.form in ("python", "numpy", "number") and type_.kind in "biufc"


def _same_lengths(left: AbstractValue, right: AbstractValue) -> bool | None:
    """Whether two lengths are equal, as far as a rule may take for granted."""
    values = [
        b.type.value if isinstance(b, Value) and isinstance(b.type, Numeric) else None
        for b in (left, right)
    ]
    if values[0] is None or values[1] is None:
        return None
    return same(values[0], values[1])


def _compared_tuples(s: Machine, target: Any, left: TupleValue, right: TupleValue) -> AbstractValue:
    if len(left.items) != len(right.items):
        return Constant(target is operator.ne)
    result: AbstractValue = Constant(True)
    for a, b in zip(left.items, right.items, strict=True):
        equal = compare(s, ast.Eq(), a, b)
        if truth(s, equal) is False:
            return Constant(target is operator.ne)
        if truth(s, equal) is None:
            result = equal if truth(s, result) is True else s.emit(operator.and_, result, equal)
    if target is operator.eq:
        return result
    known = truth(s, result)
    return Constant(not known) if known is not None else s.emit(primitives.not_, result)


def _identity(
    s: Machine, left: AbstractValue, right: AbstractValue, *, negated: bool
) -> AbstractValue:
    if isinstance(left, Constant) and isinstance(right, Constant):
        if type(left.value) is not type(right.value):
            return Constant(negated)
        return Constant((pinned(s, left) is pinned(s, right)) != negated)
    refuse_identity(s, left, right)
    none = [b for b in (left, right) if isinstance(b, Constant) and b.value is None]
    other = right if left in none else left
    if none and not _may_be_nothing(s, other):
        return Constant(negated)
    if left is right and (isinstance(left, Value) or is_mutable(left)):
        return Constant(not negated)
    values = isinstance(left, Value) and isinstance(right, Value)
    if not none and not values and not _may_be_one_object(left, right):
        return Constant(negated)
    result = s.emit(primitives.is_, left, right)
    return negation(s, result) if negated else result


def _may_be_nothing(s: Machine, box: AbstractValue) -> bool:
    """Whether something may be None at the call: what a data set holds may be."""
    if not isinstance(box, Value) or not isinstance(box.type, Numeric):
        return isinstance(box, Value) and isinstance(box.type, Opaque)
    is_unknown = box.type.form == "any" and box.type.dtype is None
    return (is_unknown or box.type.kind == "O") and not s.is_active(box)


def _may_be_one_object(left: AbstractValue, right: AbstractValue) -> bool:
    """Whether one is an object that is known now, and the other a value that may be it."""
    value, constant = (left, right) if isinstance(left, Value) else (right, left)
    if not isinstance(value, Value) or not isinstance(constant, Constant):
        return False
    if isinstance(value.type, Numeric):
        return isinstance(constant.value, bool) and value.type.kind in ("b", "?")
    return isinstance(value.type, Opaque)


def _membership(
    s: Machine, item: AbstractValue, container: AbstractValue, *, negated: bool
) -> AbstractValue:
    if isinstance(container, holder.Holder):
        return outside_containers.has_item(s, container, item, negated=negated)
    if isinstance(item, Constant) and is_settled(s, item):
        if isinstance(container, DictValue):
            return Constant((item.value in container.keys) != negated)
        parts = container.items if isinstance(container, TupleValue | ListValue) else ()
        if parts and all(isinstance(p, Constant) and is_settled(s, p) for p in parts):
            held = [p.value for p in parts if isinstance(p, Constant)]
            return Constant((item.value in held) != negated)
        if isinstance(container, Constant) and container.path is None:
            return is_found(s, item, container, negated=negated)
    own = special(s, container, "__contains__", item) if is_of_library(container) else None
    unknown = isinstance(container, Value) and isinstance(container.type, Opaque)
    result = own or s.emit(primitives.contains, container, item, effect=unknown, type=BOOL)
    return negation(s, result) if negated else result
