"""Masks that cut lines of nan from functions of all along an axis, and of pairs of variables."""

import numpy as np
import pytest
from scipy import special, stats

import srcad

X = np.array([[0.3, -0.2, 0.5], [1.0, 0.7, -0.4], [0.2, 0.9, 0.6], [0.1, 0.4, -0.8]])
ROWS, COLUMNS = np.arange(4)[:, None] == 0, np.arange(3) == 0


def kept(values):
    """The numbers that are no nan, weighed by position."""
    weights = np.arange(values.shape[-1]) + 0.5
    return np.sum(np.where(np.isnan(values), 0.0, values) * weights)


PROGRAMS = {
    "softmax": lambda x: kept(special.softmax(np.where(ROWS, np.nan, x), axis=1)),
    "softmax of columns": lambda x: kept(special.softmax(np.where(COLUMNS, np.nan, x), 0)),
    "log_softmax": lambda x: kept(special.log_softmax(np.where(ROWS, np.nan, x), axis=-1)),
    "zscore": lambda x: kept(stats.zscore(np.where(COLUMNS, np.nan, x))),
    "cov": lambda x: kept(np.cov(np.where(ROWS, np.nan, x))),
    "cov of columns": lambda x: kept(np.cov(np.where(COLUMNS, np.nan, x), rowvar=False)),
    "cov with weights": lambda x: kept(np.cov(np.where(ROWS, np.nan, x), aweights=[1.0, 2.0, 3.0])),
    "cov of two": lambda x: kept(np.cov(np.where(ROWS, np.nan, x), x[1] ** 2)),
    "cov with nan": lambda x: kept(np.cov(x, np.where(COLUMNS, np.nan, x[1]))),
    "corrcoef": lambda x: kept(np.corrcoef(np.where(ROWS, np.nan, x))),
    "corrcoef of columns": lambda x: kept(np.corrcoef(np.where(COLUMNS, np.nan, x), rowvar=False)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_behind_mask_of_lines_of_nan_matches_differences(name):
    f, h = PROGRAMS[name], 1e-5
    steps = h * np.eye(X.size).reshape(X.size, *X.shape)
    with np.errstate(all="ignore"):
        slopes = np.reshape([(f(X + d) - f(X - d)) / (2 * h) for d in steps], X.shape)

        found = srcad.grad(f)(X)

    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-8)
