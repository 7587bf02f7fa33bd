"""NumPy's functions that call a function of the user's for parts of an array."""

import functools
import math

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError, UnsupportedSyntaxError
from srcad.testing import check_grads

X = np.array([0.11, 0.52, 0.93, 1.3, 1.7])
M = np.linspace(0.2, 1.9, 12).reshape(3, 4)
T = np.linspace(0.2, 1.9, 12).reshape(2, 3, 2)
SCALED = np.vectorize(lambda p, v: v * p[0] + p[1] * v * v, excluded={0})


@np.vectorize
def gap(a, b):
    """The difference or the product of two numbers."""
    if a > b:
        return a - b
    return a * b


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def one(self, v):
        return v * self.factor

    def all_of(self, x):
        return np.sum(np.vectorize(self.one)(x) ** 2)


def shares_of_rows(m):
    return np.sum(np.apply_along_axis(lambda row: row / np.sum(row), 1, m)[:, 1:] ** 2)


def sums_of_columns(m):
    return np.sum(np.apply_along_axis(np.sum, 0, m) ** 2)


def products_along_the_last(m):
    return np.sum(np.apply_along_axis(lambda r, k: np.outer(r, r) * k, -1, m, 2.0) ** 2)


def keywords_along_the_middle(t):
    made = np.apply_along_axis(lambda r, *, power: r[:2] ** power, 1, t, power=3)
    return np.sum(made * np.arange(8.0).reshape(2, 2, 2))


def of_one_axis(x):
    return np.sum(np.apply_along_axis(np.cumsum, 0, x) ** 2)


def closure_over_the_argument(x):
    return np.sum(np.apply_along_axis(lambda r: r * x[1], 0, np.ones((2, 3))))


def over_axes(t):
    return np.sum(np.apply_over_axes(np.sum, t, [0, -1]) ** 2)


def over_one_axis(t):
    return np.sum(np.apply_over_axes(np.mean, t, 1) ** 2)


def of_indices(m):
    return np.sum(np.fromfunction(lambda i, j: i * m[0, 0] + j * m, (3, 4)) ** 2)


def two_pieces_and_a_rest(x):
    pieces = [lambda u: u * u, lambda u: 2 * u * x[0], 3.0]
    return np.sum(np.piecewise(x, [x < 0.5, x >= 0.95], pieces))


def one_condition(x):
    return np.sum(np.piecewise(x, x < 0.5, [lambda u: u * u, lambda u: 2 * u]))


def pieces_of_constants(x):
    grid = np.linspace(0.0, 1.0, 5)
    return np.sum(np.piecewise(grid, [grid < 0.5], [lambda t: t * x[0], lambda t: t + x[1] ** 2]))


def pieces_with_arguments(x):
    pieces = [lambda u, k, c=1.0: u * k * c, lambda u, k, c=1.0: u**k]
    return np.sum(np.piecewise(x, [x < 0.5, x >= 0.5], pieces, 3, c=2.0))


def piece_of_a_number(x):
    return np.piecewise(x[0], [x[0] < 0.5, x[0] >= 0.5], [np.sin, np.cos]) * 2.0


def entries_with_a_branch(x):
    return np.sum(np.vectorize(lambda v: v * v if v > 0.5 else v**3)(x))


def entries_of_a_given_type(x):
    return np.sum(np.vectorize(lambda v: 0 if v < 0.5 else v * v, otypes=[float])(x))


def two_results(x):
    a, b = np.vectorize(lambda v: (v * v, v + 1))(x)
    return np.sum(a * b)


def two_results_of_given_types(x):
    a, b = np.vectorize(lambda v: (v * v, 2 * v), otypes="dd")(x)
    return np.sum(a * b)


def excluded_and_keyword(x):
    return np.sum(np.vectorize(lambda v, w, k=1: v * w * k, excluded={1})(x, 3.0, k=x))


def excluded_outside(x):
    return np.sum(SCALED([x[0], x[1]], x[2:]))


def decorated(x):
    return np.sum(gap(x[:, None], x + 0.05))


def one_number(x):
    return np.vectorize(lambda v: v * v)(x[0]) * 2.0


def entries_of_constants(x):
    return np.sum(np.vectorize(lambda t: t * t * x[0])(np.arange(4.0)))


def of_a_builtin(x):
    return np.sum(np.vectorize(math.sin)(x))


def of_a_method(x):
    return Scale(x[1]).all_of(x)


def no_entries(x):
    return np.sum(np.vectorize(lambda v: v * v, otypes=[float])(x[:0])) + x[0]


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (shares_of_rows, M), (sums_of_columns, M), (products_along_the_last, M),
        (keywords_along_the_middle, T), (of_one_axis, X), (closure_over_the_argument, X),
        (over_axes, T), (over_one_axis, T), (of_indices, M), (two_pieces_and_a_rest, X),
        (one_condition, X), (pieces_of_constants, X),
        (pieces_with_arguments, X), (piece_of_a_number, X),
        (entries_with_a_branch, X), (entries_of_a_given_type, X), (two_results, X),
        (two_results_of_given_types, X), (excluded_and_keyword, X), (excluded_outside, X),
        (decorated, X), (one_number, X), (entries_of_constants, X), (of_a_builtin, X),
        (of_a_method, X), (no_entries, X),
    ],
)  # fmt: skip
def test_function_called_for_parts_of_an_array(f, x):
    value, _ = srcad.value_and_grad(f)(x)

    assert value == f(x)
    check_grads(f, (x,), modes=["fwd", "rev"])


def test_piecewise_of_integers_with_active_pieces_rejected():
    def f(x):
        return np.sum(np.piecewise(np.array([1, 2]), [np.array([True, False])], [lambda v: v * x]))

    assert f(1.7) == 1.0  # NumPy cuts off the fraction
    with pytest.raises(MutationError, match="float into an array of int64"):
        srcad.grad(f)(1.7)


def test_vectorized_results_of_two_types_rejected():
    def f(x):
        return np.sum(np.vectorize(lambda v: 0 if v < 0.5 else v * v)(x))

    with pytest.raises(TypeError, match="give otypes"):
        srcad.grad(f)(X)


def test_vectorized_empty_array_raises_as_numpy_does():
    def f(x):
        return np.sum(np.vectorize(lambda v: v * v)(x))

    with pytest.raises(ValueError, match="size 0") as plain:
        f(X[:0])
    with pytest.raises(ValueError, match="size 0") as raised:
        srcad.grad(f)(X[:0])
    assert str(raised.value) == str(plain.value)


def test_vectorized_signature_rejected():
    def f(x):
        return np.sum(np.vectorize(lambda r: r @ r, signature="(n)->()")(x))

    with pytest.raises(UnsupportedSyntaxError, match="'signature'"):
        srcad.grad(f)(M)


def test_vectorized_constants_run_as_they_stand():
    def f(x):
        return np.sum(np.vectorize(lambda t: float(str(t)))(np.arange(4.0)) * x)

    np.testing.assert_array_equal(srcad.grad(f)(np.ones(4)), np.arange(4.0))


class Line:
    def __init__(self, w):
        self.w = w

    def __call__(self, t):
        return self.w[0] * t + self.w[1]

    def steep(self, t):
        return self.w[0] * t * t


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Line, [6.0, 4.0]),
        (lambda x: Line(x).steep, [14.0, 0.0]),
        (lambda x: functools.partial(lambda a, t: a * t, x[1]), [0.0, 6.0]),
        (lambda x: Line(x) if x[0] > 0 else Line(2 * x), [6.0, 4.0]),
    ],
)
def test_vectorized_object_of_active_attributes(made, expected):
    def f(x):
        return np.sum(np.vectorize(made(x))(np.arange(4.0)))

    np.testing.assert_array_equal(srcad.grad(f)(np.array([1.5, 2.0])), expected)
