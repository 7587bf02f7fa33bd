"""A warning where an argument reaches the result by steps only."""

import math
import warnings

import numpy as np
import pytest

import srcad
from srcad.errors import NoDerivativeWarning


def counted(x):
    s = 0.0
    for k in range(3):
        if x > k:
            s += 1.0
    return s


def counted_up(x):
    s = 0.0
    while s < x:
        s += 1.0
    return s


def in_a_helper(x):
    def level(z):
        return int(z * 2.0)

    return 1.0 * level(x)


def tracked(x):
    n = 0
    for k in range(3):
        if x > k:
            n += 1
    return 4.0


def asserted(x):
    assert x > 0
    return 2.0


STEPS = {
    "round": lambda x: 2.0 * round(x),
    "int": lambda x: 3.0 * int(x),
    "np.round": lambda x: 2.0 * np.round(x),
    "math.floor": lambda x: 1.5 * math.floor(x),
    "np.sign": lambda x: 2.0 * np.sign(x),
    "//": lambda x: 2.0 * (x // 1.0),
    "a comparison": lambda x: 1.0 if x > 0 else 2.0,
    "a flag": lambda x: (x > 0) * 2.0,
    "np.where": lambda x: 2.0 * np.where(x > 1.0, 2.0, 3.0),
    "an index": lambda x: [1.0, 2.0, 3.0][int(x)],
    "a number of trips": lambda x: sum([1.0 for _ in range(int(x))]),
    "arithmetic on an integer": lambda x: np.sqrt(int(x) + 1.0),
    "a cast": lambda x: 1.0 * np.sum(np.asarray(x).astype(int)),
    "np.argmax": lambda x: 1.0 * np.argmax(np.array([x, 1.0])),
    "a maximum that is compared": lambda x: 1.0 if max(x, 1.0) > 2.0 else 0.5,
    "a conditional in a loop": counted,
    "the test of a loop": counted_up,
    "a helper": in_a_helper,
}
NO_STEPS = {
    "unused": lambda x: 3.0,
    "also a product": lambda x: x * round(x),
    "its shape": lambda x: np.sum(np.ones(np.shape(x))),
    "zeros like it": lambda x: np.sum(np.zeros_like(x) + 1.0),
    "stopped": lambda x: srcad.stop_gradient(x) * 2.0,
    "it cancels": lambda x: x - x,
    "times zero": lambda x: x * 0.0,
    "its class": lambda x: 1.0 if isinstance(x, float) else 2.0,
    "asserted": asserted,
    "only counted": tracked,
    "relu": lambda x: x if x > 0 else 0.0,
    "abs": lambda x: abs(x),
}


def heard(f, *args, **options):
    """The gradient, and what was warned of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gradient = srcad.grad(f, **options)(*args)
    return gradient, [w for w in found if issubclass(w.category, NoDerivativeWarning)]


@pytest.mark.parametrize("name", STEPS)
def test_piecewise_constant_dependency_warns_once(name):
    gradient, found = heard(STEPS[name], 2.6)

    assert gradient == 0.0
    assert len(found) == 1
    assert "by 'x' is zero: 'x' reaches the result only through" in str(found[0].message)
    assert found[0].filename == __file__
    assert heard(STEPS[name], 1.6) == (0.0, [])
    assert heard(STEPS[name], np.float64(1.6))[1] == []


@pytest.mark.parametrize("name", NO_STEPS)
def test_other_zero_gradients_do_not_warn(name):
    assert heard(NO_STEPS[name], 2.6)[1] == []


def test_warning_names_argument_and_step_functions():
    def loss(w, t, n):
        return np.sum(np.where(w > t, w * w, float(int(t)))) * n

    gradient, (warning,) = heard(loss, np.ones(3), 0.5, 2, wrt=(0, 1))

    assert gradient[1] == 0.0
    assert "'loss' by 't'" in str(warning.message)
    assert str(warning.message).endswith("only through comparisons and 'int'")


def test_no_warning_for_arguments_not_in_wrt():
    def loss(w, t):
        return np.sum(np.where(w > t, w, 0.0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        srcad.gradient(loss, np.ones(3), 0.5)
        srcad.grad(loss).inspect()


def test_source_access_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "grad" in srcad.grad(lambda x: 2.0 * round(x)).source
