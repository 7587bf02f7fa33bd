"""`scipy.linalg.qr_multiply` of stacks and of empty matrices."""

import numpy as np
import pytest
from scipy import linalg

import srcad
from srcad import errors


def f(a, c):
    return np.sum(linalg.qr_multiply(a, c)[0] ** 3)


@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 4, 1)])
def test_stack_refused(shape, rng):
    with pytest.raises(errors.SrcadError, match="not for stacks"):
        srcad.grad(f, wrt=(0, 1))(rng.normal(size=shape), rng.normal(size=(2, 4)))


def test_no_rows_have_empty_cotangents(rng):
    a, c = rng.normal(size=(4, 3)), np.zeros((0, 4))

    a_bar, c_bar = srcad.grad(f, wrt=(0, 1))(a, c)

    np.testing.assert_array_equal(a_bar, np.zeros_like(a))
    assert c_bar.shape == (0, 4)
