"""Places outside that hold a differentiated value, read by code that a library calls."""

from __future__ import annotations

import copy
import functools
import types

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, fsolve, minimize_scalar

import srcad
from srcad.errors import MutationError, UnsupportedTypeError

X = np.array([0.7, 1.0, 1.3])


class Holder:
    def __init__(self):
        self.w = np.ones(3)

    def __call__(self, t):
        return t * self.w[0]

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.w)


held = Holder()
table = {"w": np.ones(3)}
same_table = table
items = [np.ones(3)]
module = types.ModuleType("module")
number = np.ones(3)


def by_attribute(t):
    return t * held.w[0]


def further_down(t):
    return by_attribute(t)


def by_global(t):
    return t * number[0]


def by_name(t):
    return t * getattr(held, "w")[0]  # noqa: B009 - a name that is looked up by its text


def square(t):
    return t**2


doubled = functools.partial(by_attribute)
entries = np.vectorize(by_attribute)
entries_of_item = np.vectorize(lambda t: t * table["w"][0])
entries_of_global = np.vectorize(by_global)
entries_of_module = np.vectorize(lambda t: t * module.w[0])
entries_of_objects = np.frompyfunc(by_attribute, 1, 1)


def ruled(p):
    return p * held.w[0]


@srcad.rules.adjoint(ruled)
def ruled_adjoint(y_bar, y, p):
    return y_bar * held.w[0]


def calling(function, p):
    return function(p)


@srcad.rules.adjoint(calling)
def calling_adjoint(y_bar, y, function, p):
    return None, y_bar * function(1.0)


def to_attribute(value):
    held.w = value


def to_item(value):
    table["w"] = value


def to_list(value):
    items[0] = value


def to_module(value):
    module.w = value


def to_global(value):
    global number
    number = value


ROWS = np.ones(3)
TRUE = np.arange(3.0) > 1.0

# How the value is stored, and what is computed with it: by functions that srcad has in Python.
DIFFERENTIATED = {
    "apply_along_axis": (to_attribute, lambda: np.apply_along_axis(by_attribute, 0, ROWS)),
    "its local function": (to_item, lambda: np.apply_along_axis(lambda r: r * table["w"], 0, ROWS)),
    "vectorize": (to_attribute, lambda: np.vectorize(further_down)(ROWS)),
    "made outside": (to_attribute, lambda: entries(ROWS)),
    "made outside, item": (to_item, lambda: entries_of_item(ROWS)),
    "made outside, global": (to_global, lambda: entries_of_global(ROWS)),
    "made outside, module": (to_module, lambda: entries_of_module(ROWS)),
    "fromfunction": (to_list, lambda: np.fromfunction(lambda i: i * items[0][0], (3,))),
    "piecewise": (to_attribute, lambda: np.piecewise(ROWS, [TRUE], [by_attribute, further_down])),
    "map": (to_attribute, lambda: np.array(list(map(by_attribute, [1.0, 2.0])))),
    "partial": (to_attribute, lambda: np.array(doubled(2.0))),
    "sorted": (to_attribute, lambda: np.array(sorted([3.0, 1.0], key=by_attribute))),
    "max": (to_attribute, lambda: np.array(max([3.0, 1.0], key=by_attribute))),
}


def steps(f):
    basis = 1e-6 * np.eye(3)
    return np.array([(f(X + e) - f(X - e)) / 2e-6 for e in basis])


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_callback_reading_written_place_is_differentiated(name):
    store, compute = DIFFERENTIATED[name]

    def f(x):
        store(x)
        return np.sum(compute()) * x[2]

    expected = steps(f)

    np.testing.assert_allclose(srcad.grad(f)(X), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(srcad.jvp(f, (X,), (X,))[1], expected @ X, rtol=1e-6, atol=1e-7)


REFUSED = {
    "local function": (to_attribute, lambda: quad(lambda t: t * held.w[0], 0, 1)[0]),
    "function": (to_attribute, lambda: quad(by_attribute, 0, 1)[0]),
    "function further down": (to_attribute, lambda: quad(further_down, 0, 1)[0]),
    "item": (to_item, lambda: quad(lambda t: t * table["w"][0], 0, 1)[0]),
    "item by another name": (to_item, lambda: quad(lambda t: t * same_table["w"][0], 0, 1)[0]),
    "item of a list": (to_list, lambda: quad(lambda t: t * items[0][0], 0, 1)[0]),
    "global": (to_global, lambda: quad(by_global, 0, 1)[0]),
    "module": (to_module, lambda: quad(lambda t: t * module.w[0], 0, 1)[0]),
    "by the text of its name": (to_attribute, lambda: quad(by_name, 0, 1)[0]),
    "object that is called": (to_attribute, lambda: quad(held, 0, 1)[0]),
    "partial": (to_attribute, lambda: quad(doubled, 0, 1)[0]),
    "brentq": (to_attribute, lambda: brentq(lambda t: t - held.w[0], 0, 9)),
    "fsolve": (to_attribute, lambda: fsolve(lambda t: t - held.w[0], 1.0)[0]),
    "minimize": (to_attribute, lambda: minimize_scalar(lambda t: (t - held.w[0]) ** 2).x),
    "solve_ivp": (to_item, lambda: solve_ivp(lambda t, y: table["w"] * y, (0, 1), ROWS).y[0, 0]),
    "ufunc": (to_attribute, lambda: entries_of_objects(2.0)),
    "ufunc made here": (to_attribute, lambda: np.frompyfunc(by_attribute, 1, 1)(2.0)),
    "array of the object": (to_attribute, lambda: np.asarray(held)[0]),
    "copy of the object": (to_attribute, lambda: copy.copy(held).w[0]),
    "rule": (to_attribute, lambda: ruled(2.0)),
    "rule with a function": (to_attribute, lambda: calling(by_attribute, 2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_opaque_call_reading_written_place_is_refused(name):
    store, compute = REFUSED[name]

    def f(x):
        store(x)
        return compute() * x[2]

    with pytest.raises((UnsupportedTypeError, MutationError)) as caught:
        srcad.grad(f)(X)
    assert caught.value.where is not None


def in_a_later_iteration(x):
    held.w, total = np.ones(3), 0.0
    for k in range(3):
        total = total + quad(by_attribute, 0, 1)[0] * x[2]
        held.w = x * (k + 1)
    return total


def in_a_while(x):
    held.w, total, k = np.ones(3), x[2], 0
    while k < 3:
        total = total + quad(by_attribute, 0, 1)[0] * x[2]
        held.w, k = x * (k + 1), k + 1
    return total


def on_one_path(x):
    held.w = np.ones(3)
    if x[0] > 0:
        held.w = x
    return quad(by_attribute, 0, 1)[0] * x[2]


def made_before(x):
    function = np.frompyfunc(by_attribute, 1, 1)
    held.w = x
    return function(2.0) * x[2]


@pytest.mark.parametrize("f", [in_a_later_iteration, in_a_while, on_one_path, made_before])
def test_opaque_call_where_place_may_be_active_is_refused(f):
    with pytest.raises(UnsupportedTypeError, match="cannot differentiate through the call"):
        srcad.grad(f)(X)


def called_before_the_write(x):
    held.w = np.ones(3)
    total = quad(by_attribute, 0, 1)[0] * x[2]
    held.w = x
    return total


def of_another_function(x):
    held.w = table["w"] = x
    return quad(square, 0, 1)[0] * x[2]


def of_another_function_in_a_loop(x):
    total = 0.0
    for k in range(3):
        held.w = x * k
        total += quad(square, 0, k)[0] * x[2]
    return total


def of_an_unused_result(x):
    held.w = x
    quad(by_attribute, 0, 1)
    repr(held)
    return x[2]


def stopped(x):
    held.w = x
    return srcad.stop_gradient(quad(by_attribute, 0, 1)[0]) * 0.0 + x[2]


@pytest.mark.parametrize(
    "f",
    [
        called_before_the_write,
        of_another_function,
        of_another_function_in_a_loop,
        of_an_unused_result,
        stopped,
    ],
)
def test_opaque_call_without_active_place_is_differentiated(f):
    np.testing.assert_allclose(srcad.grad(f)(X), steps(f), rtol=1e-6, atol=1e-7)
