"""Matrices that SciPy makes of vectors without entries, and of numbers."""

import numpy as np
import pytest
import scipy.linalg

import srcad
from srcad.errors import SrcadError


@pytest.mark.parametrize("lengths", [(0, 2), (2, 0), (0, 0), (0, 1), (1, 0)])
@pytest.mark.parametrize("call", [scipy.linalg.toeplitz, scipy.linalg.hankel])
def test_gradient_of_empty_matrix_is_zero(call, lengths):
    m, n = lengths
    c, r = np.ones(m), np.ones(n)
    size = np.size(call(c, r))

    c_bar, r_bar = srcad.grad(lambda c, r: np.sum(call(c, r)), wrt=(0, 1))(c, r)

    assert (c_bar.shape, r_bar.shape) == ((m,), (n,))
    if not size:
        np.testing.assert_array_equal(c_bar, np.zeros(m))
        np.testing.assert_array_equal(r_bar, np.zeros(n))


@pytest.mark.parametrize("call", [scipy.linalg.expm, scipy.linalg.sqrtm])
@pytest.mark.parametrize("derivative", [srcad.grad, srcad.jacfwd])
def test_function_of_matrix_of_number_is_refused(call, derivative):
    """SciPy returns a matrix of one row, and for the root not that of the number."""
    with pytest.raises(SrcadError, match=r"pass an array of shape \(1, 1\)"):
        derivative(lambda a: np.sum(call(a)))(np.array(0.7))
