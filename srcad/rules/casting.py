"""Copies and casts: the same numbers in another container or dtype.

A cotangent keeps the result's dtype; the gradient is cast to the argument's dtype once, at the end.
"""

import operator

import numpy as np

from srcad.rules.declare import adjoint, batched, linear, nondifferentiable
from srcad.runtime import (
    as_kept_in,
    checked_basis,
    checked_cotangent,
    checked_numeric,
    checked_phase,
    checked_rows,
    converted_like,
    real_part_like,
    rounded_as_in_place,
)


@linear(np.copy, law="copy", entries="moved", order="follows", samples=lambda f, m: [f(m)])
def copy(y_bar, a, order="K", subok=False):
    return y_bar


@linear(
    np.asarray,
    np.asanyarray,
    order="shows",
    entries="moved",
    takes_lists=True,
    memory="argument",
    samples=lambda f, m: [f(m), f([0.1, 0.2], np.float64)],
)
def asarray(y_bar, a, dtype=None, order=None, *, copy=None):
    if dtype is not None and not np.issubdtype(dtype, np.inexact):
        return None
    return items(y_bar, a)


@linear(
    np.array, order="shows",
    entries="moved", takes_lists=True, memory={"copy": (False, None)},
    samples=lambda f, v, m, array: [
        f([0.1, 0.2]), f([[0.1, 0.2], [0.3, 0.4]]), f((v, array(4))), f(v, ndmin=3),
        f([0.1, 0.2], ndmin=2), f([[v, v], [array(4), v]]), f(m)],
)  # fmt: skip
def array(y_bar, object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    """The cotangent has the structure of the argument, down to its numbers and arrays."""
    if dtype is not None and not np.issubdtype(dtype, np.inexact):
        return None
    if ndmin:
        y_bar = np.reshape(y_bar, np.shape(object))
    return items(y_bar, object)


def items(y_bar, structure):
    """The parts of a cotangent that belong to the parts of nested lists and tuples."""
    if not isinstance(structure, (list, tuple)):
        return y_bar
    return [rows(y_bar[k], structure[k]) for k in range(len(structure))]


def rows(y_bar, structure):
    """The same, one level deeper."""
    if not isinstance(structure, (list, tuple)):
        return y_bar
    return [cells(y_bar[k], structure[k]) for k in range(len(structure))]


def cells(y_bar, structure):
    """The same on the third level; deeper lists are taken apart by recursion."""
    if not isinstance(structure, (list, tuple)):
        return y_bar
    return [deeper(y_bar[k], structure[k]) for k in range(len(structure))]


def deeper(y_bar, structure):
    """The same on all other levels."""
    if not isinstance(structure, (list, tuple)):
        return y_bar
    return [deeper(y_bar[k], structure[k]) for k in range(len(structure))]


@linear(
    np.require,
    order="other",
    entries="moved",
    takes_lists=True,
    memory="argument",
    samples=lambda f, m: [f(m), f(m.T, None, "C"), f(m, np.float64, ["F", "W"]), f([0.1, 0.2])],
)
def require(y_bar, a, dtype=None, requirements=None):
    if dtype is not None and not np.issubdtype(dtype, np.inexact):
        return None
    return items(y_bar, a)


@batched(np.require)
def require_each(a, dtype=None, requirements=None):
    if isinstance(a, (list, tuple)):
        return None
    return a if dtype is None else np.astype(a, dtype)


@linear(
    np.asfortranarray,
    order="other",
    entries="moved",
    takes_lists=True,
    memory="shared",
    samples=lambda f, m: [f(m.T), f(0.5)],
)
@linear(
    np.ascontiguousarray,
    order="C",
    entries="moved",
    takes_lists=True,
    memory="shared",
    samples=lambda f, m: [f(m.T), f(0.5)],
)
def ascontiguousarray(y_bar, a, dtype=None):
    """A number becomes an array of length 1."""
    return np.reshape(y_bar, np.shape(a))


@linear(
    np.astype,
    order="follows",
    entries="moved",
    law="cast",
    memory={"copy": (False, None)},
    samples=lambda f, m: [f(m, np.float64)],
)
def astype(y_bar, x, dtype, *, copy=True):
    """A cast to integers cuts the derivative."""
    if not np.issubdtype(dtype, np.inexact):
        return None, None
    return y_bar, None


@linear(
    float,
    np.float64,
    law="cast",
    memory="shared",
    special=("__float__",),
    samples=lambda f, array: [f(array()), f(0.7)],
)
@linear(np.float16, np.longdouble, np.ndarray.item, memory="shared", samples=())
@linear(np.float32, law="cast", memory="shared", samples=())
def number(y_bar, x):
    """An array of one entry becomes a number."""
    if np.ndim(x) == 0:
        return y_bar
    return np.reshape(y_bar, np.shape(x))


@linear(converted_like, law="cast", order="C", memory="shared", samples=())
def gradient_like(y_bar, g, x):
    return y_bar, None


@linear(checked_cotangent, memory="shared", samples=())
def as_it_is(y_bar, g, x, name, *, partial=False):
    return y_bar, None, None


@linear(checked_numeric, memory="shared", samples=())
def as_a_number(y_bar, value):
    return y_bar


@linear(real_part_like, memory="shared", samples=())
def as_its_part(y_bar, bar, x):
    return y_bar, None


@linear(checked_phase, checked_basis, memory="shared", samples=())
def as_checked(y_bar, bar, change):
    return y_bar, None


@linear(checked_rows, memory="shared", samples=())
def as_of_a_system(y_bar, bar, a, b):
    return y_bar, None, None


@linear(as_kept_in, memory="shared", samples=())
def as_taken_in(y_bar, y, place):
    return y_bar, None


@linear(rounded_as_in_place, active=("y", "place", "a", "b"), samples=())
def as_rounded(y_bar, y, function, place, a, b=None):
    """The numbers are those of `y`, up to the last digit."""
    return y_bar, None, None, None


@linear(complex, active=("real", "imag"), memory="shared", special=("__complex__",), samples=())
def complex_number(y_bar, real, imag=0.0):
    """``real + 1j * imag``."""
    return y_bar, y_bar * -1j


@linear(np.complex128, np.complex64, np.clongdouble, memory="shared", samples=())
def complex_scalar(y_bar, x):
    """An array of one entry becomes a number."""
    if np.ndim(x) == 0:
        return y_bar
    return np.reshape(y_bar, np.shape(x))


@adjoint(operator.index, memory="shared", samples=())
def index(y_bar, y, a):
    """A whole number of NumPy as one of Python: the same number, unlike that of `int`."""
    return y_bar


nondifferentiable(int, memory="shared", special=("__int__",))
nondifferentiable(bool, np.bool_, memory="shared")
nondifferentiable(np.int8, np.int16, np.int32, np.int64, memory="shared")
nondifferentiable(np.uint8, np.uint16, np.uint32, np.uint64, memory="shared")
