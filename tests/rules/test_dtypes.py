"""Every rule keeps float32, and takes numbers, 0-d arrays, integers and empty arrays."""

import operator

import numpy as np
import pytest

from srcad.rules import NoPartial
from tests.marks import named
from tests.rules import samples
from tests.rules.harness import (
    cotangents,
    in_float32,
    paired,
    seeded,
    widened_by_rule,
)
from tests.rules.samples import CALLS
from tests.rules.test_table import name_of

UNARY = {**samples.UNARY, np.nan_to_num: (-2, 2)}
BINARY = samples.BINARY | dict.fromkeys((operator.pow, np.power, np.float_power), (0.4, 2))


@pytest.mark.parametrize("call", [c for c in map(in_float32, CALLS) if c], ids=name_of)
def test_float32_stays_float32(call, rng):
    assert widened_by_rule(call, rng) == []


@pytest.mark.parametrize(
    "target", [f for f in (*UNARY, *BINARY) if f is not np.reciprocal], ids=named
)
def test_small_integers_converted_to_float_in_rule(target, rng):
    """The compiler hands a rule active integers as floats; the result may be an integer."""
    rank = 2 if target in BINARY else 1
    small = [np.array([2, 3, 1], np.int8)[: 3 if rank == 2 else 2] for _ in range(rank)]
    if target in (np.arcsin, np.arccos, np.arctanh):
        small = [np.array([0], np.int8)]
    lifted = [x.astype(float) for x in small]
    y = target(*small)
    y_bar = rng.normal(size=y.shape)

    found = cotangents_at(target, lifted, y, y_bar)
    np.testing.assert_allclose(
        found, cotangents_at(target, lifted, target(*lifted), y_bar), rtol=2e-2
    )


def cotangents_at(target, args, y, y_bar):
    return [
        np.zeros_like(y_bar)
        if bar is None or isinstance(bar, NoPartial)
        else bar + np.zeros_like(y_bar)
        for bar in cotangents(lambda *_: y, args, {}, y_bar, rule_of=target)
    ]


@pytest.mark.parametrize("target", UNARY, ids=named)
def test_scalar_and_0d_array_give_scalar_cotangent(target):
    low, high = UNARY[target]
    x = low + 0.37 * (high - low)

    for operand in (x, np.array(x), np.float32(x)):
        (bar,) = cotangents(target, (operand,), {}, 1.0)
        assert np.shape(bar) == ()


EMPTY = np.zeros((0, 3))
EMPTIES = [
    *[(f, (EMPTY,), {}) for f in UNARY],
    *[(f, (EMPTY, np.ones(3)), {}) for f in BINARY],
    *[(f, (EMPTY,), {"axis": axis}) for f in (np.sum, np.prod, np.mean, np.var) for axis in (0, 1)],
    *[(f, (EMPTY,), {"axis": axis}) for f in (np.cumsum, np.cumprod, np.sort) for axis in (0, 1)],
    (np.max, (EMPTY,), {"axis": 1}), (np.diff, (EMPTY,), {}), (np.diff, (EMPTY,), {"axis": 0}),
    (np.concatenate, ((EMPTY, np.ones((2, 3))),), {}), (np.vstack, ((EMPTY, np.ones(3)),), {}),
    (np.reshape, (EMPTY, (3, 0)), {}), (np.transpose, (EMPTY,), {}), (np.flip, (EMPTY,), {}),
    (np.tile, (EMPTY, 2), {}), (np.pad, (EMPTY, 1), {}), (np.linalg.norm, (EMPTY,), {}),
    (operator.getitem, (EMPTY, (slice(None), 1)), {}), (operator.getitem, (np.ones(3), []), {}),
    (operator.matmul, (EMPTY, np.ones(3)), {}), (operator.matmul, (EMPTY, np.ones((3, 2))), {}),
    (operator.matmul, (np.ones((2, 0)), EMPTY), {}), (np.outer, (np.zeros(0), np.ones(2)), {}),
    (np.einsum, ("ij,kj->ik", EMPTY, np.ones((2, 3))), {}), (np.roll, (EMPTY, 1), {}),
    (np.cumsum, (EMPTY,), {}), (np.cumprod, (EMPTY,), {}),
    (np.broadcast_to, (EMPTY, (2, 0, 3)), {}),
    (np.tril, (EMPTY,), {}), (np.trace, (EMPTY,), {}), (np.diagonal, (EMPTY,), {}),
    (np.std, (EMPTY, 1), {}),
    (np.stack, ([np.zeros(0), np.zeros(0)],), {}), (np.array_split, (np.ones(2), 3), {}),
    (np.where, (np.zeros(0, bool), 1.0, np.zeros(0)), {}), (np.array, ([],), {}),
    (np.repeat, (EMPTY, 2, 0), {}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("call", EMPTIES, ids=name_of)
def test_an_empty_array_gives_an_empty_array(call, rng):
    target, args, kwargs = call

    entries = cotangents(target, args, kwargs, seeded(target(*args, **kwargs), rng))

    for value, entry in zip(args, entries, strict=False):
        for leaf, bar in paired(value, entry):
            if isinstance(leaf, np.ndarray) and bar is not None and leaf.dtype.kind == "f":
                assert np.shape(bar) == leaf.shape
