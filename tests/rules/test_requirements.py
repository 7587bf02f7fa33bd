"""Arrays in a memory layout that is asked for."""

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError
from srcad.testing import check_grads

M = np.array([[0.4, -1.3], [0.9, 0.7]])
WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]])


def plain(x):
    return np.sum(np.require(x**2) * WEIGHTS)


def in_order(x):
    return np.sum(np.require((x**2).T, None, ["C", "W"]) * WEIGHTS)


def of_a_list(x):
    return np.sum(np.require([x[0, 0], x[1, 1] * 2], float) ** 2)


def cut(x):
    return np.sum(np.require(x * 10 + 0.5, int)) + np.sum(x)


def written(x):
    y = x**2
    np.require(y)[0] = 3 * x[1]
    return np.sum(y * WEIGHTS)


def copy_is_written(x):
    z = np.require((x**2).T, None, "C")
    z[0] = 3 * x[1]
    return np.sum(z * WEIGHTS)


@pytest.mark.parametrize("f", [plain, in_order, of_a_list, cut, written, copy_is_written])
def test_required_array_has_the_entries_of_its_operand(f):
    assert srcad.value_and_grad(f)(M)[0] == f(M)
    check_grads(f, (M,))


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobian_of_required_array_has_no_loop(mode):
    made = srcad.jacobian(lambda x: np.require(x * x, None, "F"), mode=mode)

    np.testing.assert_allclose(made(M).reshape(4, 4), np.diag(2 * M.ravel()))
    assert "for " not in made.source


@pytest.mark.parametrize("requirement", ["C", "W", "F", ["A", "O"]])
def test_array_is_not_read_after_a_write_through_what_may_be_a_copy(requirement):
    def f(x):
        y = x**2
        np.require(y, None, requirement)[0] = 3 * x[1]
        return np.sum(y)

    with pytest.raises(MutationError):
        srcad.grad(f)(M)
