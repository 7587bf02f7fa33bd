"""Reductions into an array of another dtype: the value is the plain call's, or it is refused."""

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedTypeError

X = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
SUMS = [np.sum, np.prod, np.mean, np.cumsum, np.cumprod, np.nansum, np.nanmean]
PARTLY = [np.var, np.std, np.ptp, np.median, np.nanstd]


@pytest.mark.parametrize("reduce", SUMS, ids=lambda f: f.__name__)
def test_sum_into_a_wider_array_has_the_value_of_the_plain_call(reduce):
    def f(x, out):
        reduce(x, axis=0, out=out)
        return out * 1.0

    out = np.zeros(np.shape(reduce(X, axis=0)))
    expected = f(X, out.copy())

    y, back = srcad.pullback(f, X, out)

    assert y.tobytes() == expected.tobytes()
    at, step = X.astype(float), np.zeros(X.shape)
    step[2, 1] = 1e-6
    slope = np.sum(f(at + step, out.copy()) - f(at - step, out.copy())) / 2e-6
    assert back(np.ones(y.shape))[0][2, 1] == pytest.approx(slope, rel=1e-5)


NARROW = [g for g in [*SUMS, np.nanprod, np.nancumsum] if g not in (np.mean, np.nanmean)]


@pytest.mark.parametrize("reduce", NARROW, ids=lambda f: f.__name__)
def test_sum_into_a_narrower_array_is_rounded_once(reduce):
    x = np.random.default_rng(0).normal(size=(97, 4))

    def f(x):
        out = np.zeros(np.shape(reduce(x, axis=0)), np.float32)
        reduce(x, axis=0, out=out)
        return out * 1.0

    y, back = srcad.pullback(f, x)

    assert y.tobytes() == f(x).tobytes()
    step = np.zeros(x.shape)
    step[2, 1] = 1e-6
    slope = np.sum(reduce(x + step, axis=0) - reduce(x - step, axis=0)) / 2e-6
    assert back(np.ones(y.shape, np.float32))[0][2, 1] == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("reduce", [np.mean, np.nanmean], ids=lambda f: f.__name__)
def test_mean_into_a_narrower_array_is_refused(reduce):
    def f(x):
        out = np.zeros(4, np.float32)
        reduce(x, axis=0, out=out)
        return np.sum(out)

    with pytest.raises(UnsupportedTypeError, match="another dtype"):
        srcad.gradient(f, X.astype(float))


def test_axis_known_at_the_call_and_no_dtype_have_the_value_of_the_plain_call():
    options = {"axis": 0}

    def f(x):
        out = np.zeros(4)
        np.sum(x, out=out, **options)
        return out + np.cumsum(x, 0, None, np.zeros((7, 4)))

    assert srcad.pullback(f, X)[0].tobytes() == f(X).tobytes()


@pytest.mark.parametrize("reduce", PARTLY, ids=lambda f: f.__name__)
def test_reduction_that_is_calculated_in_two_dtypes_is_refused(reduce):
    def f(x):
        out = np.zeros(4)
        reduce(x, axis=0, out=out)
        return np.sum(out)

    with pytest.raises(UnsupportedTypeError, match="another dtype"):
        srcad.gradient(f, X)


def test_largest_entries_are_stored_in_any_dtype():
    def f(x):
        out = np.zeros(4)
        np.max(x, axis=0, out=out)
        return out * 1.0

    assert srcad.pullback(f, X)[0].tobytes() == f(X).tobytes()
