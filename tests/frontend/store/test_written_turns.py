"""Writes through views with other axes, whatever the spelling: value and derivative are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from tests.marks import some

# Of an array `y` with three axes; `ORDER` is a tuple that the function reads by its name.
TURNS = (
    "np.transpose(y, axes=(1, 2, 0))", "np.transpose(y, [1, 2, 0])", "y.transpose(-1, 0, 1)",
    "np.rot90(y)", "np.flipud(y)", "np.rollaxis(y, 2)", "np.atleast_2d(y)",
    "np.transpose(y)", "np.transpose(y, axes=None)", "np.transpose(y, None)", "y.T", "y.mT",
    "np.transpose(y, (-1, 0, 1))", "np.transpose(y, ORDER)", "np.transpose(a=y, axes=ORDER)",
    "y.transpose(ORDER)", "y.transpose(*ORDER)", "y.transpose()", "y.transpose(None)",
    "np.permute_dims(y, axes=ORDER)", "np.permute_dims(y, (-2, -1, 0))",
    "np.transpose(y, np.array([2, 0, 1]))", "np.moveaxis(y, source=0, destination=-1)",
    "np.moveaxis(y, [0, 1], destination=[-1, 0])", "np.moveaxis(y, (0, 1), (2, 0))",
    "np.swapaxes(y, axis1=0, axis2=-1)", "np.matrix_transpose(y)", "np.linalg.matrix_transpose(y)",
    "np.rollaxis(y, 0, 3)", "np.rollaxis(y, -2, start=-1)", "np.rot90(y, 3, (1, 2))",
    "np.rot90(y, k=-1, axes=(2, 0))", "np.rot90(y, 0)", "np.flip(y)", "np.flip(y, axis=(0, 2))",
    "np.fliplr(y)", "np.atleast_3d(y[0])", "np.atleast_1d(y)", "np.expand_dims(y, (0, 4))[0]",
    "y[:, None].squeeze()", "np.flip(y.transpose(2, 0, 1), 1)[:, ::-1]",
    "np.rot90(np.flipud(y))[1:]", "np.rollaxis(np.rollaxis(y, 2), 1, 0)", "np.rot90(y).T",
)  # fmt: skip
PROGRAM = """
import numpy as np

ORDER = (1, 2, 0)

def f(x, w):
    y = x * x
    z = {turn}
    z[-1, 0] = x[0, 0, 0] ** 3
    z[0] *= 2.0
    y[0, 1] += x[1, 1, 1]
    return np.sum(y * w) + np.sum(z * z * z)
"""


def program(turn: str, folder):
    path = folder / "turned.py"
    path.write_text(PROGRAM.format(turn=turn))
    space = {"__name__": path.stem}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["f"]


@pytest.mark.parametrize("turn", some(TURNS, 7))
def test_write_through_turned_view_matches_numpy(turn: str, tmp_path) -> None:
    f = program(turn, tmp_path)
    rng = np.random.default_rng(7)
    x, direction, w = rng.normal(size=(3, 2, 3, 4))

    value, gradient = srcad.value_and_grad(f)(x, w)
    slope = f(x + 1e-30j * direction, w).imag / 1e-30

    assert value == f(x.copy(), w)
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-12)
    assert srcad.jvp(f, (x, w), (direction, None))[1] == pytest.approx(slope, rel=1e-12)


def test_write_through_a_view_of_a_users_rule_is_refused() -> None:
    def tail(x):
        return x[1:]

    @srcad.rules.linear(tail, memory="view", override=True)
    def rule(y_bar, x):
        return np.concatenate((np.zeros(1), y_bar))

    def f(x):
        y = x * x
        z = tail(y)
        z[0] = 3.0
        return np.sum(y)

    with pytest.raises(srcad.errors.MutationError):
        srcad.grad(f)(np.arange(3.0))
