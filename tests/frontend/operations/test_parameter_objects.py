"""Parameters put into objects, options by keyword, trees that a recursion goes down."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import srcad
from tests.numeric import assert_close, difference

X = np.array([0.3, -0.2, 0.7])
P = np.linspace(-0.3, 0.5, 8)
DATA = np.arange(6.0).reshape(2, 3) * 0.1
Penalty = collections.namedtuple("Penalty", "weight power")


class Model:
    """A model whose parameters are set from one vector."""

    def __init__(self) -> None:
        self.w, self.b = np.ones((3, 2)) * 0.1, np.zeros(2)

    def set(self, p):
        self.w, self.b = p[:6].reshape(3, 2), p[6:8]

    def predicted(self):
        return np.tanh(DATA @ self.w + self.b)

    def by_a_method(self, p):
        self.set(p)
        return np.sum(self.predicted() ** 2)

    def by_setattr(self, p):
        for name, value in zip(("w", "b"), (p[:6].reshape(3, 2), p[6:8]), strict=True):
            setattr(self, name, value)
        return np.sum(self.predicted() ** 2)

    def by_a_dict(self, p):
        self.parameters = {"w": p[:6].reshape(3, 2), "b": p[6:8]}
        for name, value in self.parameters.items():
            setattr(self, name, value)
        return np.sum(self.predicted() ** 2)

    def by_update(self, p):
        self.__dict__.update(w=p[:6].reshape(3, 2))
        return np.sum(self.predicted() ** 2)

    def of_another(self, p):
        other = Model()
        other.set(p)
        return np.sum(other.predicted() ** 2)

    def layer_by_layer(self, p):
        self.layers, start = [Model(), Model()], 0
        for layer in self.layers:
            for name in ("w", "b"):
                shape = getattr(layer, name).shape
                count = int(np.prod(shape))
                setattr(layer, name, p[start : start + count].reshape(shape))
                start += count
            start = 0
        return sum(np.sum(layer.predicted() ** 2) for layer in self.layers)


METHODS = ["by_a_method", "by_setattr", "by_a_dict", "by_update", "of_another", "layer_by_layer"]


@pytest.mark.parametrize("name", METHODS)
def test_parameters_in_an_object_carry_the_derivative(name: str) -> None:
    value, gradient = srcad.value_and_grad(getattr(Model(), name))(P)

    assert value == getattr(Model(), name)(P)
    assert_close(gradient, difference(getattr(Model(), name), (P,), 0), 1e-6, 1e-7)


class Node:
    def __init__(self, *children: Node, value: float = 1.0) -> None:
        self.children, self.value = children, value


TREE = Node(Node(Node(value=2.0), Node(value=1.5)), Node(value=3.0))
OPTIONS: dict[str, Any] = {"weight": 2.0, "power": 3}


def penalty(x, weight=1.0, power=2):
    return weight * np.sum(np.abs(x) ** power)


def shifted(x, **options):
    shift = options.pop("shift", 0.0)
    return penalty(x, **options) + shift * x[0]


def options_by_name(x):
    return shifted(x, weight=x[1], power=3, shift=2.0) + penalty(x, **OPTIONS)


def options_changed(x):
    options = dict(OPTIONS, weight=x[0])
    options["power"] = 2
    return penalty(x, **options) * penalty(x, **{**OPTIONS, "weight": x[2]})


def visited(x, node):
    if not node.children:
        return x[0] * node.value, x[1] + node.value
    (a, b), (c, d) = (visited(x, child) for child in node.children)
    return a * c + b, d * x[2]


def goes_down_a_tree(x):
    a, b = visited(x, TREE)
    return a * b


def counted(x, node):
    if not node.children:
        return x[0] * node.value
    a, b = (counted(x, child) for child in node.children)
    return a * b + x[1]


def unpacks_a_generator_in_a_recursion(x):
    return counted(x, TREE)


def penalised(x, option=None):
    if option is None:
        option = Penalty(1.0, 2)
    return option.weight * np.sum(x**option.power)


def a_named_tuple_or_none(x):
    return penalised(x) + penalised(x, Penalty(2.0, 3))


def fitted(v):
    return Penalty(v, v * 2) if v > 0 else None


def one_that_is_returned_or_none(x):
    first, second, total = fitted(x[0]), fitted(x[1]), 0.0
    if first is not None:
        total = total + first.weight * first.power
    if second is not None:
        total = total + second.weight
    return total


PROGRAMS = [
    options_by_name, options_changed, goes_down_a_tree, unpacks_a_generator_in_a_recursion,
    a_named_tuple_or_none, one_that_is_returned_or_none,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_has_its_gradient(f: Any) -> None:
    value, gradient = srcad.value_and_grad(f)(X)

    assert value == f(X)
    assert_close(gradient, difference(f, (X,), 0), 1e-6, 1e-7)


def test_unpacking_short_generator_raises_same_exception() -> None:
    lame = Node(Node(value=2.0))

    def f(x):
        return counted(x, lame)

    for g in (f, srcad.grad(f)):
        with pytest.raises(ValueError, match="unpack"):
            g(X)
