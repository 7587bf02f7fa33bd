"""How products take an axis more in front of one operand, along which they do the same.

The formulas continue those of `batching`; only one operand has the axis.
"""

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from srcad.rules.batching import FORMULAS, Formula, each_behind, leading_axis
from srcad.rules.conjugates import conj
from srcad.rules.registry import is_known, static


def formula_for(target: Any) -> Formula | Mapping[str, Formula] | None:
    """The formula for a function, or those for its operands; None where there is none."""
    return FORMULAS.get(target)


@leading_axis(operator.matmul, np.matmul, np.linalg.matmul, operand="a")
def matmul_of_first(a, b):
    """A vector in each direction is a row of a matrix."""
    if np.ndim(a) == 2 and np.ndim(b) > 2:
        return None
    return a @ b


@leading_axis(operator.matmul, np.matmul, np.linalg.matmul, operand="b")
def matmul_of_second(a, b):
    if np.ndim(b) > 2:
        return a @ b if np.ndim(a) <= 2 or np.ndim(a) < np.ndim(b) else None
    if np.ndim(a) == 1:
        return b @ a
    return b @ a.T if np.ndim(a) == 2 else None


@leading_axis(np.dot, operand="a")
def dot_of_first(a, b):
    return np.dot(a, b) if np.ndim(a) > 1 and np.ndim(b) > 0 else None


@leading_axis(np.dot, operand="b")
def dot_of_second(a, b):
    if np.ndim(b) == 2 and np.ndim(a) in (1, 2):
        return b @ a.T if np.ndim(a) == 2 else b @ a
    return a @ b if np.ndim(b) == 3 and np.ndim(a) in (1, 2) else None


@leading_axis(np.inner, operand="a")
def inner_of_first(a, b):
    return np.inner(a, b) if np.ndim(a) > 1 and np.ndim(b) > 0 else None


@leading_axis(np.inner, operand="b")
def inner_of_second(a, b):
    if np.ndim(b) == 1 or np.ndim(a) == 0:
        return None
    return np.moveaxis(np.inner(a, b), np.ndim(a) - 1, 0)


@leading_axis(np.outer, np.linalg.outer, operand="a")
def outer_of_first(a, b):
    return a[:, :, None] * b if np.ndim(a) == 2 and np.ndim(b) == 1 else None


@leading_axis(np.outer, np.linalg.outer, operand="b")
def outer_of_second(a, b):
    return a[:, None] * b[:, None, :] if np.ndim(b) == 2 and np.ndim(a) == 1 else None


@leading_axis(np.vdot, operand="a")
def vdot_of_first(a, b):
    return conj(np.reshape(a, (len(a), -1))) @ np.ravel(b)


@leading_axis(np.vdot, operand="b")
def vdot_of_second(a, b):
    return np.reshape(b, (len(b), -1)) @ conj(np.ravel(a))


@static
def contracted(axes, rank_a, rank_b):
    """The axes of `np.tensordot` for each operand, none of which counts from the end."""
    if isinstance(axes, int):
        return tuple(range(rank_a - axes, rank_a)), tuple(range(axes))
    of_a, of_b = ((k,) if isinstance(k, int) else tuple(k) for k in axes)
    return tuple(k % rank_a for k in of_a), tuple(k % rank_b for k in of_b)


@leading_axis(np.tensordot, operand="a")
def tensordot_of_first(a, b, axes=2):
    if not is_known(axes):
        return None
    of_a, of_b = contracted(axes, np.ndim(a) - 1, np.ndim(b))
    return np.tensordot(a, b, (each_behind(of_a), of_b))


@leading_axis(np.tensordot, operand="b")
def tensordot_of_second(a, b, axes=2):
    if not is_known(axes):
        return None
    of_a, of_b = contracted(axes, np.ndim(a), np.ndim(b) - 1)
    return np.moveaxis(np.tensordot(a, b, (of_a, each_behind(of_b))), np.ndim(a) - len(of_a), 0)


@leading_axis(np.linalg.solve, operand="b")
def solve(a, b):
    """A vector in each direction is a column of one right-hand side."""
    if np.ndim(a) != 2:
        return None
    return np.linalg.solve(a, b.T).T if np.ndim(b) == 2 else np.linalg.solve(a, b)
