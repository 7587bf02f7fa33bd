"""Stencils of PolyBench: the same small formula at every point of a grid, again and again."""

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


# ----------------------------------------------------------------------------------- jacobi
def jacobi_1d(steps, A, B):
    """Average three neighbours, from one array into the other and back."""
    for _ in range(1, steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


@kernel(
    lambda rng, steps, n: (steps, rng.random(n), rng.random(n)), (5, 9), (200, 10_000), peer=True
)
def sum_of_jacobi_1d(steps, A, B):
    """Both arrays."""
    jacobi_1d(steps, A, B)
    return weighted(A) + weighted(B)


def jacobi_2d(steps, A, B):
    """Average five neighbours, from one array into the other and back."""
    for _ in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )


def two_grids(rng, steps, n):
    """Two square grids."""
    return steps, rng.random((n, n)), rng.random((n, n))


@kernel(two_grids, (4, 6), (50, 150), peer=True)
def sum_of_jacobi_2d(steps, A, B):
    """Both arrays."""
    jacobi_2d(steps, A, B)
    return weighted(A) + weighted(B)


# ------------------------------------------------------------------------------------- heat
def heat_3d(steps, A, B):
    """Diffuse heat in a cube, from one array into the other and back."""
    for _ in range(1, steps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )


@kernel(
    lambda rng, steps, n: (steps, rng.random((n, n, n)), rng.random((n, n, n))), (4, 5), (20, 30)
)
def sum_of_heat_3d(steps, A, B):
    """Both arrays."""
    heat_3d(steps, A, B)
    return weighted(A) + weighted(B)


# ----------------------------------------------------------------------------------- seidel
def seidel_2d(steps, N, A):
    """Average nine neighbours in place: a point sees those before it as they are already."""
    for _ in range(steps - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:]
                + A[i, 2:]
                + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )  # fmt: skip
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


@kernel(lambda rng, steps, n: (steps, n, rng.random((n, n))), (4, 6), (8, 40))
def sum_of_seidel_2d(steps, N, A):
    """The array."""
    seidel_2d(steps, N, A)
    return weighted(A)


# ------------------------------------------------------------------------------------- fdtd
def fdtd_2d(steps, ex, ey, hz, source):
    """Advance the fields of Maxwell's equations on two grids that leapfrog in time."""
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def fields(rng, steps, nx, ny):
    """Three fields and a source."""
    ex, ey, hz = rng.random((3, nx, ny))
    return steps, ex.copy(), ey.copy(), hz.copy(), rng.random(steps)


@kernel(fields, (4, 5, 6), (50, 100, 120))
def sum_of_fdtd_2d(steps, ex, ey, hz, source):
    """The three fields."""
    fdtd_2d(steps, ex, ey, hz, source)
    return weighted(ex) + weighted(ey) + weighted(hz)


# -------------------------------------------------------------------------------------- adi
def adi(steps, N, u):
    """Diffuse on the unit square, implicitly in one direction after the other."""
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    dx = 1.0 / N
    dy = 1.0 / N
    dt = 1.0 / steps
    mul1 = 2.0 * dt / (dx * dx)
    mul2 = 1.0 * dt / (dy * dy)
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for _ in range(1, steps + 1):
        # the sweep along columns
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, N - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]
            ) / (a * p[1:-1, j - 1] + b)
        v[N - 1, 1:-1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        # the sweep along rows
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, N - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (
                -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]
            ) / (d * p[1:-1, j - 1] + e)
        u[1:-1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


@kernel(lambda rng, steps, n: (steps, n, rng.random((n, n))), (3, 6), (10, 100))
def sum_of_adi(steps, N, u):
    """The temperature."""
    adi(steps, N, u)
    return weighted(u)
