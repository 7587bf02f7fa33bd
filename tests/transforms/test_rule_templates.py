"""Calls of a rule's first use serve again: where lengths or places differ they must not."""

import warnings

import numpy as np
import pytest

import srcad
from srcad.errors import NoDerivativeWarning
from tests.marks import some

RNG = np.random.default_rng(5)
SHAPES = [(3, 4), (1, 4), (4, 4), (3, 1), (2, 3, 4), (3, 4), (1, 1)]
USES = {
    "sum": lambda x: np.sum(x * x, axis=-1),
    "mean": lambda x: np.mean(x, axis=0, keepdims=True) * x,
    "matmul": lambda x: x @ np.swapaxes(x, -1, -2),
    "matmul by vector": lambda x: x @ x[(0,) * (x.ndim - 1)],
    "constant": lambda x: x @ np.ones((x.shape[-1], 2)),
    "outer": lambda x: np.outer(x[0], x[-1]),
    "tensordot": lambda x: np.tensordot(x, x, axes=([-1], [-1])),
    "einsum": lambda x: np.einsum("...ij,...ij->...i", x, x),
    "broadcast": lambda x: np.broadcast_to(x[..., :1], x.shape) * x,
    "reshape": lambda x: x.reshape(-1) ** 2,
    "concatenate": lambda x: np.concatenate([x, x[:1], 2.0 * x], axis=0) ** 2,
    "stack": lambda x: np.stack([x, x * x], axis=-1) ** 2,
    "cumsum": lambda x: np.cumsum(x, axis=-1) ** 2,
    "repeat": lambda x: np.repeat(x, 2, axis=-1) ** 2,
    "tile": lambda x: np.tile(x, (2, 1)) ** 2,
    "pad": lambda x: np.pad(x, 1, mode="edge") ** 2,
    "roll": lambda x: np.roll(x, 1, axis=-1) * x,
    "diagonal": lambda x: np.diagonal(x, axis1=-2, axis2=-1) ** 2,
    "triangle": lambda x: np.triu(x) @ np.ones(x.shape[-1]),
    "prod": lambda x: np.prod(x, axis=-1),
    "norm": lambda x: np.linalg.norm(x, axis=-1),
    "max": lambda x: np.max(x, axis=-1, keepdims=True) * x,
    "split": lambda x: np.split(x, 2 if x.shape[-1] % 2 == 0 else 1, axis=-1)[0] ** 2,
    "kron": lambda x: np.kron(x[0], x[-1]),
    "solve": lambda x: np.linalg.solve(x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-2]), x),
}


@pytest.mark.parametrize("name", some(USES, 8))
def test_rule_written_again_for_other_lengths(name):
    def f(x):
        return np.sum(np.sin(USES[name](x)))

    for shape in SHAPES:
        x = RNG.normal(size=shape)
        v = RNG.normal(size=shape)
        wanted = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6

        # A derivative of its own is compiled each time.
        found = srcad.grad(lambda x: f(x))(x)

        assert np.sum(found * v) == pytest.approx(wanted, rel=1e-6, abs=1e-7)


def first(t):
    w, v = np.linalg.eigh(np.eye(2) * t)
    return v[0, 0] * w[1]


def second(t):
    w, v = np.linalg.eigh(np.eye(2) * t)
    return v[1, 0] * w[0]


def test_warning_names_the_line_of_its_own_program():
    lines = []
    for f in (first, second):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            srcad.grad(f)(1.5)
        lines += [w.lineno for w in found if w.category is NoDerivativeWarning]

    assert lines == [f.__code__.co_firstlineno + 1 for f in (first, second)]
