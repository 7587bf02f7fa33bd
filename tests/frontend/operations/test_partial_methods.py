"""Methods that `functools` makes of others."""

import functools

import pytest

from srcad import grad


class Meter:
    def __init__(self, k=1.0):
        self.k = k

    def scale(self, factor, x, *, power=1):
        return self.k * factor * x**power

    twice = functools.partialmethod(scale, 2.0)
    square = functools.partialmethod(scale, 3.0, power=2)

    @classmethod
    def scaled(cls, factor, x):
        return factor * x

    @staticmethod
    def product(factor, x):
        return factor * x

    thrice = functools.partialmethod(scaled, 3.0)
    half = functools.partialmethod(product, 0.5)

    @functools.singledispatchmethod
    def chosen(self, x):
        return x * x


class Gauge(Meter):
    pass


METER = Meter()


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (lambda x: Meter().twice(x * x), 12.0),
        (lambda x: Gauge(x).square(x), 81.0),
        (lambda x: METER.square(x), 18.0),
        (lambda x: Meter().thrice(x) + Meter.half(x), 3.5),
        (METER.twice, 2.0),
    ],
)
def test_partial_method_is_differentiated(f, want):
    assert grad(f)(3.0) == pytest.approx(want)


def test_first_argument_of_a_partial_method_is_read_at_the_call():
    class Local(Meter):
        twice = functools.partialmethod(Meter.scale, 2.0)

    derivative = grad(lambda x: Local().twice(x))
    assert derivative(3.0) == 2.0

    Local.twice = functools.partialmethod(Meter.scale, 5.0)

    assert derivative(3.0) == 5.0


@pytest.mark.parametrize("f", [lambda x: Meter().chosen(x), lambda x: Meter.chosen(Meter(), x)])
def test_method_without_registered_classes_is_differentiated(f):
    assert grad(f)(3.0) == 6.0
