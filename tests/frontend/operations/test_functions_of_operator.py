"""Builtins and functions of `operator` that call a method of an object of the user's."""

import functools
import math
import operator

import numpy as np
import pytest

import srcad
from tests.numeric import difference


class Factors:
    """An object of which each method returns another multiple of its value."""

    def __init__(self, v):
        self.v = v

    def __floor__(self):
        return self.v * 3

    def __ceil__(self):
        return self.v * 4

    def __trunc__(self):
        return self.v * 5

    def __round__(self, digits=0):
        return self.v * (6 + digits)

    def __divmod__(self, other):
        return self.v * 2, other

    def __rdivmod__(self, other):
        return self.v * 7, other

    def __abs__(self):
        return self.v * 8

    def __neg__(self):
        return self.v * 9

    def __pos__(self):
        return self.v * 10

    def __invert__(self):
        return self.v * 11

    def __pow__(self, other):
        return self.v**other

    def __rpow__(self, other):
        return other**self.v

    def __matmul__(self, other):
        return self.v * 12 * other

    def __getitem__(self, k):
        return self.v * k

    def __add__(self, other):
        return self.v * 13 + other

    def __rsub__(self, other):
        return other - self.v * 14

    def __lshift__(self, other):
        return self.v * 15

    def __rand__(self, other):
        return self.v * 16

    def __floordiv__(self, other):
        return self.v * 17

    def __lt__(self, other):
        return self.v * 18

    def __eq__(self, other):
        return self.v * 19

    __hash__ = None


OUTSIDE = Factors(2.0)

CALLS = {
    "floor": lambda x: math.floor(Factors(x * x)),
    "ceil": lambda x: math.ceil(Factors(x * x)),
    "trunc": lambda x: math.trunc(Factors(x * x)),
    "round with keyword": lambda x: round(Factors(x * x), ndigits=2),
    "divmod": lambda x: divmod(Factors(x * x), 2)[0],
    "reflected divmod": lambda x: divmod(2, Factors(x * x))[0],
    "reflected divmod by x": lambda x: sum(divmod(x, Factors(x * x))),
    "divmod outside": lambda x: divmod(OUTSIDE, x)[1] ** 2,
    "abs": lambda x: operator.abs(Factors(x * x)),
    "neg": lambda x: operator.neg(Factors(x * x)),
    "neg of a choice": lambda x: operator.neg(Factors(x) if x > 0 else Factors(2 * x)),
    "pos": lambda x: operator.pos(Factors(x * x)),
    "invert": lambda x: operator.invert(Factors(x * x)),
    "inv": lambda x: operator.inv(Factors(x * x)),
    "pow": lambda x: operator.pow(Factors(x * x), 2),
    "reflected pow": lambda x: operator.pow(2.0, Factors(x * x)),
    "matmul": lambda x: operator.matmul(Factors(x * x), 2),
    "getitem": lambda x: operator.getitem(Factors(x * x), 3),
    "add": lambda x: operator.add(Factors(x * x), 3),
    "add outside": lambda x: operator.add(OUTSIDE, x * x),
    "reflected sub": lambda x: operator.sub(2, Factors(x * x)),
    "lshift": lambda x: operator.lshift(Factors(x * x), 2),
    "reflected and": lambda x: operator.and_(2, Factors(x * x)),
    "floordiv": lambda x: operator.floordiv(Factors(x * x), 2),
    "lt": lambda x: operator.lt(Factors(x * x), 2),
    "eq": lambda x: operator.eq(Factors(x * x), 2),
    "map": lambda x: sum(map(operator.neg, [Factors(x), Factors(x * x)])),
    "reduce": lambda x: functools.reduce(operator.sub, [3.0, Factors(x * x)]),
    "add of lists": lambda x: operator.add([x], [x * x])[1],
    "add of tuples": lambda x: operator.add((x,), (x * x,))[1],
    "mul of a list": lambda x: operator.mul([x * x], 2)[1],
    "mul of a list and an array": lambda x: operator.mul([x, x], np.array([x, 1.0]))[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_call_the_method_that_the_operator_calls(name):
    f = CALLS[name]
    expected = difference(f, (1.7,))
    np.testing.assert_allclose(srcad.grad(f)(1.7), expected, rtol=1e-6)
    np.testing.assert_allclose(srcad.jvp(f, (1.7,), (1.0,))[1], expected, rtol=1e-6)
