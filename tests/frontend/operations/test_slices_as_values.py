"""Slices of lists and tuples that a name, an attribute, an argument or a container holds."""

import operator

import numpy as np
import pytest

import srcad
from tests.numeric import difference

INNER = slice(1, 3)
PARTS = {"first": slice(2), "turned": slice(None, None, -1)}


class Window:
    part = slice(-3, -1)


def of_a_list(x):
    items = [x[0], x[1] * 2.0, x[2] * 3.0, x[3]]
    return sum(items[INNER])


def of_a_tuple(x):
    return sum(tuple(x * x)[INNER])


def of_a_list_that_grows(x):
    items = []
    for v in x:
        items.append(v * v)
    return sum(items[INNER])


def by_an_attribute(x):
    return sum((x[0], x[1] * x[1], x[2], x[3] ** 3)[Window.part])


def by_an_item(x):
    items = [v * v for v in x]
    return items[PARTS["first"]][1] * items[PARTS["turned"]][0]


def written(x):
    items = [x[0], x[1] * 2.0, x[2] * 3.0, x[3]]
    items[INNER] = [x[0] * x[3]]
    return sum(items) + items[1] * x[1]


def deleted(x):
    items = [x[0], x[1] * 2.0, x[2] * 3.0, x[3] * x[0]]
    del items[INNER]
    return items[0] * items[1]


def in_a_loop(x):
    items = (x[0], x[1] * x[0], x[2], x[3])
    return sum(sum(items[s]) for s in (slice(1), INNER, slice(None, None, 2)))


def by_a_function(x):
    return sum(operator.getitem(tuple(x * x), INNER))


def by_a_function_and_a_slice_made_there(x):
    return sum(operator.getitem([x[0], x[1] * x[2], x[3]], slice(1, None)))


PROGRAMS = [
    of_a_list, of_a_tuple, of_a_list_that_grows, by_an_attribute, by_an_item, written, deleted,
    in_a_loop, by_a_function, by_a_function_and_a_slice_made_there,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradient_of_sliced_sequence_agrees_with_differences(f):
    x = np.array([0.5, -1.5, 2.0, 3.0])

    value, gradient = srcad.value_and_grad(f)(x)

    assert value == f(x)
    np.testing.assert_allclose(gradient, difference(f, (x,)), rtol=1e-6, atol=1e-8)


def test_gradient_follows_slice_that_is_an_argument():
    def f(x, part):
        items = [x[0], x[1] * x[0], x[2]]
        items[part] = [x[2] * x[2]]
        return sum(items)

    x = np.array([0.5, -1.5, 2.0])
    gradient = srcad.grad(f)

    np.testing.assert_allclose(gradient(x, slice(1)), [-1.5, 0.5, 5.0])
    np.testing.assert_allclose(gradient(x, slice(1, None)), [1.0, 0.0, 4.0])
    np.testing.assert_allclose(gradient(x, slice(None)), [0.0, 0.0, 4.0])


def test_gradient_follows_slice_that_is_exchanged(monkeypatch):
    x = np.array([0.5, -1.5, 2.0, 3.0])
    gradient = srcad.grad(by_an_attribute)

    before = gradient(x)
    monkeypatch.setattr(Window, "part", slice(3, None))
    after = gradient(x)

    np.testing.assert_allclose(before, [0.0, -3.0, 1.0, 0.0])
    np.testing.assert_allclose(after, [0.0, 0.0, 0.0, 27.0])
