"""Methods of ufuncs: reduce, accumulate, reduceat and outer; and the dtype of a ufunc."""

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedSyntaxError
from srcad.testing import check_grads

X = np.array([1.7, 0.52, 0.93, 1.3, 0.61])
M = np.array([[0.9, 1.3, 0.4, 1.1], [1.2, 0.7, 1.6, 0.5], [0.8, 1.5, 0.6, 1.4]])
T = np.linspace(0.4, 1.9, 24).reshape(2, 3, 4) ** 1.5
MASK = np.array([[True, False, True, True], [False, True, True, True], [True, True, False, True]])

ON_VECTORS = [
    lambda x: np.add.reduce(x),
    lambda x: np.add.reduce(x, None),
    lambda x: np.add.reduce(x, axis=-1, keepdims=True),
    lambda x: np.add.reduce(x, initial=x[0]),
    lambda x: np.multiply.reduce(x),
    lambda x: np.maximum.reduce(x),
    lambda x: np.minimum.reduce(x, initial=9.0),
    lambda x: np.fmax.reduce(x),
    lambda x: np.subtract.reduce(x),
    lambda x: np.subtract.reduce(x, initial=2.0),
    lambda x: np.subtract.reduce(x, axis=None, keepdims=True),
    lambda x: np.true_divide.reduce(x),
    lambda x: np.hypot.reduce(x),
    lambda x: np.hypot.reduce(-x[:1]),
    lambda x: np.logaddexp.reduce(x),
    lambda x: np.logaddexp2.reduce(x, initial=x[1]),
    lambda x: np.subtract.reduce([x[0], 1.0, x[2]]),
    lambda x: np.add.accumulate(x),
    lambda x: np.multiply.accumulate(x),
    lambda x: np.subtract.accumulate(x),
    lambda x: np.true_divide.accumulate(x),
    lambda x: np.maximum.accumulate(x),
    lambda x: np.minimum.accumulate(x),
    lambda x: np.logaddexp.accumulate(x),
    lambda x: np.hypot.accumulate(x),
    lambda x: np.add.reduceat(x, [0, 2, 3]),
    lambda x: np.add.reduceat(x, np.array([1, 3, 0, 0])),
    lambda x: np.multiply.reduceat(x, [0, 2, 1]),
    lambda x: np.maximum.reduceat(x, [0, 2]),
    lambda x: np.subtract.reduceat(x, [0, 2]),
    lambda x: np.multiply.outer(x, x),
    lambda x: np.add.outer(x, 2.0),
    lambda x: np.subtract.outer([1.0, 2.0], x),
    lambda x: np.multiply.outer(x, np.ones((2, 3))),
    lambda x: np.subtract.outer(x, x, dtype=np.float64),
    lambda x: np.multiply(x, 2.0, dtype=np.float64),
    lambda x: np.exp(x, dtype="float64"),
    lambda x: np.add(x[0], x, dtype=float),
]
ON_MATRICES = [
    lambda m: np.add.reduce(m),
    lambda m: np.add.reduce(m, axis=None),
    lambda m: np.add.reduce(m, axis=(0, 1), keepdims=True),
    lambda m: np.add.reduce(m, axis=1, where=MASK),
    lambda m: np.add.reduce(m, -1, None, None, True, 2.0, MASK),
    lambda m: np.multiply.reduce(m, axis=1, where=MASK),
    lambda m: np.maximum.reduce(m, axis=-1, keepdims=True),
    lambda m: np.maximum.reduce(m, axis=1, initial=-1.0, where=MASK),
    lambda m: np.subtract.reduce(m),
    lambda m: np.subtract.reduce(m, axis=-1, keepdims=True),
    lambda m: np.divide.reduce(m, axis=1, initial=2.0),
    lambda m: np.hypot.reduce(m, axis=(0, 1)),
    lambda m: np.logaddexp.reduce(m, axis=1, where=MASK, keepdims=True),
    lambda m: np.add.accumulate(m),
    lambda m: np.multiply.accumulate(m, axis=-1),
    lambda m: np.subtract.accumulate(m),
    lambda m: np.divide.accumulate(m, -1),
    lambda m: np.maximum.accumulate(m, axis=1),
    lambda m: np.add.reduceat(m, [0, 1]),
    lambda m: np.add.reduceat(m, [0, 2], axis=-1),
    lambda m: np.multiply.reduceat(m, [0, 2], axis=1),
    lambda m: np.minimum.reduceat(m, [0, 2], axis=0),
    lambda m: np.multiply.outer(m, m),
    lambda m: np.add.outer(m[0], m),
]
ON_TENSORS = [
    lambda t: np.subtract.reduce(t, axis=1),
    lambda t: np.subtract.accumulate(t, axis=-2),
    lambda t: np.divide.reduce(t, axis=-1, keepdims=True),
    lambda t: np.hypot.reduce(t, axis=(0, -1)),
    lambda t: np.add.reduceat(t, [0, 2, 1], axis=1),
]
CASES = [(f, a) for fs, a in ((ON_VECTORS, X), (ON_MATRICES, M), (ON_TENSORS, T)) for f in fs]


@pytest.mark.parametrize(("f", "a"), CASES)
def test_derivatives(f, a):
    def loss(a):
        return np.sum(f(a) ** 2)

    check_grads(loss, (a,), order=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("f", "a"), CASES)
def test_values_are_those_of_numpy(f, a, dtype):
    a = a.astype(dtype)
    expected = f(a)
    found, _ = srcad.jvp(f, (a,), (np.ones_like(a),))
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected, strict=True)


BIG = np.random.default_rng(4).uniform(0.95, 1.05, (40, 33))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "ufunc",
    [np.add, np.multiply, np.subtract, np.divide, np.maximum, np.fmin, np.logaddexp, np.hypot,
     np.fmod, np.copysign],
)  # fmt: skip
def test_values_of_long_axes(ufunc, axis, dtype):
    def methods(m):
        return (
            ufunc.reduce(m, axis=axis),
            ufunc.accumulate(m, axis=axis),
            ufunc.reduce(m[:, 0]),
        )

    for m in (BIG.astype(dtype), BIG.astype(dtype).T, BIG.astype(dtype)[::-1]):
        found, _ = srcad.jvp(methods, (m,), (np.ones_like(m),))
        for one, other in zip(found, methods(m), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.divide, np.maximum])
@pytest.mark.parametrize("shape", [(1,), (1, 3), (0, 3), (3, 0)])
def test_short_axes(ufunc, shape):
    def running(a):
        return ufunc.accumulate(a, axis=0)

    a = np.full(shape, 0.7)
    found, _ = srcad.jvp(running, (a,), (a,))
    np.testing.assert_array_equal(found, running(a), strict=True)


def test_an_empty_axis_without_identity_is_refused_as_in_numpy():
    def loss(x):
        return np.subtract.reduce(x)

    with pytest.raises(ValueError, match="which has no identity"):
        srcad.grad(loss)(np.ones(0))


def test_reduction_of_one_row_is_new_memory():
    def loss(m):
        row = np.subtract.reduce(m)
        row[0] = 0.0
        return np.sum(row) + np.sum(m**2)

    check_grads(loss, (M[:1],))


def test_other_dtypes():
    def rounded(x):
        return np.multiply(x, 1.1, dtype=np.float32)

    def summed(x):
        return np.add.reduce(x, dtype=np.float64), np.subtract.reduce(x, dtype=np.float64)

    for f, a in ((rounded, X), (summed, X.astype(np.float32))):
        found, _ = srcad.jvp(f, (a,), (np.ones_like(a),))
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(f(a)), strict=True):
            assert one == other
            assert one.dtype == other.dtype


def test_sums_are_printed_as_sums():
    def loss(x):
        return np.add.reduce(x) ** 2

    gradient = srcad.grad(loss)
    gradient(X)
    assert "np.sum(x)," in gradient.source


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.power.accumulate(x),
        lambda x: np.arctan2.reduce(x),
        lambda x: np.hypot.reduceat(x, [0, 2]),
        lambda x: np.subtract.reduce(x, where=x > 0, initial=0.0),
        lambda x: np.add.reduce(x, initial=None),
        lambda x: np.fmax.reduce(x, initial=0.0),
    ],
)
def test_refusals(f):
    with pytest.raises(UnsupportedSyntaxError, match="cannot differentiate this call of"):
        srcad.grad(lambda x: np.sum(f(x)))(X)


def test_a_call_without_derivative_runs_as_it_stands():
    def loss(x):
        return np.sum(x**2) * np.logical_and.reduce(x > 0) * np.power.reduce(np.ones(3))

    check_grads(loss, (X,))


@pytest.mark.parametrize("method", ["accumulate", "reduce", "reduceat"])
@pytest.mark.parametrize(
    "ufunc",
    [np.hypot, np.logaddexp, np.true_divide, np.copysign, np.subtract],
    ids=lambda ufunc: ufunc.__name__,
)
def test_integers_along_an_axis_of_length_1_have_the_dtype_of_the_plain_call(ufunc, method):
    options = ([0],) if method == "reduceat" else ()
    if method == "reduce" and ufunc.identity is not None:
        return  # refused

    def f(x):
        return getattr(ufunc, method)(x, *options, axis=1)

    for dtype in (np.int64, np.int32):
        x = np.arange(1, 4, dtype=dtype)[:, None]
        try:
            y, _ = srcad.jvp(f, (x,), (np.ones(x.shape),))
        except UnsupportedSyntaxError:
            continue
        assert y.dtype == f(x).dtype
        assert y.tolist() == f(x).tolist()


def test_write_into_accumulated_integers_keeps_the_fraction():
    def f(x, value):
        r = np.true_divide.accumulate(x, axis=1)
        r[0] = value
        return r * 1.0

    y, y_dot = srcad.jvp(f, (np.arange(1, 4)[:, None], 0.3), (np.ones((3, 1)), 1.0))

    assert y.tolist() == [[0.3], [2.0], [3.0]]
    assert y_dot.tolist() == [[1.0], [1.0], [1.0]]
