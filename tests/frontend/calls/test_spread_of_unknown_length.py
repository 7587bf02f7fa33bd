"""``zip(*pairs)`` and ``g(*items)`` of a list that a loop over an array makes."""

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedSyntaxError
from tests.language import assert_program, named
from tests.numeric import assert_close, difference

X = np.array([0.7, 1.2, -0.4])


def columns_of_pairs(x):
    pairs = [(v, v * v) for v in x]
    a, b = zip(*pairs, strict=True)
    return np.sum(np.array(a) * np.array(b))


def columns_of_appended_pairs(x):
    pairs = []
    for i in range(len(x)):
        pairs.append((x[i], np.sin(x[i - 1])))
    a, b = map(np.array, zip(*pairs, strict=True))
    return np.sum(a * b**2)


def columns_of_places(x):
    places, values = zip(*[(k, v) for k, v in enumerate(x)], strict=True)
    return sum(k * v**2 for k, v in zip(places, values, strict=True))


def first_times_last(*items):
    return items[0] * items[-1] + sum(items)


def call_with_items(x):
    items = [v**2 for v in x]
    return first_times_last(*items)


def call_with_as_many_as_an_argument_says(x, n):
    items = [x * k for k in range(1, n)]
    return first_times_last(*items)


PROGRAMS = [columns_of_pairs, columns_of_appended_pairs, columns_of_places, call_with_items]


@pytest.mark.parametrize(
    **named([*((f, X) for f in PROGRAMS), (call_with_as_many_as_an_argument_says, 0.8, 5)])
)
def test_spread_list_is_differentiated(program):
    assert_program(*program)


def test_spread_list_of_another_length_is_compiled_anew():
    derivative = srcad.grad(columns_of_pairs)

    for x in (X, X[:2], np.append(X, 0.9)):
        assert_close(derivative(x), difference(columns_of_pairs, (x,)))


def test_spread_list_of_many_items_rejected():
    with pytest.raises(UnsupportedSyntaxError, match="unknown length"):
        srcad.grad(columns_of_pairs)(np.ones(200))
