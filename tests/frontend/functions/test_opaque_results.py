"""A state that an untouched call has made is taken apart once a derivative flows through it."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from srcad import value_and_grad
from tests.language import assert_program, named


def rest():
    return np.zeros(2)


def pair():
    return 0.5, 1.0


def table():
    return np.arange(4.0).reshape(2, 2)


SHAPE = {"n": 2}


def of_settings():
    return np.ones(SHAPE["n"])


@dataclass
class Box:
    lam: float = 1.2
    T: np.ndarray = field(default_factory=lambda: np.zeros(2))

    def step(self, force):
        upper, lower = self.T
        self.T = self.T + np.array([self.lam * (force - upper), upper - lower])
        return self.T[0]


def climate(lam, forcing):
    box, total = Box(lam=lam), 0.0
    for force in forcing:
        total = total + box.step(force)
    return total


def from_a_helper(p, forcing):
    state = rest()
    for force in forcing:
        a, b = state
        state = state + np.array([p * (force - a), a - b])
    return state[0]


def from_settings(p, forcing):
    state = of_settings()
    for force in forcing:
        a, b = state
        state = state * np.array([p * (force - a), a - b])
    return np.sum(state)


def from_a_pair(p, forcing):
    state = pair()
    for force in forcing:
        a, b = state
        state = (a + p * (force - b), b * a)
    return state[0] + state[1]


def rows_of_a_table(p, forcing):
    state = table()
    for force in forcing:
        (a, b), c = state
        state = state * p + np.outer(c, np.array([a, b])) * force
    return np.sum(state)


def in_a_while(p, forcing):
    state, k = rest(), 0
    while k < len(forcing):
        a, b = state
        state, k = np.array([a + p * forcing[k], b + a]), k + 1
    return state @ state


def in_a_comprehension(p, forcing):
    box = Box(lam=p)
    return np.sum(np.array([box.step(force) for force in forcing]) ** 2)


FORCING = np.array([1.0, 2.0, 0.5])
PROGRAMS = [
    (f, 0.5, FORCING[:n])
    for f in (climate, from_a_helper, from_settings, from_a_pair, rows_of_a_table, in_a_while,
              in_a_comprehension)
    for n in (1, 3)
]  # fmt: skip


@pytest.mark.parametrize(**named(PROGRAMS))
def test_state_from_opaque_call_unpacked(program):
    assert_program(*program)


ORDERS = {"a": 1.0, "b": 2.0}


def numbered(x):
    ORDERS["c"] = x
    return sum(k * ORDERS[name] * x for k, name in enumerate(ORDERS))


def in_step(x):
    ORDERS["c"] = x
    return sum(v * ORDERS[name] * len(name) for v, name in zip([x, 2.0, x * x], ORDERS))


def filtered(x):
    ORDERS["c"] = x
    return sum(ORDERS[name] for name in filter(lambda name: name != "a", ORDERS))


def each(x):
    ORDERS["c"] = x
    return sum(map(lambda name: ORDERS[name] * x, ORDERS))


def backwards(x):
    ORDERS["c"] = x
    total = 0.0
    for name in reversed(ORDERS):
        total = 2 * total + ORDERS[name] * x
    return total


@pytest.mark.parametrize("f", [numbered, in_step, filtered, each, backwards])
def test_iteration_over_written_global_dict(f):
    def plain(x):
        ORDERS.clear()
        ORDERS.update({"a": 1.0, "b": 2.0})
        return f(x)

    slope = (plain(2.0 + 1e-6) - plain(2.0 - 1e-6)) / 2e-6
    want = plain(2.0)
    ORDERS.pop("c")
    value, got = value_and_grad(f)(2.0)
    assert value == want
    assert got == pytest.approx(slope, rel=1e-6)
    assert ORDERS == {"a": 1.0, "b": 2.0, "c": 2.0}


PARENTS = {"a": (None, None), "b": (None, None), "c": ("a", "b"), "d": ("c", "b")}


def inherited(name, share, order):
    father, mother = PARENTS[name]
    if father is None:
        return share * order[name]
    return 0.5 * (inherited(father, share, order) + inherited(mother, share, order))


def pedigree(share, name):
    order = {name: k + 1 for k, name in enumerate(PARENTS)}
    return inherited(name, share, order)


@pytest.mark.parametrize("name", ["a", "c", "d"])
def test_dict_from_enumerate_looked_up_in_recursion(name):
    value, slope = value_and_grad(pedigree)(0.3, name)
    assert value == pedigree(0.3, name)
    assert slope == pytest.approx((pedigree(0.4, name) - pedigree(0.2, name)) / 0.2)
