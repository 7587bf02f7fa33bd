"""Lengths of slices at loop indices: what the bounds of a range prove, and what they leave open."""

import numpy as np
import pytest

import srcad
from srcad import testing
from srcad.types.sizes import (
    IndexSymbol,
    ShapeEnvironment,
    Symbol,
    at_least,
    constant_extent,
    symbol_extent,
)


def convolved(x, k, n):
    y = np.zeros(n)
    for j in range(k.shape[0]):
        y += k[j] * x[j : j + n]
    return np.sum(y * y)


def prefixes(x, k, n):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[: i + 1] += x[i] * np.sin(x[: i + 1])
    return np.sum(y * y)


def suffixes_downward(x, k, n):
    y = np.cos(x)
    for i in range(len(x) - 1, -1, -1):
        y[i:] = y[i:] * x[i]
    return np.sum(y)


def triangle(x, k, n):
    y = 1.0 * x
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            y[i:j] = y[i:j] * 0.5 + x[i:j]
    return np.sum(y * y)


def before_the_start(x, k, n):
    """At 0, ``i - 1`` counts from the end."""
    s = 0.0
    for i in range(n):
        s = s + np.sum(x[i - 1 : i + 1] ** 2) * len(x[i - 1 :])
    return s


def beyond_the_end(x, k, n):
    y = np.zeros_like(x)
    for i in range(n):
        y[i : i + 3] += np.sin(x[i : i + 3])
    return np.sum(y * y)


def from_the_end(x, k, n):
    s = 0.0
    for i in range(1, n):
        s = s + np.sum(x[-i:] * np.sin(x[-i:]))
    return s


def every_second(x, k, n):
    y = 1.0 * x
    for i in range(0, len(x), 2):
        y[i : i + 2] *= k[0]
    return np.sum(y * y)


def kept_for_the_next(x, k, n):
    """The slice of the iteration before has another length."""
    s, last = 0.0, x[:0]
    for i in range(len(x)):
        s = s + np.sum(last) * len(last) + np.sum(x[:i] ** 2)
        last = x[:i]
    return s + np.sum(last)


def negative_counts(x, k, n):
    """``np.arange`` of a negative number is empty."""
    s = 0.0
    for i in range(-2, n):
        s = s + len(np.arange(i)) * np.sum(x) + np.sum(x[: len(np.arange(i))])
    return s


PROGRAMS = [
    convolved, prefixes, suffixes_downward, triangle, before_the_start, beyond_the_end,
    from_the_end, every_second, kept_for_the_next, negative_counts,
]  # fmt: skip
SIZES = [(7, 3, 5), (5, 3, 3), (1, 1, 1), (4, 1, 4), (2, 2, 1), (6, 2, 0), (7, 3, 5)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradient_of_slices_at_indices_right_for_all_sizes(program):
    derivative = srcad.grad(program, wrt=(0, 1))
    for length, count, n in SIZES:
        x, k = np.linspace(0.2, 1.1, length), np.linspace(-0.4, 0.7, count)
        (x_bar, k_bar), step = derivative(x, k, n), 1e-6
        for bar, array in ((x_bar, x), (k_bar, k)):
            for place in range(len(array)):
                ends = []
                for sign in (1, -1):
                    old = array[place]
                    array[place] = old + sign * step
                    ends.append(program(x, k, n))
                    array[place] = old
                want = (ends[0] - ends[1]) / (2 * step)
                assert bar[place] == pytest.approx(want, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("program", PROGRAMS)
def test_second_derivative_of_slices_at_indices(program):
    x, k = np.linspace(0.2, 1.1, 6), np.linspace(-0.4, 0.7, 2)

    testing.check_grads(lambda x, k: program(x, k, 5), (x, k), order=2, modes=("fwd", "rev"))


@pytest.mark.parametrize("program", [convolved, prefixes, suffixes_downward, triangle])
def test_slice_of_known_length_needs_no_helper(program):
    x, k = np.linspace(0.2, 1.1, 6), np.linspace(-0.4, 0.7, 2)

    text = srcad.grad(program, wrt=(0, 1)).inspect(x, k, 5).adjoint_source

    assert "unbroadcast" not in text


def test_convolution_by_slices_saves_nothing():
    x, k = np.linspace(0.2, 1.1, 6), np.linspace(-0.4, 0.7, 2)

    derivative = srcad.grad(convolved, wrt=(0, 1))
    derivative(x, k, 5)

    assert "append" not in derivative.source


def unknown_lengths(x, starts, c):
    s = 0.0
    for a in starts:
        x = x * 1.1
        s = s + np.sum(np.sin(x[a : a + 2]) * c)
    return s


def test_shape_saved_in_place_of_array():
    x, starts, c = np.linspace(0.2, 1.1, 6), np.array([1, 3, 4]), np.array([0.5, -2.0])
    derivative = srcad.grad(unknown_lengths, wrt=(0, 2))
    derivative(x, starts, c)

    assert "shape = (sin * c).shape" in derivative.source

    def loss(x, c):
        return unknown_lengths(x, starts, c)

    testing.check_grads(loss, (x, c), order=2, modes=("fwd", "rev"))
    testing.check_grads(lambda x: np.array([loss(x, c), x[0]]), (x,), order=1)


def test_bounds_of_index_decide_in_every_iteration():
    environment = ShapeEnvironment()
    n = symbol_extent(Symbol("n", 4, (("param", "n"),), environment))
    one = constant_extent(1)
    i = symbol_extent(IndexSymbol("i", constant_extent(0), n - one))
    j = symbol_extent(IndexSymbol("j", i + one, n))

    assert at_least(i, 0)
    assert at_least(n - i, 1)
    assert at_least(j - i, 1)
    assert at_least(i, 1) is None
    assert at_least(n - j, 1) is None
    assert environment.assumptions == []
    assert at_least(n - i, -3)
    assert at_least(symbol_extent(IndexSymbol("k", None, n)), 0) is None


def masked(h, x):
    m = x > 0.3
    h = h.copy()
    h[m] += 0.5 * np.sin(x[m])
    h[~m] *= 2.0
    return np.sum(h * h)


def masked_columns(h, x):
    m = x > 0.3
    rows = np.stack([h, h * h])
    return np.sum(rows[:, m] * x[m]) + np.sum(rows[1:][:, m] ** 2)


def stepped(h, x):
    h = h.copy()
    h[::2] += np.sin(h[::2])
    h[-1:0:-2] *= x[0] + np.cos(h[-1:0:-2])
    return np.sum(h * h)


@pytest.mark.parametrize("program", [masked, masked_columns, stepped])
def test_equal_masks_and_slices_have_equal_lengths(program):
    h, x = np.linspace(0.5, 2.0, 5), np.linspace(0.0, 1.0, 5)

    text = srcad.grad(program, wrt=(0, 1)).inspect(h, x).adjoint_source

    assert "unbroadcast" not in text
    testing.check_grads(program, (h, x), order=2, modes=("fwd", "rev"))
