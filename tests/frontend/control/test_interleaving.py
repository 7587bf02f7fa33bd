"""Iterators ask for their items one by one: what a loop does meanwhile is seen by the next item."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad

V = np.array([0.3, 0.7, 1.1, 0.5])


# ------------------------------------------------------------------------------ two in step
def second_reads_an_array(x):
    t, y = np.zeros(2), 0.0
    for a, b in zip((v * v for v in x), (v + t[0] for v in x), strict=True):
        t[0] += a
        y = y + b * b
    return y


def second_reads_a_name(x):
    y, s = 0.0, x[0]
    for a, b in zip((v * v for v in x), (v + s for v in x), strict=True):
        s = s + a
        y = y + b * b
    return y


def second_reads_a_list(x):
    y, items = 0.0, [x[0]]
    for a, b in zip((v * v for v in x), (v * len(items) for v in x), strict=True):
        items.append(a)
        y = y + b * b
    return y


def second_is_a_function(x):
    t, y = np.zeros(2), 0.0

    def products():
        for k in range(3):
            yield t[0] * x[k]

    for a, b in zip((v * v for v in x), products(), strict=False):
        t[0] += a
        y = y + b * a
    return y


def both_write(x):
    t, y = np.zeros(2), 0.0

    def sums():
        for k in range(3):
            t[0] += x[k]
            yield t[0]

    def products():
        for k in range(3):
            t[0] *= x[k + 1]
            yield t[0]

    for a, b in zip(sums(), products(), strict=True):
        y = y + b * a
    return y


@pytest.mark.parametrize(
    "f",
    [
        second_reads_an_array,
        second_reads_a_name,
        second_reads_a_list,
        second_is_a_function,
        both_write,
    ],
)
def test_zip_of_dependent_generators_rejected(f: Any) -> None:
    with pytest.raises(errors.UnsupportedSyntaxError, match="in step"):
        grad(f)(V)


# ------------------------------------------------------------------------------ what is seen late
def iterator_of_a_list_that_changes(x):
    items = [x[0], x[1], x[2]]
    iterator = iter(items)
    first = next(iterator)
    items[1] = x[3] * 2
    return first * next(iterator)


def view_across_a_loop(x):
    d = {"a": x[0], "b": x[1]}
    values = d.values()
    for _ in x:
        d["b"] = d["b"] * x[2] + d["a"]
    return sum(values)


def list_that_grows_behind_reversed(x):
    items = [x[0], x[1]]
    return sum(reversed(items), items.pop())


@pytest.mark.parametrize(
    "f", [iterator_of_a_list_that_changes, view_across_a_loop, list_that_grows_behind_reversed]
)
def test_out_of_order_iterator_side_effect_rejected(f: Any) -> None:
    with pytest.raises(errors.SrcadError) as caught:
        grad(f)(V)

    assert "test_interleaving.py:" in str(caught.value)


# ------------------------------------------------------------------------------ in a try
def extended_as_far_as_it_came(x):
    items = [x[0]]
    try:
        items.extend(math.sqrt(v - 0.6) for v in (x[2], x[1], x[0], x[3]))
    except ValueError:
        pass
    return sum(items)


def extended_by_map_as_far_as_it_came(x):
    items = [x[0]]
    try:
        items.extend(map(math.sqrt, (x[2], x[1], -x[0], x[3])))
    except ValueError:
        pass
    return sum(items)


def updated_as_far_as_it_came(x):
    d = {"a": x[0], "b": x[1]}
    try:
        d.update((k, math.sqrt(v - 0.6)) for k, v in (("a", x[2]), ("b", x[0])))
    except ValueError:
        pass
    return d["a"] + 2 * d["b"]


@pytest.mark.parametrize(
    "f",
    [
        extended_as_far_as_it_came,
        extended_by_map_as_far_as_it_came,
        updated_as_far_as_it_came,
    ],
)
def test_partially_filled_container_after_exception_rejected(f: Any) -> None:
    with pytest.raises(errors.MutationError, match="how much is written"):
        grad(f)(V)
