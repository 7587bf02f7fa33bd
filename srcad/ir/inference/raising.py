"""Which ops may raise an exception, as far as that can be told beforehand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from srcad.ir.core import Arg, Call, Const, Op, Routine
from srcad.ir.inference.lengths import contracted, is_matrix_product
from srcad.ir.library_operations import divides_python, inverts_python, is_elementwise
from srcad.ir.operations import ANYTHING, Classes, operation_of
from srcad.types.numeric import Numeric, Shape
from srcad.types.sizes import Extent, differ, is_one

# Detect operands that NumPy would refuse because their lengths do not match.


def misfit(op: Call) -> bool:
    """Return True if the example's lengths make NumPy refuse a product, or to broadcast."""
    if op.target is np.einsum:
        return _is_broken(_of_the_same_letter(op.args))
    shapes = [shape for shape in map(_shape, (*op.args, *(a for _, a in op.kwargs))) if shape]
    if len(shapes) < 2:
        return False
    if is_matrix_product(op.target):
        return differ(*contracted(*shapes[:2]))
    if not is_elementwise(op.target):
        return False
    return _is_broken(_pairs(shapes))


def _is_broken(pairs: Iterable[tuple[Extent, Extent]]) -> bool:
    """Return True if two lengths that have to be equal, or 1, are neither."""
    return any(differ(m, n) and not is_one(m) and not is_one(n) for m, n in pairs)


def _pairs(shapes: list[Shape]) -> Iterator[tuple[Extent, Extent]]:
    """Yield the lengths of different operands along the same axis."""
    for axis in range(-max(map(len, shapes)), 0):
        yield from combinations([s[axis] for s in shapes if len(s) >= -axis], 2)


def _of_the_same_letter(args: Sequence[Arg]) -> Iterator[tuple[Extent, Extent]]:
    """Return the lengths that ``np.einsum`` calls by one letter."""
    text = args[0].value if args and isinstance(args[0], Const) else None
    inputs = text.partition("->")[0].replace(" ", "").split(",") if isinstance(text, str) else []
    lengths: dict[str, list[Extent]] = {}
    for letters, arg in zip(inputs, args[1:], strict=False):
        shape = _shape(arg) or ()
        for letter, length in zip(letters, shape, strict=False) if "." not in letters else ():
            lengths.setdefault(letter, []).append(length)
    return (pair for found in lengths.values() for pair in combinations(found, 2))


def _shape(arg: Arg) -> Shape | None:
    type_ = getattr(arg, "type", None)
    return type_.shape if isinstance(type_, Numeric) else None


_LOUD = (math.__name__, "numpy.linalg")


def may_raise(op: Op, caught: Classes | None = None) -> bool:
    """Return True if an operation may raise one of the exception classes caught around it.

    Where none are given: whether it may raise what the caller of the function has to see even if
    nobody reads its result.  That is less (see `Operation.owed`): behind an error that is caught a
    program goes on and shows what happened before, in a way that no reader misses.
    """
    if not isinstance(op, Call):
        return any(may_raise(inner, caught) for block in op.blocks for inner in block.ops)
    if op.effect:
        return True
    row = operation_of(op.target)
    if caught is not None:
        raised = ANYTHING if row is None else row.raised_by(op)
        return raised is ANYTHING or any(issubclass(r, c) for r in raised for c in caught)
    if row is not None and row.owed is not None:
        return row.owed if isinstance(row.owed, bool) else row.owed(op) or misfit(op)
    if isinstance(op.target, Routine):
        return routine_may_raise(op.target)
    return getattr(op.target, "__module__", None) in _LOUD or misfit(op)


_RAISES = "whether it may raise"


def routine_may_raise(routine: Routine) -> bool:
    """Return True if a call of a routine must run for the error that it may raise.

    One that calls itself may never return, which is as good.
    """
    known = routine.derived.get(_RAISES)
    if known is not None and known[0] is routine.function:
        return bool(known[1])
    routine.derived[_RAISES] = routine.function, True
    if routine.function is not None:
        found = any(map(may_raise, routine.function.block.ops))
        routine.derived[_RAISES] = routine.function, found
    return bool(routine.derived[_RAISES][1])


def fails_for_values(op: Call) -> bool:
    """Return True if a call raises for some numbers: Python's operators, or one of `math`."""
    if getattr(op.target, "__module__", None) == math.__name__:
        return True
    row = operation_of(op.target)
    return row is not None and row.owed in (divides_python, inverts_python) and may_raise(op)
