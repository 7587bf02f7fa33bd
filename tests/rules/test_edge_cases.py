"""The agreed derivatives at special points, each rule run by itself in plain NumPy."""

import math
from contextlib import suppress

import numpy as np
import pytest

from srcad import grad
from srcad.rules import formulas
from srcad.rules.linalg import cofactors, lower_inverse
from tests.marks import named
from tests.rules.harness import cotangents, products
from tests.rules.samples import ROWS, is_on_numbers, told

f8 = np.float64

TWINS = set(vars(formulas.TWINS).values())  # of Python floats: ``math.sqrt`` at 0 divides by zero
POINTS = [
    (row.target, point if isinstance(point, tuple) else (point,), slopes)
    for row in ROWS if isinstance(row.kinks, dict) and row.target not in TWINS
    for point, slopes in row.kinks.items()
]  # fmt: skip
ARRAYS = [
    (*call, gradient)
    for row in ROWS if callable(row.kinks)
    for call, gradient in told(row.kinks, row.target)
]  # fmt: skip
EMPTIES = [np.sum, np.mean, np.prod]

SEEDED = [
    (np.sort, ([1.0, 1, 0],), [1.0, 2, 3], [2, 3, 1]),
    (np.cumprod, ([2.0, 0, 3],), [1.0, 1, 1], [1, 8, 0]),
    (np.linalg.cholesky, ([[2.0, 1], [1, 2]],), None, "symmetric"),
]


@pytest.mark.parametrize(("target", "point", "slopes"), POINTS, ids=named)
def test_scalar_derivative_at_special_point(target, point, slopes):
    wanted = [float(e or 0.0) for e in (slopes if isinstance(slopes, tuple) else (slopes,))]
    for number in (float,) if is_on_numbers(target) else (float, f8):
        args = [number(x) for x in point]
        with np.errstate(all="ignore"), suppress(ZeroDivisionError):
            found = cotangents(target, args, {}, 1.0)

            np.testing.assert_allclose([0.0 if e is None else float(e) for e in found], wanted)


def test_special_points_cover_many_rules():
    assert len(POINTS) > 60
    assert (np.sqrt, (0,), math.inf) in POINTS


@pytest.mark.parametrize(("target", "args", "kwargs", "expected"), ARRAYS, ids=named)
def test_an_array_at_a_special_point(target, args, kwargs, expected):
    args = (np.asarray(args[0], float), *args[1:])

    with np.errstate(all="ignore"):
        found = cotangents(target, args, kwargs, f8(1.0))

    np.testing.assert_allclose(found[0], expected, atol=1e-15)


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("target", EMPTIES, ids=named)
def test_gradient_of_empty_array_is_empty(target):
    with np.errstate(all="ignore"):
        (found,) = cotangents(target, (np.zeros(0),), {}, f8(1.0))

    assert np.shape(found) == (0,)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(("empty", "around"), [((0,), (2,)), ((0, 3), (2, 3)), ((0, 0), (2, 0))])
def test_differences_of_what_is_put_around_an_empty_array(n, empty, around, rng):
    options = {"prepend": rng.normal(size=around), "append": rng.normal(size=around)}

    left, right = products(np.diff, (np.zeros(empty), n, 0), options, rng)

    assert right == pytest.approx(left, rel=1e-6)


@pytest.mark.parametrize(("target", "args", "seed", "expected"), SEEDED[:2], ids=named)
def test_a_seeded_array_at_a_special_point(target, args, seed, expected):
    found = cotangents(target, (np.asarray(args[0]),), {}, np.asarray(seed))

    np.testing.assert_allclose(found[0], expected)


def test_cholesky_cotangent_symmetric():
    a = np.array([[2.0, 1], [1, 2]])

    (bar,) = cotangents(np.linalg.cholesky, (a,), {}, np.ones((2, 2)))

    np.testing.assert_allclose(bar, bar.T)


def test_eigvalsh_cotangent_in_lower_triangle():
    a = np.array([[2.0, 1], [1, 3]])
    w = np.linalg.eigvalsh(a)

    (bar,) = cotangents(np.linalg.eigh, (a,), {}, (2 * w, None))

    np.testing.assert_allclose(bar, [[4, 0], [4, 6]])


def test_equal_eigenvalues_have_a_derivative():
    (bar,) = cotangents(np.linalg.eigh, (np.eye(2),), {}, (2 * np.ones(2), None))

    np.testing.assert_allclose(bar, 2 * np.eye(2))


@pytest.mark.parametrize("target", [np.linalg.eigh, np.linalg.svd], ids=named)
def test_eigenvectors_of_equal_values_have_no_derivative(target):
    first = np.array([[2.0, 0], [0, 0]])
    y_bar = (None, first) if target is np.linalg.eigh else (first, None, None)

    with np.errstate(all="ignore"):
        (bar,) = cotangents(target, (np.eye(2),), {}, y_bar)

    assert np.isnan(bar).any()


def test_equal_singular_values_have_a_derivative():
    (bar,) = cotangents(np.linalg.svd, (np.eye(2),), {}, (None, np.ones(2), None))

    np.testing.assert_allclose(bar, np.eye(2), atol=1e-15)


def test_singular_value_gradient_at_zero_uses_bases():
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


def test_the_inverse_of_a_triangle_is_the_inverse(rng):
    for shape in ((3, 3), (101, 101), (2, 70, 70)):
        a = np.tril(rng.normal(size=shape)) / shape[-1] + np.eye(shape[-1])

        np.testing.assert_allclose(lower_inverse(a), np.linalg.inv(a), atol=1e-12)


def test_infinite_determinant_slope_is_nan():
    assert np.all(np.isnan(grad(np.linalg.det)(np.array([[np.inf, 0.0], [0.0, 1.0]]))))
