"""A mask is a strong zero on both sides of a singular function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad

X = np.array([-1.0, 0.0, 1.0, 4.0])
CUT = X <= 0

MASKED: dict[str, Callable[[Any], Any]] = {
    "where of sqrt": lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)),
    "where of log": lambda x: np.sum(np.where(x > 0, x * np.log(x), 0)),
    "sqrt of where": lambda x: np.sum(np.sqrt(np.where(x > 0, x, 0))),
    "sqrt of maximum": lambda x: np.sum(np.sqrt(np.maximum(x, 0.0))),
    "log of maximum": lambda x: np.sum(np.log(np.maximum(x, 0.0))),
    "quotient by where": lambda x: np.sum(1 / np.where(x > 0, x, 0.0)),
    "power of where": lambda x: np.sum(np.where(x > 0, x, 0.0) ** 0.5),
    "by way of a product": lambda x: np.sum(np.sqrt(2 * np.where(x > 0, x * x * x, 0.0))),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_masked_entries_zero_to_second_order(name: str) -> None:
    gradient = srcad.grad(MASKED[name])

    first = gradient(X)
    second = srcad.grad(lambda x: np.sum(gradient(x)))(X)

    inside = X[~CUT]
    assert np.all(first[CUT] == 0)
    assert np.all(second[CUT] == 0)
    step = 1e-6
    for k, x in enumerate(inside):
        above, below = (MASKED[name](np.array([x + h])) for h in (step, -step))
        np.testing.assert_allclose(first[~CUT][k], (above - below) / (2 * step), rtol=1e-6)


def test_mask_of_nonsingular_function_emitted_as_factor() -> None:
    gradient = srcad.grad(lambda x: np.sum(np.where(x > 0, x, 0) ** 2))

    gradient(X)

    assert "np.where(test, 2" not in gradient.source
