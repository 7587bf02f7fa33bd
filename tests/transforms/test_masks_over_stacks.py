"""Masks that leave out matrices of stacks, or rows, with nan or without a derivative."""

import numpy as np
import pytest
from scipy import special

import srcad

MASK = np.array([True, False, True])
MATRICES = np.array([[[2.0, 1.0], [0.5, 3.0]], np.full((2, 2), np.nan), [[3.0, 1.0], [1.0, 2.0]]])
SIDES = np.array([[1.0, 2.0], [2.0, 1.0], [0.5, 1.0]])
NAN_HAS_CONDITION = np.lib.NumpyVersion(np.__version__) >= "2.5.0"  # before, `cond` raises
ROWS = np.array([[1.0, 2.0, 3.0], [np.nan, 1.0, 2.0], [0.5, 1.5, 2.5]])
POINTS = np.array([0.0, 1.0, 2.0])

OF_STACKS = {
    "det": lambda a: np.sum(np.where(MASK, np.linalg.det(a) ** 2, 0.0)),
    "det where": lambda a: np.sum(np.linalg.det(a), where=MASK),
    "slogdet": lambda a: np.sum(np.linalg.slogdet(a)[1][MASK]),
    "logabsdet": lambda a: np.sum(np.where(MASK, np.linalg.slogdet(a).logabsdet, 0.0)),
    "cond by 1": lambda a: np.sum(np.where(MASK, np.linalg.cond(a, 1), 0.0)),
    "inv": lambda a: np.sum(np.linalg.inv(a)[MASK] ** 2),
    "inv where": lambda a: np.sum(np.where(MASK[:, None, None], np.linalg.inv(a), 0.0)),
    "solve": lambda a: np.sum(np.linalg.solve(a, SIDES[..., None])[MASK] ** 2),
    "solve one side": lambda a: np.sum(np.linalg.solve(a, SIDES[0])[MASK] ** 2),
    "solve both": lambda a: np.sum(
        np.where(MASK[:, None, None], np.linalg.solve(a, a @ a + 1.0), 0.0)
    ),
    "matrix_power": lambda a: np.sum(np.linalg.matrix_power(a, 3)[MASK]),
    "cholesky": lambda a: np.sum(np.linalg.cholesky(a @ np.swapaxes(a, 1, 2) + np.eye(2))[MASK]),
    "eigvalsh": lambda a: np.sum(np.linalg.eigvalsh(a)[MASK] ** 2),
    "quotient": lambda a: np.sum(np.linalg.inv(1 / a)[MASK]),
}
if NAN_HAS_CONDITION:
    OF_STACKS["cond"] = lambda a: np.sum(np.linalg.cond(a, 2)[MASK])
OF_ROWS = {
    "prod": lambda x: np.sum(np.where(MASK, np.prod(x, axis=1), 0.0)),
    "norm": lambda x: np.sum(np.linalg.norm(x, axis=1)[MASK]),
    "norm that keeps": lambda x: np.sum(np.linalg.norm(x, axis=1, keepdims=True)[MASK]),
    "var that keeps": lambda x: np.sum(np.var(x, axis=1, keepdims=True)[MASK]),
    "prod that keeps": lambda x: np.sum(
        np.where(MASK[:, None], np.prod(x, axis=1, keepdims=True), 0.0)
    ),
    "logsumexp": lambda x: np.sum(special.logsumexp(x, axis=1)[MASK]),
    "interp": lambda x: np.sum(np.interp(np.array([0.3, np.nan, 1.2]), POINTS, x[0])[MASK]),
    "places": lambda x: np.sum(np.interp(np.array([0.3, np.nan, 1.7]), x[0] - 1, POINTS)[MASK]),
    "points": lambda x: np.sum(np.interp(x[:, 0] - 0.1, POINTS, POINTS**2)[MASK]),
}


def differences(function, x, h=1e-6):
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[place] = h
        found[place] = (function(x + step) - function(x - step)) / (2 * h)
    return found


@pytest.mark.parametrize("name", OF_STACKS)
def test_gradient_is_zero_in_matrices_that_a_mask_leaves_out(name):
    function = OF_STACKS[name]
    with np.errstate(all="ignore"):
        wanted = differences(function, MATRICES)
        for derivative in (srcad.grad, srcad.jacfwd):
            np.testing.assert_allclose(derivative(function)(MATRICES), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", OF_ROWS)
def test_gradient_is_zero_in_rows_that_a_mask_leaves_out(name):
    function = OF_ROWS[name]
    with np.errstate(all="ignore"):
        wanted = differences(function, ROWS)
        for derivative in (srcad.grad, srcad.jacfwd):
            np.testing.assert_allclose(derivative(function)(ROWS), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["det", "slogdet", "logabsdet"])
def test_gradient_is_zero_in_singular_matrices_that_a_mask_leaves_out(name):
    singular = np.array(
        [[[2.0, 1.0], [0.5, 3.0]], [[1.0, 2.0], [2.0, 4.0]], [[3.0, 1.0], [1.0, 2.0]]]
    )
    function = OF_STACKS[name]
    with np.errstate(all="ignore"):
        found, wanted = srcad.grad(function)(singular), differences(function, singular)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_log_of_determinant_of_singular_matrix_raises_nothing():
    function = lambda a: np.linalg.slogdet(a)[1]  # noqa: E731
    with np.errstate(all="ignore"):
        value, found = srcad.value_and_grad(function)(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert value == -np.inf
    assert np.all(np.isnan(found))


def test_broadcast_matrix_of_stack_has_sum_over_systems_taken_in():
    def function(a):
        return np.sum(np.linalg.solve(a[None], SIDES[..., None] * a[0, 0])[MASK])

    a = MATRICES[0]
    np.testing.assert_allclose(srcad.grad(function)(a), differences(function, a), rtol=1e-6)


@pytest.mark.parametrize("p", [None, 1, -np.inf, "fro"])
@pytest.mark.parametrize("entry", [0.0, np.nan])
def test_condition_number_without_derivative_raises_nothing(p, entry):
    if np.isnan(entry) and p is None and not NAN_HAS_CONDITION:
        pytest.skip("the call raises an error itself")

    def function(a):
        return np.linalg.cond(a, p)

    a = np.full((2, 2), entry)
    with np.errstate(all="ignore"):
        value, found = srcad.value_and_grad(function)(a)
        np.testing.assert_array_equal(value, function(a))
    assert np.all(np.isnan(found))
