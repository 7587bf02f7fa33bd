"""Zeros below a denominator: a cotangent that is 0 because the denominator is infinite stays 0.

``1 / (1 + np.exp(x))`` has the cotangent 0 where `exp` overflows, and the partial derivative of
`exp` is infinite there.  Their product would be nan; the limit is 0, which is written in two cases:

* `exp` and its like overflow at a finite operand.  The slope is cut off at the largest number,
  unless the operand is known to be bounded.
* The base of a power is infinite at a pole: ``1 / (1 + (c / x)**4)`` at 0.  The pole must be of an
  order above 1 in the denominator: at one of order 1 the limit is another number, and below it
  infinite; both stay nan.  Nothing is written for a base that cannot be infinite, as in
  ``1 / x**6``, nor for a divisor that cannot be 0, as in ``1 / (1 + b * b)``.

A value qualifies only if all of its cotangent comes from denominators, by calls at which a zero
stays the limit: sums, products, powers.  Anything else that reads it, a logarithm on the way, a
loop or a branch that hands it on, leave the product as it is.  So does a cotangent that is not 0.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from srcad.analysis.arguments import arguments, differentiable_arguments, is_of_integers
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Call, Const, Display, Routine, Value, values_in
from srcad.ir.inference.builder import atom_type
from srcad.ir.library_operations import is_elementwise
from srcad.ir.traits import exponent_of, law_of, row_with_infinities
from srcad.rules.registry import row_of
from srcad.rules.row import Law, Range
from srcad.runtime import zero_at_pole
from srcad.startup.records import dataclass
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.masks import arrives
from srcad.transforms.missing import unless_cut, unsigned
from srcad.transforms.sweep import Sweep, is_scalar
from srcad.types.numeric import Numeric

# What is the limit for a term is so for the sum.
_TERMS = ("sum", "difference", "negative", "positive")


@dataclass(frozen=True)
class Decay:
    """A denominator grows at least like a power of a value."""

    # The exponent of that power, without the factors that only the call knows.
    order: float
    # Factors of the exponent that only the call knows, all of them numbers that must be above 1.
    exponents: tuple[Value, ...] = ()

    def __or__(self, other: Decay) -> Decay:
        """Return the weaker of two decays."""
        return Decay(min(self.order, other.order), (*self.exponents, *other.exponents))

    def __mul__(self, other: Decay) -> Decay:
        """Return the decay by a value of which another one is a power."""
        return Decay(self.order * other.order, (*self.exponents, *other.exponents))

    @property
    def is_above_one(self) -> bool:
        """Return True if the exponent is above 1, provided that those of the call are."""
        return self.order > 1 or (self.order == 1 and bool(self.exponents))


_SAME = Decay(1.0)


def bounded_partial(scope: ReverseScope, op: Call, place: int | str, partial: Any) -> Any:
    """Return a partial derivative that is an exponential, the largest number in place of inf.

    It is the cheapest form where the sign is known: the cotangent is 0 where the partial is inf.
    Single numbers and signed partials are left to `zero_at_limit`.
    """
    if not isinstance(partial, Value) or not _is_exponential(scope.sweep, op, place):
        return partial
    type_ = partial.type
    if not isinstance(type_, Numeric) or type_.form != "array" or is_scalar(type_):
        return partial
    if type_.dtype is None or type_.kind != "f":
        return partial
    decay = _at_least_linear(scope.sweep, op)
    if decay is None or decay.exponents or not _is_positive_partial(scope.sweep, op, place):
        return partial
    return scope.call(np.minimum, partial, Const(float(np.finfo(type_.dtype).max)))


def zero_at_limit(
    scope: ReverseScope, op: Call, place: int | str, y_bar: Atom, partial: Any, bar: Atom
) -> Atom:
    """Return the product of a cotangent and a partial derivative, 0 where 0 is the limit."""
    sweep, type_ = scope.sweep, atom_type(bar)
    if bar is y_bar or not isinstance(type_, Numeric) or sweep.is_complex(type_):
        return bar
    if not isinstance(y_bar, Value) or not isinstance(bar, Value):
        return bar
    # The cotangent of a power below, whose zero has not been written so far.
    source = sweep.deferred.get(y_bar)
    if not isinstance(partial, Value):
        return _deferred(sweep, bar, source)
    divisor = _divisor(op)
    if _is_exponential(sweep, op, place):
        decay = _at_least_linear(sweep, op)
    elif divisor is not None:
        decay = _decay_at_pole(sweep, op)
    else:
        decay = _decay_at_infinity(sweep, op, place)
    if decay is None:
        return bar
    if place == 0 and _is_power(op) and _leads_to_pole(sweep, op):
        return _deferred(sweep, bar, y_bar)
    tests = [scope.call(operator.ne, unsigned(scope, source or y_bar), Const(0.0))]
    if divisor is not None:
        tests.append(scope.call(operator.ne, divisor, Const(0.0)))
    tests += [scope.call(operator.le, one, Const(1)) for one in dict.fromkeys(decay.exponents)]
    test = functools.reduce(lambda a, b: scope.call(np.logical_or, a, b), tests)
    # Below a pole only the first derivative is known to be 0, below an overflow all of them.
    if _is_exponential(sweep, op, place):
        return unless_cut(scope, test, bar)
    return scope.call(zero_at_pole, bar, test)


def _deferred(sweep: Sweep, bar: Value, source: Value | None) -> Value:
    if source is not None:
        sweep.deferred[bar] = source
    return bar


# ------------------------------------------------------------------------------- operations
def _at_least_linear(sweep: Sweep, op: Call) -> Decay | None:
    """Return the decay by a result if its order is 1 or more."""
    decay = decay_of(sweep, op.result)
    return decay if decay is not None and decay.order >= 1 else None


def _is_exponential(sweep: Sweep, op: Call, place: int | str) -> bool:
    """Return True if a partial derivative overflows as `exp` does, at finite operands."""
    if law_of(op.target) == "product":
        other = sweep.made.get(_other(op, place))
        return other is not None and _overflows(sweep, other)
    return place == _place_of_exponent(op) and _overflows(sweep, op)


def _is_of_exponential(call: Call) -> bool:
    """Return True if the function of a call overflows as `exp` does."""
    return row_with_infinities(call.target).fails == "overflow"


def _overflows(sweep: Sweep, call: Call) -> bool:
    place = _place_of_exponent(call)
    if place is None or _has_twin_elsewhere(sweep, call, call.args[place]):
        return False
    is_signed = row_with_infinities(call.target).symmetry != ""
    return not _is_bounded(sweep, call.args[place], above_only=not is_signed)


def _has_twin_elsewhere(sweep: Sweep, call: Call, operand: Arg) -> bool:
    """Return True if a call is written twice, as in ``np.exp(x) / np.sum(np.exp(x))``.

    The result then is not only read below denominators.
    """
    readers = sweep.read_by.get(operand, ()) if isinstance(operand, Value) else ()
    return any(
        twin is not call
        and twin.target == call.target
        and twin.args == call.args
        and decay_of(sweep, twin.result) is None
        for twin in readers
    )


def _place_of_exponent(call: Call) -> int | None:
    """Return the place of the exponent of `exp` and its like, and of a power of a literal."""
    if _is_of_exponential(call):
        return 0
    base = _number(call.args[0]) if law_of(call.target) == "power" else None
    return 1 if base is not None and base > 1 else None


def _is_positive_partial(sweep: Sweep, op: Call, place: int | str) -> bool:
    if law_of(op.target) != "product":
        return row_with_infinities(op.target).symmetry != "even"
    other = sweep.made[_other(op, place)]
    return not _is_of_exponential(other) or _range_of(other) == "positive"


def _other(op: Call, place: int | str) -> Any:
    """Return the other factor of a product."""
    return op.args[1 if place == 0 else 0]


def _decay_at_pole(sweep: Sweep, op: Call) -> Decay | None:
    """Return the decay by the operand that has a pole at 0, if its derivative there is 0."""
    if not _has_pole(sweep, op):
        return None
    decay, order = decay_of(sweep, op.result), _order_of_pole(op)
    if decay is None or order is None:
        return None
    decay = decay * order
    return decay if decay.is_above_one else None


def _has_pole(sweep: Sweep, op: Call) -> bool:
    """Return True if the divisor of a quotient may be 0, or the base of a negative power."""
    divisor = _divisor(op)
    return divisor is not None and arrives(sweep, divisor, _back_to_zero)


def _divisor(op: Call) -> Value | None:
    if _order_of_pole(op) is None:
        return None
    found = op.args[1 if law_of(op.target) == "quotient" else 0]
    return found if isinstance(found, Value) else None


def _order_of_pole(op: Call) -> Decay | None:
    """Return the order of the pole that a call has where its divisor or base is 0."""
    if law_of(op.target) == "quotient":
        return _SAME if isinstance(op.args[1], Value) else None
    exponent = exponent_of(op.target)
    if law_of(op.target) == "power":
        exponent = _number(op.args[1])
    return Decay(-exponent) if exponent is not None and exponent < 0 else None


def _decay_at_infinity(sweep: Sweep, op: Call, place: int | str) -> Decay | None:
    """Return the decay by the result of a product or a power with an operand that may be inf."""
    if law_of(op.target) == "product":
        other = _other(op, place)
        decay = _at_least_linear(sweep, op) if _may_be_infinite(sweep, other) else None
        # Below a pole of order 1 the product stays as it is.
        is_above = decay is not None and (decay.is_above_one or op.args[0] is op.args[1])
        return decay if is_above or arrives(sweep, other, _back_to_power) else None
    if not _is_power(op) or not _may_be_infinite(sweep, op.args[0]):
        return None
    if place == 1:
        return _at_least_linear(sweep, op)
    decay, exponent = decay_of(sweep, op.result), exponent_of(op.target)
    factor = _power(op) if exponent is None else Decay(exponent)
    if decay is None or factor is None:
        return None
    decay = decay * factor
    return decay if decay.is_above_one else None


def _leads_to_pole(sweep: Sweep, op: Call) -> bool:
    """Return True if the base of a power is a quotient with a pole, or a multiple of one.

    Its adjoint writes the zero, once; that of the power need not.
    """
    base, result = op.args[0], op.result
    if not isinstance(base, Value) or not _have_same_axes(base.type, result.type):
        return False
    while isinstance(base, Value):
        call = sweep.made.get(base)
        if call is None or len(sweep.read_by[base]) > 1:
            return False
        if _decay_at_pole(sweep, call) is not None:
            return not _may_be_infinite(sweep, call.args[0])
        factors = [_number(arg) for arg in call.args]
        is_multiple = law_of(call.target) == "product" and any(factors)
        if not is_multiple and law_of(call.target) != "negative":
            return False
        base = call.args[1 if factors[0] is not None else 0]
    return False


def _have_same_axes(a: Any, b: Any) -> bool:
    if not isinstance(a, Numeric) or not isinstance(b, Numeric):
        return False
    return is_scalar(a) == is_scalar(b) and (a.shape == b.shape or is_scalar(a))


# ------------------------------------------------------------------------------- ranges
def _is_power(call: Call) -> bool:
    return law_of(call.target) == "power" or (exponent_of(call.target) or 0) > 1


def _is_sum(call: Call) -> bool:
    return law_of(call.target) in (*_TERMS, "total")


def _range_of(call: Call) -> Range:
    return row_with_infinities(call.target).range


def _moved(call: Call) -> list[Arg] | None:
    """Return the operands of which all entries of a result are; None if zeros may be among them.

    None also for functions that compute.
    """
    row = row_of(call.target)
    if not _moves(call) or row.adds_zeros:
        return None
    places = [place for place in arguments(call) if row.entry(place) is not None]
    found: list[Arg] = []
    for arg in (arguments(call)[place] for place in places):
        found += arg.items if isinstance(arg, Display) else [arg]
    is_rounded = is_of_integers(call.result.type) and not all(map(_is_of_integers, found))
    return found if found and not is_rounded else None


def _is_of_integers(arg: Arg) -> bool:
    return is_of_integers(argument_type(arg))


def _moves(call: Call) -> bool:
    """Return True if all entries of a result are entries of operands, cast perhaps, or 0."""
    row = row_of(call.target)
    return row.entries == "moved" or row.law == "cast"


def _moved_or_not_negative(call: Call) -> list[Arg] | None:
    """Return the operands of which entries are results, with another sign perhaps."""
    return list(call.args[:1]) if _range_of(call) == "not negative" else _moved(call)


def _moved_or_reduced(call: Call) -> list[Arg] | None:
    """Return the operands of which results are entries, sums or means of them, or extremes."""
    law = _law_of_all_entries(call)
    if law in ("largest", "smallest") and row_of(call.target).entries != "reduced":
        return list(call.args)
    return list(call.args[:1]) if law in ("total", "largest", "smallest") else _moved(call)


def _law_of_all_entries(call: Call) -> Law:
    """Return the law of a function that leaves no entries out, as `np.nanmax` does.

    Nor one that compares them by a key, as Python's `max` may.
    """
    row = row_of(call.target)
    is_other = any(name in ("key", "default") for name, _ in call.kwargs)
    return "" if row.nan == "left out" or is_other else row.law


def _may_be_infinite(sweep: Sweep, arg: Arg) -> bool:
    return isinstance(arg, Value) and arrives(sweep, arg, _back_to_infinity)


def _back_to_infinity(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along sums, products and moves to what overflows or has a pole."""
    call = sweep.made.get(value)
    if call is None:
        return []
    law = law_of(call.target)
    if _overflows(sweep, call) or _has_pole(sweep, call):
        return None
    if law in ("quotient", "power"):
        return _values(call.args[:1])
    if (operands := _moved_or_not_negative(call)) is not None:
        return _values(operands)
    return list(call.operands) if law == "product" or _is_sum(call) else []


def _back_to_power(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along sums, products and moves to what overflows, and to powers of poles."""
    call = sweep.made.get(value)
    if call is None:
        return []
    law = law_of(call.target)
    is_power = _is_power(call)
    if _overflows(sweep, call) or (is_power and _may_be_infinite(sweep, call.args[0])):
        return None
    if law == "quotient":
        return _values(call.args[:1])
    if (operands := _moved_or_not_negative(call)) is not None:
        return _values(operands)
    return list(call.operands) if law == "product" or _is_sum(call) else []


def _back_to_zero(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along products and moves to what may be 0."""
    call = sweep.made.get(value)
    if call is None:
        return None
    law = law_of(call.target)
    if not arrives(sweep, value, _back_to_nonpositive):
        return []
    if law in ("quotient", "power", "negative"):
        return _values(call.args[:1])
    if (operands := _moved_or_not_negative(call)) is not None:
        return _values_unless_below(operands, 0, strict=True)
    return list(call.operands) if law == "product" else None


def _back_to_nonpositive(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along calls with positive results to what may be 0 or less."""
    call = sweep.made.get(value)
    if call is None:
        return None
    law = law_of(call.target)
    if _range_of(call) == "positive":
        return []
    if law == "power" or exponent_of(call.target) == 0.5:
        return _values_unless_below(call.args[:1], 0, strict=True)
    if (operands := _moved_or_reduced(call)) is not None:
        return _values_unless_below(operands, 0, strict=True)
    if law == "sum":
        for term, other in zip(call.args, reversed(call.args), strict=True):
            number = _number(term) or 0.0
            if number > 0 and _is_never_negative(sweep, other):
                return []
            if number > 1 and _is_one_at_most(sweep, other):
                return []
    if law in ("sum", "product", "quotient"):
        return _values_unless_below(call.args, 0, strict=True)
    return None


def _back_to_negative(sweep: Sweep, value: Value) -> list[Value] | None:
    """Back along calls with results of 0 or more to what may be less."""
    call = sweep.made.get(value)
    if call is None:
        return None
    law = law_of(call.target)
    if _range_of(call) in ("positive", "not negative"):
        return []
    if law == "product" and _are_equal(sweep, call.args[0], call.args[1]):
        return []
    if law == "power" and (_number(call.args[1]) or 1.0) % 2 == 0:
        return []
    operands = call.args[:1] if law == "power" else _moved_or_reduced(call)
    if operands is not None:
        return _values_unless_below(operands, 0, strict=False)
    if law in ("sum", "product", "quotient"):
        return _values_unless_below(call.args, 0, strict=False)
    return None


def _values_unless_below(args: Sequence[Arg], limit: float, *, strict: bool) -> list[Value] | None:
    """Return the values among arguments; None if one of the others is no number from `limit` up."""
    for arg in args:
        number = _number(arg)
        if isinstance(arg, Value):
            continue
        if number is None or number < limit or (strict and number == limit):
            return None
    return _values(args)


def _values(args: Sequence[Arg]) -> list[Value]:
    return [arg for arg in args if isinstance(arg, Value)]


def _is_bounded(sweep: Sweep, arg: Arg, *, above_only: bool) -> bool:
    """Return True if an argument of `exp` is known not to be large."""
    call = sweep.made.get(arg) if isinstance(arg, Value) else None
    if call is None:
        return isinstance(arg, Const)
    if _range_of(call) in ("bounded", "at most one"):
        return True
    return above_only and _is_never_positive(sweep, call)


def _is_never_positive(sweep: Sweep, call: Call) -> bool:
    """Return True for ``-x**2``, ``-0.5 * x**2``, ``-abs(x) / 2``, ``x - np.max(x)``."""
    if law_of(call.target) == "negative":
        return _is_never_negative(sweep, call.args[0])
    if law_of(call.target) == "difference":
        greatest = sweep.made.get(call.args[1]) if isinstance(call.args[1], Value) else None
        return (
            greatest is not None
            and _law_of_all_entries(greatest) == "largest"
            and greatest.args[0] is call.args[0]
        )
    if law_of(call.target) == "quotient":
        inner = sweep.made.get(call.args[0]) if isinstance(call.args[0], Value) else None
        is_divided = inner is not None and _is_never_negative(sweep, call.args[1])
        return is_divided and inner is not None and _is_never_positive(sweep, inner)
    if law_of(call.target) != "product":
        return False
    factors = [_number(arg) for arg in call.args]
    for factor, other in zip(factors, reversed(call.args), strict=True):
        if factor is not None and factor < 0:
            return _is_never_negative(sweep, other)
    return False


def _is_one_at_most(sweep: Sweep, arg: Arg) -> bool:
    call = sweep.made.get(arg) if isinstance(arg, Value) else None
    return call is not None and _range_of(call) == "at most one"


def _are_equal(sweep: Sweep, a: Arg, b: Arg, depth: int = 8) -> bool:
    """Return True if two arguments certainly are the same number, such as ``x[1]`` read twice."""
    if a is b:
        return True
    if isinstance(a, Display) and isinstance(b, Display):
        return a.kind == b.kind and _are_pairs_equal(sweep, a.items, b.items, depth)
    if not isinstance(a, Value) or not isinstance(b, Value):
        return _number(a) is not None and _number(a) == _number(b)
    one, other = sweep.made.get(a), sweep.made.get(b)
    if one is None or other is None or one.target != other.target or depth == 0:
        return False
    if not is_elementwise(one.target) and not _moves(one):
        return False
    return one.kwargs == other.kwargs and _are_pairs_equal(sweep, one.args, other.args, depth - 1)


def _are_pairs_equal(sweep: Sweep, a: Sequence[Arg], b: Sequence[Arg], depth: int) -> bool:
    pairs = zip(a, b, strict=False)
    return len(a) == len(b) and all(_are_equal(sweep, *pair, depth) for pair in pairs)


def _is_never_negative(sweep: Sweep, arg: Arg) -> bool:
    if isinstance(arg, Value):
        return not arrives(sweep, arg, _back_to_negative)
    number = _number(arg)
    return number is not None and number >= 0


def _number(arg: Arg) -> float | None:
    """Return a literal number; None for everything else."""
    if isinstance(arg, Const) and type(arg.value) in (int, float):
        return float(arg.value)
    return None


# ------------------------------------------------------------------------------- the way down
def decay_of(sweep: Sweep, value: Value) -> Decay | None:
    """Return the growth of the denominators that contain a value.

    None if anything else reads it, or if a zero of its cotangent need not be the limit.
    """
    known = sweep.decays
    pending = [value]
    while pending:
        one = pending[-1]
        onward = [] if one in known else _onward(sweep, one)
        missing = [c.result for c, factor in onward or () if c.result not in known and factor]
        if missing:
            pending += missing
            continue
        pending.pop()
        if one not in known:
            known[one] = _joined(sweep, one, onward)
    found: Decay | None = known[value]
    return found


def _joined(
    sweep: Sweep, value: Value, onward: list[tuple[Call, Decay | None]] | None
) -> Decay | None:
    decay: Decay | None = None
    for call, factor in onward or ():
        if factor is None:
            below = Decay(_order_of_divisor(call, value) or 0.0)
        else:
            after = sweep.decays[call.result]
            if after is None:
                return None
            below = after * factor
        decay = below if decay is None else decay | below
    return decay


def _onward(sweep: Sweep, value: Value) -> list[tuple[Call, Decay | None]] | None:
    """Return the calls that read a value, each with the growth of its result.

    There is no power for a call that divides by the value.  None if a call does anything else.
    """
    if value in sweep.handed_on:
        return None
    found: list[tuple[Call, Decay | None]] = []
    for call in dict.fromkeys(sweep.read_by.get(value, ())):
        if sweep.facts.active(call.result) is False:
            continue
        if _order_of_divisor(call, value) is not None:
            found.append((call, None))
            continue
        factor = _factor(sweep, call, value)
        if factor is None:
            return None
        found.append((call, factor))
    return found


def _order_of_divisor(call: Call, value: Value) -> float | None:
    """Return the order of the pole of a call if it divides by a value, and reads it so only."""
    if law_of(call.target) == "quotient":
        return 1.0 if call.args[1] is value and call.args[0] is not value else None
    order = _order_of_pole(call)
    return None if order is None or call.args[0] is not value else order.order


def _factor(sweep: Sweep, call: Call, value: Value) -> Decay | None:
    """Return the growth of a call's result as a power of an operand; None if it is no power."""
    if _is_sum(call):
        is_plain = all(name in ("axis", "keepdims") for name, _ in call.kwargs)
        is_moved = bool(call.args) and call.args[0] is value and is_plain
        return _SAME if is_moved or is_elementwise(call.target) else None
    if _moves(call):
        used = differentiable_arguments(call).values()
        return _SAME if any(value in values_in(arg) for arg in used) else None
    exponent = exponent_of(call.target)
    if exponent is not None and exponent > 0:
        return Decay(exponent)
    if law_of(call.target) == "product":
        a, b = call.args
        if a is b:
            return Decay(2.0)
        return None if _may_vanish(sweep, b if a is value else a) else _SAME
    if law_of(call.target) == "quotient":
        is_divided = call.args[0] is value and call.args[1] is not value
        return _SAME if is_divided and not _may_vanish(sweep, call.args[1]) else None
    if law_of(call.target) == "power" and call.args[0] is value and call.args[1] is not value:
        return _power(call)
    return None


def _power(call: Call) -> Decay | None:
    """Return a power with a positive literal exponent, or one that only the call knows."""
    exponent = call.args[1]
    number = _number(exponent)
    if number is not None:
        return Decay(number) if number > 0 else None
    is_number = isinstance(argument_type(exponent), Numeric) and is_scalar(argument_type(exponent))
    return Decay(1.0, (exponent,)) if isinstance(exponent, Value) and is_number else None


def _may_vanish(sweep: Sweep, arg: Arg) -> bool:
    """Return True for a factor that may underflow, as an exponential or a power does."""
    return isinstance(arg, Value) and arrives(sweep, arg, _back_to_exponential)


def _back_to_exponential(sweep: Sweep, value: Value) -> list[Value] | None:
    call = sweep.made.get(value)
    if call is None:
        return None if sweep.is_routine and value in sweep.primal.params else []
    if isinstance(call.target, Routine):
        return None
    if _is_of_exponential(call) or law_of(call.target) == "power":
        return None
    return list(call.operands)
