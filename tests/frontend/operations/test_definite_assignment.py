"""A name that no trip has bound is not bound after the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad


def after_a_range(x, n):
    for i in range(n):
        y = x * i
    return y * x


def returned(x, n):
    for i in range(n):
        y = x * i
    return y


def loop_variable(x, n):
    for i in range(n):
        pass
    return x * i


def after_rows(x, n):
    for row in np.full((n, 2), x):
        y = np.sum(row)
    return y * y


def after_a_while(x, n):
    k = 0
    while k < n:
        y = x * k
        k += 1
    return np.sin(y)


def in_parts(x, n):
    for i in range(n):
        y = (x, x * i)
    return y[0] * y[1]


def on_one_path(x, n):
    for i in range(n):
        if i > 0:
            y = x * 2
    return y


def after_an_inner_loop(x, n):
    for _ in range(2):
        for i in range(n):
            y = x * i
    return y * x


def from_the_trip_before(x, n):
    for i in range(2):
        if i >= 2 - n:
            y = x * i
        z = y * x
    return z


def only_read(x, n):
    for i in range(n):
        y = x * i
    z = y
    return x * 2 if n else z


FUNCTIONS = [after_a_range, returned, loop_variable, after_rows, after_a_while, in_parts,
             on_one_path, after_an_inner_loop, from_the_trip_before, only_read]  # fmt: skip


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)
    except UnboundLocalError as error:
        return str(error)


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_unassigned_loop_variable_raises_same_exception(f: Callable[..., Any], n: int) -> None:
    plain = outcome(f, 2.0, n)

    gradient = outcome(srcad.value_and_grad(f), 2.0, n)
    pulled = outcome(srcad.pullback, f, 2.0, n)

    values = [found if isinstance(found, str) else found[0] for found in (gradient, pulled)]
    assert values == [plain, plain]


def test_no_assignment_check_when_loop_certainly_runs() -> None:
    gradient = srcad.grad(after_a_range)

    assert gradient(2.0, 3) == 8.0
    assert "is None" not in gradient.source
