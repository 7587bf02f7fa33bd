"""Calls that are left as they stand and write into an array outside, which was read before."""

from __future__ import annotations

import numpy as np
import pytest

from srcad import grad, value_and_grad
from srcad.errors import MutationError
from tests.numeric import assert_close

X = np.array([0.5, 1.5, 2.5])
HELD = np.array([1.0, 2.0, 3.0])
HISTORY = np.zeros(3)
SEEN = []


class Model:
    def __init__(self):
        self.w = np.array([1.0, 2.0, 3.0])


MODEL = Model()


@pytest.fixture(autouse=True)
def _as_before():
    yield
    HELD[:] = MODEL.w[:] = 1.0, 2.0, 3.0
    HISTORY[:] = 0.0
    SEEN.clear()


def double():
    HELD[:] = 2.0 * HELD


def double_further_down():
    double()


def double_the_model():
    MODEL.w[:] = 2.0 * MODEL.w


def fill():
    HELD.fill(3.0)


def double_by_out():
    np.multiply(HELD, 2.0, out=HELD)


def record(value):
    HISTORY[0] = value
    SEEN.append(value)


# ------------------------------------------------------------------------ what was read changes
def between(x):
    y = np.sum(HELD * x)
    double()
    return y + np.sum(HELD * x)


def further_down(x):
    y = np.sum(HELD * x)
    double_further_down()
    return y


def of_an_object(x):
    y = np.sum(MODEL.w * x)
    double_the_model()
    return y


def by_a_method(x):
    y = np.sum(HELD * x)
    fill()
    return y


def by_out(x):
    y = np.sum(HELD * x)
    double_by_out()
    return y


def in_a_branch(x):
    y = np.sum(HELD * x)
    if x[0] > 0:
        double()
    return y


def before_in_a_loop(x):
    y = 0.0
    for _ in range(3):
        double()
        y = y + np.sum(HELD * x)
    return y


def after_in_a_loop(x):
    y = 0.0
    for _ in range(3):
        y = y + np.sum(HELD * x)
        double()
    return y


@pytest.mark.parametrize(
    "f",
    [
        between,
        further_down,
        of_an_object,
        by_a_method,
        by_out,
        in_a_branch,
        before_in_a_loop,
        after_in_a_loop,
    ],
)
def test_opaque_write_into_previously_used_array_rejected(f):
    with pytest.raises(MutationError):
        grad(f)(X)
    assert_close(HELD, np.array([1.0, 2.0, 3.0]))


# ------------------------------------------------------------------------ what was read stays
def before_everything(x):
    double()
    return np.sum(HELD * x)


def into_another_array(x):
    y = np.sum(HELD * x)
    record(3.0)
    return y


def into_another_array_in_a_loop(x):
    y = 0.0
    for k in range(3):
        y = y + np.sum(HELD * x)
        record(float(k))
    return y


@pytest.mark.parametrize(
    ("f", "factor"),
    [(before_everything, 2.0), (into_another_array, 1.0), (into_another_array_in_a_loop, 3.0)],
)
def test_other_opaque_writes_match_original(f, factor):
    value, slope = value_and_grad(f)(X)

    assert_close(slope, factor * np.array([1.0, 2.0, 3.0]))
    assert value == factor * np.sum(np.array([1.0, 2.0, 3.0]) * X)
    assert SEEN == {1.0: [3.0], 2.0: [], 3.0: [0.0, 1.0, 2.0]}[factor]
