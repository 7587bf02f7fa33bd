"""``zip`` of an array with objects, functions or labelled functions: it is unrolled."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from srcad import grad
from srcad.errors import SrcadError
from tests.language import assert_program, named

X = np.array([0.3, 0.5, 0.7])


class Joint:
    def __init__(self, a):
        self.a = a

    def move(self, q):
        return self.a * np.sin(q)


class Slider(Joint):
    def move(self, q):
        return self.a + q * q


@dataclass
class Link:
    length: float
    prismatic: bool = False

    def move(self, q):
        return self.length + q if self.prismatic else self.length * np.cos(q)


class Chain:
    def __init__(self):
        self.joints = [Joint(1.0), Slider(2.0)]
        self.laws = (np.tanh, np.sin)

    def energy(self, q):
        return sum(law(j.move(x)) for j, law, x in zip(self.joints, self.laws, q))


ALIKE = (Joint(1.0), Joint(2.0), Joint(3.0))
MIXED = [Joint(1.0), Slider(2.0), Joint(0.5)]
LINKS = [Link(1.0), Link(0.5, True), Link(0.7)]
TABLE = [("rate", np.exp), ("share", np.tanh), ("level", np.cos)]
PLACES = {"left": np.sin, "right": np.exp}
CHAIN = Chain()


def tuple_of_one_class(q):
    return sum([j.move(x) for j, x in zip(ALIKE, q)]) ** 2


def list_of_two_classes(q):
    return sum(j.move(x) for j, x in zip(MIXED, q)) ** 2


def dataclasses_with_flags(q):
    total = 0.0
    for link, x in zip(LINKS, q):
        total = total + link.move(x)
    return total**2


def labelled_functions(x):
    out = 0.0
    for (name, link), v in zip(TABLE, x):
        out = out + link(v) * len(name)
    return out


def items_of_a_dict(x):
    return sum(f(v) * len(name) for (name, f), v in zip(PLACES.items(), x))


def attributes_of_an_object(q):
    return CHAIN.energy(q)


def array_first_and_numbered(q):
    return sum(i * j.move(x) for i, (x, j) in enumerate(zip(q, MIXED)))


def array_backwards(q):
    return sum(j.move(x) for j, x in zip(MIXED, reversed(q)))


def rows(q):
    return sum(np.sum(j.move(row)) for j, row in zip(MIXED, np.outer(q, q)))


def mapped(q):
    return sum(map(lambda j, x: j.move(x), MIXED, q))


def starmapped(q):
    return sum(itertools.starmap(lambda j, x: j.move(x), zip(MIXED, q)))


def left_early(q):
    total = 0.0
    for j, x in zip(MIXED, q):
        if x > 0.6:
            break
        total = total + j.move(x)
    else:
        total = total * 3
    return total


def entries_written_before_they_are_asked_for(q):
    q = q.copy()
    total = 0.0
    for j, x in zip(MIXED, q):
        total += j.move(x)
        q[2] = total
    return total


def rows_written_before_they_are_asked_for(q):
    a = np.outer(q, q)
    total = 0.0
    for j, row in zip(MIXED, a):
        a[2] = j.move(row[0]) * a[2]
        total = total + j.move(row[1])
    return np.sum(a) + total


PROGRAMS = [
    tuple_of_one_class, list_of_two_classes, dataclasses_with_flags, labelled_functions,
    items_of_a_dict, attributes_of_an_object, array_first_and_numbered, array_backwards, rows,
    mapped, starmapped, left_early, entries_written_before_they_are_asked_for,
    rows_written_before_they_are_asked_for,
]  # fmt: skip


@pytest.mark.parametrize(**named([(program, X) for program in PROGRAMS]))
def test_zip_of_objects_with_array_has_right_gradient(program):
    assert_program(*program)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_zip_of_objects_ends_with_the_shorter(count):
    q = np.linspace(0.2, 0.9, count)
    expected = np.zeros(count)
    slopes = [np.cos, lambda x: 2 * x, lambda x: 0.5 * np.cos(x)]
    for k in range(min(count, 3)):
        expected[k] = slopes[k](q[k])

    gradient = grad(lambda q: sum(j.move(x) for j, x in zip(MIXED, q)) + 0.0 * q[0])

    gradient(np.ones(4))
    np.testing.assert_allclose(gradient(q), expected, rtol=1e-15)


def test_zip_of_objects_follows_changes_of_the_list_and_of_attributes():
    joints = [Joint(1.0), Slider(2.0)]
    gradient = grad(lambda q: sum(j.move(x) for j, x in zip(joints, q)))
    gradient(X)

    joints[0].a = 4.0
    joints[1] = Joint(5.0)
    joints.append(Slider(0.0))

    expected = [4.0 * np.cos(0.3), 5.0 * np.cos(0.5), 1.4]
    np.testing.assert_allclose(gradient(X), expected, rtol=1e-15)


def test_zip_of_many_objects_is_written_out_as_a_loop_over_them_is():
    many = [Slider(k) for k in range(20)]
    q = np.arange(20.0)

    gradient = grad(lambda q: sum(j.move(x) for j, x in zip(many, q)))
    np.testing.assert_array_equal(gradient(q), 2 * q)

    gradient = grad(lambda q: sum(item.move(q[k]) for k, item in enumerate(many)))
    np.testing.assert_array_equal(gradient(q), 2 * q)


def test_zip_of_objects_with_a_selection_is_refused_with_a_remedy():
    with pytest.raises(SrcadError, match=r"for k, item in enumerate\(items\)"):
        grad(lambda q: sum(j.move(x) for j, x in zip(MIXED, q[q > 0.4])))(X)
