"""Parameters of the user's own functions that have the names of NumPy's options."""

import functools

import numpy as np
import pytest
from scipy.special import expit

import srcad

X = np.array([1.0, 2.0, 3.0])


def scaled(x, out):
    return x * out


def masked(x, where=2.0, *, dtype=1.0):
    return x * where * dtype


def over(x, axis, keepdims):
    return x * axis + keepdims * x


def doubled(x, *, out=None):
    return 2.0 * x if out is None else x * out


def of_any(x, **options):
    return x * options["out"]


def filled(x, out):
    out[:] = x
    return out


def squared(x, out=None):
    return np.multiply(x, x, out=out)


@functools.lru_cache
def kept(n, out):
    return n * out


class Scale:
    def __init__(self, factor, out=1.0):
        self.factor = factor * out

    def times(self, x, out):
        return self.factor * x * out

    def __call__(self, x, out):
        return self.times(x, out=out)


NAMED = {"out": 0.7}
scale, partly = Scale(2.0), functools.partial(scaled)

PROGRAMS = {
    "out": lambda x, b: scaled(x, out=b),
    "out and x": lambda x, b: scaled(out=x, x=b),
    "where": lambda x, b: masked(x, where=b, dtype=b),
    "axis": lambda x, b: over(x, axis=b, keepdims=b),
    "keyword only": lambda x, b: doubled(x, out=b),
    "in a dict": lambda x, b: of_any(x, out=b) + scaled(x, **NAMED),
    "array": lambda x, b: filled(b * x, out=np.zeros(3)) * x,
    "handed on": lambda x, b: squared(x, out=np.zeros(3)) * b,
    "method": lambda x, b: scale.times(x, out=b),
    "object": lambda x, b: scale(x, out=b),
    "class": lambda x, b: Scale(x, out=b).factor,
    "partial": lambda x, b: partly(x, out=b) + functools.partial(scaled, out=b)(x),
    "cache": lambda x, b: x * kept(2.0, out=b),
    "checkpoint": lambda x, b: srcad.checkpoint(scaled)(x, out=b),
    "derivative": lambda x, b: srcad.grad(lambda x, out: np.sum(x * x * out))(x, out=b),
    "local": lambda x, b: (lambda x, out: x * out)(x, out=b),
    "NumPy": lambda x, b: np.add(x, b * x, out=np.zeros(3)) + np.sum(x) * x,
    "SciPy": lambda x, b: expit(b * x, out=np.zeros(3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_parameter_with_name_of_an_option_is_the_functions_own(name):
    def f(x, b):
        return np.sum(PROGRAMS[name](x, b) * x)

    expected = [(f(X + e, 0.5) - f(X - e, 0.5)) / 2e-6 for e in 1e-6 * np.eye(3)]

    np.testing.assert_allclose(srcad.grad(f)(X, 0.5), expected, rtol=1e-6)
