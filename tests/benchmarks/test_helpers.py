"""The benchmark of helpers: gradients against differences, and its table."""

import numpy as np
import pytest

import srcad
from benchmarks import helpers
from benchmarks.with_helpers import PROGRAMS
from tests.numeric import difference

DIRECTIONS = np.random.default_rng(0)


def moved(x, step, direction):
    """A structure of arrays, moved along another."""
    if isinstance(x, dict):
        return {k: moved(x[k], step, direction[k]) for k in x}
    if isinstance(x, list | tuple):
        return type(x)(moved(a, step, b) for a, b in zip(x, direction, strict=True))
    return x + step * direction


def drawn(x):
    """A direction with the structure of `x`."""
    if isinstance(x, dict):
        return {k: drawn(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return type(x)(map(drawn, x))
    return DIRECTIONS.standard_normal(np.shape(x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_of_program_agrees_with_differences(name):
    f, (x, *rest) = PROGRAMS[name]
    v = drawn(x)

    gradient = srcad.grad(f)(x, *rest)

    want = difference(lambda t: f(moved(x, t, v), *rest), (0.0,))
    pairs = zip(helpers.leaves(gradient), helpers.leaves(v), strict=True)
    np.testing.assert_allclose(sum(np.sum(a * b) for a, b in pairs), want, rtol=1e-5)


def test_table_has_ratios_of_each_program(capsys):
    helpers.main(["arm", "--rounds", "1"])

    out = capsys.readouterr().out
    assert "\narm " in out
    assert "geometric mean of memory" in out
