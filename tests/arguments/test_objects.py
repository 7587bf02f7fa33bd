"""Objects of the user's classes as arguments: what is taken apart, and what it is read as."""

import copy
import enum
import functools
import types
from dataclasses import dataclass

import numpy as np
import pytest

import srcad
from srcad.errors import SrcadError, UnsupportedTypeError
from srcad.testing import check_grads


class Linear:
    def __init__(self, W, b, act=np.tanh):
        self.W, self.b, self.act, self.name = W, b, act, "linear"

    def __call__(self, x):
        return self.act(self.W @ x + self.b)

    @property
    def size(self):
        return np.sum(self.W**2)


class Relu:
    def __call__(self, x):
        return np.maximum(x, 0.0)


class Net:
    def __init__(self, *layers, scale=1.5):
        self.layers, self.scale, self.options = list(layers), scale, {"decay": 0.1, "kind": "l2"}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.scale * x

    __call__ = forward


def layer(rng, m, n):
    return Linear(rng.normal(size=(m, n)), rng.normal(size=m))


def loss(net, x):
    return np.sum(net(x) ** 2) + net.options["decay"] * net.layers[0].size


def test_the_gradient_is_an_object_of_the_same_class(rng):
    net, x = Net(layer(rng, 4, 3), Relu(), layer(rng, 2, 4)), rng.normal(size=3)

    g = srcad.grad(loss)(net, x)

    assert type(g) is Net
    assert [type(part) for part in g.layers] == [Linear, type(None), Linear]
    assert g.layers[0].W.shape == (4, 3)
    assert g.layers[0].name is None
    assert g.layers[0].act is None
    assert g.options["kind"] is None
    check_grads(loss, (net, x), order=1)


def test_layers_of_one_class_share_compilation(rng):
    g = srcad.grad(loss)
    g.cache_clear()
    before = g.cache_info().compilations
    for depth in (1, 2, 5):
        net = Net(*(layer(rng, 3, 3) for _ in range(depth)))
        assert len(g(net, rng.normal(size=3)).layers) == depth

    assert g.cache_info().compilations == before + 1


class Slotted:
    __slots__ = ("a", "b", "unset")

    def __init__(self, a, b):
        self.a, self.b = a, b


class SlottedMore(Slotted):
    __slots__ = ("c", "__dict__")


def test_slots_of_all_bases_are_attributes():
    def f(p):
        return p.a * p.b * p.c * p.d

    point = SlottedMore(2.0, 3.0)
    point.c, point.d = 5.0, 7.0

    g = srcad.grad(f)(point)

    assert (g.a, g.b, g.c, g.d) == (105.0, 70.0, 42.0, 30.0)
    assert not hasattr(g, "unset")


def test_empty_slot_raises_attribute_error():
    with pytest.raises(AttributeError):
        srcad.grad(lambda p: p.a * p.unset)(Slotted(2.0, 3.0))


def test_slot_filled_after_compilation_detected():
    def f(p):
        return p.a**2 * (p.unset if hasattr(p, "unset") else 1.0)

    point, g = Slotted(2.0, 3.0), srcad.grad(f)
    first = g(point).a
    point.unset = 10.0

    assert (first, g(point).a, g(point).unset) == (4.0, 40.0, 4.0)


class Counted:
    """Its ``__init__`` must not run for a gradient."""

    made = 0

    def __init__(self, x):
        type(self).made += 1
        self.x = x


def test_gradient_object_built_without_running_class_code():
    point = Counted(3.0)

    srcad.grad(lambda p: p.x**2)(point)
    srcad.pullback(lambda p: p.x**2, point)[1](1.0)

    assert Counted.made == 1


@dataclass
class Scaled:
    x: float
    scale = 2.0


def scaled(p):
    return p.x * p.scale


def test_instance_attribute_shadows_class_attribute():
    """The class attribute used to be read: 6.0 in place of 15.0."""
    g, point = srcad.value_and_grad(scaled), Scaled(3.0)
    before = g(point)
    point.scale = 5.0
    value, found = g(point)

    assert before[0] == 6.0
    assert (value, found.x, found.scale) == (15.0, 5.0, 3.0)


@dataclass
class Prepared:
    x: float

    def __post_init__(self):
        self.square = self.x**2


def test_dataclass_attribute_set_in_post_init():
    """It used to raise an AttributeError."""
    g = srcad.grad(lambda p: p.square * p.x)(Prepared(3.0))

    assert (g.x, g.square) == (9.0, 3.0)


@dataclass
class Node:
    value: float
    rest: object = None


def chain(count):
    return functools.reduce(lambda rest, k: Node(float(k), rest), range(count), None)


def test_deeply_nested_objects_gradient():
    """From the seventeenth on, gradients used to be zero."""

    def deep(n):
        return (
            n.rest.rest.rest.rest.rest.rest.rest.rest.rest.rest.rest.rest.rest.rest.rest.rest
            .rest.rest.value ** 2 + n.value
        )  # fmt: skip

    g = srcad.grad(deep)(chain(22))

    for _ in range(18):
        g = g.rest
    assert g.value == 6.0


def test_too_deeply_nested_objects_rejected():
    with pytest.raises(UnsupportedTypeError, match="more than 64"):
        srcad.grad(lambda n: n.value**2)(chain(80))


def test_self_referencing_object_rejected():
    head = Node(1.0)
    head.rest = Node(2.0, head)

    with pytest.raises(UnsupportedTypeError, match=r"'n\.rest\.rest' is 'n' again"):
        srcad.grad(lambda n: n.value**2)(head)


def test_shared_object_at_two_positions_has_two_gradients():
    shared = Node(3.0)

    def f(p):
        return p[0].value ** 2 * p[1].value

    a, b = srcad.grad(f)((shared, shared))

    assert (a.value, b.value) == (18.0, 9.0)


def test_cyclic_reference_without_numbers_accepted():
    class Part:
        def __init__(self, owner):
            self.owner = owner

    class Owner:
        def __init__(self):
            self.part, self.x = types.SimpleNamespace(), 2.0
            self.part.me = self.part

    g = srcad.grad(lambda o: o.x**2)(Owner())

    assert g.x == 4.0


class Closed:
    def __init__(self, w):
        self.w = w

    def __getattr__(self, name):
        raise AttributeError(name)


def test_a_class_with_getattr_is_refused():
    with pytest.raises(UnsupportedTypeError, match="__getattr__"):
        srcad.grad(lambda p: p.w**2)(Closed(2.0))


def test_opaque_object_inside_argument_rejected():
    """Its number used to be read as a constant, and None came back for it."""

    def f(d):
        return d["k"] * d["closed"].w

    with pytest.raises(UnsupportedTypeError, match=r"d\['closed'\]\.w"):
        srcad.grad(f)({"k": 2.0, "closed": Closed(3.0)})


def test_inactive_object_argument_passed_unchanged():
    def inner(x, p):
        return x * p.w

    def outer(*args, **kwargs):
        return inner(*args, **kwargs)

    assert srcad.grad(outer)(2.0, Closed(3.0)) == 3.0
    assert srcad.grad(outer)(2.0, p=Closed(3.0)) == 3.0


class Doubling:
    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, 2 * value)


def test_write_to_attribute_with_custom_setter_is_that_of_the_class():
    """What the class does when it is written used to be left out."""

    def f(p):
        p.x = p.x * 3
        return p.x

    assert srcad.grad(f)(Doubling(2.0)).x == 6.0
    assert srcad.grad(lambda p: p.x**2)(Doubling(2.0)).x == 4.0


class Stepper:
    def __init__(self, x, v):
        self.x, self.v, self.steps = x, v, 0

    def step(self, dt):
        self.v = self.v - dt * self.x
        self.x = self.x + dt * self.v
        self.steps += 1


def test_argument_object_unchanged(rng):
    def travelled(s):
        for _ in range(3):
            s.step(0.1)
        return np.sum(s.x**2)

    stepper = Stepper(rng.normal(size=3), rng.normal(size=3))
    x, v = stepper.x, stepper.v
    before = x.copy(), v.copy()

    value, g = srcad.value_and_grad(travelled)(stepper)

    assert (stepper.x is x, stepper.v is v, stepper.steps) == (True, True, 0)
    assert np.array_equal(x, before[0])
    assert value == travelled(copy.deepcopy(stepper))
    assert g.x.shape == (3,)
    check_grads(travelled, (stepper,), order=1)


def test_write_into_array_attribute_of_argument(rng):
    def f(s, x):
        s.x[0] = s.x[1] * x[0]
        s.x *= 2.0
        return np.sum(s.x * x)

    stepper, x = Stepper(rng.normal(size=3), 0.0), rng.normal(size=3)
    before = stepper.x.copy()

    check_grads(f, (stepper, x), order=1)

    srcad.grad(f)(stepper, x)
    assert np.array_equal(stepper.x, before)


def test_write_into_array_shared_by_two_attributes_rejected(rng):
    def f(s):
        s.x[0] = 2.0
        return np.sum(s.v**2)

    x = rng.normal(size=3)

    with pytest.raises(SrcadError):
        srcad.grad(f)(Stepper(x, x))


class Cached:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def square(self):
        return self.x**2


def test_gradient_through_filled_cached_property():
    point = Cached(2.0)
    empty = srcad.grad(lambda p: p.square * p.x)(point)
    assert point.square == 4.0
    filled = srcad.grad(lambda p: p.square * p.x)(point)

    assert (empty.x, filled.x) == (12.0, 12.0)


class Colour(enum.Enum):
    RED = 1.5


def test_namespace_enum_and_named_tuple_arguments():
    def f(p):
        return p.x**2 * (3.0 if p.colour is Colour.RED else 1.0)

    g = srcad.grad(f)(types.SimpleNamespace(x=2.0, colour=Colour.RED))

    assert g == types.SimpleNamespace(x=12.0, colour=None)


class Secret:
    def __init__(self, x):
        self.__x = x

    def twice(self):
        return 2 * self.__x


def test_private_names_are_attributes():
    g = srcad.grad(lambda p: p.twice() ** 2)(Secret(3.0))

    assert g._Secret__x == 24.0


def test_gradient_of_an_object_without_numbers_is_none():
    class Counter:
        def __init__(self):
            self.count = 0

    def f(x, counter):
        counter.count += 1
        return x**2

    counter = Counter()

    assert srcad.gradient(f, 3.0, counter) == (6.0, None)
    assert counter.count == 1


def test_tangents_and_seeds_are_objects(rng):
    net, x = Net(layer(rng, 3, 3), layer(rng, 3, 3)), rng.normal(size=3)
    dot, x_dot = Net(layer(rng, 3, 3), layer(rng, 3, 3), scale=0.7), rng.normal(size=3)
    dot.options = {"decay": 0.0, "kind": None}

    _, y_dot = srcad.jvp(Net.forward, (net, x), (dot, x_dot))
    _, back = srcad.pullback(Net.forward, net, x)
    y_bar = rng.normal(size=3)
    net_bar, x_bar = back(y_bar)

    pairs = [(a.W, b.W) for a, b in zip(net_bar.layers, dot.layers, strict=True)]
    pairs += [(a.b, b.b) for a, b in zip(net_bar.layers, dot.layers, strict=True)]
    pairs += [(net_bar.scale, dot.scale), (x_bar, x_dot)]
    assert np.isclose(np.sum(y_bar * y_dot), sum(np.sum(a * b) for a, b in pairs))


def test_a_gradient_is_a_tangent(rng):
    net, x = Net(layer(rng, 3, 3)), rng.normal(size=3)
    g = srcad.grad(loss)(net, x)

    _, slope = srcad.jvp(loss, (net, x), (g, None))

    first = g.layers[0]
    squares = [first.W, first.b, g.scale, g.options["decay"]]
    assert np.isclose(slope, sum(np.sum(np.square(part)) for part in squares))


def test_an_object_may_be_the_result():
    def f(x):
        return types.SimpleNamespace(a=x**2, b=[x, 3 * x])

    y, back = srcad.pullback(f, 2.0)

    assert (y.a, y.b) == (4.0, [2.0, 6.0])
    assert back(types.SimpleNamespace(a=1.0, b=[0.0, 1.0])) == (7.0,)
    assert back(types.SimpleNamespace(a=1.0, b=None)) == (4.0,)


def test_compilation_reason_names_attributes():
    g = srcad.grad(lambda p: p.x**2)
    g(types.SimpleNamespace(x=2.0))
    g(types.SimpleNamespace(x=2.0, y=1.0))

    assert "y: float" in g.cache_info().reasons[1]
