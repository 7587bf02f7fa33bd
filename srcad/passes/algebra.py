"""Rewrites of arithmetic in the reverse half.

Exact folding of literals, neutral elements and signs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from srcad.ir.core import Arg, Call, Const
from srcad.passes.by_pattern import rewrites_by_pattern
from srcad.passes.rewrites import number, rewrites
from srcad.passes.rewriting import Rewriter, type_of
from srcad.types.numeric import Numeric

_FOLDED: dict[Any, Callable[[Any, Any], Any]] = {
    operator.add: operator.add,
    operator.sub: operator.sub,
    operator.mul: operator.mul,
    operator.truediv: operator.truediv,
    operator.pow: operator.pow,
}


def is_real(arg: Arg) -> bool:
    """Return True if an argument certainly is a float or an array of floats, not of a subclass."""
    type_ = type_of(arg)
    return isinstance(type_, Numeric) and type_.kind == "f" and type_.cls is None


def is_certainly_array(arg: Arg) -> bool:
    """Return True if an argument certainly is an array."""
    type_ = type_of(arg)
    return isinstance(type_, Numeric) and type_.form == "array"


def has_more_axes(arg: Arg, other: Arg) -> bool:
    """Return True if an argument certainly has more axes than another one."""
    shapes = [t.shape for t in map(type_of, (arg, other)) if isinstance(t, Numeric)]
    known = [len(shape) for shape in shapes if shape is not None]
    return len(known) == 2 and known[0] > known[1]


def keeps_kind(arg: Arg, literal: float) -> bool:
    """Return True if arithmetic with a neutral literal leaves an argument's type alone."""
    type_ = type_of(arg)
    if not isinstance(type_, Numeric) or type_.cls is not None:
        return False
    return type_.kind in "fc" or (type(literal) is int and type_.kind in "iu")


# ------------------------------------------------------------------------------- literals
@rewrites(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)
def arithmetic_of_two_literals(r: Rewriter, op: Call) -> Arg | None:
    """``2 * 3`` is 6 and ``1.5 - True`` is 0.5, where Python itself would not complain."""
    if not (isinstance(op.args[0], Const) and isinstance(op.args[1], Const)):
        return None
    a, b = (int(x.value) if isinstance(x, Const) and type(x.value) is bool else number(x)
            for x in op.args)  # fmt: skip
    if a is None or b is None or (op.target is operator.pow and abs(b) > 16):
        return None
    if op.target is operator.mul and 1 in (a, b):
        other = b if a == 1 else a
        return Const(float(other) if float in (type(a), type(b)) else other)
    try:
        found = _FOLDED[op.target](a, b)
    except ArithmeticError:
        return None
    if type(found) not in (int, float) or not math.isfinite(found):
        return None
    return Const(found)


rewrites_by_pattern(
    """
    -c_ -> -c_

    c_ * x_ -> x_           if c_ == 1 and keeps_kind(x_, c_)
    c_ * x_ -> -x_          if c_ == -1 and keeps_kind(x_, c_)
    x_ * c_ -> x_           if c_ == 1 and keeps_kind(x_, c_)
    x_ * c_ -> -x_          if c_ == -1 and keeps_kind(x_, c_)
    x_ / c_ -> x_           if c_ == 1 and is_real(x_)
    x_ / c_ -> -x_          if c_ == -1 and is_real(x_)

    c_ + x_ -> x_           if c_ == 0 and keeps_kind(x_, c_)
    x_ + c_ -> x_           if c_ == 0 and keeps_kind(x_, c_)
    c_ + x_ -> x_ + c_      if number(x_) is None
    x_ - c_ -> x_           if c_ == 0 and keeps_kind(x_, c_)
    c_ - x_ -> -x_          if c_ == 0 and keeps_kind(x_, c_)

    x_ ** 1 -> x_           if keeps_kind(x_, 1.0)
    x_ ** 2 -> x_ * x_      if is_real(x_)
    x_ ** 3 -> x_ * x_ * x_ if is_real(x_)
    """,
    keeps_kind,
    is_real,
    number,
)


# ------------------------------------------------------------------------------- signs
def is_negative(r: Rewriter, arg: Arg) -> bool:
    """Return True if an argument is ``-x``."""
    return r.call_of(arg, operator.neg) is not None


rewrites_by_pattern(
    """
    --x_ -> x_
    -(t_ := a_ - b_) -> b_ - a_     if once(t_)
    -(t_ := c_ * x_) -> (-c_) * x_  if once(t_)
    -(t_ := c_ / x_) -> (-c_) / x_  if once(t_)

    # The sign goes in front.
    (-a_) * (-b_) -> a_ * b_        if is_real(a_) and is_real(b_)
    (-a_) / (-b_) -> a_ / b_        if is_real(a_) and is_real(b_)
    (-a_) * b_ -> -(a_ * b_)        if is_real(a_) and not is_negative(r, b_)
    a_ * (-b_) -> -(a_ * b_)        if is_real(b_) and not is_negative(r, a_)
    (-a_) / b_ -> -(a_ / b_)        if is_real(a_) and not is_negative(r, b_)
    a_ / (-b_) -> -(a_ / b_)        if is_real(b_) and not is_negative(r, a_)

    a_ + (-b_) -> a_ - b_
    (-a_) + b_ -> b_ - a_
    a_ - (-b_) -> a_ + b_
    a_ + (t_ := c_ * x_) -> a_ - (-c_) * x_  if c_ < 0 and once(t_)
    a_ - (t_ := c_ * x_) -> a_ + (-c_) * x_  if c_ < 0 and once(t_)
    """,
    is_real,
    is_negative,
)
