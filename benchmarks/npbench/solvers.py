"""Factorisations and solutions of linear systems, entry by entry and in place."""

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


# ------------------------------------------------------------------------------- triangular
def trisolv(L, x, b):
    """Solve ``L x = b`` into `x`; `L` holds a lower triangle."""
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def triangular(rng, n):
    """A matrix whose lower triangle is well conditioned, a vector to fill, a right side."""
    L = rng.normal(size=(n, n)) / n + np.diag(rng.uniform(1.0, 2.0, n))
    return L, rng.normal(size=n), rng.normal(size=n)


@kernel(triangular, (6,), (400,), peer=True)
def sum_of_trisolv(L, x, b):
    """The solution."""
    trisolv(L, x, b)
    return weighted(x)


# ------------------------------------------------------------------------------------ durbin
def durbin(r):
    """Solve the equations of Yule and Walker by Durbin's recursion."""
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@kernel(lambda rng, n: (rng.uniform(0.2, 0.8, n) * 0.6 ** np.arange(1, n + 1),), (6,), (400,))
def sum_of_durbin(r):
    """The solution."""
    return weighted(durbin(r))


# ---------------------------------------------------------------------------------------- lu
def lu(A):
    """Factor ``A = L U`` in place; the ones on the diagonal of `L` are not stored."""
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def dominant(rng, n):
    """A matrix that needs no pivots."""
    return rng.normal(size=(n, n)) + n * np.eye(n)


@kernel(lambda rng, n: (dominant(rng, n),), (5,), (50,))
def sum_of_lu(A):
    """Both factors."""
    lu(A)
    return weighted(A)


def ludcmp(A, b):
    """Factor ``A = L U`` in place and solve ``A x = b``."""
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(A.shape[0]):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(A.shape[0] - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


@kernel(lambda rng, n: (dominant(rng, n), rng.normal(size=n)), (5,), (50,))
def sum_of_ludcmp(A, b):
    """The solution, that of the first half, and both factors."""
    x, y = ludcmp(A, b)
    return weighted(x) + weighted(y) + weighted(A)


# ------------------------------------------------------------------------------------ others
def cholesky(A):
    """Factor ``A = L L'`` in place; only the lower triangle is read and written."""
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


@kernel(lambda rng, n: (dominant(rng, n),), (5,), (60,), peer=True)
def sum_of_cholesky(A):
    """The factor, and the upper triangle as it was."""
    cholesky(A)
    return weighted(A)


def gramschmidt(A):
    """Factor ``A = Q R`` by the modified process, which uses up `A`."""
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


@kernel(lambda rng, m, n: (rng.normal(size=(m, n)),), (6, 4), (60, 40))
def sum_of_gramschmidt(A):
    """Both factors."""
    Q, R = gramschmidt(A)
    return weighted(Q) + weighted(R)
