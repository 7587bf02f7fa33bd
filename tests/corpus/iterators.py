"""Iterators of the library, and builtins that go over anything."""

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np

from tests.corpus.generators import pair, powers, scaled
from tests.corpus.points import at

V = np.array([0.3, -0.7, 1.1, 0.5])


# ------------------------------------------------------------------------------ itertools
@at(V)
def chains(v):
    """Sequences one behind the other."""
    total = 0.0
    for k, x in enumerate(itertools.chain(v, [1.0, v[0]], pair(v[1]))):
        total += k * x
    return total + sum(itertools.chain.from_iterable([v, v * v]))


@at(V)
def accumulations(v):
    """Running sums, products and maxima."""
    total = sum(itertools.accumulate(v))
    total += sum(itertools.accumulate(v, operator.mul, initial=2.0))
    for s in itertools.accumulate([v[0], v[1]], lambda p, q: p * q):
        total += s * s
    return total + max(itertools.accumulate(v, max))


@at(V)
def slices(v):
    """The first items, or every other, of something endless."""
    total = sum(itertools.islice(v, 2)) + sum(itertools.islice(powers(v[0]), 1, 6, 2))
    return total * sum(itertools.islice(v, 1, None))


@at(0.7)
def counting(a):
    """Counters without an end."""
    total = 0.0
    for k in itertools.count(1):
        total += a * k
        if k > 3:
            break
    for k, x in zip(itertools.count(0.5, 0.5), [a, a * a], strict=False):
        total += k * x
    return total


@at(V)
def pairs(v):
    """Neighbours."""
    total = sum(x * y for x, y in itertools.pairwise(v))
    return total + sum(x * y for x, y in itertools.pairwise(pair(v[0])))


@at(V)
def products(v):
    """All pairs and triples of items."""
    total = 0.0
    for i, j in itertools.product(range(3), range(2)):
        total += v[i] * v[j]
    for x, y, z in itertools.product([v[0], 2.0], repeat=3):
        total += x * y * z
    return total + sum(x * y for x, y in itertools.product(v, v * v))


@at(V)
def choices(v):
    """Combinations and permutations."""
    total = 0.0
    for x, y in itertools.combinations([v[0], v[1], 2.0], 2):
        total += x * y
    for i, j in itertools.permutations(range(3), 2):
        total += v[i] * j
    return total


@at(V)
def others(v):
    """The rest of `itertools`, one by one."""
    total = sum(itertools.takewhile(lambda x: x < 1, v))
    total += sum(itertools.dropwhile(lambda x: x < 1, v)) * v[0]
    total += sum(itertools.starmap(operator.mul, [(v[0], v[1]), (v[2], 2.0)]))
    total += sum(x * x for x in itertools.repeat(v[1], 3))
    for x, y in itertools.zip_longest([v[0], v[1]], [v[2]], fillvalue=3.0):
        total += x * y
    return total


# ------------------------------------------------------------------------------ builtins
@at(V)
def maps(v):
    """`map`, `filter` and `reduce`."""
    total = sum(map(lambda x, y: x * y, v, v * v)) + sum(map(math.sin, [v[0], v[1]]))
    total += sum(map(lambda p: p * p, itertools.islice(powers(v[0]), 3)))
    total += sum(filter(None, [v[0], 0.0, v[1]])) * sum(filter(lambda x: x > 0, v))
    return total + functools.reduce(lambda p, x: p * 0.5 + x, v, 1.0)


@at(V)
def extremes(v):
    """The largest and the smallest, by a key, with a default."""
    total = max(v) * min(v) + max(v[0], v[1], 0.1) * min([v[2], v[3] * 3])
    total += max(v, key=abs) + min(v, key=lambda x: (x - 0.45) ** 2)
    total += max([v[0], v[1]], key=lambda x: -x) + max([], default=v[0])
    total += max(v, default=0.0) * min(scaled(v[0], 3), default=0.0)
    table = {"a": 1.0, "b": 3.0}
    return total * table[max(table, key=table.get)]


@at(V)
def order(v):
    """Sorting, by a key, backwards, of pairs."""
    total = sorted(v)[0] * 2 + sorted([v[0], v[1], 0.1], reverse=True)[0]
    low, middle, high = sorted([v[2], v[0], v[3]], key=lambda x: -x)
    total += low * 1 + middle * 2 + high * 3
    for name, x in sorted({"b": v[0], "a": v[1]}.items()):
        total = total * 2 + x * len(name)
    rows = sorted([(v[0], 1.0), (v[1], 2.0)])
    return total + rows[0][0] * rows[0][1]


@at(V)
def questions(v):
    """`any` and `all`."""
    total = np.sum(v)
    if any(x > 1 for x in v) and not all(x > 1 for x in v):
        total *= v[0]
    if any([v[0] > 1, v[1] < 0]) and all(v < 2):
        total *= v[1]
    return total


@at(0.7)
def numbers(a):
    """Builtin functions of numbers."""
    q, r = divmod(a, 0.3)
    y = q * r + divmod(7, 2)[1] * a + pow(a, 3) + pow(2.0, a) + abs(-a) * round(3.7)
    y += float("2.5") * a + int("3") * a + bool(a) * a + complex(1, 2).imag * a
    y += a if isinstance(a, float | int) else 0.0
    y += sum([a, a * a], 1.0) * len(range(3)) * len({1, 2}) + a * sum({1, 2, 3})
    return y * (a if isinstance(a, (int, float)) and not isinstance(a, bool) else 0.0)


@at(0.7)
def spread_lists(a):
    """Lists of unknown length spread into others."""
    v = [x * a for x in range(4) if x * a > 0.5]
    more = [*v, np.sin(a), *v[::-1], *scaled(a, 2)]
    copied = [*v]
    copied[0] = a
    return sum(more) * more[-1] + more[0] * sum(copied) + v[0] * sum([*v, *[a, a * a]])


@at(0.7)
def spread_before_it_grows(a):
    """A list that is spread, and grows while the rest of the display is read."""
    v = [x * a for x in range(4) if x * a > 0.5]

    def grow():
        v.append(a * a)
        return a

    more = [*v, grow(), *v]
    return sum(more) * more[0] * len(more)
