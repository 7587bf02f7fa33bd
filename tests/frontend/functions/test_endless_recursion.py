"""Recursive functions no path of which returns raise what the plain call raises."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from srcad import gradient, pullback, value_and_grad
from tests.language import assert_program, named


def endless(x):
    return endless(x * 1.0) + 1.0


def with_a_tuple(x):
    a, b = with_a_tuple(x)
    return a + b


def there(x):
    return back_again(x) * 1.0


def back_again(x):
    return there(x) + 1.0


def through_another(x):
    return x + endless(x)


def through_a_loop(x):
    s = 0.0
    for _ in range(3):
        s = s + endless(x)
    return s


def whose_result_is_not_used(x):
    endless(x)
    return x * 2.0


def local(x):
    def inner(y):
        return inner(y) * 2.0 * x

    return inner(x)


class Thing:
    def again(self, x):
        return self.again(x) * 1.0


THING = Thing()


def of_a_method(x):
    return THING.again(x)


def of_a_generator(x):
    return sum(of_a_generator(x) for _ in range(2))


def on_one_path(x):
    if x > 0:
        return x * x
    return endless(x)


def unless_it_raises(x):
    if x > 0:
        raise ValueError("too large")
    return unless_it_raises(x)


def down_to_an_error(x, n):
    if n == 0:
        raise ValueError("the end")
    return down_to_an_error(x, n - 1) * x


@pytest.fixture(autouse=True)
def _few_frames():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (endless, (3.0,)),
        (with_a_tuple, (3.0,)),
        (there, (3.0,)),
        (through_another, (3.0,)),
        (through_a_loop, (3.0,)),
        (whose_result_is_not_used, (3.0,)),
        (local, (3.0,)),
        (of_a_method, (3.0,)),
        (of_a_generator, (3.0,)),
        (on_one_path, (-3.0,)),
        (unless_it_raises, (-3.0,)),
        (unless_it_raises, (3.0,)),
        (down_to_an_error, (3.0, 4)),
    ],
)
@pytest.mark.parametrize("derivative", [gradient, pullback])
def test_endless_recursion_raises_same_exception(derivative, f, args):
    with pytest.raises((RecursionError, ValueError)) as plain:
        f(*args)

    with pytest.raises(plain.type):
        derivative(f, *args)
    with pytest.raises(plain.type):
        value_and_grad(f)(*args)


def caught(x):
    try:
        return endless(x)
    except RecursionError:
        return x * x


def first(x, n):
    return x if n == 0 else second(x * x, n - 1)


def second(x, n):
    return first(x, n) * x


def returning_from_the_first_alone(x):
    return first(x, 3)


def passing_on_first(x):
    return second(x, 2) + x


@pytest.mark.parametrize(
    **named(
        [
            (on_one_path, 3.0),
            (caught, 3.0),
            (returning_from_the_first_alone, 1.5),
            (passing_on_first, 1.5),
            (passing_on_first, np.array(1.5)),
        ]
    )
)
def test_terminating_paths_differentiated(program):
    assert_program(*program)
