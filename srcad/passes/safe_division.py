"""Safe division: turn a Python operand of a division or power into a NumPy scalar.

Python raises `ZeroDivisionError` where NumPy gives inf.  The primal's own division by a value shows
that the value is not zero; every other one in the reverse half has one operand turned into a NumPy
scalar, so that an infinite slope is reported as inf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.analysis.kinds import may_be_complex
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Block, Call, Const, Function, Location, Op, Value, While
from srcad.ir.memory import module_of
from srcad.ir.traits import law_of_operator
from srcad.passes.retype import retype
from srcad.rules.registry import row_of
from srcad.rules.row import Fails
from srcad.startup.records import dataclass, field, replace
from srcad.types.numeric import Form, Numeric


@dataclass(eq=False)
class _Nonzero:
    """The values that a function has divided by: in the block that defines them, or at a place."""

    function: Function
    values: set[Value] = field(default_factory=set)
    places: set[tuple[Location | None, Value]] = field(default_factory=set)

    def learn(self, block: Block, params: tuple[Value, ...] = ()) -> None:
        """Note the divisors of a block of the primal and of all blocks inside."""
        defined = {*params, *block.params}
        for op in block.ops:
            defined.update(op.results)
            if isinstance(op, Call) and op.half != "reverse":
                divisor = _divisor(op)
                if divisor is not None:
                    self.places.add((op.where, divisor))
                    if divisor in defined:
                        self.values.add(divisor)
            for inner in op.blocks:
                self.learn(inner)

    def know(self, divisor: Arg, op: Call) -> bool:
        """Return True if a divisor certainly is not zero."""
        if isinstance(divisor, Const):
            return bool(divisor.value)
        return divisor in self.values or (op.where, divisor) in self.places


def safe_division(function: Function) -> Function:
    """Convert operands in the reverse half so that no division or power raises.

    The primal has divided by `x`, so that only the division by `y` changes.

    >>> function = parse('''
    ... f(x: float, y: float):
    ...     z = truediv(1.0, x)
    ...     # reverse half
    ...     y_bar = truediv(z, y)
    ...     x_bar = truediv(z, x)
    ...     return z, x_bar, y_bar
    ... ''')
    >>> print(text(safe_division(function)))
    f(x, y):
        z = truediv(1.0, x)
        t1 = float64(z)
        y_bar = truediv(t1, y)
        x_bar = truediv(z, x)
        return z, x_bar, y_bar
    """
    known = _Nonzero(function)
    known.learn(function.block, function.params)
    wrapped: list[Call] = []
    block = _block(function.block, known, wrapped)
    if not wrapped:
        return function
    retype(block.ops)
    return replace(function, block=block)


def _divisor(op: Call) -> Value | None:
    """Return the divisors and arguments of logarithms of the primal that raise for zero."""
    found: Arg | None = None
    fails = _fails(op.target)
    if fails == "argument":
        found = op.args[0]
    elif all(_is_python(arg) for arg in op.args):
        if fails == "divisor":
            found = op.args[1]
        elif law_of_operator(op.target) == "power" and _is_negative(op.args[1]):
            found = op.args[0]
    return found if isinstance(found, Value) else None


def _fails(target: Any) -> Fails:
    """Return the operands for which a function of Python's raises; those of NumPy do not."""
    return row_of(target).fails if module_of(target) in ("math", "_operator") else ""


def _is_negative(arg: Arg) -> bool:
    return isinstance(arg, Const) and type(arg.value) in (int, float) and arg.value < 0


def _is_python(arg: Arg) -> bool:
    type_ = argument_type(arg)
    return isinstance(type_, Numeric) and type_.form == "python"


def _may_be_python(op: Call) -> bool:
    """Return True if all operands may be Python's numbers, which raise."""
    types = [argument_type(arg) for arg in op.args]
    return not any(isinstance(t, Numeric) and t.form in ("numpy", "array") for t in types)


def _block(block: Block, known: _Nonzero, wrapped: list[Call]) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        match op:
            case Call() if op.half == "reverse" and _fails_at_zero(op, known):
                target, type_ = _kind_of(op.args[0], known)
                scalar = Value(type_)
                wrapped.append(replace(op, target=target, args=(op.args[0],), result=scalar))
                ops.append(wrapped[-1])
                ops.append(replace(op, args=(scalar, *op.args[1:])))
            case While():
                ops.append(replace(op, body=_block(op.body, known, wrapped)))
            case _:
                ops.append(op.mapped(lambda inner: _block(inner, known, wrapped)))
    return replace(block, ops=tuple(ops))


def _kind_of(operand: Arg, known: _Nonzero) -> tuple[Any, Numeric]:
    """Return the constructor of the NumPy scalar for a Python number, and its type.

    What may be an array keeps its shape: the type must not say that it is a scalar.
    """
    type_ = argument_type(operand)
    kind, shape = (type_.kind, type_.shape) if isinstance(type_, Numeric) else ("?", None)
    form: Form = "numpy" if shape == () else "any"
    if kind == "c":
        return np.complex128, Numeric(np.dtype(np.complex128), shape, form)
    if kind == "?" and may_be_complex(known.function):
        return np.positive, Numeric(None, shape, form)
    return np.float64, Numeric(np.dtype(np.float64), shape, form)


def _fails_at_zero(op: Call, known: _Nonzero) -> bool:
    if law_of_operator(op.target) == "quotient":
        return _may_be_python(op) and not known.know(op.args[1], op)
    if law_of_operator(op.target) != "power" or not _may_be_python(op):
        return False
    exponent = op.args[1]
    if not isinstance(exponent, Const) or type(exponent.value) not in (int, float):
        return True
    return exponent.value < 0 and not known.know(op.args[0], op)
