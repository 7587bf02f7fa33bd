"""Lists from outside whose items are known one by one where the function needs to know them."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from tests.language import assert_program, named

X = np.array([0.3, 0.7])
NUMBERS = [2.0, 3.0]
MIXED = [2.0, np.array([1.0, 2.0])]


def powers(x, *coefficients):
    return sum(np.sum(a * x**k) for k, a in enumerate(coefficients))


def spread_global(x):
    return powers(x, *NUMBERS)


def spread_mixed_global(x):
    return powers(x, *MIXED)


def spread_argument(x, c):
    return powers(x, *c)


def spread_computed(p):
    return powers(*[np.sin(q) for q in p])


def first_and_rest(p):
    first, *rest = p
    return np.sum(first) * sum(np.sum(r) for r in rest)


def columns(rows):
    a, b = zip(*rows)
    return np.sum(np.array(a) * np.array(b) ** 2)


def loop_over_columns(rows):
    total = 0.0
    for column in zip(*rows):
        total = total + np.prod(column)
    return total


def replaced_argument(x, y, z):
    args = (x, y, z)
    args = list(args)
    args[1] = args[1] * 2
    return powers(*args)


def replaced_item(p):
    p[0] = p[0] * 2
    return powers(*p)


def heads(p):
    left, right = zip(*[np.split(q, 2) for q in p])
    return sum(np.sum(a * b) for a, b in zip(left, right))


def heads_at(x):
    parts = [np.split(q, [1, 2]) for q in np.hsplit(x, 2)]
    return sum(np.sum(a * b**2) for a, b in zip(*parts) if len(a))


def flatten(tree):
    if isinstance(tree, (list, tuple)):
        flat = []
        for item in tree:
            flat.extend(flatten(item))
        return flat
    return [tree]


def flattened(tree):
    return sum(np.sum(t**2) for t in flatten(tree))


def joined(tree):
    return np.sum(np.concatenate([np.ravel(t) for t in flatten(tree)]) ** 3)


def tree_sum(tree):
    if isinstance(tree, (list, tuple)):
        return sum(tree_sum(item) for item in tree)
    return np.sum(np.sin(tree))


def einsum_of_list(p):
    return np.sum(np.einsum("i,i->i", *p))


PROGRAMS = [
    (spread_global, X),
    (spread_mixed_global, X),
    (spread_argument, X, [1.0, 2.0, 3.0]),
    (spread_argument, X, [X, 2.0]),
    (spread_computed, [X, 2.0, 3.0]),
    (spread_computed, [X, X, X]),
    (first_and_rest, [X, X * 2, X * 3]),
    (columns, [(1.0, 2.0), (3.0, 4.0), (0.5, 0.1)]),
    (columns, [[1.0, 2.0], [3.0, 4.0], [0.5, 0.1]]),
    (loop_over_columns, [(1.0, 2.0), (3.0, 4.0), (0.5, 0.1)]),
    (loop_over_columns, [[1.0, 2.0], [3.0, 4.0]]),
    (replaced_argument, X, 1.0, 2.0),
    (replaced_item, [X, 2.0, 3.0]),
    (replaced_item, [X, X, X]),
    (heads, [np.arange(4.0), np.arange(4.0) + 0.5]),
    (heads_at, np.arange(6.0)),
    (flattened, [X, [X * 2, [X * 3, X * 4]], 2.0]),
    (flattened, [(X, 1.5), (X, 2.5)]),
    (flattened, [[X, X], [X, X]]),
    (joined, [(np.ones((2, 2)), X), (np.ones((2, 1)), X)]),
    (tree_sum, [X, (X, 2.0), [X]]),
    (einsum_of_list, [X, X * 2]),
]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_list_items_static_when_required(program):
    assert_program(*program)


def test_changed_list_argument_length_detected():
    gradient = srcad.grad(spread_argument)

    assert gradient(X, [1.0, 2.0]) == pytest.approx([2.0, 2.0])
    assert gradient(X, [1.0, 2.0, 3.0]) == pytest.approx(2.0 + 6.0 * X)


def test_grown_global_list_detected():
    def f(x):
        return powers(x, *numbers)

    numbers = [1.0, 2.0]
    gradient = srcad.grad(f)

    assert gradient(X) == pytest.approx([2.0, 2.0])
    numbers.append(3.0)
    assert gradient(X) == pytest.approx(2.0 + 6.0 * X)
    numbers[1] = 5.0
    assert gradient(X) == pytest.approx(5.0 + 6.0 * X)


class Scaled:
    def __init__(self, w):
        self.w = w

    def forward(self, x):
        return np.tanh(x * self.w)

    def __call__(self, x):
        return self.forward(x)


class Squared:
    def forward(self, x):
        return x**2

    def __call__(self, x):
        return x**2


class Network:
    def __init__(self, *layers):
        self.layers = list(layers)

    def loss(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return np.sum(x)

    def called(self, x):
        for layer in self.layers:
            x = layer(x)
        return np.sum(x)

    def indexed(self, x):
        return np.sum(self.layers[0].forward(self.layers[-1](x)))

    def in_pairs(self, x):
        pairs = {"first": (1.0, self.layers[0]), "last": (2.0, self.layers[-1])}
        return sum(w * np.sum(layer.forward(x)) for w, layer in pairs.values())


NETWORKS = [Network(Scaled(2.0), Squared()), Network(Scaled(2.0), Scaled(X)), Network(Squared())]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", ["loss", "called", "indexed", "in_pairs"])
def test_objects_in_captured_list_interpreted(network, name):
    assert_program(getattr(network, name), X)


def test_objects_in_captured_list_changes_detected():
    network = Network(Scaled(2.0), Squared())
    gradient = srcad.grad(network.loss)
    gradient(X)

    network.layers.append(Scaled(3.0))
    assert gradient(X) == pytest.approx(srcad.grad(lambda x: network.loss(x))(X))
    network.layers[0] = Squared()
    assert gradient(X) == pytest.approx((1 - np.tanh(3.0 * X**4) ** 2) * 12.0 * X**3)
    network.layers[2].w = 4.0
    assert gradient(X) == pytest.approx((1 - np.tanh(4.0 * X**4) ** 2) * 16.0 * X**3)


def test_objects_in_list_argument_interpreted():
    def f(x, layers):
        return sum(w * np.sum(layer.forward(x)) for w, layer in layers)

    layers = [(1.0, Scaled(2.0)), (2.0, Squared())]

    assert srcad.grad(f)(X, layers) == pytest.approx(2.0 / np.cosh(2 * X) ** 2 + 4.0 * X)
