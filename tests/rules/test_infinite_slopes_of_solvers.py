"""An infinite slope behind a solver of SciPy: the reverse half raises nothing of its own."""

import numpy as np
import pytest
from scipy import linalg

import srcad

A = np.array([[2.0, 1.0], [0.5, 3.0]])
SPD = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([1.0, 2.0])
BANDED = np.array([[0.0, 1.0], [2.0, 3.0], [0.5, 0.0]])
LU, CHOLESKY = linalg.lu_factor(A), linalg.cho_factor(SPD)
COLUMN = np.array([3.0, 1.0])

SOLVERS = {
    "solve": (lambda b: linalg.solve(A, b), A),
    "solve of a matrix": (lambda b: linalg.solve(SPD, b, assume_a="pos"), SPD),
    "lu_solve": (lambda b: linalg.lu_solve(LU, b), A),
    "cho_solve": (lambda b: linalg.cho_solve(CHOLESKY, b), SPD),
    "solve_triangular": (lambda b: linalg.solve_triangular(np.triu(A), b), np.triu(A)),
    "solve_banded": (
        lambda b: linalg.solve_banded((1, 1), BANDED, b),
        np.array([[2.0, 1.0], [0.5, 3.0]]),
    ),
    "solveh_banded": (
        lambda b: linalg.solveh_banded(np.array([[0.0, 1.0], [4.0, 3.0]]), b),
        SPD,
    ),
    "solve_toeplitz": (lambda b: linalg.solve_toeplitz(COLUMN, b), np.array([[3.0, 1], [1, 3.0]])),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_infinite_slope_behind_solver(name):
    solver, _ = SOLVERS[name]
    at = solver(B)

    found = srcad.grad(lambda b: np.sum(np.sqrt(solver(b) - at)))(B)

    assert not np.isfinite(found).any()


@pytest.mark.parametrize("name", SOLVERS)
def test_finite_slope_behind_solver_is_that_of_the_inverse(name):
    solver, matrix = SOLVERS[name]

    found = srcad.grad(lambda b: np.sum(solver(b) * B))(B)

    np.testing.assert_allclose(found, np.linalg.inv(matrix).T @ B, rtol=1e-12)


def test_infinite_slope_behind_factorization():
    at = linalg.lu_factor(A)[0]

    found = srcad.grad(lambda a: np.sum(np.sqrt(linalg.lu_factor(a)[0] - at)))(A)

    assert not np.isfinite(found).all()
