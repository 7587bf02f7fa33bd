"""The table of problems: a primal, its adjoint by hand, arguments, and what is differentiated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    """A primal, its adjoint by hand, the arguments, and what is differentiated."""

    primal: Callable[..., Any]
    by_hand: Callable[..., Any]
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    wrt: tuple[int, ...]
    limit: float | None = None


PROBLEMS: dict[str, Problem] = {}


def problem(
    by_hand: Callable[..., Any],
    make: Callable[..., Any],
    wrt: tuple[int, ...],
    limit: float | None = None,
) -> Any:
    """Register a primal."""

    def register(primal: Callable[..., Any]) -> Callable[..., Any]:
        PROBLEMS[primal.__name__] = Problem(primal, by_hand, make, wrt, limit)
        return primal

    return register
