"""Which ops may raise an exception, as far as that can be told beforehand."""

from __future__ import annotations

import operator
from typing import Any

from srcad.ir import primitives
from srcad.ir.core import Call, Op
from srcad.types.numeric import Numeric
from srcad.types.structures import TupleOf

Classes = tuple[type[BaseException], ...]
_SAFE = frozenset({primitives.build_tuple, primitives.build_list, primitives.build_dict,
                   primitives.build_record, primitives.identity, primitives.is_, primitives.not_,
                   primitives.append, operator.is_, operator.is_not, operator.not_})  # fmt: skip
_ARITHMETIC = (ZeroDivisionError, OverflowError)
# What Python's and NumPy's numbers raise in an operation.
_ON_NUMBERS: dict[Any, Classes] = {
    **dict.fromkeys((operator.add, operator.sub, operator.mul), (OverflowError,)),
    **dict.fromkeys((operator.truediv, operator.floordiv, operator.mod), _ARITHMETIC),
    operator.pow: _ARITHMETIC,
    **dict.fromkeys((operator.neg, operator.lt, operator.le, operator.gt, operator.ge), ()),
    **dict.fromkeys((operator.eq, operator.ne), ()),
}


def may_fail(op: Op, catches: Classes) -> bool:
    """Whether an op may raise something that is caught."""
    if not isinstance(op, Call):
        return any(may_fail(inner, catches) for block in op.blocks for inner in block.ops)
    if op.effect:
        return True
    try:
        if op.target in _SAFE:
            return False
        if op.target in _ON_NUMBERS and all(_is_number(a) for a in op.args):
            return any(issubclass(r, c) for r in _ON_NUMBERS[op.target] for c in catches)
    except TypeError:
        return True
    if op.target in (primitives.item, primitives.field):
        return not isinstance(getattr(op.args[0], "type", None), TupleOf)
    return True


def _is_number(arg: object) -> bool:
    type_ = getattr(arg, "type", None)
    return isinstance(type_, Numeric) and type_.form in ("python", "numpy") and type_.kind in "fbi"
