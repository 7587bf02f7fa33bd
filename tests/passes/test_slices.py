"""Slices that fill an array of zeros are joined."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.linspace(-1.0, 1.0, 12)
A = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def gates(x, n):
    y = np.tanh(x)
    return np.sum(np.sin(y[:n]) * y[n : 2 * n]) + np.sum(y[2 * n :] ** 3)


def columns(a, n):
    b = a * a
    return np.sum(np.exp(b[:, :n])) - np.sum(np.sin(b[:, n:]))


@pytest.mark.parametrize(("f", "args"), [(gates, (X, 4)), (columns, (A, 1))])
def test_slices_that_cover_an_array_are_joined(f, args):
    check_grads(f, args, wrt=0)
    source = srcad.grad(f).inspect(*args).adjoint_source

    assert "np.concatenate" in source
    assert "zeros" not in source


def with_a_gap(x, n):
    y = np.tanh(x)
    return np.sum(np.sin(y[:n])) + np.sum(y[n + 1 :] ** 3)


def overlapping(x, n):
    y = np.tanh(x)
    return np.sum(np.sin(y[:n])) + np.sum(y[n - 1 :] ** 3)


def broadcast(x, n):
    y = np.tanh(x)
    return np.sum(y[:n]) + np.sum(y[n:] ** 3)


@pytest.mark.parametrize("f", [with_a_gap, overlapping])
def test_non_covering_slices_added_separately(f):
    check_grads(f, (X, 4), wrt=0)

    assert "np.zeros_like" in srcad.grad(f).inspect(X, 4).adjoint_source


@pytest.mark.parametrize("n", [0, 4, 6, 12, 20, -3])
def test_slices_with_dynamic_bounds_joined_or_added(n):
    gradient = srcad.grad(broadcast)
    gradient(X, 5)

    y_bar = np.zeros(12)
    y_bar[:n] += 1.0
    y_bar[n:] += 3 * np.tanh(X[n:]) ** 2
    np.testing.assert_allclose(gradient(X, n), y_bar * (1 - np.tanh(X) ** 2), rtol=1e-13)


def test_single_precision_stays_single():
    assert srcad.grad(gates)(X.astype(np.float32), 4).dtype == np.float32
