"""Lengths that follow exactly from the operands': slices by known bounds, reshaping, joining."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad.arguments.signature import describe
from srcad.frontend.lower import Signature
from srcad.ir.inference.builder import atom_type
from srcad.pipeline import interpreted
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, ShapeEnvironment, resolved

G = np.arange(12.0)
A = np.arange(20.0).reshape(4, 5)


def lengths(f: Callable[..., Any], *args: Any) -> tuple[tuple[int | None, ...], ShapeEnvironment]:
    """The shape of a result as its extents give it for these arguments; None if unknown."""
    environment = ShapeEnvironment()
    bound = inspect.signature(f).bind(*args)
    types = {n: describe(v, (("param", n),), environment) for n, v in bound.arguments.items()}
    lowered = interpreted(f, (), Signature(types, environment, arguments=bound.arguments))
    found = atom_type(lowered.function.block.results[0])
    assert isinstance(found, Numeric)
    assert found.shape is not None
    return tuple(map(example, found.shape)), environment


def example(extent: Extent) -> int | None:
    extent = resolved(extent)
    if any(symbol.example is None for symbol, _ in extent.terms):
        return None
    return extent.constant + sum(k * int(symbol.example) for symbol, k in extent.terms)


BOUNDS = [
    (None, None), (None, 3), (2, None), (2, 5), (5, 2), (-3, None), (None, -3), (1, -1), (-5, -2),
    (-2, -5), (None, 20), (20, None), (-20, None), (None, -20), (-20, 20), (0, 0), (12, 12),
]  # fmt: skip


def between(x, start, stop):
    return x[start:stop]


@pytest.mark.parametrize(("start", "stop"), BOUNDS)
def test_static_slice_length_matches_numpy(start, stop):
    found, _ = lengths(between, G, start, stop)

    assert found == G[start:stop].shape


def literal_bounds(x):
    return np.concatenate((x[2:-1], x[::-1], x[1:11:3], x[-3:], x[:30]))


def gates(g, w):
    n = w.shape[0]
    return g[n : 2 * n] * w


def test_slice_by_symbolic_length():
    found, environment = lengths(gates, G, np.arange(3.0))

    assert found == (3,)
    assert all(a.relation in (">=", "!=") for a in environment.assumptions)


def joined(a, b):
    return np.concatenate((a, b, a[1:]))


def stacked_rows(a):
    return np.concatenate((a, a), axis=1)


def of_the_shape(w, a):
    return w[: a.size].reshape(a.shape)


def columns(a):
    return a.reshape(-1, a.shape[1])


def rest(a):
    d = a.shape[1] - 2
    return np.sum(a[:, d:] * a[:, d:], axis=0)


def in_turn(a, k):
    return a[..., None, k:][1]


@pytest.mark.parametrize(
    ("f", "args"),
    [(literal_bounds, (G,)), (joined, (G, A[0])), (stacked_rows, (A,)), (columns, (A,)),
     (of_the_shape, (np.arange(30.0), A)), (rest, (A,)), (in_turn, (A, 2)), (np.ravel, (G,))],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_shapes_inferred_from_operands(f, args):
    found, _ = lengths((lambda a: np.ravel(a)) if f is np.ravel else f, *args)

    assert found == f(*args).shape


def masked_total(x, k):
    head = x[:k]
    return np.sum(head * head) + np.sum(x[k:] * 3.0)


@pytest.mark.parametrize("k", [2, 4, 5, 9, 0, -1, -4, -9])
def test_changed_slice_bound_recompiles(k):
    x = np.arange(1.0, 6.0)
    gradient = srcad.grad(masked_total)
    gradient(x, 3)

    head, tail = np.zeros(5), np.zeros(5)
    head[:k] = 2 * x[:k]
    tail[k:] = 3.0
    np.testing.assert_array_equal(gradient(x, k), head + tail)


def carried(x, rows):
    h = rows[0]
    for row in rows:
        h = np.tanh(h * x + row)
    return np.sum(h)


def test_loop_carried_array_keeps_static_length():
    gradient = srcad.grad(carried)
    gradient(np.ones(5), A)

    assert "unbroadcast" not in gradient.source


def test_loop_carried_array_of_other_length_recompiles():
    gradient = srcad.grad(carried)
    gradient(np.ones(5), A)
    x, rows = np.array([0.3]), A / 10
    step = 1e-6
    difference = (carried(x + step, rows) - carried(x - step, rows)) / (2 * step)

    np.testing.assert_allclose(gradient(x, rows), [difference], rtol=1e-7)


def prefix_products(a, b):
    total = 0.0
    for k in range(a.size):
        total = total + np.dot(a[:k], b[:k])
    return total


def test_a_product_of_vectors_of_any_length_is_a_number():
    gradient = srcad.grad(prefix_products)
    found = gradient(np.ones(3), np.arange(3.0))

    np.testing.assert_array_equal(found, [0.0, 1.0, 0.0])
    assert "unbroadcast" not in gradient.source


def last_of_a_list(x):
    items = []
    for _ in range(2):
        items.append(x * 2.0)
        if x[0] < 0.0:
            x * np.eye(3)
    return np.mean(items[-1] ** 2)


def test_list_item_length_resolved_to_constant():
    """The length of x is 3 once it meets that of a matrix; the items' became 0, the mean's inf."""
    x = np.array([0.6, 0.5, 0.7])

    np.testing.assert_allclose(srcad.grad(last_of_a_list)(x), 8.0 * x / 3.0)
