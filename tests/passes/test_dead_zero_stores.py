"""Zeros that nobody reads are not written."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.array([0.4, -0.3, 0.9, 1.2])


def filled(x):
    y = np.empty_like(x)
    for k in range(x.size):
        y[k] = np.sin(x[k]) * x[0]
    return np.sum(y * y)


def columns(x):
    y = np.zeros((3, x.size))
    for k in range(x.size):
        y[:, k] = np.arange(3.0) * x[k] ** 2
    return np.sum(np.exp(y))


@pytest.mark.parametrize("f", [filled, columns])
def test_elementwise_filled_array_needs_no_zero_stores(f):
    check_grads(f, (X,))

    assert "= 0.0" not in srcad.grad(f).inspect(X).adjoint_source


def recurrence(x):
    y = np.zeros_like(x)
    for k in range(1, x.size):
        y[k] = np.sin(y[k - 1]) + x[k]
    return np.sum(y * y)


def overwritten(x):
    y = x * 1.0
    for k in range(x.size):
        y[k] = np.sin(y[k])
    return np.sum(y * y)


def same_place(x):
    y = np.zeros(2)
    for v in x:
        y[0] = v * v
    return np.sum(y)


def wrapped(x):
    y = np.zeros(2)
    for k in range(-1, 2):
        y[k] = x[k] * x[k]
    return np.sum(y)


def repeated_reads(x):
    y = np.zeros_like(x)
    total = 0.0
    for k in range(x.size):
        y[k] = x[k] * x[k]
        total = total + y[k] * y[0]
    return total


@pytest.mark.parametrize(
    "f", [recurrence, overwritten, same_place, wrapped, repeated_reads]
)  # fmt: skip
def test_required_zero_stores_kept(f):
    check_grads(f, (X,))
