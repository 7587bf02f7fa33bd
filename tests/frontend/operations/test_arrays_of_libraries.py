"""Series and tables of installed libraries in arithmetic: refused before their source is read."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedTypeError

PACKAGE = """
import numpy as np


class Values:
    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)

    def to_numpy(self):
        return self.values


class Aligned:
    def aligned(self, other):
        return self.values * np.asarray(other)

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __matmul__ = aligned
    __iadd__ = __lt__ = __gt__ = aligned


class Series(Aligned, Values):
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented


class Masked(Aligned, Values):
    def __array_function__(self, function, types, args, kwargs):
        return NotImplemented


class Column(Aligned, Values):
    def __dataframe__(self):
        return self


class Plain(Aligned, Values):
    __array_ufunc__ = None
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lib") / "site-packages"
    (folder / "some_series").mkdir(parents=True)
    (folder / "some_series" / "__init__.py").write_text(PACKAGE)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("some_series")
    sys.path.remove(str(folder))
    del sys.modules["some_series"]


X, W = np.array([0.5, 1.5, -1.0]), np.array([2.0, 3.0, 4.0])


def times_array(x, s):
    return np.sum(s * x)


def array_times(x, s):
    return np.sum(x * s)


def entry_times(x, s):
    return np.sum(x[0] - s)


def product(x, s):
    return s @ x


def in_place(x, s):
    s += x
    return np.sum(s)


def compared(x, s):
    return np.sum(np.where(s < x, x, 0.0))


@pytest.mark.parametrize("f", [times_array, array_times, entry_times, product, in_place, compared])
def test_arithmetic_with_series_of_library_is_refused(f, library):
    with pytest.raises(UnsupportedTypeError) as caught:
        srcad.grad(f)(X, library.Series(W))

    text = str(caught.value)
    assert "arithmetic with a 'Series'" in text
    assert "some_series defines it" in text
    assert "np.asarray(s)" in text
    assert "s.to_numpy()" in text
    assert "test_arrays_of_libraries.py:" in text


@pytest.mark.parametrize("name", ["Series", "Masked", "Column"])
def test_each_array_protocol_of_library_is_refused_for_captured_object(name, library):
    s = getattr(library, name)(W)

    with pytest.raises(UnsupportedTypeError, match=f"arithmetic with a '{name}'"):
        srcad.jvp(lambda x: np.sum(s * x), (X,), (X,))


def test_remedies_work(library):
    s = library.Series(W)

    for f in (
        lambda x: np.sum(np.asarray(s) * x * x),
        lambda x: np.sum(s.to_numpy() * x * x),
    ):
        np.testing.assert_array_equal(srcad.grad(f)(X), 2 * W * X)


def test_arithmetic_without_derivative_runs(library):
    def f(x, s):
        return np.sum((s * W) * x)

    np.testing.assert_array_equal(srcad.grad(f)(X, library.Series(W)), W * W)


def test_class_of_library_that_numpy_leaves_alone_is_interpreted(library):
    s = library.Plain(W)

    np.testing.assert_array_equal(srcad.grad(lambda x: np.sum(s * x))(X), W)


def test_object_of_library_that_carries_derivative_is_interpreted(library):
    def f(x):
        return np.sum(library.Series(x) * W)

    np.testing.assert_array_equal(srcad.grad(f)(X), W)


class Own:
    def __init__(self, values):
        self.values = values

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented

    def __mul__(self, other):
        return self.values * other


def test_users_class_with_array_protocol_is_interpreted():
    s = Own(W)

    np.testing.assert_array_equal(srcad.grad(lambda x: np.sum(s * x))(X), W)
    np.testing.assert_array_equal(srcad.grad(lambda x, s: np.sum(s * x))(X, s), W)


def test_users_class_that_overrides_the_operator_is_interpreted(library):
    class Scaled(library.Series):
        def __mul__(self, other):
            return 3.0 * self.values * other

    s = Scaled(W)

    np.testing.assert_array_equal(srcad.grad(lambda x: np.sum(s * x))(X), 3 * W)
    with pytest.raises(UnsupportedTypeError, match=r"'Scaled'(.|\n)*some_series defines it"):
        srcad.grad(lambda x: np.sum(s - x))(X)
