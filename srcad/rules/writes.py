"""Writes into an array, as functions: a rule changes nothing in place.

They are the meaning of operations of the compiler, which prints them as ``array[index] = value``.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def updated(array: Any, index: Any, value: Any) -> Any:
    """The array after ``array[index] = value``."""
    result = np.copy(array)
    result[index] = value
    return result


def add_at(array: Any, index: Any, value: Any) -> Any:
    """The array after ``array[index] += value`` where no place is named twice."""
    result = np.copy(array)
    result[index] += value
    return result


def add_at_repeated(array: Any, index: Any, value: Any) -> Any:
    """The array after ``np.add.at(array, index, value)``: places may be named twice."""
    result = np.copy(array)
    np.add.at(result, index, value)
    return result
