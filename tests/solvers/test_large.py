"""Systems with more than 500 unknowns: sparse matrices and products, against formulas."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize, root

import srcad
from srcad.api import solvers
from tests.numeric import difference

N = 600
FIELD = np.cos(np.arange(float(N)))


@pytest.fixture
def without_matrices(monkeypatch):
    """Full matrices of large systems are errors."""

    def refuse(*args):
        raise AssertionError("a full matrix of a large system")

    monkeypatch.setattr(solvers, "solved_by_matrix", refuse)


def line(p):
    """A root with a tridiagonal Jacobian; the starting point is near the solution."""

    def residual(u):
        padded = np.concatenate((np.zeros(1), u, np.zeros(1)))
        return p[0] * (padded[2:] - 2.0 * u + padded[:-2]) - u - p[1] * u**3 + FIELD

    u = root(residual, FIELD / 2, method="krylov", tol=1e-11).x
    return np.sum(u**2)


def mean_field(p):
    """A root with a full Jacobian, which is near the identity."""
    residual = lambda u: u - p[0] * np.tanh(np.mean(u) + FIELD) - p[1] * u**3  # noqa: E731
    u = root(residual, FIELD / 2, method="krylov", tol=1e-11).x
    return np.sum(u**2)


def chain(p):
    """A quadratic minimum with a tridiagonal Hessian."""

    def energy(z):
        return p[0] * np.sum((z[1:] - z[:-1]) ** 2) + 0.5 * np.sum(z**2) - p[1] * (FIELD @ z)

    z = minimize(energy, np.zeros(N), jac=srcad.grad(energy), method="Newton-CG", tol=1e-12).x
    return np.sum(z**2)


def pulled(p):
    """A quadratic minimum with a full Hessian."""

    def energy(z):
        return p[0] * np.sum(z) ** 2 / N + 0.5 * np.sum(z**2) - p[1] * (FIELD @ z)

    z = minimize(energy, np.zeros(N), jac=srcad.grad(energy), method="Newton-CG", tol=1e-12).x
    return np.sum(z * np.arange(N)) / N


P = np.array([0.2, 0.1])


@pytest.mark.parametrize("f", [line, mean_field])
def test_large_root_has_derivatives_of_two_orders(f, without_matrices):
    gradient = srcad.grad(f)
    np.testing.assert_allclose(gradient(P), difference(f, (P,)), rtol=1e-6)

    second = [(gradient(P + d) - gradient(P - d)) / 2e-5 for d in 1e-5 * np.eye(2)]
    np.testing.assert_allclose(srcad.hessian(f)(P), second, rtol=1e-5)
    np.testing.assert_allclose(srcad.jvp(f, (P,), (np.ones(2),))[1], np.sum(gradient(P)))


def tridiagonal(p):
    matrix = np.eye(N) + 2 * p[0] * (2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1))
    matrix[0, 0] = matrix[-1, -1] = 1 + 2 * p[0]
    return np.linalg.solve(matrix, p[1] * FIELD)


def rank_one(p):
    return np.linalg.solve(np.eye(N) + 2 * p[0] / N * np.ones((N, N)), p[1] * FIELD)


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (chain, lambda p: np.sum(tridiagonal(p) ** 2)),
        (pulled, lambda p: np.sum(rank_one(p) * np.arange(N)) / N),
    ],
    ids=["sparse", "full"],
)
def test_large_minimum_has_derivatives_of_its_formula(f, want, without_matrices):
    np.testing.assert_allclose(srcad.grad(f)(P), difference(want, (P,)), rtol=1e-6, atol=1e-8)


def test_memory_of_a_large_root_is_not_that_of_a_matrix():
    gradient = srcad.grad(line)
    gradient(P)
    tracemalloc.start()
    gradient(P)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 * N**2 / 2


def test_singular_sparse_system_gives_nan_and_a_warning():
    def f(p):
        found = root(lambda u: (u - FIELD) ** 2 * p, FIELD, method="krylov", tol=1e-3)
        return np.sum(found.x)

    with pytest.warns(srcad.SolverWarning, match="singular"):
        assert np.isnan(srcad.grad(f)(1.0))


def test_products_that_do_not_converge_are_replaced_by_a_matrix():
    scale = np.logspace(0.0, 6.0, N)

    def f(p):
        mixed = lambda u: scale * u + p * np.mean(u) - FIELD  # noqa: E731
        return np.sum(root(mixed, FIELD / scale, method="lm", jac=srcad.jacobian(mixed)).x)

    def want(p):
        return np.sum(np.linalg.solve(np.diag(scale) + p / N * np.ones((N, N)), FIELD))

    e = 1e-4
    np.testing.assert_allclose(srcad.grad(f)(1.5), (want(1.5 + e) - want(1.5 - e)) / (2 * e), 1e-6)
