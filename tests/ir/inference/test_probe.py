"""Stand-ins on which functions of NumPy are tried out."""

import numpy as np
import pytest

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


def features(x):
    return np.stack([x, x * x, np.sin(x), x + 1])


SMALLER_LENGTHS = {
    "svd": lambda x: np.mean(np.linalg.svd(features(x), full_matrices=False)[1]),
    "compute_uv": lambda x: np.mean(np.linalg.svd(features(x), compute_uv=False)),
    "lstsq": lambda x: np.mean(np.linalg.lstsq(features(x), np.ones(4), rcond=None)[3]),
    "qr": lambda x: np.mean(np.linalg.qr(features(x))[1]),
    "diag": lambda x: np.mean(np.diag(features(x)) ** 2),
    "diagonal": lambda x: np.mean(np.diagonal(features(x), 1) ** 2),
}


@pytest.mark.parametrize("name", SMALLER_LENGTHS)
@pytest.mark.parametrize("length", [3, 6])
def test_smaller_of_known_and_unknown_length_is_unknown(name, length):
    """The singular values of four rows of three numbers are three, not four."""
    f, x = SMALLER_LENGTHS[name], np.cos(np.arange(length)) + 2
    steps = 1e-6 * np.eye(length)

    found = srcad.grad(f)(x)

    np.testing.assert_allclose(found, [(f(x + h) - f(x - h)) / 2e-6 for h in steps], 1e-5, 1e-7)


def test_singular_vectors_of_a_tuple_of_rows():
    rows = tuple(np.cos(np.arange(12.0)).reshape(4, 3))

    def f(rows):
        u, s, vh = np.linalg.svd(rows, full_matrices=False)
        return np.sum((u * s) @ vh)

    np.testing.assert_allclose(srcad.grad(f)(rows), np.ones((4, 3)))
