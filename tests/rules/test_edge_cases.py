"""The agreed derivatives at special points, each rule run by itself in plain NumPy."""

import math
import operator

import numpy as np
import pytest

from srcad.rules.linalg import cofactors
from tests.rules.harness import cotangents

inf, nan = math.inf, math.nan
f8 = np.float64

# target, arguments, gradients (None: not differentiated here)
NUMBERS = [
    (operator.abs, (0.0,), (0,)), (operator.abs, (-0.0,), (0,)), (np.abs, (f8(0),), (0,)),
    (np.abs, (f8(-0.0),), (0,)),
    (np.fabs, (f8(0),), (0,)), (math.fabs, (0.0,), (0,)),
    (np.sqrt, (f8(0),), (inf,)), (np.cbrt, (f8(0),), (inf,)), (np.log, (f8(0),), (inf,)),
    (np.log1p, (f8(-1),), (inf,)),
    (np.hypot, (f8(0), f8(0)), (0, 0)), (math.hypot, (0.0, 0.0), (0, 0)),
    (np.arctan2, (f8(0), f8(0)), (nan, nan)),
    (operator.pow, (f8(0), 0), (0, 0)), (operator.pow, (f8(0), 0.0), (0, 0)),
    (operator.pow, (f8(0), 1), (1, 0)),
    (operator.pow, (f8(0), 2), (0, 0)), (operator.pow, (f8(0), 0.5), (inf, 0)),
    (operator.pow, (f8(0), -1), (-inf, -inf)),
    (np.power, (f8(0), f8(0)), (0, 0)), (np.power, (f8(0), f8(2)), (0, 0)),
    (np.power, (f8(0), f8(-1)), (-inf, -inf)),
    (np.power, (f8(-2), f8(3)), (12, nan)), (operator.pow, (-2.0, 3.0), (12, nan)),
    (operator.pow, (0.0, 0.0), (0, 0)),
    (operator.pow, (2.0, 0.0), (0, math.log(2))), (operator.pow, (0.0, 2.0), (0, 0)),
    (math.pow, (0.0, 0.0), (0, 0)),
    (operator.truediv, (1.0, f8(0)), (inf, -inf)), (np.divide, (f8(0), f8(0)), (inf, nan)),
    (np.maximum, (f8(1), f8(1)), (0, 1)), (np.minimum, (f8(1), f8(1)), (1, 0)),
    (np.maximum, (f8(0), 0.0), (0, 1)),
    (np.maximum, (0.0, f8(0)), (0, 1)), (np.maximum, (f8(nan), f8(1)), (1, 0)),
    (np.maximum, (f8(1), f8(nan)), (0, 1)),
    (np.minimum, (f8(nan), f8(1)), (1, 0)), (np.minimum, (f8(1), f8(nan)), (0, 1)),
    (np.maximum, (f8(nan), 1.0), (1, 0)),
    (np.minimum, (f8(nan), 1.0), (1, 0)), (np.maximum, (1.0, f8(nan)), (0, 1)),
    (np.fmax, (f8(nan), f8(1)), (0, 1)), (np.fmax, (f8(1), f8(nan)), (1, 0)),
    (np.fmin, (f8(nan), f8(1)), (0, 1)),
    (np.fmax, (f8(1), f8(1)), (0, 1)), (np.fmin, (f8(1), f8(1)), (1, 0)),
    (max, (0.0, 0.0), (0, 1)), (min, (0.0, 0.0), (1, 0)), (max, (0.0, nan), (1, 0)),
    (max, (nan, 0.0), (1, 0)),
    (np.where, (False, f8(0), 0.0), (None, 0, 1)),
    *[(np.clip, (f8(x), 0, 1), (slope, 0, 1 - slope))
      for x, slope in ((0, 1), (1, 1), (0.5, 1), (2, 0), (nan, 1))],
    (np.clip, (f8(0.5), 1, 0), (0, 0, 1)),
    (np.sinc, (f8(0),), (0,)), (np.arcsin, (f8(1),), (inf,)), (np.arccos, (f8(1),), (-inf,)),
    (np.arctanh, (f8(1),), (inf,)),
    (np.arccosh, (f8(1),), (inf,)), (np.mod, (f8(1), 1), (1, -1)),
    (np.mod, (f8(5), f8(-3)), (1, 2)),
    (operator.mod, (5.0, -3.0), (1, 2)), (np.logaddexp, (f8(-inf), f8(-inf)), (0.5, 0.5)),
    (np.logaddexp, (f8(-inf), f8(1)), (0, 1)), (np.logaddexp2, (f8(-inf), f8(-inf)), (0.5, 0.5)),
    (np.tanh, (f8(1000),), (0,)), (np.nan_to_num, (f8(nan),), (0,)),
    (np.nan_to_num, (f8(inf),), (0,)),
    (np.copysign, (f8(0), f8(-1)), (0, 0)),
]  # fmt: skip

ARRAYS = [
    (np.linalg.norm, ([0.0, 0, 0],), {}, [0, 0, 0]),
    (np.linalg.norm, ([[0.0, 0], [0, 0]],), {}, [[0, 0], [0, 0]]),
    (np.linalg.norm, ([0.0, 1, -2], 1), {}, [0, 1, -1]),
    (np.linalg.norm, ([0.0, 0], 1), {}, [0, 0]),
    (np.linalg.norm, ([0.0, 0], 3), {}, [0, 0]),
    (np.linalg.norm, ([2.0, -2, 1], inf), {}, [0.5, -0.5, 0]),
    (np.linalg.norm, ([[0.0, 0], [0, 0]], "nuc"), {}, [[1, 0], [0, 1]]),
    (np.max, ([1.0, 1, 0],), {}, [0.5, 0.5, 0]), (np.min, ([1.0, 1, 2],), {}, [0.5, 0.5, 0]),
    (np.max, ([1.0, nan, 0],), {}, [0, 1, 0]), (np.nanmax, ([1.0, nan, 0],), {}, [1, 0, 0]),
    (np.median, ([3.0, 1, 2],), {}, [0, 0, 1]),
    (np.median, ([4.0, 1, 2, 3],), {}, [0, 0, 0.5, 0.5]),
    (np.prod, ([0.0, 2, 3],), {}, [6, 0, 0]), (np.prod, ([0.0, 0, 3],), {}, [0, 0, 0]),
    (np.std, ([1.0, 1, 1],), {}, [0, 0, 0]), (np.var, ([1.0, 1, 1],), {}, [0, 0, 0]),
    (np.nansum, ([1, nan],), {}, [1, 0]), (np.nanmean, ([1, nan, 3],), {}, [0.5, 0, 0.5]),
    (np.linalg.det, ([[1.0, 2], [2, 4]],), {}, [[4, -2], [-2, 1]]),
    (np.linalg.det, (np.zeros((3, 3)),), {}, np.zeros((3, 3))),
    (np.sum, (np.zeros(0),), {}, []), (np.mean, (np.zeros(0),), {}, []),
    (np.prod, (np.zeros(0),), {}, []),
]  # fmt: skip

SEEDED = [
    (np.sort, ([1.0, 1, 0],), [1.0, 2, 3], [2, 3, 1]),
    (np.cumprod, ([2.0, 0, 3],), [1.0, 1, 1], [1, 8, 0]),
    (np.linalg.cholesky, ([[2.0, 1], [1, 2]],), None, "symmetric"),
]


@pytest.mark.parametrize(("target", "args", "expected"), NUMBERS, ids=str)
def test_a_number_at_a_special_point(target, args, expected):
    with np.errstate(all="ignore"):
        found = cotangents(target, args, {}, 1.0)

    wanted = [0.0 if e is None else float(e) for e in expected]
    np.testing.assert_allclose([0.0 if e is None else float(e) for e in found], wanted)


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize(("target", "args", "kwargs", "expected"), ARRAYS, ids=str)
def test_an_array_at_a_special_point(target, args, kwargs, expected):
    args = (np.asarray(args[0], float), *args[1:])

    with np.errstate(all="ignore"):
        found = cotangents(target, args, kwargs, f8(1.0))

    np.testing.assert_allclose(found[0], expected, atol=1e-15)


@pytest.mark.parametrize(("target", "args", "seed", "expected"), SEEDED[:2], ids=str)
def test_a_seeded_array_at_a_special_point(target, args, seed, expected):
    found = cotangents(target, (np.asarray(args[0]),), {}, np.asarray(seed))

    np.testing.assert_allclose(found[0], expected)


def test_cholesky_is_symmetrised():
    a = np.array([[2.0, 1], [1, 2]])

    (bar,) = cotangents(np.linalg.cholesky, (a,), {}, np.ones((2, 2)))

    np.testing.assert_allclose(bar, bar.T)


def test_eigenvalues_read_the_lower_triangle():
    a = np.array([[2.0, 1], [1, 3]])
    w = np.linalg.eigvalsh(a)

    (bar,) = cotangents(np.linalg.eigh, (a,), {}, (2 * w, None))

    np.testing.assert_allclose(bar, [[4, 0], [4, 6]])


def test_equal_eigenvalues_have_a_derivative():
    (bar,) = cotangents(np.linalg.eigh, (np.eye(2),), {}, (2 * np.ones(2), None))

    np.testing.assert_allclose(bar, 2 * np.eye(2))


@pytest.mark.parametrize("target", [np.linalg.eigh, np.linalg.svd], ids=str)
def test_the_bases_of_equal_values_have_no_derivative(target):
    first = np.array([[2.0, 0], [0, 0]])
    y_bar = (None, first) if target is np.linalg.eigh else (first, None, None)

    with np.errstate(all="ignore"):
        (bar,) = cotangents(target, (np.eye(2),), {}, y_bar)

    assert np.isnan(bar).any()


def test_equal_singular_values_have_a_derivative():
    (bar,) = cotangents(np.linalg.svd, (np.eye(2),), {}, (None, np.ones(2), None))

    np.testing.assert_allclose(bar, np.eye(2), atol=1e-15)


def test_singular_values_at_zero_follow_the_bases():
    zeros = np.zeros((2, 2))
    u, _, vh = np.linalg.svd(zeros)

    (bar,) = cotangents(np.linalg.svd, (zeros,), {}, (None, np.ones(2), None))

    np.testing.assert_allclose(bar, u @ vh)


def test_the_slope_of_sinc_is_smooth_through_zero():
    x = np.array([-1e-3, -1e-9, 0.0, 1e-9, 1e-3])

    (bar,) = cotangents(np.sinc, (x,), {}, np.ones(5))

    np.testing.assert_allclose(bar, -(np.pi**2) * x / 3, rtol=1e-5)


def test_second_partials_of_a_determinant_exist_for_a_singular_matrix():
    rng = np.random.default_rng(0)
    a, g = np.diag([1.0, 0.0, 0.0, 2.0]), rng.normal(size=(4, 4))
    v, h = rng.normal(size=(4, 4)), 1e-6

    (bar,) = cotangents(cofactors, (a,), {}, g)

    # The cofactors are polynomials of the entries: by 3 x 3 determinants, without decomposition.
    def minors(m):
        return np.array([[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(m, i, 0), j, 1))
                          for j in range(4)] for i in range(4)])  # fmt: skip

    difference = (minors(a + h * v) - minors(a - h * v)) / (2 * h)
    assert np.sum(bar * v) == pytest.approx(np.sum(g * difference), rel=1e-6)
