"""Writes outside through other paths, and by calls that are left as they stand."""

from __future__ import annotations

from typing import Any

import srcad


def test_writes_into_a_list_of_a_callable_argument():
    class Layer:
        def __init__(self):
            self.seen = []

        def __call__(self, x):
            return 2.0 * x

    def loss(x, layer):
        layer.seen.append(x)
        return x * x

    layer = Layer()
    assert srcad.grad(loss)(3.0, layer) == 6.0
    assert layer.seen == [3.0]


def test_writes_an_object_of_a_class_from_a_space_without_a_name():
    space: dict[str, Any] = {}
    exec("class Net: pass", space)  # noqa: S102
    net = space["Net"]()
    net.w = 1.0
    nets = [net, net]

    def loss(x):
        setattr(nets[0], "w", 3.0)
        return net.w * x

    assert srcad.value_and_grad(loss)(2.0) == (6.0, 3.0)
    assert net.w == 3.0
