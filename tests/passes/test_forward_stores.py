"""Entries are read and written once where once is enough, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads
from tests.language import assert_program

X = np.array([0.4, -0.3, 0.9, 1.2])
A = np.array([[2.1, 0.3, -0.2], [0.4, 1.9, 0.1], [-0.3, 0.2, 2.3]])


def factors(a):
    a = a.copy()
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
    return np.sum(a * a)


def last_is_before_first(x):
    y = x * 1.0
    for k in range(len(x)):
        y[k] *= 2.0
        y[k] += y[k - 1]
        y[k - 1] *= y[k]
    return np.sum(y * x)


def two_rows(x):
    y = np.zeros((2, 4))
    for k in range(3):
        y[0, k] = x[k] * x[k + 1]
        y[1, k] += y[0, k] * 2.0
        y[1, k] *= y[0, k + 1] + y[1, k]
    return np.sum(y * y)


def of_single_precision(x):
    """What is stored as float32 is read as float32."""
    y = np.zeros(4, np.float32)
    total = 0.0
    for k in range(4):
        y[k] = x[k] * 1.1
        total = total + y[k] * (y[k] - x[k] * 1.1)
    return total


def a_row_that_stays(x):
    y = np.outer(x, x)
    total = 0.0
    for k in range(1, 4):
        y[k, 0] = x[k] * 3.0
        row = y[0]
        y[k, 0] += y[k, 0] * x[0]
        total = total + np.sum(row * row[k])
        y[0, k] = y[k, 0] * 2.0
    return total + np.sum(y)


def added_to_twice(x):
    y = x * 1.0
    y[0] += x[1]
    y[0] += x[2]
    total = y[0] * x[3]
    y[1] += x[0]
    y[2] = y[1]
    y[2] += x[3]
    return total + np.sum(y * y)


def only_on_one_path(x):
    y = x * 1.0
    for k in range(1, 4):
        y[k] += y[k - 1]
        if y[k] > 0.5:
            y[k] = y[k] * y[k - 1]
        y[k] *= 0.9
    return np.sum(y * y)


def stored_twice_where_it_fails(x):
    y = x * 1.0
    for k in range(1, 6):
        try:
            y[0] = y[k - 1] * x[0]
            y[0] = y[k] * 3.0
        except IndexError:
            y[1] = y[0] * 2.0
    return np.sum(y * x)


@pytest.mark.parametrize(
    "function",
    [last_is_before_first, two_rows, a_row_that_stays, added_to_twice, only_on_one_path,
     stored_twice_where_it_fails],
)  # fmt: skip
def test_store_forwarding_gradient(function) -> None:
    assert_program(function, X)


def test_store_forwarding_factorisation_gradient() -> None:
    assert_program(factors, A)
    check_grads(factors, (A,), order=2)


def test_rounded_store_not_forwarded() -> None:
    value, _ = srcad.value_and_grad(of_single_precision)(X)

    assert value == of_single_precision(X) != 0.0


def test_entry_stored_and_saved_once() -> None:
    text = srcad.grad(factors).inspect(A).adjoint_source

    forward, backward = text.split("for i, ", 1)
    assert forward.count("a[i, j] =") + forward.count("a_1[i, j] =") == 1
    assert "-= np.dot" not in forward
    assert backward.count("a_1[i, j] =") == 1


def test_duplicate_residual_list_saved_once() -> None:
    def scaled(x):
        r = np.zeros(4)
        q = x * 1.0
        for k in range(4):
            r[k] = np.sqrt(q @ q)
            q = q / r[k]
            q = q * x
        return np.sum(q) + np.sum(r)

    assert_program(scaled, X)
    text = srcad.grad(scaled).inspect(X).adjoint_source

    (saved,) = [line for line in text.splitlines() if ".append((" in line]
    names = saved.split(".append((")[1].rstrip(")").split(", ")
    assert len(names) == len(set(names))
