"""A name for a temporary that cannot be nested, from the operation that makes it."""

from __future__ import annotations

import operator

from srcad.backends.python.plan.expressions import Nesting
from srcad.ir.core import Call, Value
from srcad.ir.operations import operation_of
from srcad.ir.traits import is_known_part
from srcad.startup.identifiers import is_name
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, TupleOf

_ARITHMETIC = frozenset(
    {operator.add, operator.sub, operator.mul, operator.matmul, operator.truediv, operator.pow,
     operator.neg, operator.getitem}
)  # fmt: skip


def derived_name(op: Call, nesting: Nesting) -> str:
    """Return a readable name for the result of a call.

    ``params["W"]`` is ``W``, ``p.scale`` is ``scale``, ``np.exp(z)`` is ``exp_z``; an intermediate
    cotangent is ``g``.
    """
    if is_known_part(op.target):
        key = getattr(op.args[1], "value", None)
        return key if type(key) is str else "n" if _is_length(op) else "part"
    if op.target is operator.getitem and _is_length(op):
        return "n"
    row = operation_of(op.target)
    known = row.called if row is not None else None
    if known is not None and (op.half == "primal" or op.target not in _ARITHMETIC):
        return known
    if op.half != "primal" and not isinstance(op.result.type, ListOf | TupleOf):
        return "g"
    name = getattr(op.target, "__name__", None)
    if not is_name(name):
        return "value"
    if len(op.args) == 1 and isinstance(op.args[0], Value):
        argument = nesting.resolve(op.args[0])
        if isinstance(argument, Value) and argument.hint and argument not in nesting.nested:
            return f"{name}_{argument.hint}"
    return name if name not in _BUILTIN else f"{name}_value"


def _is_length(op: Call) -> bool:
    """Return True if a call reads one length of a shape, which is known to be an int."""
    type_ = op.result.type
    is_int = isinstance(type_, Numeric) and type_.form == "python" and type_.kind == "i"
    return is_int and isinstance(type_, Numeric) and type_.value is not None


_BUILTIN = frozenset({"abs", "sum", "min", "max", "float", "int", "bool", "round", "list", "tuple"})
