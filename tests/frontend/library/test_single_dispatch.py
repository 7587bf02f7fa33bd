"""``functools.singledispatch`` and ``singledispatchmethod``, by the class of the first argument."""

import functools
import json
import numbers

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedTypeError
from tests.language import assert_program, named

X = np.array([0.7, 1.2, -0.4])


class Square:
    def __init__(self, side):
        self.side = side


@functools.singledispatch
def area(shape):
    raise TypeError(f"no area of a {type(shape).__name__}")


@area.register
def _(shape: float):
    return shape * shape


@area.register(np.ndarray)
def _(shape):
    return np.sum(shape**3)


@area.register(list)
def _(shape):
    return sum(area(part) for part in shape)


@area.register
def _(shape: Square):
    return 3.0 * shape.side**2


@area.register
def _(shape: numbers.Integral):
    return 2.0 * shape


def of_a_number(x):
    return area(x) * x


def of_an_array(x):
    return area(x) + area(x[0])


def of_a_list(x):
    return area([x, 2.0 * x])


def of_an_object(x):
    return area(Square(x)) * area(3)


@pytest.mark.parametrize(
    **named([(of_a_number, 1.3), (of_an_array, X), (of_a_list, 1.3), (of_an_object, 1.3)])
)
def test_dispatched_function_is_differentiated(program):
    assert_program(*program)


def test_error_of_the_dispatched_function_is_raised():
    with pytest.raises(TypeError, match="no area of a tuple"):
        srcad.grad(lambda x: area((x, x)))(1.3)


def test_function_registered_after_the_first_call_is_used():
    @functools.singledispatch
    def power(x):
        return 2.0 * x

    derivative = srcad.grad(lambda x: power(x))
    before = derivative(1.5)
    power.register(float, lambda x: x**2)
    then = derivative(1.5)
    power.register(float, lambda x: x**3)

    assert (before, then, derivative(1.5)) == (2.0, 3.0, 6.75)


# ------------------------------------------------------------------ methods
class Material:
    def __init__(self, density):
        self.density = density

    @functools.singledispatchmethod
    def mass(self, shape):
        raise TypeError(f"no mass of a {type(shape).__name__}")

    @mass.register
    def _(self, shape: float):
        return self.density * shape**2

    @mass.register(np.ndarray)
    def _(self, shape):
        return self.density * np.sum(shape**3)

    @mass.register
    def _(self, shape: list):
        return sum(self.mass(part) for part in shape)

    @mass.register
    def _(self, shape: Square):
        return self.density * area(shape)

    @functools.singledispatchmethod
    @classmethod
    def made(cls, given):
        return cls(given)

    @made.register
    @classmethod
    def _(cls, given: list):
        return cls(given[0] * given[1])

    @functools.singledispatchmethod
    @staticmethod
    def half(x):
        return 0.5 * x

    @half.register(float)
    @staticmethod
    def _(x):
        return 0.5 * x**3


class Coated(Material):
    def mass(self, shape):
        return 1.5 * super().mass(shape)


STEEL, COATED = Material(2.0), Coated(3.0)


def method_of_captured_object(x):
    return STEEL.mass(x) + COATED.mass(x) * x


def method_of_object_made_inside(x):
    return Material(x).mass(x) + Coated(x**2).mass([x, 2.0 * x])


def method_of_an_array(x):
    return STEEL.mass(x) + STEEL.mass([x, x[0]])


def method_of_an_object(x):
    mass = STEEL.mass
    return mass(Square(x)) * x


def chosen_class_method(x):
    return Material.made([x, x**2]).mass(2.0 * x) + STEEL.made(x).density ** 2


def chosen_static_method(x):
    return STEEL.half(x) + Material(x).half(2.0 * x) * Material.half(3)


@pytest.mark.parametrize(
    **named(
        [(method_of_captured_object, 1.3), (method_of_object_made_inside, 1.3),
         (method_of_an_array, X), (method_of_an_object, 1.3), (chosen_class_method, 1.3),
         (chosen_static_method, 1.3)]
    )
)  # fmt: skip
def test_dispatched_method_is_differentiated(program):
    assert_program(*program)


def test_dispatched_method_of_an_argument_is_differentiated():
    found, slope = srcad.gradient(lambda material, x: material.mass(x), Material(2.0), 1.5)

    assert (found.density, slope) == (2.25, 6.0)


@pytest.mark.parametrize(
    "call",
    [lambda x: STEEL.mass((x, x)), lambda x: Material(x).mass("x"), lambda x: Material.mass(STEEL)],
)
def test_error_of_the_dispatched_method_is_raised(call):
    with pytest.raises(TypeError) as plain:
        call(1.3)
    with pytest.raises(TypeError) as caught:
        srcad.grad(call)(1.3)

    assert str(plain.value) == str(caught.value)


def test_method_registered_after_the_first_call_is_used():
    class Law:
        @functools.singledispatchmethod
        def power(self, x):
            return 2.0 * x

    law = Law()
    derivative = srcad.grad(lambda x: law.power(x) + Law().power(x))
    before = derivative(1.5)
    Law.power.register(float, lambda self, x: x**2)
    then = derivative(1.5)
    Law.__dict__["power"].register(float, lambda self, x: x**3)

    assert (before, then, derivative(1.5)) == (4.0, 6.0, 13.5)


def test_method_for_a_class_that_only_the_call_knows_is_refused():
    def loss(x, text):
        return STEEL.mass(json.loads(text)) * x

    with pytest.raises(UnsupportedTypeError, match="'mass'"):
        srcad.grad(loss)(1.3, "[1.0, 2.0]")
