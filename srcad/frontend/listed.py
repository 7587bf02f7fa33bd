"""Arguments that NumPy and Python turn into something else before they use them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcad.frontend.boxes import Box, GeneratorBox, ListBox, TupleBox
from srcad.frontend.known import as_list
from srcad.frontend.questions import is_hashable
from srcad.frontend.scope import Session
from srcad.ir.core import Value
from srcad.types import ListOf, TupleOf

_ASK_AT_ONCE = frozenset({set, frozenset, math.prod, math.fsum})
# What takes several arrays as one argument, or whose rule asks only for the shape of a list.
_OF_LISTS = frozenset(
    {np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.concatenate, np.stack,
     np.vstack, np.hstack, np.dstack, np.column_stack, np.block, np.linalg.multi_dot, np.select,
     np.choose, np.piecewise, np.einsum, np.ix_, np.sum, np.mean}
)  # fmt: skip


def asked_at_once(s: Session, function: Any, args: tuple[Box, ...]) -> tuple[Box, ...]:
    """Lists in place of generators, if the function does nothing else while it asks them."""
    joins = isinstance(getattr(function, "__self__", None), str)
    if not joins and not (is_hashable(function) and function in _ASK_AT_ONCE):
        return args
    return tuple(as_list(s, a) if isinstance(a, GeneratorBox) else a for a in args)


def as_arrays(s: Session, function: Any, args: tuple[Box, ...]) -> tuple[Box, ...]:
    """Arrays in place of lists that carry a derivative: a rule adds and multiplies what it has.

    ``2 * x`` and ``x[1:] + x[:-1]`` mean something else of a list.
    """
    module = str(getattr(function, "__module__", ""))
    if function in _OF_LISTS or not (isinstance(function, np.ufunc) or module.startswith("numpy")):
        return args
    return tuple(s.emit(np.array, a) if _is_active_list(s, a) else a for a in args)


def _is_active_list(s: Session, box: Box) -> bool:
    listed = isinstance(box, Value) and isinstance(box.type, ListOf | TupleOf)
    return (listed or isinstance(box, ListBox | TupleBox)) and s.is_active(box)
