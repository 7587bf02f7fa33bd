"""Setting the shape of an array: its names are bound to a view of the same memory."""

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of NumPy 2.5
X = np.linspace(0.3, 1.0, 6)


def copied(x):
    r = x.copy()
    r.shape = (1, 6)
    s = r
    r[0, 2] = 3 * x[1]
    return np.sum(s[0] ** 3) * s.ndim


def two_names(x):
    r = np.exp(x)
    t = [r]
    r.shape = 3, -1
    return np.sum(t[0] @ t[0].T)


def in_loop(x):
    r = np.exp(x)
    for n in range(2):
        r = r * x.reshape(r.shape)
        if n == 1:
            r.shape = (2, 3)
    return np.sum(r.T @ r)


def one_axis(x):
    r = np.outer(x, x)
    r.shape = r.size
    return np.sum(r * np.arange(36.0))


@pytest.mark.parametrize("f", [copied, two_names, in_loop, one_axis])
def test_shape_of_array_set(f):
    assert srcad.value_and_grad(f)(X)[0] == f(X)
    check_grads(f, (X,))


def argument(x):
    x.shape = (2, 3)
    return np.sum(x**2)


def not_contiguous(x):
    r = np.exp(x)[::2]
    r.shape = (3, 1)
    return np.sum(r**2)


def view_of_other_shape(x):
    r = np.exp(x)
    v = r.reshape(2, 3)
    r.shape = (3, 2)
    v[0, 0] = x[2]
    return np.sum(r @ v)


@pytest.mark.parametrize("f", [argument, not_contiguous, view_of_other_shape])
def test_shape_of_array_with_other_owners_rejected(f):
    with pytest.raises(srcad.errors.MutationError):
        srcad.grad(f)(X.copy())


def test_shape_that_does_not_fit_raises_as_numpy_does():
    def f(x):
        r = np.exp(x)
        r.shape = (4, 2)
        return np.sum(r)

    with pytest.raises(ValueError, match="cannot reshape array of size 6"):
        srcad.grad(f)(X)
