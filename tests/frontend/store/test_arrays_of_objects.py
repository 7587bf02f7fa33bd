"""Arrays of objects hold arrays by reference: what one name writes, the other one shows."""

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError, SrcadError
from srcad.testing import check_grads


def one():
    return np.array([None], dtype=object)


def entry_scaled(x):
    c = one()
    c[0] = np.ones(3)
    v = c[0]
    v *= x
    return np.sum(c[0]) * x


def entry_scaled_by_a_constant(x):
    c = one()
    c[0] = np.ones(3)
    v = c[0]
    v *= 2.0
    return np.sum(c[0]) * x


def entry_of_two(x):
    c = np.empty(2, dtype=object)
    c[:] = [np.ones(3), np.ones(2)]
    v = c[1]
    v += x
    return np.sum(c[1]) * x


def entry_of_a_loop(x):
    c = np.full(2, None, dtype=object)
    c[0] = np.ones(3)
    for v in c[:1]:
        v *= x
    return np.sum(c[0]) * x


def entry_of_a_view(x):
    c = np.array([None, None], dtype=object)
    c[0] = np.ones(3)
    v = c.reshape(2, 1)[0, 0]
    v *= x
    return np.sum(c[0]) * x


def entry_of_flat(x):
    c = np.zeros(2, object)
    c[0] = np.ones(3)
    v = c.flat[0]
    v *= x
    return np.sum(c[0]) * x


def entry_unpacked(x):
    c = np.zeros(2, object)
    c[0] = np.ones(3)
    v, _ = c
    v *= x
    return np.sum(c[0]) * x


def entry_as_item(x):
    c = one()
    c[0] = np.ones(3)
    v = c.item(0)
    v *= x
    return np.sum(c[0]) * x


def named_array_stored(x):
    c, w = one(), np.ones(3)
    c[0] = w
    w *= x
    return np.sum(c[0]) * x


def named_array_read_back(x):
    c, w = one(), np.ones(3)
    c[0] = w
    v = c[0]
    v *= x
    return np.sum(w) * x


def view_of_named_array_stored(x):
    c, w = one(), np.ones(3)
    c[0] = w[1:]
    w *= x
    return np.sum(c[0]) * x


def named_list_stored(x):
    c, w = one(), [1.0]
    c[0] = w
    w.append(x)
    return len(c[0]) * x


WRITING = [
    entry_scaled,
    entry_scaled_by_a_constant,
    entry_of_two,
    entry_of_a_loop,
    entry_of_a_view,
    entry_of_flat,
    entry_unpacked,
    entry_as_item,
    named_array_stored,
    named_array_read_back,
    view_of_named_array_stored,
    named_list_stored,
]


@pytest.mark.parametrize("f", WRITING)
def test_write_through_object_array_alias_rejected(f):
    """Value and gradient were those of the array before the write."""
    for derivative in (srcad.value_and_grad(f), lambda x: srcad.jvp(f, (x,), (1.0,))):
        with pytest.raises(MutationError, match="help:"):
            derivative(2.0)


def entry_read(x):
    c = np.array([np.ones(3), None], dtype=object)
    return np.sum(c[0]) * x


def item_read(x):
    c = one()
    c[0] = np.ones(3)
    return np.sum(c.item(0)) * x


def copy_stored(x):
    c, w = one(), np.ones(3)
    c[0] = w.copy()
    w = w * x
    return np.sum(c[0]) * np.sum(w)


def number_read(x):
    c = np.array([2.0, "text", None], dtype=object)
    return c[0] * x**2


@pytest.mark.parametrize("f", [entry_read, item_read, copy_stored, number_read])
def test_unmodified_object_array_entries(f):
    assert srcad.value_and_grad(f)(2.0)[0] == f(2.0)
    check_grads(f, (2.0,), order=1)


def test_list_in_object_array_not_numeric():
    """Its method was looked for in the numbers: an AttributeError at the call."""

    def counted(x):
        c = np.empty(2, dtype=object)
        c[0] = [1.0, 2.0]
        c[0].append(x)
        return len(c[0]) * x

    def read(x):
        c = np.empty(2, dtype=object)
        c[0] = [1.0, 2.0]
        c[0].append(x)
        return c[0][2] * x

    assert srcad.grad(counted)(2.0) == 3.0
    with pytest.raises(SrcadError):
        srcad.grad(read)(2.0)
