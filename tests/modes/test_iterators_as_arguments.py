"""Generators and other iterators as arguments: they have no derivative."""

import itertools

import numpy as np
import pytest

import srcad
from srcad.errors import SrcadError


def product(x, factors):
    for factor in factors:
        x = x * factor
    return x


ITERATORS = {
    "generator": lambda: (k for k in [1.0, 2.0, 3.0]),
    "iter": lambda: iter([1.0, 2.0, 3.0]),
    "map": lambda: map(float, [1, 2, 3]),
    "islice": lambda: itertools.islice([1.0, 2.0, 3.0, 4.0], 3),
}
MODES = {
    "grad": lambda it: srcad.grad(product)(2.0, it),
    "gradient": lambda it: srcad.gradient(product, 2.0, it)[0],
    "pullback": lambda it: srcad.pullback(product, 2.0, it)[1](1.0)[0],
    "jvp": lambda it: srcad.jvp(product, (2.0, it), (1.0, None))[1],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ITERATORS)
def test_iterator_as_later_argument(name, mode):
    assert MODES[mode](ITERATORS[name]()) == 6.0


def test_gradient_by_iterator_is_none():
    assert srcad.gradient(product, 2.0, ITERATORS["generator"]()) == (6.0, None)


def test_gradient_by_iterator_alone_is_refused():
    with pytest.raises(SrcadError, match="has no derivative"):
        srcad.grad(product, wrt=1)(2.0, ITERATORS["generator"]())


def test_trace_table_with_iterator():
    table = srcad.trace_table(product, 2.0, ITERATORS["generator"]())

    assert table[0].gradient == 6.0


def sines(x):
    return np.sin(x)


checkpointed = srcad.checkpoint(sines)


def of_checkpoints(x):
    a = checkpointed(x)
    return checkpointed(a * x) + a


def of_a_loop(x):
    for _ in srcad.checkpointed_range(3):
        x = np.sin(x) * x
    return x


def nested(x):
    return srcad.checkpoint(of_checkpoints)(x) * x


@pytest.mark.parametrize("f", [of_checkpoints, of_a_loop, nested])
def test_trace_table_of_function_with_checkpoint(f):
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6

    table = srcad.trace_table(f, 0.7)

    assert table[0].gradient == pytest.approx(slope, rel=1e-8)
    assert sum(row.op is not None and row.op.startswith("sin") for row in table) >= 2
