"""What a derivative promises beside its value: nobody's memory changes or is shared."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from tests.generator.differences import leaves


def same(got: Any, want: Any) -> bool:
    """Whether two structures are the same to the bit: types, order of keys, dtypes, bytes."""
    if type(got) is not type(want):
        return False
    if isinstance(want, dict):
        return list(got) == list(want) and all(same(got[k], want[k]) for k in want)
    if isinstance(want, tuple | list):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, np.ndarray):
        like = (got.shape, got.dtype) == (want.shape, want.dtype)
        return like and got.tobytes() == want.tobytes()
    return bool(got == want)


def _arrays(tree: Any) -> list[np.ndarray]:
    return [leaf for leaf in leaves(tree) if isinstance(leaf, np.ndarray)]


def overlaps(result: Any, others: Any) -> bool:
    """Whether an array of a result lies in memory of another one or of other arrays."""
    mine = _arrays(result)
    shared = any(np.shares_memory(a, b) for a, b in combinations(mine, 2))
    return shared or any(np.shares_memory(a, b) for a in mine for b in _arrays(others))


def scribble(result: Any) -> None:
    """Spoil every array of a result, as its owner may."""
    for array in _arrays(result):
        array[...] = np.nan
