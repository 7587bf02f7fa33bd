"""Find out if there are complex numbers in a function."""

from __future__ import annotations

import numpy as np

from srcad.analysis.activity import Facts
from srcad.ir.core import Call, Const, Function, Op, Routine, Value, walk
from srcad.types.numeric import Numeric
from srcad.types.structures import Type, numbers_in

# What is asked of complex numbers only: the operand is one, or may be one.
_PARTS = (np.imag, np.angle)


def may_be_complex(function: Function, facts: Facts | None = None) -> bool:
    """Return True if a function, or one that it calls, has complex numbers in it.

    Where it has none, a number without a known dtype is real: what NumPy and Python make of real
    numbers is real.  What comes from a call that srcad does not read is looked at when it runs.

    Parameters
    ----------
    function : Function
        The function.
    facts : Facts, optional
        What depends on its input; with it only that counts, and what it is made of.
    """

    def counts(value: Value) -> bool:
        return facts is None or facts.of(value) is not False

    if any(counts(param) and _has_complex(param.type) for param in function.params):
        return True
    for op in walk(function.block):
        if not any(map(counts, op.results)):
            continue
        if any(_has_complex(value.type) for value in op.operands) or _makes_complex(op):
            return True
        if isinstance(op, Call):
            called = op.target.function if isinstance(op.target, Routine) else None
            if called is not None and called is not function and _is_complex_inside(called):
                return True
            if any(op.target is f for f in _PARTS) and not _is_known(op.args[0]):
                return True
    return False


def _is_complex_inside(called: Function) -> bool:
    """Return the same of a function that is called, and of those that it calls in turn."""
    seen = {id(called)}
    pending = [called]
    while pending:
        one = pending.pop()
        if any(_has_complex(param.type) for param in one.params):
            return True
        for op in walk(one.block):
            if _makes_complex(op):
                return True
            inner = getattr(op.target, "function", None) if isinstance(op, Call) else None
            if isinstance(inner, Function) and id(inner) not in seen:
                seen.add(id(inner))
                pending.append(inner)
    return False


def _makes_complex(op: Op) -> bool:
    """Return True if the results of an op, or the literals in it, are complex."""
    if any(_has_complex(value.type) for value in op.results):
        return True
    return isinstance(op, Call) and any(
        isinstance(arg, Const) and isinstance(arg.value, complex | np.complexfloating)
        for arg in op.args
    )


def _has_complex(type_: Type) -> bool:
    if isinstance(type_, Numeric):  # nearly all of them
        return type_.dtype is not None and type_.dtype.kind == "c"
    return any(leaf.kind == "c" for leaf in numbers_in(type_))


def _is_known(arg: object) -> bool:
    """Return True if the dtype of an argument is known."""
    if isinstance(arg, Value):
        return isinstance(arg.type, Numeric) and arg.type.dtype is not None
    return isinstance(arg, Const)
