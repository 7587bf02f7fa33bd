"""What an operator of an object outside returns is read where it is called or taken apart."""

import numpy as np
import pytest

from srcad import grad
from srcad.errors import UnsupportedTypeError
from tests.language import assert_program, named


class Table:
    def __init__(self, xs, columns):
        self.xs, self.columns = np.asarray(xs), columns

    def __getitem__(self, name):
        if name not in self.columns:
            raise KeyError(f"no column {name}")
        return lambda x: np.interp(x, self.xs, self.columns[name])


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x * x

    def __add__(self, other):
        return Both(self, other)

    def __neg__(self):
        return Scale(-self.factor)


class Both:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def __call__(self, x):
        return self.left(x) + self.right(x)


class Model:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __getitem__(self, k):
        return self.layers[k]

    def __len__(self):
        return len(self.layers)

    def __iter__(self):
        yield from self.layers


TABLE = Table([0.0, 1.0, 2.0], {"rho": np.array([1.0, 2.0, 4.0]), "cp": np.array([3.0, 4.0, 4.5])})
ONE, TWO = Scale(1.0), Scale(2.0)
MODEL = Model(Scale(0.5), Scale(1.5))


def column(x):
    return TABLE["rho"](x) * TABLE["cp"](x)


def column_by_name(x, name):
    return TABLE[name](x)


def column_in_a_loop(x):
    for _ in range(3):
        x = x - 0.1 * TABLE["rho"](x)
    return x


def sum_of_functions(x):
    return (ONE + TWO)(x)


def negative(x):
    return (-TWO)(x) + (ONE + ONE)(x)


def layer(x):
    return MODEL[1](MODEL[0](x))


def every_layer(x):
    for one in MODEL:
        x = one(x)
    return x * len(MODEL)


PROGRAMS = [
    (f, 1.3)
    for f in (column, column_in_a_loop, sum_of_functions, negative, layer, every_layer)
]  # fmt: skip


@pytest.mark.parametrize(**named(PROGRAMS))
def test_function_returned_by_external_operator_called(program):
    assert_program(*program)


def test_missing_column_raises_key_error():
    assert grad(column_by_name)(0.5, "cp") == pytest.approx(1.0)
    with pytest.raises(KeyError, match="no column mu"):
        grad(column_by_name)(0.5, "mu")


def test_none_or_tuple_error_names_tuple():
    def f(x):
        best = None
        for v in x:
            if v > 1.0:
                best = (v, v * v)
        return 0.0 if best is None else best[1]

    with pytest.raises(UnsupportedTypeError, match="None on one path and .*a tuple of 2"):
        grad(f)(np.array([1.0, 2.0]))
