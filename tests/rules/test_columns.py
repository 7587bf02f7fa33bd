"""What a row tells of a function holds on its samples, and what holds there is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcad.rules.registry import row_of
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
