"""Containers that are registered with `optree` are differentiated by their children."""

from __future__ import annotations

import collections
import gc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose

import srcad
from srcad import grad, gradient, hvp, jvp, pullback, value_and_grad
from srcad.errors import ExportError, SeedError, UnsupportedTypeError

optree = pytest.importorskip("optree")
X = np.array([0.1, 0.2])


class Linear:
    def __init__(self, W, b, name, scale):
        self.W, self.b, self.name, self.scale = W, b, name, scale

    def __call__(self, x):
        return self.scale * np.tanh(self.W @ x + self.b)


class Box:
    def __init__(self, value, tag):
        self.value, self.tag = value, tag


optree.register_pytree_node(
    Linear,
    lambda layer: ((layer.W, layer.b), (layer.name, layer.scale)),
    lambda known, children: Linear(*children, *known),
    namespace="srcad-tests",
)
optree.register_pytree_node(
    Box,
    lambda box: ((box.value,), box.tag),
    lambda tag, children: Box(children[0], tag),
    namespace="srcad-tests",
)


def layer(scale=2.0):
    return Linear(np.array([[1.0, 0.5], [0.0, 2.0]]), np.zeros(2), "layer", scale)


def loss(net, x):
    return np.sum(net(x) ** 2)


def by_children(W, b, scale, x):
    return np.sum((scale * np.tanh(W @ x + b)) ** 2)


def mapped(fn, *trees):
    return optree.tree_map(fn, *trees, namespace="srcad-tests")


@pytest.mark.parametrize("scale", [2.0, 3.0])
def test_a_gradient_is_a_node_with_the_same_metadata(scale):
    net = layer(scale)

    found = grad(loss)(net, X)
    W_bar, b_bar, _, x_bar = gradient(by_children, net.W, net.b, scale, X)

    assert type(found) is Linear
    assert (found.name, found.scale) == ("layer", scale)
    assert_allclose(found.W, W_bar)
    assert_allclose(found.b, b_bar)
    assert_allclose(gradient(loss, net, X)[1], x_bar)
    assert_allclose(mapped(lambda p, g: p - 0.1 * g, net, found).b, -0.1 * b_bar)


def test_nodes_nested_in_other_containers():
    def deep(params, x):
        for one in params["layers"]:
            x = one(x)
        return np.sum(x) * params["out"].value

    params = {"layers": [layer(1.0), layer(0.5)], "out": Box(2.0, "t")}

    found = grad(deep)(params, X)

    step = mapped(lambda g: 1e-6 * g, found)
    ends = [deep(mapped(lambda p, d: p + s * d, params, step), X) for s in (1, -1)]  # noqa: B023
    size = sum(np.sum(leaf**2) for leaf in optree.tree_leaves(found, namespace="srcad-tests"))
    assert_allclose((ends[0] - ends[1]) / 2e-6, size, rtol=1e-6)
    assert [one.scale for one in found["layers"]] == [1.0, 0.5]
    assert found["out"].tag == "t"


def test_other_modes_take_nodes():
    net, ones = layer(), mapped(np.ones_like, layer())
    g = grad(loss)(net, X)

    assert_allclose(value_and_grad(loss)(net, X)[1].W, g.W)
    assert_allclose(pullback(loss, net, X)[1](2.0)[0].W, 2 * g.W)
    assert_allclose(jvp(loss, (net, X), (ones, None))[1], np.sum(g.W) + np.sum(g.b))
    h = hvp(loss)(net, X, v=ones)
    ends = [grad(loss)(mapped(lambda p: p + s, net), X).b for s in (1e-6, -1e-6)]  # noqa: B023
    assert_allclose(h.b, (ends[0] - ends[1]) / 2e-6, rtol=1e-6)
    assert grad(lambda *a: a[0].value * a[1].value, wrt=1)(Box(2.0, 0), Box(3.0, 1)).value == 2.0
    found, aux = grad(lambda m: (m.value**2, m.tag), has_aux=True)(Box(2.0, "a"))
    assert (found.value, found.tag, aux) == (4.0, "a", "a")


def test_standard_library_containers_are_nodes():
    ordered = collections.OrderedDict(a=2.0, b=np.ones(2))

    found = grad(lambda p: p["a"] * np.sum(p["b"]))(ordered)

    assert type(found) is collections.OrderedDict
    assert found["a"] == 2.0
    assert grad(lambda q: q[0] * q[1])(collections.deque([2.0, 3.0])) == collections.deque([3, 2])


def test_closures_share_compilation_without_references():
    def make(a):
        return lambda box: a * box.value**2

    gradients = [grad(make(a)) for a in (1.0, 2.0)]
    assert [g(Box(3.0, "t")).value for g in gradients] == [6.0, 12.0]
    assert [g(Box(3.0, "u")).value for g in gradients] == [6.0, 12.0]

    f = make(3.0)
    seen = weakref.ref(f)
    grad(f)(Box(1.0, "t"))
    del f
    gc.collect()
    assert seen() is None


def test_a_direction_of_another_structure_is_refused():
    with pytest.raises(SeedError, match="a tangent is a tuple where a Linear is"):
        jvp(loss, (layer(), X), ((1.0, 2.0), None))


def test_a_class_of_several_namespaces_is_refused():
    class Twice:
        def __init__(self, v):
            self.v = v

    for name in ("srcad-a", "srcad-b"):
        optree.register_pytree_node(
            Twice, lambda one: ((one.v,), None), lambda _, v: Twice(*v), namespace=name
        )
    with pytest.raises(UnsupportedTypeError, match="in several namespaces"):
        grad(lambda one: one.v)(Twice(1.0))


def test_a_derivative_by_nodes_is_not_exported(tmp_path):
    with pytest.raises(ExportError, match="by a node of optree"):
        grad(lambda box: box.value**2).export(tmp_path / "slope.py", Box(2.0, "t"))


def test_check_grads_ignores_node_metadata():
    srcad.testing.check_grads(
        lambda box, x: np.sum(box.value**2 * x) * box.tag, (Box(X, 3.0), X), modes=("fwd", "rev")
    )
