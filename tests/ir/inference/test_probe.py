"""Stand-ins on which functions of NumPy are tried out."""

import numpy as np

import srcad
from srcad.ir.inference.probe import filled
from srcad.types.numeric import Numeric

COUNTS = np.array([2, 3])


def test_integer_probe_values_small_as_counts():
    # Thirty-three counts of 2 made np.tile fill all memory.
    for run in (0, 1):
        counts = filled(Numeric(np.dtype(int), None, "array"), (33,), run)
        assert np.prod(counts) <= 2

    found = srcad.grad(lambda x: np.sum(np.tile(x, COUNTS)))(np.ones((2, 2)))
    np.testing.assert_array_equal(found, np.full((2, 2), 6.0))
