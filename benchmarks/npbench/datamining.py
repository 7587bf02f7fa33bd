"""Statistics of a table whose rows are observations."""

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


def correlation(M, float_n, data):
    """Return the correlations of the columns; `data` is centred and scaled in place."""
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float_n) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


def table(rng, n, m):
    """The number of columns, that of rows as a float, and data."""
    return m, float(n), rng.normal(size=(n, m))


@kernel(table, (7, 4), (300, 150), complex_step=False, peer=True)
def sum_of_correlation(M, float_n, data):
    """The correlations, and the data as they were scaled."""
    corr = correlation(M, float_n, data)
    return weighted(corr) + weighted(data)


def covariance(M, float_n, data):
    """Return the covariances of the columns; `data` is centred in place."""
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (float_n - 1.0)
    return cov


@kernel(table, (7, 4), (300, 150), peer=True)
def sum_of_covariance(M, float_n, data):
    """The covariances, and the data as they were centred."""
    cov = covariance(M, float_n, data)
    return weighted(cov) + weighted(data)
