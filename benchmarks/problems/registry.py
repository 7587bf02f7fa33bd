"""The table of problems: primal, hand-written adjoint, sizes, and `wrt`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    """One differentiable function.

    Parameters
    ----------
    primal : callable
        ``primal(*args)`` returns one real number and leaves its arguments unchanged.
    by_hand : callable
        ``by_hand(*args)`` returns the tuple of gradients with respect to `wrt`.
    arguments : callable
        ``arguments(rng, *size)`` returns the arguments of a size.
    sizes : dict
        The sizes by label, from small to large.
    wrt : tuple of int
        The positions of the arguments that are differentiated.
    limits : dict
        Largest ratio of generated code to `by_hand`, by label of the size.
    """

    primal: Callable[..., Any]
    by_hand: Callable[..., Any]
    arguments: Callable[..., tuple[Any, ...]]
    sizes: dict[str, tuple[Any, ...]]
    wrt: tuple[int, ...]
    limits: dict[str, float]

    @property
    def default(self) -> str:
        """The size with a limit, or else the smallest."""
        return next(iter(self.limits or self.sizes))

    @property
    def limit(self) -> float | None:
        """The limit at the default size."""
        return self.limits.get(self.default)

    def make(self, rng: np.random.Generator, size: str = "") -> tuple[Any, ...]:
        """Return new arguments, by default of the default size."""
        return self.arguments(rng, *self.sizes[size or self.default])


PROBLEMS: dict[str, Problem] = {}


def problem(
    by_hand: Callable[..., Any],
    arguments: Callable[..., Any],
    sizes: dict[str, tuple[Any, ...]],
    wrt: tuple[int, ...],
    limits: dict[str, float] | None = None,
) -> Any:
    """Register a primal."""

    def register(primal: Callable[..., Any]) -> Callable[..., Any]:
        PROBLEMS[primal.__name__] = Problem(primal, by_hand, arguments, sizes, wrt, limits or {})
        return primal

    return register
