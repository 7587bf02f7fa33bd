"""Parts of arguments to differentiate by."""

import types
from collections import namedtuple

import numpy as np
import pytest

import srcad
from srcad.errors import WrtError

Pair = namedtuple("Pair", "a b")


class Layer:
    def __init__(self, W, b, name="layer"):
        self.W, self.b, self.name = W, b, name


class Net:
    def __init__(self, layers, scale):
        self.layers, self.scale, self.options = layers, scale, {"decay": 0.1}


def loss(net, x):
    for layer in net.layers:
        x = np.tanh(layer.W @ x + layer.b)
    return net.scale * np.sum(x**2) + net.options["decay"] * np.sum(net.layers[0].W ** 2)


@pytest.fixture
def point(rng):
    layers = [Layer(rng.normal(size=(3, 3)), rng.normal(size=3)) for _ in range(3)]
    return Net(layers, 1.5), rng.normal(size=3)


def parts():
    return {
        "net.scale": lambda g: g.scale,
        "net.layers[0].b": lambda g: g.layers[0].b,
        "net.layers[-1].W": lambda g: g.layers[2].W,
        "net.options['decay']": lambda g: g.options["decay"],
        "net.options.decay": lambda g: g.options["decay"],
    }


@pytest.mark.parametrize("path", parts())
def test_gradient_by_path_equals_part_of_full_gradient(point, path):
    whole = parts()[path](srcad.grad(loss)(*point))

    part = srcad.grad(loss, wrt=path)(*point)
    value, again = srcad.value_and_grad(loss, wrt=path)(*point)

    assert type(part) is type(whole)
    assert np.allclose(part, whole, rtol=1e-12)
    assert np.array_equal(part, again)
    assert value == loss(*point)


def test_wrt_paths_and_whole_arguments_give_tuple(point):
    whole, x_bar = srcad.grad(loss, wrt=(0, 1))(*point)

    layer, b, x = srcad.grad(loss, wrt=("net.layers[1]", "net.layers[1].b", "x"))(*point)

    assert type(layer) is Layer
    assert np.array_equal(layer.b, whole.layers[1].b)
    assert np.array_equal(b, layer.b)
    assert np.array_equal(x, x_bar)


def test_two_parts_of_one_gradient_share_no_memory(point):
    b, again = srcad.grad(loss, wrt=("net.layers[1].b", "net.layers[1].b"))(*point)
    layer, inner = srcad.grad(loss, wrt=("net.layers[1]", "net.layers[1].b"))(*point)

    assert not np.shares_memory(layer.b, inner)
    assert np.array_equal(b, again)


def test_parts_not_in_wrt_are_constant(point):
    def rounded(net, x):
        return np.round(net.scale) * np.sum(np.sort(net.layers[0].b) * x)

    text = srcad.grad(loss, wrt="net.scale")
    text(*point)

    assert "W_bar" not in text.source
    assert srcad.grad(rounded, wrt="net.layers[0].b")(*point).shape == (3,)


def test_paths_lead_into_named_tuples_and_variable_arguments():
    def f(*args, p=None, **kw):
        return args[1]["a"] * p[0] ** 2 * kw["q"].x * args[0].b

    def call(wrt):
        g = srcad.grad(f, wrt=wrt)
        return g(Pair(0.0, 1.0), {"a": 2.0}, p=(3.0, 4.0), q=types.SimpleNamespace(x=5.0))

    assert call(("args[1].a", "p[0]", "kw.q.x")) == (45.0, 60.0, 18.0)
    assert call(("args[0].b", "args[0][1]")) == (90.0, 90.0)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("net.layer", "its parts are 'layers', 'scale', 'options'"),
        ("net[0]", "'net' has no such part"),
        ("net.layers.W", "it is a list"),
        ("net.layers[0].name", "'net.layers\\[0\\].name' of 'loss'"),
        ("nett.scale", "is no parameter"),
        ("net.layers[", "is no parameter"),
        ("net.layers[k]", "is no parameter"),
        ("net.scale()", "is no parameter"),
    ],
)
def test_invalid_wrt_path_rejected(point, path, message):
    with pytest.raises(WrtError, match=message):
        srcad.grad(loss, wrt=path)(*point)


OUTSIDE = 3.0


def test_wrt_captured_variable_only_for_outermost_function():
    def f(x):
        return OUTSIDE * x

    assert srcad.grad(f, wrt="OUTSIDE")(1.5) == 1.5
    with pytest.raises(WrtError, match="'OUTSIDE' is no parameter of 'f'"):
        srcad.grad(lambda x: srcad.grad(f, wrt="OUTSIDE")(x))(1.0)


def test_wrt_path_of_inner_gradient_rejected():
    def f(p):
        return srcad.grad(lambda q: q["a"] ** 3, wrt="q.a")(p)

    with pytest.raises(WrtError, match="whole arguments"):
        srcad.grad(f)({"a": 2.0})


# ------------------------------------------------------------------- the same part twice
def scaled_sum(p, x):
    return np.sum(p["a"] * x) * p["b"]


@pytest.mark.parametrize("wrt", [(0, 0), (0, "p"), ("p", "x", "p")])
def test_structure_named_twice_has_gradients_that_share_no_memory(wrt):
    p, x = {"a": np.arange(1.0, 4.0), "b": 2.0}, np.arange(3.0)
    expected = {"a": 2.0 * x, "b": 8.0}

    for found in (
        srcad.grad(scaled_sum, wrt=wrt)(p, x),
        srcad.value_and_grad(scaled_sum, wrt=wrt)(p, x)[1],
        srcad.pullback(scaled_sum, p, x, wrt=wrt)[1](1.0),
    ):
        first, second = found[0], found[-1]
        np.testing.assert_array_equal(first["a"], expected["a"])
        np.testing.assert_array_equal(second["a"], expected["a"])
        assert first["b"] == second["b"] == expected["b"]
        assert not np.shares_memory(first["a"], second["a"])


def test_array_named_twice_has_gradients_that_share_no_memory():
    first, second = srcad.pullback(np.tanh, np.zeros(2), wrt=(0, 0))[1](np.ones(2))

    np.testing.assert_array_equal(first, second)
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("wrt", ["p['l'][2]", "p['l'][-3]"])
def test_part_past_the_end_of_a_list_refused(wrt):
    f = srcad.grad(lambda p, x: p["l"][0] * x, wrt=wrt)

    with pytest.raises(srcad.errors.WrtError, match=r"has no such part(.|\n)*a list of 2"):
        f({"l": [1.0, 2.0]}, 2.0)

    assert f({"l": [1.0, 2.0, 4.0]}, 2.0) == (0.0 if wrt.endswith("[2]") else 2.0)


class Spring:
    """Has a stiffness and a method to differentiate."""

    def __init__(self, k):
        self.k = k

    def force(self, x):
        """Return the force at an extension."""
        return -self.k * x


@pytest.mark.parametrize("wrt", ["self.k", "self", ("x", "self.k")])
@pytest.mark.parametrize("mode", ["grad", "value_and_grad", "jacobian", "hessian"])
def test_object_of_bound_method_rejected_with_method_of_class(wrt, mode):
    entry = next(part for part in (wrt if isinstance(wrt, tuple) else (wrt,)) if part != "x")

    with pytest.raises(WrtError) as found:
        getattr(srcad, mode)(Spring(2.0).force, wrt=wrt)(3.0)

    assert f"srcad.{mode}(Spring.force, wrt={entry!r})(obj, ...)" in str(found.value)


def test_method_of_class_differentiated_by_attribute_of_object():
    assert srcad.grad(Spring.force, wrt="self.k")(Spring(2.0), 3.0) == pytest.approx(-3.0)
