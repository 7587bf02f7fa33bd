"""Strong zeros of factors that do not move: ``np.sqrt(m * p)`` where the entry of ``m`` is 0.

A product is 0 and stays 0 where a factor is 0 that carries no derivative, or whose branch was
chosen that carries none (``s = max(0.0, p - 5.0)``).  Above it a root has an infinite slope; the
product of that and the zero would be nan, and the derivative is 0.  A factor that is 0 by value
(``x * x`` at 0) moves, and nothing is written for it; neither is where no root follows.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad.ir.core import Arg, Atom, Call, Const, If, Value
from srcad.ir.traits import exponent_of, law_of
from srcad.rules.registry import row_of
from srcad.runtime import zero_if_still
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.masks import arrives
from srcad.transforms.sweep import Sweep
from srcad.types.numeric import Numeric


def factor_that_moves(scope: ReverseScope, op: Call, place: int | str) -> Value | None:
    """Return a test that is False where the other factor of a product is 0 and does not move.

    None if it is known to move, and where no root of the product is taken.
    """
    if law_of(op.target) != "product" or op.kwargs or place not in (0, 1):
        return None
    other = op.args[1 if place == 0 else 0]
    if not isinstance(other, Value) or not isinstance(other.type, Numeric):
        return None
    if other.type.kind not in "iufc?" or not precedes_root(scope.sweep, op.result):
        return None
    is_moving = scope.sweep.facts.varied.get(other, False) is not False
    choice = _moving_branch(scope.sweep, other) if is_moving else None
    if is_moving and choice is None:
        return None
    test = scope.call(operator.ne, other, Const(0.0))
    if choice is None:
        return test
    return scope.call(np.logical_or, test, _test_of(scope, choice[0], first=choice[1]))


def term_that_moves(scope: ReverseScope, op: Call, place: int | str, dot: Atom) -> Value | None:
    """Return a test that is False where a term of a tangent is 0 because nothing moves."""
    own = scope.sweep.still.get(dot) if isinstance(dot, Value) else None
    if law_of(op.target) == "product":
        test = factor_that_moves(scope, op, place)
        if own is None or test is None:
            return own or test
        return scope.call(np.logical_and, own, test)
    is_handed_on = law_of(op.target) == "negative" or (
        law_of(op.target) == "quotient" and place == 0
    )
    return own if is_handed_on else None


def note_terms(scope: ReverseScope, dot: Any, tests: list[Value | None]) -> None:
    """Note the test for a sum of tangents that is 0 because no factor moves."""
    if not isinstance(dot, Value) or not tests:
        return
    found, *others = tests
    for test in others:
        both = found is not None and test is not None
        found = scope.call(np.logical_or, found, test) if both and found and test else None
    if found is not None:
        scope.sweep.still[dot] = found


def note_branch(scope: ReverseScope, op: If, output: Value, dot: Value, *, first: bool) -> None:
    """Note that a tangent is 0 where the branch is chosen that has none; `first` has one."""
    if _is_test(op.test) and precedes_root(scope.sweep, output):
        scope.sweep.still[dot] = _test_of(scope, op, first=first)


def zero_at_root(scope: ReverseScope, op: Call, dot: Atom, term: Atom) -> Atom:
    """Return a tangent of a root, 0 where that of its operand is 0 because nothing moves."""
    test = scope.sweep.still.get(dot) if isinstance(dot, Value) else None
    if test is None or not _is_root(op):
        return term
    return scope.call(zero_if_still, term, _or_nan(scope, test, op.result))


def unless_still(scope: ReverseScope, op: Call, place: int | str, y_bar: Atom, bar: Atom) -> Atom:
    """Return the cotangent of a factor, 0 where the other one is 0 and does not move."""
    test = factor_that_moves(scope, op, place)
    return bar if test is None else scope.call(zero_if_still, bar, _or_nan(scope, test, y_bar))


def _or_nan(scope: ReverseScope, test: Value, value: Atom) -> Value:
    """Return a test that is also True where a value is nan, so that nan is kept.

    Its operand is nan then, as ``m * p`` is where ``m`` is 0 and ``p`` is inf; at a root of 0 the
    cotangent of the operand is inf.
    """
    if not isinstance(value, Value):
        return test
    return scope.call(np.logical_or, test, scope.call(np.isnan, value))


def stays_still(sweep: Sweep, test: Arg) -> bool:
    """Return True if the factors of a test do not move in a further derivative either."""
    pending = [test]
    while pending:
        call = sweep.made.get(one) if isinstance(one := pending.pop(), Value) else None
        if call is None:
            continue
        if row_of(call.target).answers == "connective":
            pending += call.args
        elif call.target is operator.ne and not _is_still(sweep, call.args[0]):
            return False
    return True


def _is_still(sweep: Sweep, factor: Arg) -> bool:
    if not isinstance(factor, Value) or sweep.facts.varied.get(factor, False) is False:
        return True
    return _moving_branch(sweep, factor) is not None


def precedes_root(sweep: Sweep, value: Value) -> bool:
    """Return True if a root is taken of a value, or of a product with it."""
    return arrives(sweep, value, _towards_root)


def _towards_root(sweep: Sweep, value: Value) -> list[Value] | None:
    readers = sweep.read_by.get(value, ())
    if any(_is_root(call) and call.args[0] is value for call in readers):
        return None
    return [call.result for call in readers if _keeps_zero(call, value)]


def _keeps_zero(call: Call, value: Value) -> bool:
    if law_of(call.target) == "quotient":
        return call.args[0] is value
    return law_of(call.target) == "product" or law_of(call.target) == "negative"


def _is_root(call: Call) -> bool:
    """Return True for a function with an infinite slope at 0 that is finite there."""
    if law_of(call.target) == "power":
        exponent = call.args[1]
        is_literal = isinstance(exponent, Const) and type(exponent.value) in (int, float)
        return is_literal and isinstance(exponent, Const) and 0 < exponent.value < 1
    return 0 < (exponent_of(call.target) or 0) < 1 and bool(call.args)


def _moving_branch(sweep: Sweep, value: Value) -> tuple[If, bool] | None:
    """Return a conditional with one branch that moves a value, and if it is the first one."""
    op, k = sweep.chosen.get(value, (None, 0))
    if op is None or not _is_test(op.test):
        return None
    moves = [
        isinstance(atom, Value) and sweep.facts.varied.get(atom, False) is not False
        for atom in (op.then.results[k], op.orelse.results[k])
    ]
    return (op, moves[0]) if moves[0] != moves[1] else None


def _test_of(scope: ReverseScope, op: If, *, first: bool) -> Value:
    assert isinstance(op.test, Value)
    return op.test if first else scope.call(np.logical_not, op.test)


def _is_test(test: Atom) -> bool:
    type_ = test.type if isinstance(test, Value) else None
    return isinstance(type_, Numeric) and type_.kind == "b" and type_.is_scalar
