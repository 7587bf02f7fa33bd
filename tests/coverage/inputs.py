"""What the spelled calls of the list are given, by name."""

from __future__ import annotations

from typing import Any

import numpy as np


def _near(low: float, high: float, *shape: int) -> Any:
    """Distinct numbers between two bounds, in an order that is not that of their size."""
    count = int(np.prod(shape))
    order = np.random.default_rng(count).permutation(count)
    return np.linspace(low, high, count + 2)[1:-1][order].reshape(shape)


def inputs() -> dict[str, Any]:
    """Fresh arguments: those with floats are differentiated by, `k` and `mask` are not."""
    a = _near(-1.0, 1.0, 3, 3) + 2.0 * np.eye(3)
    return {
        "x": _near(0.13, 0.93, 5),
        "y": _near(0.33, 1.31, 5),
        "w": _near(-0.7, 0.8, 3),
        "m": _near(-0.93, 0.95, 3, 4),
        "n": _near(-0.81, 0.97, 4, 3),
        "t": _near(-0.99, 0.95, 2, 3, 4),
        "a": a,
        "s": a @ a.T + np.eye(3),
        "c": 0.7,
        "k": np.array([2, 0, 1]),
        "mask": np.array([True, False, True, True, False]),
    }
