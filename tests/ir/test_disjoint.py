"""Places that are called apart have no entry in common, whatever the loops run over."""

from __future__ import annotations

import itertools
import operator
import random

import numpy as np
import pytest

from srcad.ir.core import Block, Call, Const, Display, For, Value
from srcad.ir.disjoint import nothing_known
from srcad.types.numeric import INT, int_type

NONE = Const(None)


class World:
    """Two nested loops, integers made from their items, and what all of these are in each trip."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.known = nothing_known()
        self.known_at: dict[object, object] = {}
        self.i = self.loop([Const(k) for k in (-1, 0, 1, 2)])
        self.plus = self.sum(self.i)
        self.j = self.loop([self.i, self.plus, Const(0), Const(1)])
        self.integers = [self.i, self.j, self.plus, self.sum(self.j)]

    def loop(self, ends: list) -> Value:
        start, stop = self.rng.choice(ends), self.rng.choice([*ends, Const(4)])
        step = self.rng.choice([1, 1, 1, 2, -1])
        item = Value(INT)
        seq = Display("range", (start, stop, Const(step)))
        self.known.note(For(seqs=(seq,), inits=(), body=Block((item,)), outputs=()))
        self.known_at[item] = lambda at: range(value(start, at), value(stop, at), step)
        return item

    def sum(self, base: Value) -> Value:
        target = self.rng.choice([operator.add, operator.sub])
        number = self.rng.randint(0, 2)
        result = Value(INT)
        self.known.note(Call(target=target, args=(base, Const(number)), result=result))
        self.known_at[result] = lambda at: target(value(base, at), number)
        return result

    def integer(self):
        return self.rng.choice([*self.integers, *self.integers, Const(self.rng.randint(-2, 2))])

    def part(self):
        if self.rng.random() < 0.5:
            return self.integer()
        ends = [self.rng.choice([NONE, self.integer()]) for _ in range(2)]
        return Display("slice", (*ends, self.rng.choice([NONE, Const(1), Const(2)])))

    def index(self):
        if self.rng.random() < 0.3:
            return self.part()
        return Display("tuple", (self.part(), self.part()))

    def trips(self):
        for i in self.known_at[self.i]({}):
            at = {self.i: i}
            at[self.plus] = self.known_at[self.plus](at)
            for j in self.known_at[self.j](at):
                at[self.j] = j
                at[self.integers[3]] = self.known_at[self.integers[3]](at)
                yield dict(at)


def value(arg, at):
    if isinstance(arg, Const):
        return arg.value
    if isinstance(arg, Value):
        return at[arg]
    items = tuple(value(item, at) for item in arg.items)
    return slice(*items) if arg.kind == "slice" else items


def entries(index, at, shape) -> set[int] | None:
    numbered = np.arange(np.prod(shape)).reshape(shape)
    try:
        return set(np.ravel(numbered[value(index, at)]).tolist())
    except IndexError:
        return None


def test_disjoint_indices_share_no_entry() -> None:
    """Every pair of random indices is tried on small arrays, in every trip."""
    found = 0
    for seed in range(3000):
        world = World(random.Random(seed))
        first, second = world.index(), world.index()
        if not world.known.are_disjoint(first, second):
            continue
        tried = 0
        for at, shape in itertools.product(world.trips(), [(1, 2), (3, 3), (6, 4)]):
            one, other = entries(first, at, shape), entries(second, at, shape)
            if one is not None and other is not None:
                tried += 1
                assert one.isdisjoint(other), (seed, value(first, at), value(second, at), shape)
        found += tried > 0
    assert found > 100


ROW, COLUMN = Value(INT), Value(INT)


def lower_triangle():
    """``for i in range(1, n): for j in range(i): ...``."""
    known = nothing_known()
    for item, ends in ((ROW, (Const(1), Value(INT))), (COLUMN, (Const(0), ROW))):
        seq = Display("range", (*ends, Const(1)))
        known.note(For(seqs=(seq,), inits=(), body=Block((item,)), outputs=()))
    return known


def index(*parts):
    return Display("tuple", parts)


@pytest.mark.parametrize(
    "other",
    [
        index(COLUMN, COLUMN),
        index(ROW, Display("slice", (NONE, COLUMN, NONE))),
        index(COLUMN, Display("slice", (NONE, COLUMN, NONE))),
        index(ROW, ROW),
        COLUMN,
    ],
    ids=["diagonal", "prefix", "row above", "own diagonal", "whole row above"],
)
def test_factorisation_indices_disjoint(other) -> None:
    known = lower_triangle()

    assert known.are_disjoint(index(ROW, COLUMN), other)
    assert known.are_disjoint(other, index(ROW, COLUMN))


@pytest.mark.parametrize(
    "other",
    [
        index(ROW, COLUMN),
        index(ROW, Display("slice", (COLUMN, NONE, NONE))),
        index(Const(-1), COLUMN),
        index(ROW, Value(INT)),
        index(Value(int_type(None)), COLUMN),
        index(NONE, COLUMN),
        index(Display("list", (Const(0), Const(2))), COLUMN),
    ],
    ids=["itself", "from there on", "the last row", "anywhere", "any row", "a new axis", "a list"],
)
def test_possibly_equal_indices_not_disjoint(other) -> None:
    known = lower_triangle()

    assert not known.are_disjoint(index(ROW, COLUMN), other)
    assert not known.are_disjoint(other, index(ROW, COLUMN))


def test_negative_index_wraps_in_disjointness() -> None:
    """``x[k - 1]`` is the last entry where k is 0."""
    known = nothing_known()
    k, before = Value(INT), Value(INT)
    seq = Display("range", (Const(0), Const(5), Const(1)))
    known.note(For(seqs=(seq,), inits=(), body=Block((k,)), outputs=()))
    known.note(Call(target=operator.sub, args=(k, Const(1)), result=before))

    assert not known.are_disjoint(k, before)
