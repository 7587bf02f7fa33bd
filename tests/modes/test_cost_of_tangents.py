"""What tangents are made of: formulas that share work with the function, and no value in vain."""

import operator

import numpy as np
import pytest

from srcad import grad, hvp, jvp
from srcad.api.asking import derivative
from srcad.rules.linalg import half_triangle, lower_inverse, triangle_of_product

RNG = np.random.default_rng(11)
M = RNG.normal(size=(60, 60))
A = M @ M.T / 60 + np.eye(60)
V = RNG.normal(size=(60, 60))
Y = RNG.normal(size=60)


def text(f, *args):
    forward = derivative(f, "jvp", 0)
    forward.specialize(*args)
    return code(forward.source)


def code(source):
    """A text without its comments."""
    return "\n".join(line for line in source.splitlines() if not line.strip().startswith("#"))


def differences(f, x, v):
    return (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6


def likelihood(k, y):
    factor = np.linalg.cholesky(k)
    z = np.linalg.solve(factor, y)
    return 0.5 * (z @ z) + np.sum(np.log(np.diag(factor)))


def test_cholesky_tangent_adds_no_linear_solve():
    def f(k):
        return likelihood(k, Y)

    assert jvp(f, (A,), (V,))[1] == pytest.approx(differences(f, A, (V + V.T) / 2), rel=1e-6)
    assert jvp(f, (A,), (V,))[1] == pytest.approx(np.sum(grad(f)(A) * V), rel=1e-10)
    source = text(f, A)
    assert source.count("np.linalg.solve(") == 1, "the function's own"


def test_cholesky_hvp_adds_no_linear_solve():
    def f(k):
        return likelihood(k, Y)

    product = hvp(f)
    s = (V + V.T) / 2
    np.testing.assert_allclose(product(A, v=s), differences(grad(f), A, s), rtol=1e-5, atol=1e-7)
    assert code(product.source).count("np.linalg.solve(") == 1, "the function's own"


@pytest.mark.parametrize("b", [Y, V, V[:, :2]])
def test_cholesky_factor_solves_match_differences(b):
    def f(k):
        factor = np.linalg.cholesky(k)
        return np.linalg.solve(factor.T, np.linalg.solve(factor, b))

    s = (V + V.T) / 2
    np.testing.assert_allclose(jvp(f, (A,), (s,))[1], differences(f, A, s), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (49, 49), (2, 70, 70)])
def test_triangular_helpers_match_definitions(shape, dtype):
    a = (np.tril(RNG.normal(size=shape)) + 3 * np.sqrt(shape[-1]) * np.eye(shape[-1])).astype(dtype)
    eye = np.broadcast_to(np.eye(shape[-1]), shape)

    atol = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(a @ lower_inverse(a), eye, atol=atol)
    np.testing.assert_array_equal(half_triangle(a + a.mT), np.tril(a + a.mT) * (1 - eye / 2))
    assert lower_inverse(a).dtype == half_triangle(a).dtype == dtype
    b = RNG.normal(size=shape).astype(dtype)
    found = triangle_of_product(a, b)
    np.testing.assert_allclose(found, np.tril(a @ b @ a.conj().mT), rtol=1e-4, atol=1e6 * atol)
    assert found.dtype == dtype


def test_large_cholesky_third_tangent_matches_differences():
    n = 70
    k = RNG.normal(size=(n, n))
    k, s = k @ k.T / n + 3 * np.eye(n), (k + k.T) / n

    def along(t):
        return np.linalg.cholesky(k + t * s)

    def once(t):
        return jvp(along, (t,), (1.0,))[1]

    def twice(t):
        return jvp(once, (t,), (1.0,))[1]

    step = 1e-5
    for f, g in ((along, once), (once, twice)):
        slopes = (f(0.1 + step) - f(0.1 - step)) / (2 * step)
        np.testing.assert_allclose(g(0.1), slopes, atol=1e-7)
    total = grad(lambda t: np.sum(once(t) ** 2))(0.1)
    np.testing.assert_allclose(total, 2 * np.sum(once(0.1) * twice(0.1)))


@pytest.mark.parametrize(("a", "b"), [(3.0, 2.0), (V, 2.0), (2.0, V), (V, V[0]), (V[0], A)])
def test_quotient_tangent_has_one_division(a, b):
    a_dot, b_dot = np.cos(a), np.sin(b)

    def along(t):
        return np.divide(a + t * a_dot, b + t * b_dot)

    found = jvp(operator.truediv, (a, b), (a_dot, b_dot))[1]
    np.testing.assert_allclose(found, (along(1e-7) - along(-1e-7)) / 2e-7, rtol=2e-5)
    forward = derivative(lambda a, b: a / b, "jvp", (0, 1))
    forward.specialize(a, b)
    assert code(forward.source).count(" / ") == 2


def test_masked_quotient_tangent_keeps_zeros():
    def f(x):
        return np.sum(np.where(x > 0, x / (x * x), 0.0))

    x = np.array([0.0, 2.0])
    with np.errstate(invalid="ignore"):  # of the function itself
        assert jvp(f, (x,), (np.ones(2),))[1] == pytest.approx(np.sum(grad(f)(x)))


def test_constant_factor_moved_outside_sum():
    source = text(lambda x: np.sum(x * x), V)

    assert "2.0 * np.sum(x_dot * x)" in source
