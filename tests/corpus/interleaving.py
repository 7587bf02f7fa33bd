"""Iterators ask for their items one by one: what happens meanwhile is seen by the next item."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from tests.corpus.points import at

V = np.array([0.3, 0.7, 1.1, 0.5])


def square(v):
    return v * v


# ------------------------------------------------------------------------------ map and filter
@at(V)
def map_of_few(x):
    """A `map` over known items sees what the loop writes."""
    t, y = np.zeros(3), 0.0
    for w in map(lambda v: v * x[1] + t[0], (x[0], x[1], x[2])):
        t[0] += w
        y = y + w
    return y


@at(V)
def map_of_an_array(x):
    """A `map` over an array sees what the loop writes."""
    t, y = np.zeros(3), 0.0
    for k, w in enumerate(map(lambda v: v * x[1] + t[0], x)):
        t[0] += w
        y = y + w * k
    return y


@at(V)
def map_in_a_zip(x):
    """A `map` in step with an array sees what the loop writes."""
    t, y = np.zeros(3), 0.0
    for a, w in zip(x, map(lambda v: v * x[1] + t[0], (x[0], x[1], x[2])), strict=False):
        t[0] += w
        y = y + w * a
    return y


@at(V)
def map_reads_a_name(x):
    """A `map` reads a name that the loop binds."""
    y, s = 0.0, x[0]
    for w in map(lambda v: v * s, x):
        s = s + w
        y = y + w
    return y


@at(V)
def map_is_run_later(x):
    """A `map` reads its names where its items are asked for."""
    s = x[0]
    products = map(lambda v: v * s, x)
    s = x[1] * x[2]
    return sum(products)


@at(V)
def map_is_not_run_to_its_end(x):
    """A `map` that is left has called its function no further."""
    y, items = x[0], []

    def seen(v):
        items.append(v)
        return v * 2

    for w in map(seen, (x[0], x[1], x[2])):
        y = y + w
        if w > 0.5:
            break
    return y * sum(items)


@at(V)
def filter_reads_an_array(x):
    """A `filter` asks for each item when its turn comes."""
    t, y = np.zeros(3), 0.0
    for w in filter(lambda v: v + t[0] < 1.6, (x[0], x[1], x[2], x[3])):
        t[0] += w
        y = y + w * w
    return y


@at(V)
def maps_used_at_once(x):
    """A `map` in displays, calls, unpackings and reductions."""
    a, b = map(square, (x[0], x[1]))
    items = [a * b, *map(square, (x[0], x[1]))]
    items.extend(map(math.sin, (x[2], x[3])))
    table = dict(map(lambda k: (k, x[1] * 2), ("p", "q")))
    names = len(",".join(map(str, (1, 2)))) + len(set(map(int, (1, 2, 2))))
    total = sum(items) * table["p"] * names + math.prod(map(square, x))
    total += np.sum(np.stack(list(map(lambda v: v * x, (a, b)))) ** 2)
    return total + functools.reduce(lambda p, q: p * 0.5 + q, map(square, x))


@at(V)
def maps_in_step(x):
    """Two maps in step."""
    y = 0.0
    for a, b in zip(map(square, x), map(math.sin, x), strict=True):
        y = y + a * b
    return y


# ------------------------------------------------------------------------------ expressions
@at(V)
def expression_in_a_zip(x):
    """A generator expression in step with an array sees what the loop writes."""
    t, y = np.zeros(2), 0.0
    for a, b in zip(x, (v + t[0] for v in x), strict=True):
        t[0] += a
        y = y + b * b
    return y


@at(V)
def expression_in_pairs(x):
    """Neighbours of a generator expression that sees what the loop writes."""
    t, y = np.zeros(2), 0.0
    for a, b in itertools.pairwise(v + t[0] for v in x):
        t[0] += a
        y = y + b * b
    return y


@at(V)
def expressions_in_a_chain(x):
    """Two generator expressions, of which the second sees the end of the first."""
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


@at(V)
def expression_for_a_helper(x):
    """A helper writes what the expression reads that it goes over."""
    t = np.zeros(2)
    return asked((v + t[0] for v in x), t)


# ------------------------------------------------------------------------------ views of dicts
@at(V)
def items_written_ahead(x):
    """The items of a dict, of which a later one is written."""
    y, d = 0.0, {"a": x[0], "b": x[1]}
    for k, v in d.items():
        y = y + v * v * len(k)
        d["b"] = y * x[2]
    return y


@at(V)
def values_written_ahead(x):
    """The values of a dict, of which a later one is written."""
    y, d = 0.0, {"a": x[0], "b": x[1]}
    for i, v in enumerate(d.values()):
        y = y + v * v * (i + 1)
        d["b"] = y * x[2] + v
    return y


@at(V)
def items_written_on_a_path(x):
    """The items of a dict, written on either path."""
    d = {"a": x[0], "b": x[1]}
    for k, v in d.items():
        if v > 0.5:
            d[k] = v * x[2]
        else:
            d["b"] = v * x[3]
    return d["a"] * d["b"]


@at(V)
def items_written_in_a_loop(x):
    """The items of a dict, written in a loop within the loop."""
    y, d = 0.0, {"a": x[0], "b": x[1]}
    for _, v in d.items():
        for _ in range(3):
            d["b"] = d["b"] * x[2] + v
        y = y + v
    return y * d["b"]


@at(V)
def view_follows_its_dict(x):
    """The values of a dict follow the dict."""
    d = {"a": x[0], "b": x[1]}
    values = d.values()
    d["a"] = x[2] * x[3]
    return sum(values) * len(values)


@at(V)
def views_used_at_once(x):
    """Views of a dict in displays and calls."""
    d = {"a": x[0], "b": x[1]}
    copy, values, pairs = dict(d.items()), list(d.values()), sorted(d.items())
    first, second = d.values()
    total = copy["a"] * values[1] * pairs[0][1] * max(d.values()) * first * second
    return total + np.sum(np.array(list(d.values()))) + np.stack([*d.values()])[0]


# ---------------------------------------------------------------- what an expression goes over
# It kept what the iterable was when the expression was made: value and gradient were of that.
@at(V)
def list_grows_under_an_expression(x):
    """A list that grows before its expression is asked for items."""
    few, more = [x[0], x[1]], [v * x[0] for v in x if v > 0.4]
    first, second = (v * x[2] for v in few), (v * x[3] for v in more)
    few.append(x[3] ** 2)
    more.append(x[0] ** 2)
    return sum(first) * sum(second)


@at(V)
def array_is_written_under_an_expression(x):
    """An array that is written before its expression is asked for items."""
    y = x * x[1]

    def write():
        y[0] = x[2] ** 3
        return x[0]

    total = sum((v * x[3] for v in y), write())
    later = (v * k for k, v in enumerate(y))
    y[1:] = y[:-1] * x[0]
    return total * sum(later)


@at(V)
def items_are_written_under_an_expression(x):
    """Dicts, lists and rows written before their expressions are asked."""
    d, rows, lists = {"a": x[0]}, [x * 1.0, x * 2.0], [[x[0]], [x[1]]]
    values = (v * x[1] for v in d.values())
    pairs = (a * b for a, b in zip(lists[0], lists[0]))
    sums = (np.sum(row) * x[2] for row in rows)
    d["a"] = x[2] ** 2
    lists[0][0] = x[3]
    rows[0] = x**3
    rows[1][0] = x[3] ** 2
    return sum(values) + sum(pairs) * sum(sums)


@at(V)
def list_is_written_before_it_is_reversed(x):
    """A list that is written behind `reversed`."""
    items = [x[0], x[1]]
    backward = reversed(items)
    items[0] = x[2] ** 3
    return sum(v * (k + 1) for k, v in enumerate(backward)) * x[3]
