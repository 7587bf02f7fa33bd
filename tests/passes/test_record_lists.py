"""What an inner loop saves for the adjoint is one tuple per trip, also through outer loops."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads


def layers(w, x, depth):
    total = 0.0
    h = x
    for t in range(depth):
        for row in w:
            a = np.tanh(h * row)
            b = np.exp(-h)
            h = a * b + a
        total = total + np.sum(h * h) * (t + 1)
    return total


def sometimes(w, x, depth):
    h = x
    for t in range(depth):
        if t % 2 == 0:
            for row in w:
                a = np.tanh(h * row)
                h = np.exp(a * h) - np.sin(a)
        h = np.sin(h)
    return np.sum(h)


def three_deep(w, x, depth):
    h = x
    for _ in range(depth):
        for row in w:
            for c in row:
                a = np.tanh(h * c)
                h = np.exp(-a * h) * np.sin(a)
            h = h * h
    return np.sum(h)


def leaving_early(w, x, depth):
    h = x
    for _ in range(depth):
        for row in w:
            a = np.tanh(h * row)
            h = np.exp(-a * h) * np.sin(a)
            if np.sum(h) > 1.4:
                break
    return np.sum(h)


W = np.random.default_rng(0).normal(size=(4, 3))
X = np.array([0.3, -0.7, 0.4])


@pytest.mark.parametrize("f", [layers, sometimes, three_deep, leaving_early])
def test_the_gradient_is_right(f):
    check_grads(lambda w, x: f(w, x, 3), (W, X), order=2)


@pytest.mark.parametrize("f", [layers, sometimes, three_deep, leaving_early])
def test_innermost_loop_appends_one_residual_tuple(f):
    source = srcad.grad(f, wrt=(0, 1)).inspect(W, X, 3).adjoint_source
    deepest = max(
        (line for line in source.splitlines() if ".append(" in line),
        key=lambda line: len(line) - len(line.lstrip()),
    )
    depth = deepest[: len(deepest) - len(deepest.lstrip())]
    appends = [line for line in source.splitlines() if line.startswith(f"{depth}saved")]

    assert ".append((" in deepest
    assert sum(line.startswith(depth) and ".append(" in line for line in appends) == 1


def test_primal_and_adjoint_agree_on_residual_tuples():
    y, back = srcad.pullback(lambda w, x: layers(w, x, 3), W, X)
    expected = srcad.gradient(lambda w, x: layers(w, x, 3), W, X)

    assert y == layers(W, X, 3)
    for got, want in zip(back(1.0), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


def overwritten_rows(w, x, depth):
    state = np.zeros((2, 3))
    h = x
    for _ in range(depth):
        for k in range(2):
            cell = state[k] * np.tanh(h) + w[k]
            h = np.sin(cell) * state[k]
            state[k] = cell
    return np.sum(h)


def test_overwritten_row_copied_only_into_residual_tuple():
    source = srcad.grad(overwritten_rows, wrt=(0, 1)).inspect(W, X, 3).adjoint_source

    check_grads(lambda w, x: overwritten_rows(w, x, 3), (W, X), order=1)
    assert "list(" not in source
