"""Constants as expressions.

Only values of exact builtin type become literals.  Everything else (arrays, functions, dtypes) is
an object that the generated module refers to by name.
"""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from srcad.backends.python.naming.names import Globals, attribute
from srcad.ir.core import UNDEF, Const

_LARGE = 10**300


def constant(const: Const, space: Globals) -> ast.expr:
    """Return the expression for a constant."""
    if const is UNDEF:
        return ast.Constant(None)
    node = space.spelled(const.value, const.spelling) if const.spelling else None
    node = node or literal(const.value, space)
    return node if node is not None else space.expression(const.value, const.spelling)


def literal(value: Any, space: Globals) -> ast.expr | None:
    """Return the literal for a value of exact builtin type, or None."""
    kind = type(value)
    if value is None or value is Ellipsis or kind in (bool, str, bytes):
        return ast.Constant(value)
    if kind is int:
        return _signed(value, value < 0) if abs(value) < _LARGE else None
    if kind is float:
        return _float(value, space)
    if kind is complex:
        return _complex(value)
    if kind is tuple:
        items = [constant(Const(item), space) for item in value]
        return ast.Tuple(items, ast.Load())
    if kind in (slice, range):
        parts = (value.start, value.stop, value.step)
        name = space.expression(kind)
        return ast.Call(name, [constant(Const(part), space) for part in parts], [])
    return None


def _signed(value: Any, negative: bool) -> ast.expr:
    """Negative numbers are a minus and a number: ``(-2.0)**2`` must not become ``-2.0 ** 2``."""
    if negative:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _float(value: float, space: Globals) -> ast.expr | None:
    negative = math.copysign(1.0, value) < 0
    if math.isfinite(value):
        return _signed(value, negative)
    if math.isnan(value):
        return None if negative else attribute(space.numpy(), "nan")
    node = attribute(space.numpy(), "inf")
    return ast.UnaryOp(ast.USub(), node) if negative else node


def _complex(value: complex) -> ast.expr | None:
    """``1.5 + 2j``; what a sum of two literals would not give back exactly is not a literal."""
    below = math.copysign(1.0, value.imag) < 0
    negative = math.copysign(1.0, value.real) < 0
    if below and value.real == 0 and negative:  # -1j has the real part -0.0
        return ast.UnaryOp(ast.USub(), ast.Constant(complex(0.0, -value.imag)))
    negative = negative or below
    if negative or not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return None
    imaginary = ast.Constant(complex(0.0, value.imag))
    if value.real == 0:
        return imaginary
    return ast.BinOp(ast.Constant(value.real), ast.Add(), imaginary)


def is_dtype(value: Any) -> bool:
    """Return True if a value is a dtype that its scalar type names as well."""
    return isinstance(value, np.dtype) and np.dtype(value.type) == value
