"""Functions of arrays whose meaning is written in Python."""

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

M = np.array([[0.4, -1.3, 2.2], [0.9, 0.7, -0.5]])
WEIGHTS = np.array([[1.0, 2.0, 5.0], [3.0, 4.0, 7.0]])


# ------------------------------------------------------------------------ unstack
def columns(x):
    p, q, r = np.unstack(x**2, axis=1)
    return np.sum(p * q) + r[0]


def rows_in_a_loop(x):
    return sum(np.sum(row) * k for k, row in enumerate(np.unstack(x**2)))


def written_row(x):
    y = x**2
    parts = np.unstack(y)
    parts[1][0] = 5 * x[1, 1]
    return np.sum(y * WEIGHTS)


def written_column(x):
    y = x**2
    np.unstack(y, axis=-1)[1][:] = x[:, 0]
    return np.sum(y * WEIGHTS)


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1")
@pytest.mark.parametrize("f", [columns, rows_in_a_loop, written_row, written_column])
def test_unstack_gives_views_of_an_array(f):
    assert srcad.value_and_grad(f)(M)[0] == f(M.copy())
    check_grads(f, (M,))


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1")
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobian_of_unstack_has_no_loop(mode):
    made = srcad.jacobian(lambda x: np.unstack(x * x, axis=1)[2], mode=mode)

    np.testing.assert_allclose(made(M)[0], [[[0, 0, 4.4], [0, 0, 0]], [[0, 0, 0], [0, 0, -1.0]]][0])
    assert "for " not in made.source


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1")
def test_unstack_of_a_number_fails_as_without_a_derivative():
    with pytest.raises(ValueError, match="at least 1-d"):
        srcad.grad(lambda x: np.unstack(np.sum(x * x))[0])(M)
