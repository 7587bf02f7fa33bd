"""Methods under `checkpoint` and `differentiate` of objects made inside or differentiated by."""

import dataclasses

import numpy as np
import pytest

import srcad


class Spring:
    def __init__(self, k):
        self.k = k

    @srcad.checkpoint
    def energy(self, x):
        return self.k * x * x

    @srcad.differentiate
    def force(self, x):
        return self.k * x

    @srcad.checkpoint
    def __call__(self, x):
        return self.k * x**3

    @staticmethod
    @srcad.checkpoint
    def square(x):
        return x * x


class StiffSpring(Spring):
    def energy(self, x):
        return super().energy(x) * 2.0

    @srcad.differentiate
    def __call__(self, x):
        return super().__call__(x) * self.k

    def slope(self, x):
        return srcad.grad(self.force)(x)


@dataclasses.dataclass
class Bar:
    k: float

    @srcad.checkpoint
    def energy(self, x):
        return self.k * x

    @srcad.differentiate
    def __call__(self, x):
        return self.k * x * x


MADE = [
    lambda k: Spring(k).energy(3.0),
    lambda k: Spring(k).force(3.0) ** 2,
    lambda k: StiffSpring(k).energy(3.0),
    lambda k: Spring(k)(3.0),
    lambda k: StiffSpring(k)(3.0),
    lambda k: StiffSpring(k).slope(3.0) ** 2,
    lambda k: Bar(k).energy(3.0) + Bar(k)(3.0) ** 2,
    lambda k: Spring.energy(Spring(k), 3.0),
    lambda k: sum(spring.energy(3.0) for spring in [Spring(k), Spring(2 * k)]),
    lambda k: list(map(Spring(k).energy, [3.0, k]))[1],
    lambda k: Spring(1.0).square(k),
]


@pytest.mark.parametrize("f", MADE)
def test_decorated_method_of_object_made_inside(f):
    step = 1e-5

    assert srcad.grad(f)(2.0) == pytest.approx((f(2 + step) - f(2 - step)) / (2 * step), rel=1e-8)


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (lambda r, x: r.energy(x), 9.0),
        (lambda r, x: r.force(x) ** 2, 36.0),
        (lambda r, x: r(x), 27.0),
    ],
)
def test_decorated_method_of_object_that_is_differentiated(f, want):
    assert srcad.grad(f)(Spring(2.0), 3.0).k == want


def test_decorated_call_of_object_outside():
    spring, stiff, bar = Spring(2.0), StiffSpring(2.0), Bar(2.0)

    assert srcad.grad(lambda x: spring(x))(3.0) == 54.0
    assert srcad.grad(lambda x: stiff(x))(3.0) == 108.0
    assert srcad.grad(lambda x: bar(x))(3.0) == 12.0
    assert srcad.grad(spring)(3.0) == 54.0


def test_decorated_call_of_object_outside_follows_its_attributes():
    spring = Spring(2.0)
    slope = srcad.grad(lambda x: spring(x))
    slope(3.0)
    spring.k = 4.0

    assert slope(3.0) == 108.0


def test_derivative_of_method_of_object_made_inside_is_refused():
    def f(k):
        return Spring(k).force.grad(3.0)

    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="'grad' of a method"):
        srcad.grad(f)(2.0)


def test_attrs_class_made_inside():
    attrs = pytest.importorskip("attrs")

    @attrs.define
    class Beam:
        k: float
        n: float = 2.0
        parts: list = attrs.field(factory=list)
        area: float = attrs.field(init=False)

        def __attrs_post_init__(self):
            self.area = self.k * self.n

        @srcad.checkpoint
        def energy(self, x):
            return np.sin(self.area) * x

    def f(k):
        return Beam(k).energy(3.0)

    assert srcad.grad(f)(0.4) == pytest.approx(6.0 * np.cos(0.8), rel=1e-12)
