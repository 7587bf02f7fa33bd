"""Lists that shrink under a loop, functions that look into frames, and odd names."""

import inspect
import sys

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError, UnsupportedSyntaxError


def removes_each(x):
    items = [x, 2 * x, 3 * x]
    for v in items:
        items.remove(v)
    return sum(items) * x


def removes_some(x, given=(1.0, 2.0, 3.0)):
    items = list(given)
    for v in items:
        if v > 1.5:
            items.remove(v)
    return x * len(items) * items[0]


def pops_at_a_place(x, place=0):
    items = [x, 2 * x, 3 * x]
    for _ in items:
        items.pop(place)
    return sum(items) * x


def removes_of_many(x):
    items = list(np.arange(40.0) * x)
    for v in items:
        items.remove(v)
    return items[0]


def inserts(x, place=0):
    items = [x, 2 * x]
    for v in items:
        if len(items) < 6:
            items.insert(place, v)
    return sum(items)


@pytest.mark.parametrize(
    "f", [removes_each, removes_some, pops_at_a_place, removes_of_many, inserts]
)
def test_list_resized_during_iteration_rejected(f):
    with pytest.raises(MutationError, match="while looping over it"):
        srcad.grad(f)(2.5)


def removes_from_a_copy(x):
    items = [x, 2 * x, 3 * x]
    for v in list(items):
        if v > 2 * x:
            items.remove(v)
    return sum(items) * x


def removes_until_empty(x):
    items, total = [x, 2 * x, 3 * x], 0.0
    while items:
        total = total + items[0] * x
        items.remove(items[0])
    return total


def removes_before_a_loop(x, wanted=2.0):
    items = [1.0, 2.0, 3.0]
    items.remove(wanted)
    return sum(v * x for v in items)


@pytest.mark.parametrize("f", [removes_from_a_copy, removes_until_empty, removes_before_a_loop])
def test_list_remove_outside_iteration(f):
    step = 1e-6
    slope = (f(2.5 + step) - f(2.5 - step)) / (2 * step)

    assert srcad.value_and_grad(f)(2.5) == (f(2.5), pytest.approx(slope, rel=1e-6))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: [1.0, 2.0].remove(5.0) or x,
        lambda x: [1.0, 2.0].index(5.0) * x,
    ],
)
def test_missing_list_item_error_message_matches_original(f):
    with pytest.raises(ValueError, match=".") as plain:
        f(2.5)

    with pytest.raises(ValueError, match=".") as found:
        srcad.grad(f)(2.5)

    assert str(found.value) == str(plain.value)


def through_a_helper():
    return sys._getframe(1).f_locals["x"]


def by_another_name(x):
    look = sys._getframe
    return look().f_locals["x"] * x


FRAMES = {
    "own frame": lambda x: sys._getframe().f_locals["x"] * x,
    "current frame": lambda x: inspect.currentframe().f_locals["x"] * x,
    "stack": lambda x: inspect.stack()[0].frame.f_locals["x"] * x,
    "a helper": lambda x: through_a_helper() * x,
    "a local helper": lambda x: (lambda: sys._getframe(1).f_locals["x"])() * x,
    "another name": by_another_name,
    "an import": lambda x: __import__("sys")._getframe().f_locals["x"] * x,
    "locals": lambda x: locals()["x"] * x,
    "vars": lambda x: vars()["x"] * x,
}


@pytest.mark.parametrize("f", FRAMES.values(), ids=FRAMES)
def test_frame_inspection_rejected(f):
    with pytest.raises(UnsupportedSyntaxError, match="looks at the program itself"):
        srcad.grad(f)(2.5)


@pytest.mark.parametrize("name", ["a b", "class", "\n", "<lambda>", "é", "_next", "x" * 300, ""])
def test_function_with_arbitrary_name(name):
    def f(x):
        return x * x

    f.__name__ = f.__qualname__ = name
    gradient = srcad.grad(f)

    assert gradient(3.0) == 6.0
    compile(gradient.source, "source", "exec")
