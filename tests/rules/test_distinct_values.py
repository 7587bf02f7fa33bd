"""Functions of the array API that find distinct values."""

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.array([0.7, -1.1, 0.4, 2.3])


def doubled(x):
    """Each number twice, but the last, and not in order."""
    return np.concatenate([x, x[:3]])


def sum_of_values(x):
    return np.sum(np.sin(np.unique_values(doubled(x))))


def weighted_values(x):
    y = np.sort(np.unique_values(doubled(x)))
    return np.sum(y * np.arange(len(y)))


@pytest.mark.parametrize("f", [sum_of_values, weighted_values])
def test_unique_values_have_the_derivative_of_entries(f):
    check_grads(f, (X,), order=2)


def test_first_of_equal_entries_has_the_cotangent():
    gradient = srcad.grad(lambda y: np.sum(np.unique_values(y) ** 2))(np.array([2.0, 1.0, 2.0]))

    assert gradient.tolist() == [4, 2, 0]


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobian_of_unique_values_has_no_loop(mode):
    made = srcad.jacobian(lambda x: np.sort(np.unique_values(x * x)), mode=mode)

    np.testing.assert_allclose(made(X[:2]), [[1.4, 0], [0, -2.2]])
    assert "for " not in made.source


def counted(x):
    found = np.unique_all(doubled(x))
    return np.sum(found.values**2 * found.counts)


def put_back(x):
    values, first, places, _ = np.unique_all(doubled(x))
    return np.sum(values[places] ** 2 * np.arange(7.0)) + np.sum(x[first])


@pytest.mark.parametrize("f", [counted, put_back])
def test_unique_all_has_the_derivative_of_entries(f):
    check_grads(f, (X,))


def with_counts(x):
    values, counts = np.unique_counts(doubled(x))
    return np.sum(values**3 * counts)


def by_name(x):
    found = np.unique_counts(np.reshape(doubled(x)[:6], (2, 3)))
    return np.sum(found.values**3 * found.counts)


@pytest.mark.parametrize("f", [with_counts, by_name])
def test_unique_counts_has_the_derivative_of_entries(f):
    check_grads(f, (X,))


def built_again(x):
    found = np.unique_inverse(doubled(x))
    return np.sum(found.values[found.inverse_indices] ** 2 * np.arange(7.0))


def built_again_as_matrix(x):
    values, places = np.unique_inverse(np.reshape(x, (2, 2)))
    return np.sum(values[places] ** 2 * np.array([[1.0, 2.0], [3.0, 4.0]]))


@pytest.mark.parametrize("f", [built_again, built_again_as_matrix])
def test_unique_inverse_has_the_derivative_of_entries(f):
    check_grads(f, (X,))
