"""What a row tells of a function holds on its samples, and what holds there is told."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from srcad import runtime
from srcad.rules.registry import row_of, rows, unruled
from tests.modes.test_jvp import SAMPLES

CALLS: dict[Any, list[tuple[Any, Any]]] = {}
for function, args, kwargs in SAMPLES:
    CALLS.setdefault(function, []).append((args, kwargs))
LINEAR = [f for f in CALLS if row_of(f).kind == "linear"]
# What casts or takes each entry as it is, and what is made of one number.
NOT_MOVED = {"float", "float64", "conjugate", "full"}


def numbers(value: Any) -> np.ndarray:
    """All real numbers in a structure, one after the other."""
    if isinstance(value, list | tuple):
        return np.concatenate([np.zeros(0), *map(numbers, value)])
    if isinstance(value, np.ndarray | np.floating | float):
        array = np.asarray(value)
        return array.ravel() if array.dtype.kind == "f" else np.zeros(0)
    return np.zeros(0)


def moves(f: Any, args: Any, kwargs: Any) -> bool:
    """Return True if all numbers in the result are numbers of the operands, or 0."""
    given, found = numbers([*args, *kwargs.values()]), numbers(f(*args, **kwargs))
    return found.size > 0 and bool(np.isin(found, np.append(given, 0.0)).all())


@pytest.mark.parametrize("f", LINEAR, ids=lambda f: f.__name__)
def test_rows_of_functions_that_move_entries_say_so(f):
    found = all(moves(f, args, kwargs) for args, kwargs in CALLS[f])

    assert (row_of(f).entries == "moved") == (found and f.__name__ not in NOT_MOVED)


EACH = [f for f in CALLS if row_of(f).nan == "stays"]


@pytest.mark.parametrize("f", EACH, ids=lambda f: f.__name__)
def test_nan_stays_where_a_row_says_so(f):
    for args, kwargs in CALLS[f]:
        for k, arg in enumerate(args):
            if isinstance(arg, np.ndarray) and arg.ndim:
                given = [*args]
                given[k] = np.where(np.arange(arg.size).reshape(arg.shape) == 0, np.nan, arg)
                assert np.isnan(f(*given, **kwargs)).ravel()[0]


LEFT_OUT = [f for f in CALLS if row_of(f).nan == "left out"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", LEFT_OUT, ids=lambda f: f.__name__)
def test_nan_is_left_out_where_a_row_says_so(f):
    for args, kwargs in CALLS[f]:
        if isinstance(args[0], np.ndarray) and args[0].size > 1 and not kwargs:
            given = np.where(np.arange(args[0].size).reshape(args[0].shape) == 1, np.nan, args[0])
            assert not np.isnan(f(given, *args[1:])).all()


# The tables that the column replaces, and other spellings of the same functions.
ORDERS = {
    "C": {np.zeros, np.ones, np.full, np.empty, np.eye, np.identity, np.arange, np.take,
          operator.matmul, np.matmul, np.dot, np.tensordot, np.outer, np.repeat, np.tri,
          np.ascontiguousarray, runtime.converted_like, runtime.copy_in_order_of,
          np.linalg.matmul, np.linalg.outer},
    "follows": {np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copy, np.astype,
                np.sum, np.mean, np.prod, np.max, np.min, np.cumsum, np.cumprod, np.triu, np.tril,
                np.concatenate, np.stack, np.hstack, np.vstack, np.diff, np.roll, np.append,
                np.amax, np.amin},
    "shows": {np.expand_dims, np.squeeze, np.array, np.asarray, runtime.unbroadcast,
              runtime.zero_cotangent, runtime.deep_copy, np.asanyarray},
    "turned": {np.transpose, np.swapaxes, np.moveaxis, np.matrix_transpose, np.flip},
    "part": {np.real, np.imag, np.broadcast_to},
    "reshaped": {np.reshape, np.ravel},
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_rows_have_the_memory_order_of_the_tables(order):
    targets = [*(row.target for row in rows()), *unruled()]

    assert {f for f in targets if row_of(f).order == order} == ORDERS[order]
