"""An entry of a sequence that has none."""

from __future__ import annotations

import numpy as np
import pytest

from srcad import grad, value_and_grad
from tests.language import named
from tests.numeric import assert_close, difference

X = np.array([0.3, 0.4])


def not_read(x, k):
    items = []
    return np.sum(x * x) if k > 5 else items[k]


def caught(x, k):
    items = ()
    try:
        return items[k] * np.sum(x)
    except IndexError:
        return np.sum(x * x)


def over_no_places(x, k):
    items = []
    for place in range(len(items)):
        x = x * items[place]
    return np.sum(x) * k


@pytest.mark.parametrize(
    **named([(not_read, X, 7), (caught, X, 0), (caught, X, np.int64(2)), (over_no_places, X, 3)])
)
def test_empty_sequence_access_gradient_of_except_path(program):
    f, *args = program

    value, bar = value_and_grad(f)(*args)

    assert value == f(*args)
    assert_close(bar, difference(f, tuple(args)))


def test_empty_list_access_raises_index_error():
    with pytest.raises(IndexError, match="list index out of range"):
        grad(not_read)(X, 1)
