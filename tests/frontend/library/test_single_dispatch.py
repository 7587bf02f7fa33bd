"""``functools.singledispatch``: the function for the class of the first argument is interpreted."""

import functools
import numbers

import numpy as np
import pytest

import srcad
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
