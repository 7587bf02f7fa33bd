"""Iterators ask for their items one by one: what a loop does meanwhile is seen by the next item."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad
from tests.language import assert_program, named

V = np.array([0.3, 0.7, 1.1, 0.5])


def square(v):
    return v * v


# ------------------------------------------------------------------------------ map and filter
def map_of_few(x):
    t, y = np.zeros(3), 0.0
    for w in map(lambda v: v * x[1] + t[0], (x[0], x[1], x[2])):
        t[0] += w
        y = y + w
    return y


def map_of_an_array(x):
    t, y = np.zeros(3), 0.0
    for k, w in enumerate(map(lambda v: v * x[1] + t[0], x)):
        t[0] += w
        y = y + w * k
    return y


def map_in_a_zip(x):
    t, y = np.zeros(3), 0.0
    for a, w in zip(x, map(lambda v: v * x[1] + t[0], (x[0], x[1], x[2])), strict=False):
        t[0] += w
        y = y + w * a
    return y


def map_reads_a_name(x):
    y, s = 0.0, x[0]
    for w in map(lambda v: v * s, x):
        s = s + w
        y = y + w
    return y


def map_is_run_later(x):
    s = x[0]
    products = map(lambda v: v * s, x)
    s = x[1] * x[2]
    return sum(products)


def map_is_not_run_to_its_end(x):
    y, items = x[0], []

    def seen(v):
        items.append(v)
        return v * 2

    for w in map(seen, (x[0], x[1], x[2])):
        y = y + w
        if w > 0.5:
            break
    return y * sum(items)


def filter_reads_an_array(x):
    t, y = np.zeros(3), 0.0
    for w in filter(lambda v: v + t[0] < 1.6, (x[0], x[1], x[2], x[3])):
        t[0] += w
        y = y + w * w
    return y


def maps_used_at_once(x):
    a, b = map(square, (x[0], x[1]))
    items = [a * b, *map(square, (x[0], x[1]))]
    items.extend(map(math.sin, (x[2], x[3])))
    table = dict(map(lambda k: (k, x[1] * 2), ("p", "q")))
    names = len(",".join(map(str, (1, 2)))) + len(set(map(int, (1, 2, 2))))
    total = sum(items) * table["p"] * names + math.prod(map(square, x))
    total += np.sum(np.stack(list(map(lambda v: v * x, (a, b)))) ** 2)
    return total + functools.reduce(lambda p, q: p * 0.5 + q, map(square, x))


def maps_in_step(x):
    y = 0.0
    for a, b in zip(map(square, x), map(math.sin, x), strict=True):
        y = y + a * b
    return y


# ------------------------------------------------------------------------------ expressions
def expression_in_a_zip(x):
    t, y = np.zeros(2), 0.0
    for a, b in zip(x, (v + t[0] for v in x), strict=True):
        t[0] += a
        y = y + b * b
    return y


def expression_in_pairs(x):
    t, y = np.zeros(2), 0.0
    for a, b in itertools.pairwise(v + t[0] for v in x):
        t[0] += a
        y = y + b * b
    return y


def expressions_in_a_chain(x):
    t, y = np.zeros(2), 0.0
    for b in itertools.chain((v + t[0] for v in x), (t[0] * v for v in x)):
        t[0] += 0.1 * b
        y = y + b * b
    return y


def asked(values, t):
    y = 0.0
    for v in values:
        t[0] += v
        y = y + v * v
    return y


def expression_for_a_helper(x):
    t = np.zeros(2)
    return asked((v + t[0] for v in x), t)


# ------------------------------------------------------------------------------ views of dicts
def items_written_ahead(x):
    y, d = 0.0, {"a": x[0], "b": x[1]}
    for k, v in d.items():
        y = y + v * v * len(k)
        d["b"] = y * x[2]
    return y


def values_written_ahead(x):
    y, d = 0.0, {"a": x[0], "b": x[1]}
    for i, v in enumerate(d.values()):
        y = y + v * v * (i + 1)
        d["b"] = y * x[2] + v
    return y


def items_written_on_a_path(x):
    d = {"a": x[0], "b": x[1]}
    for k, v in d.items():
        if v > 0.5:
            d[k] = v * x[2]
        else:
            d["b"] = v * x[3]
    return d["a"] * d["b"]


def items_written_in_a_loop(x):
    y, d = 0.0, {"a": x[0], "b": x[1]}
    for _, v in d.items():
        for _ in range(3):
            d["b"] = d["b"] * x[2] + v
        y = y + v
    return y * d["b"]


def view_follows_its_dict(x):
    d = {"a": x[0], "b": x[1]}
    values = d.values()
    d["a"] = x[2] * x[3]
    return sum(values) * len(values)


def views_used_at_once(x):
    d = {"a": x[0], "b": x[1]}
    copy, values, pairs = dict(d.items()), list(d.values()), sorted(d.items())
    first, second = d.values()
    total = copy["a"] * values[1] * pairs[0][1] * max(d.values()) * first * second
    return total + np.sum(np.array(list(d.values()))) + np.stack([*d.values()])[0]


# ---------------------------------------------------------------- what an expression goes over
# It kept what the iterable was when the expression was made: value and gradient were of that.
def list_grows_under_an_expression(x):
    few, more = [x[0], x[1]], [v * x[0] for v in x if v > 0.4]
    first, second = (v * x[2] for v in few), (v * x[3] for v in more)
    few.append(x[3] ** 2)
    more.append(x[0] ** 2)
    return sum(first) * sum(second)


def array_is_written_under_an_expression(x):
    y = x * x[1]

    def write():
        y[0] = x[2] ** 3
        return x[0]

    total = sum((v * x[3] for v in y), write())
    later = (v * k for k, v in enumerate(y))
    y[1:] = y[:-1] * x[0]
    return total * sum(later)


def items_are_written_under_an_expression(x):
    d, rows, lists = {"a": x[0]}, [x * 1.0, x * 2.0], [[x[0]], [x[1]]]
    values = (v * x[1] for v in d.values())
    pairs = (a * b for a, b in zip(lists[0], lists[0]))
    sums = (np.sum(row) * x[2] for row in rows)
    d["a"] = x[2] ** 2
    lists[0][0] = x[3]
    rows[0] = x**3
    rows[1][0] = x[3] ** 2
    return sum(values) + sum(pairs) * sum(sums)


def list_is_written_before_it_is_reversed(x):
    items = [x[0], x[1]]
    backward = reversed(items)
    items[0] = x[2] ** 3
    return sum(v * (k + 1) for k, v in enumerate(backward)) * x[3]


PROGRAMS = [
    *((f, V) for f in (map_of_few, map_of_an_array, map_in_a_zip, map_reads_a_name)),
    *((f, V) for f in (map_is_run_later, map_is_not_run_to_its_end, filter_reads_an_array)),
    *((f, V) for f in (maps_used_at_once, maps_in_step)),
    *((f, V) for f in (expression_in_a_zip, expression_in_pairs, expressions_in_a_chain)),
    (expression_for_a_helper, V),
    *((f, V) for f in (items_written_ahead, values_written_ahead, items_written_on_a_path)),
    *((f, V) for f in (items_written_in_a_loop, view_follows_its_dict, views_used_at_once)),
    *((f, V) for f in (list_grows_under_an_expression, array_is_written_under_an_expression)),
    (items_are_written_under_an_expression, V),
    (list_is_written_before_it_is_reversed, V),
]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_an_item_is_made_when_it_is_asked_for(program: tuple[Any, ...]) -> None:
    assert_program(*program)


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
def test_two_generators_of_which_one_sees_the_other_are_refused(f: Any) -> None:
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
def test_what_would_be_seen_too_early_is_refused(f: Any) -> None:
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
def test_a_container_that_is_filled_one_by_one_may_be_left_half_full(f: Any) -> None:
    with pytest.raises(errors.MutationError, match="how much is written"):
        grad(f)(V)
