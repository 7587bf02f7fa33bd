"""Recursive functions that write into the arrays that they are given."""

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError
from tests.language import assert_program, named

X = np.array([1.0, 3.0, 2.0])


def doubled(y, n):
    if n <= 0:
        return 0.0
    y[0] *= 2.0
    return y[0] + doubled(y, n - 1)


def doubled_after(y, n):
    if n <= 0:
        return 0.0
    doubled_after(y, n - 1)
    y[0] *= 2.0
    return y[0]


def returned(y, n):
    if n <= 0:
        return y
    y[0] *= 2.0
    y = returned(y, n - 1)
    y[1] *= 3.0
    return y


def folded(a):
    n = len(a) // 2
    if n == 0:
        return
    folded(a[:n])
    folded(a[n:])
    a[:n] += a[n:]


def of_a_dict(d, n):
    if n <= 0:
        return 0.0
    d["a"][0] *= 2.0
    return d["a"][1] + of_a_dict(d, n - 1)


def there(y, n):
    if n <= 0:
        return y[0]
    y[0] *= 2.0
    return 1.0 * back(y, n - 1)


def back(y, n):
    return there(y, n - 1) if n > 0 else y[1]


def copied(y, n):
    if n <= 0:
        return np.sum(y)
    z = y.copy()
    z[0] *= 2.0
    return copied(z, n - 1) + y[0]


# --------------------------------------------------------------------------- read afterwards
def the_array(x, n):
    w = x.copy()
    total = doubled(w, n)
    return np.sum(total * w)


def within_the_recursion(x, n):
    return doubled_after(x.copy(), n)


def halves(x, n):
    w = np.concatenate([x, x])[: n + 1]
    folded(w)
    return np.sum(w * w)


def in_a_dict(x, n):
    d = {"a": x.copy()}
    total = of_a_dict(d, n)
    return total * d["a"][0]


def by_two_functions(x, n):
    w = x.copy()
    return there(w, n) * w[0]


def without_axes(x, n):
    def step(y, k):
        if k > 0:
            y *= x[0]
            step(y, k - 1)

    y = np.array(x[1])
    step(y, n)
    return y


@pytest.mark.parametrize("f", [the_array, halves, in_a_dict, by_two_functions, without_axes])
def test_array_used_after_recursive_write_rejected(f):
    """The array was taken for what it was before the call: value and gradient were wrong."""
    with pytest.raises(MutationError, match="after the call"):
        srcad.grad(f)(X, 3)


def test_array_used_within_the_recursion_is_followed_call_by_call():
    assert_program(within_the_recursion, X, 3)


# ------------------------------------------------------------------------- known all the same
def its_result(x):
    n = len(x)
    return doubled(x.copy(), n) + doubled(2.0 * x, n) + x[0]


def the_array_it_returns(x):
    w = x.copy()
    w = returned(w, len(x))
    return np.sum(w * x)


def of_a_dict_only(x):
    return of_a_dict({"a": x.copy()}, len(x)) * x[0]


def a_copy(x):
    return copied(x, len(x)) * x[0]


def an_argument(x):
    return doubled(x, len(x))


PROGRAMS = [(f, X) for f in (its_result, the_array_it_returns, of_a_dict_only, a_copy, an_argument)]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_result_of_writing_recursion_gradient(program):
    assert_program(*program)


def test_recursive_write_into_read_only_argument_raises():
    x = X.copy()
    x.flags.writeable = False

    with pytest.raises((ValueError, MutationError), match="read-only"):
        srcad.grad(doubled)(x, 3)
