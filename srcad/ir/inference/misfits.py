"""Detect operands that NumPy would refuse because their lengths do not match."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from srcad.ir.core import Arg, Call, Const
from srcad.ir.library_operations import is_elementwise
from srcad.types.numeric import Numeric, Shape
from srcad.types.sizes import Extent, differ, is_one

_PRODUCTS = (operator.matmul, np.matmul, np.dot)


def misfit(op: Call) -> bool:
    """Return True if the example's lengths make NumPy refuse a product, or to broadcast."""
    if op.target is np.einsum:
        return _is_broken(_of_the_same_letter(op.args))
    shapes = [shape for shape in map(_shape, (*op.args, *(a for _, a in op.kwargs))) if shape]
    if len(shapes) < 2:
        return False
    if any(op.target is product for product in _PRODUCTS):
        return differ(*contracted(*shapes[:2]))
    if not is_elementwise(op.target):
        return False
    return _is_broken(_pairs(shapes))


def _is_broken(pairs: Iterable[tuple[Extent, Extent]]) -> bool:
    """Return True if two lengths that have to be equal, or 1, are neither."""
    return any(differ(m, n) and not is_one(m) and not is_one(n) for m, n in pairs)


def contracted(left: Shape, right: Shape) -> tuple[Extent, Extent]:
    """Return the two lengths over which a product sums."""
    return left[-1], right[-2] if len(right) > 1 else right[0]


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
