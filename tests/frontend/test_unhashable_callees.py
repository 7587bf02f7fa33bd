"""Functions that cannot be looked up in a table, called with what no derivative passes through."""

import ctypes
import ctypes.util
import functools
from dataclasses import dataclass

import numpy as np
import pytest

import srcad

LIBRARY = ctypes.util.find_library("m")


class Opposite:
    """Equal by value, and so without a hash."""

    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, Opposite)

    def __call__(self, n):
        return -float(n)


class Refusing:
    def __hash__(self):
        raise TypeError("no hash")

    def __call__(self, n):
        return 2.0 * float(n)


@dataclass
class Scaled:
    factor: float

    def __call__(self, n):
        return self.factor * n


opposite, refusing, scaled = Opposite(), Refusing(), Scaled(3.0)
TABLE = {"f": refusing}
partial = functools.partial(refusing)
polynomial = np.polynomial.Polynomial([1.0, 2.0, 3.0])
series = np.polynomial.Chebyshev([1.0, 2.0, 3.0])
poly1d = np.poly1d([1.0, 2.0, 3.0])
polynomial_of_entries = np.vectorize(lambda v, n: v * polynomial(n) * poly1d(n))
opposite_of_entries = np.vectorize(lambda v, n: v * opposite(n))

PROGRAMS = {
    "equal by value": lambda x, n: x * opposite(n),
    "hash raises": lambda x, n: x * refusing(n),
    "data class": lambda x, n: x * scaled(n),
    "in a table": lambda x, n: x * TABLE["f"](n),
    "partial": lambda x, n: x * partial(n),
    "mapped": lambda x, n: x * sum(map(refusing, [n, n])),
    "polynomial": lambda x, n: x * polynomial(n),
    "series": lambda x, n: x * series(n),
    "poly1d": lambda x, n: x * poly1d(n),
    "polynomial partial": lambda x, n: x * functools.partial(polynomial)(n),
    "polynomial in a loop": lambda x, n: sum(x * polynomial(n * k) for k in range(3)),
    "polynomial in vectorize": lambda x, n: np.sum(polynomial_of_entries(x, n)),
    "in vectorize": lambda x, n: np.sum(opposite_of_entries(x, n)),
    "either": lambda x, n: x * (refusing if n < 1 else opposite)(n),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_unhashable_inactive_callee_called_unchanged(name):
    f = PROGRAMS[name]

    assert srcad.grad(f)(2.0, 0.5) == f(1.0, 0.5)
    assert srcad.jvp(f, (2.0, 0.5), (1.0, None))[1] == f(1.0, 0.5)


def test_polynomial_bound_anew_is_read_at_the_call():
    held = {"p": np.polynomial.Polynomial([1.0, 2.0]), "q": np.poly1d([1.0, 2.0])}
    gradient = srcad.grad(lambda x, n: x * held["p"](n) * held["q"](n))
    assert gradient(2.0, 0.5) == 2.0 * 2.5

    held["p"], held["q"] = np.polynomial.Polynomial([5.0]), np.poly1d([7.0])

    assert gradient(2.0, 0.5) == 35.0


@pytest.mark.skipif(LIBRARY is None, reason="there is no C library of mathematics")
def test_ctypes_function_inactive_called_unchanged():
    cosine = ctypes.CDLL(LIBRARY).cos
    cosine.restype, cosine.argtypes = ctypes.c_double, [ctypes.c_double]

    assert srcad.grad(lambda x, n: x * cosine(n))(2.0, 0.0) == 1.0
    with pytest.raises(srcad.errors.MissingRuleError, match="no derivative rule for cos"):
        srcad.grad(lambda x: cosine(x))(2.0)
