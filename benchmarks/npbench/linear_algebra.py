"""Products of matrices and vectors: the BLAS and the kernels of PolyBench made of it."""

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


def drawn(*shapes):
    """Inputs of given shapes, each a string over the sizes; ``-`` is a scalar."""

    def make(rng, *sizes):
        extents = dict(zip("nmkl", sizes, strict=False))
        return tuple(
            rng.uniform(0.5, 1.5) if shape == "-" else rng.normal(size=[extents[c] for c in shape])
            for shape in shapes
        )

    return make


# -------------------------------------------------------------------------- matrix by matrix
def gemm(alpha, beta, C, A, B):
    """Compute ``C = alpha A B + beta C``."""
    C[:] = alpha * A @ B + beta * C


@kernel(drawn("-", "-", "nm", "nk", "km"), (3, 4, 5), (150, 160, 170), peer=True)
def sum_of_gemm(alpha, beta, C, A, B):
    """The product."""
    gemm(alpha, beta, C, A, B)
    return weighted(C)


def k2mm(alpha, beta, A, B, C, D):
    """Compute ``D = alpha A B C + beta D``."""
    D[:] = alpha * A @ B @ C + beta * D


@kernel(drawn("-", "-", "nk", "km", "ml", "nl"), (3, 4, 5, 2), (120, 130, 140, 150))
def sum_of_k2mm(alpha, beta, A, B, C, D):
    """The product."""
    k2mm(alpha, beta, A, B, C, D)
    return weighted(D)


def k3mm(A, B, C, D):
    """Return ``A B C D``."""
    return A @ B @ C @ D


@kernel(drawn("nk", "km", "ml", "ln"), (3, 4, 5, 2), (120, 130, 140, 150))
def sum_of_k3mm(A, B, C, D):
    """The product."""
    return weighted(k3mm(A, B, C, D))


def doitgen(NR, NQ, NP, A, C4):
    """Multiply the last axis of `A` by a matrix."""
    A[:] = np.reshape(np.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))


@kernel(
    lambda rng, r, q, p: (r, q, p, rng.normal(size=(r, q, p)), rng.normal(size=(p, p))),
    (2, 3, 4),
    (30, 40, 60),
)
def sum_of_doitgen(NR, NQ, NP, A, C4):
    """The product."""
    doitgen(NR, NQ, NP, A, C4)
    return weighted(A)


# -------------------------------------------------------------------------- matrix by vector
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    """Add two rank-one matrices to `A`, then multiply by it twice."""
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


@kernel(drawn("-", "-", "nn", "n", "n", "n", "n", "n", "n", "n", "n"), (5,), (150,), peer=True)
def sum_of_gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    """What was written into."""
    gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z)
    return weighted(A) + weighted(x) + weighted(w)


def gesummv(alpha, beta, A, B, x):
    """Return ``alpha A x + beta B x``, added up in place."""
    y = alpha * A @ x
    np.add(y, beta * B @ x, out=y)
    return y


@kernel(drawn("-", "-", "nn", "nn", "n"), (5,), (150,))
def sum_of_gesummv(alpha, beta, A, B, x):
    """The vector."""
    return weighted(gesummv(alpha, beta, A, B, x))


def atax(A, x):
    """Return ``A' A x``."""
    return (A @ x) @ A


@kernel(drawn("nm", "m"), (4, 5), (150, 160))
def sum_of_atax(A, x):
    """The vector."""
    return weighted(atax(A, x))


def bicg(A, p, r):
    """Return the two products of the biconjugate gradients."""
    return r @ A, A @ p


@kernel(drawn("nm", "m", "n"), (4, 5), (150, 160))
def sum_of_bicg(A, p, r):
    """Both vectors."""
    s, q = bicg(A, p, r)
    return weighted(s) + weighted(q)


def mvt(x1, x2, y1, y2, A):
    """Add products with a matrix and with its transpose."""
    x1 += A @ y1
    x2 += y2 @ A


@kernel(drawn("n", "n", "n", "n", "nn"), (5,), (150,))
def sum_of_mvt(x1, x2, y1, y2, A):
    """Both vectors."""
    mvt(x1, x2, y1, y2, A)
    return weighted(x1) + weighted(x2)


# --------------------------------------------------------- symmetric and triangular matrices
def symm(alpha, beta, C, A, B):
    """Compute ``C = alpha S B + beta C``; `S` is symmetric, `A` holds its lower triangle."""
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


@kernel(drawn("-", "-", "nm", "nn", "nm"), (4, 3), (40, 50))
def sum_of_symm(alpha, beta, C, A, B):
    """The product."""
    symm(alpha, beta, C, A, B)
    return weighted(C)


def syrk(alpha, beta, C, A):
    """Compute the lower triangle of ``C = alpha A A' + beta C``."""
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


@kernel(drawn("-", "-", "nn", "nm"), (4, 3), (50, 40))
def sum_of_syrk(alpha, beta, C, A):
    """The product, and the upper triangle as it was."""
    syrk(alpha, beta, C, A)
    return weighted(C)


def syr2k(alpha, beta, C, A, B):
    """Compute the lower triangle of ``C = alpha (A B' + B A') + beta C``."""
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]


@kernel(drawn("-", "-", "nn", "nm", "nm"), (4, 3), (50, 40))
def sum_of_syr2k(alpha, beta, C, A, B):
    """The product, and the upper triangle as it was."""
    syr2k(alpha, beta, C, A, B)
    return weighted(C)


def trmm(alpha, A, B):
    """Compute ``B = alpha L' B``; `L` is `A` below its diagonal, with ones on it."""
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


@kernel(drawn("-", "nn", "nm"), (4, 3), (50, 60))
def sum_of_trmm(alpha, A, B):
    """The product."""
    trmm(alpha, A, B)
    return weighted(B)
