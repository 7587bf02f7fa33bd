"""What each kernel of `benchmarks.npbench` computes, once more: by plain loops or a library.

A reference takes the inputs of the kernel and returns, as new arrays, what the kernel's reduction
sums.  It writes into nothing and shares no line with the kernel.
"""

import itertools
import math

import numpy as np

inside = lambda a: itertools.product(*(range(1, n - 1) for n in a.shape))


def swept(A, onto, stencil):
    """A sweep of a stencil over the inside of `A`, with the margin of `onto`."""
    new = onto.copy()
    for at in inside(A):
        new[at] = sum(c * A[tuple(np.add(at, step))] for step, c in stencil.items())
    return new


def alternating(steps, A, B, stencil):
    for _ in range(steps - 1):
        B = swept(A, B, stencil)
        A = swept(B, A, stencil)
    return A, B


def star(rank, centre, arm):
    steps = {(0,) * rank: centre}
    for axis, sign in itertools.product(range(rank), (-1, 1)):
        steps[tuple(sign * (k == axis) for k in range(rank))] = arm
    return steps


# --------------------------------------------------------------------------------- stencils
def jacobi_1d(steps, A, B):
    return alternating(steps, A, B, star(1, 0.33333, 0.33333))


def jacobi_2d(steps, A, B):
    return alternating(steps, A, B, star(2, 0.2, 0.2))


def heat_3d(steps, A, B):
    return alternating(steps, A, B, star(3, 0.25, 0.125))


def seidel_2d(steps, N, A):
    A = A.copy()
    for _ in range(steps - 1):
        for i, j in inside(A):
            A[i, j] = sum(A[i + k, j + m] for k in (-1, 0, 1) for m in (-1, 0, 1)) / 9
    return (A,)


def fdtd_2d(steps, ex, ey, hz, source):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    nx, ny = ex.shape
    for t in range(steps):
        for i, j in np.ndindex(nx, ny):
            ey[i, j] = source[t] if i == 0 else ey[i, j] - (hz[i, j] - hz[i - 1, j]) / 2
        for i, j in np.ndindex(nx, ny):
            ex[i, j] -= 0 if j == 0 else (hz[i, j] - hz[i, j - 1]) / 2
        for i, j in np.ndindex(nx - 1, ny - 1):
            curl = ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j]
            hz[i, j] -= 0.7 * curl
    return ex, ey, hz


def adi(steps, N, u):
    """Each half step solves ``(1 - mul/2 D) new = (1 + mul/2 D) old`` in all lines at once."""
    u = u.copy()
    second = np.diag(np.ones(N - 1), 1) + np.diag(np.ones(N - 1), -1) - 2 * np.eye(N)

    def half(explicit, implicit, old):
        lines = old + explicit / 2 * (second @ old)
        left = np.eye(N) - implicit / 2 * second
        left[0], left[-1] = np.eye(N)[0], np.eye(N)[-1]
        new = np.zeros((N, N))
        for i in range(1, N - 1):
            right = lines[i].copy()
            right[0] = right[-1] = 1.0
            new[:, i] = np.linalg.solve(left, right)
        return new

    mul1, mul2 = 2 * N**2 / steps, N**2 / steps
    for _ in range(steps):
        v = half(mul2, mul1, u.T)
        u[1:-1] = half(mul1, mul2, v).T[1:-1]
    return (u,)


# ------------------------------------------------------------------------------- linear algebra
def loops(formula, *extents):
    return np.array([formula(*at) for at in np.ndindex(*extents)]).reshape(extents)


def gemm(alpha, beta, C, A, B):
    return (np.einsum("ik,kj->ij", alpha * A, B) + beta * C,)


def k2mm(alpha, beta, A, B, C, D):
    return (alpha * np.einsum("ij,jk,kl->il", A, B, C) + beta * D,)


def k3mm(A, B, C, D):
    return (np.einsum("ij,jk,kl,lm->im", A, B, C, D),)


def doitgen(NR, NQ, NP, A, C4):
    return (np.einsum("rqs,sp->rqp", A, C4),)


def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    n = len(x)
    A = loops(lambda i, j: A[i, j] + u1[i] * v1[j] + u2[i] * v2[j], n, n)
    x = loops(lambda i: x[i] + z[i] + beta * sum(A[j, i] * y[j] for j in range(n)), n)
    w = loops(lambda i: w[i] + alpha * sum(A[i, j] * x[j] for j in range(n)), n)
    return A, x, w


def gesummv(alpha, beta, A, B, x):
    return (np.einsum("ij,j->i", alpha * A + beta * B, x),)


def atax(A, x):
    return (np.einsum("ij,ik,k->j", A, A, x),)


def bicg(A, p, r):
    return np.einsum("ij,i->j", A, r), np.einsum("ij,j->i", A, p)


def mvt(x1, x2, y1, y2, A):
    return x1 + np.einsum("ij,j->i", A, y1), x2 + np.einsum("ji,j->i", A, y2)


def symm(alpha, beta, C, A, B):
    full = np.tril(A) + np.tril(A, -1).T
    return (alpha * full @ B + beta * C,)


def syrk(alpha, beta, C, A):
    return (np.triu(C, 1) + np.tril(alpha * A @ A.T + beta * C),)


def syr2k(alpha, beta, C, A, B):
    return (np.triu(C, 1) + np.tril(alpha * (A @ B.T + B @ A.T) + beta * C),)


def trmm(alpha, A, B):
    return (alpha * (np.tril(A, -1) + np.eye(len(A))).T @ B,)


# ---------------------------------------------------------------------------------- solvers
def trisolv(L, x, b):
    return (np.linalg.solve(np.tril(L), b),)


def durbin(r):
    toeplitz = loops(lambda i, j: 1.0 if i == j else r[abs(i - j) - 1], len(r), len(r))
    return (np.linalg.solve(toeplitz, -r),)


def lu(A):
    """By elimination, column by column."""
    U, L = A.copy(), np.eye(len(A))
    for j in range(len(A)):
        for i in range(j + 1, len(A)):
            L[i, j] = U[i, j] / U[j, j]
            U[i] = U[i] - L[i, j] * U[j]
    return (np.tril(L, -1) + np.triu(U),)


def ludcmp(A, b):
    (factors,) = lu(A)
    y = np.linalg.solve(np.tril(factors, -1) + np.eye(len(b)), b)
    return np.linalg.solve(A, b), y, factors


def cholesky(A):
    symmetric = np.tril(A) + np.tril(A, -1).T
    return (np.linalg.cholesky(symmetric) + np.triu(A, 1),)


def gramschmidt(A):
    Q, R = np.linalg.qr(A)
    signs = np.sign(np.diag(R))
    return Q * signs, signs[:, None] * R


# ------------------------------------------------------------------------------- datamining
def correlation(M, float_n, data):
    corr = np.corrcoef(data, rowvar=False)
    centred = (data - data.mean(0)) / (math.sqrt(float_n) * data.std(0))
    return corr, centred


def covariance(M, float_n, data):
    return np.cov(data, rowvar=False), data - data.mean(0)


# ---------------------------------------------------------------------------------- imaging
def deriche(alpha, image):
    """By sums over all entries, weighted by the response of the recursion to one entry."""
    e = math.exp(-alpha)
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - math.exp(2 * alpha))
    forth, back = (k, k * e * (alpha - 1)), (0, k * e * (alpha + 1), -k * e * e)

    def smooth(line):
        new = np.zeros_like(line)
        for sign, taps in ((1, forth), (-1, back)):
            x, y = line[::sign], np.zeros_like(line)
            for j in range(len(line)):
                y[j] = sum(t * x[j - m] for m, t in enumerate(taps) if m <= j)
                y[j] += sum(b * y[j - m] for m, b in ((1, 2**-alpha), (2, -e * e)) if m <= j)
            new += y[::sign]
        return new

    rows = np.array([smooth(row) for row in image])
    return (np.array([smooth(column) for column in rows.T]).T,)


def azimint_naive(data, radius, npt):
    edges = np.linspace(0, radius.max(), npt + 1)
    within = radius < radius.max()
    total, _ = np.histogram(radius[within], edges, weights=data[within])
    count, _ = np.histogram(radius[within], edges)
    return (total / count,)


# ------------------------------------------------------------------------------ elementwise
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    """`theta` is the latitude: the angle between the unit vectors."""
    unit = lambda t, p: np.array([np.cos(t) * np.cos(p), np.cos(t) * np.sin(p), np.sin(t)])
    return (np.arccos(np.sum(unit(theta_1, phi_1) * unit(theta_2, phi_2), axis=0)),)


def compute(array_1, array_2, a, b, c):
    one = lambda i, j: min(max(array_1[i, j], 2), 10) * a + array_2[i, j] * b + c
    return (loops(one, *array_1.shape),)


def go_fast(a):
    return (a + sum(math.tanh(d) for d in np.diag(a)),)


# --------------------------------------------------------------------------------- learning
def softmax(x):
    return (np.exp(x) / np.exp(x).sum(-1, keepdims=True),)


def convolved(x, weights):
    k = len(weights)
    windows = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(1, 2))
    return np.einsum("nijckl,klco->nijo", windows, weights)


def conv2d_bias(images, weights, bias):
    return (convolved(images, weights) + bias,)


def rectified(x):
    return np.where(x > 0, x, 0.0)


def mlp(x, w1, b1, w2, b2, w3, b3):
    for w, b in ((w1, b1), (w2, b2)):
        x = rectified(np.einsum("ni,io->no", x, w) + b)
    return softmax(x @ w3 + b3)


def lenet(images, conv1, bias1, conv2, bias2, w1, b1, w2, b2, w3, b3, N, features):
    x = images
    for w, b in ((conv1, bias1), (conv2, bias2)):
        x = rectified(convolved(x, w) + b)
        n, h, w, c = x.shape
        x = x.reshape(n, h // 2, 2, w // 2, 2, c).max(4).max(2)
    x = x.reshape(len(images), -1)
    for w, b in ((w1, b1), (w2, b2)):
        x = rectified(x @ w + b)
    return (x @ w3 + b3,)


def resnet_basicblock(images, conv1, conv2, conv3):
    def normal(x):
        return (x - x.mean(0)) / np.sqrt(x.std(0) + 1e-5)

    x = np.pad(convolved(images, conv1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = convolved(rectified(normal(x)), conv2)
    x = convolved(rectified(normal(x)), conv3)
    return (rectified(normal(x) + images),)


# ---------------------------------------------------------------------------------- weather
def hdiff(in_field, out_field, coeff):
    x = in_field

    def laplacian(i, j, k):
        around = x[i + 1, j, k] + x[i - 1, j, k] + x[i, j + 1, k] + x[i, j - 1, k]
        return 4 * x[i, j, k] - around

    def flux(i, j, k, p, q):
        """From a point to its neighbour."""
        flow = laplacian(i + p, j + q, k) - laplacian(i, j, k)
        return 0.0 if flow * (x[i + p, j + q, k] - x[i, j, k]) > 0 else flow

    def one(a, b, k):
        i, j = a + 2, b + 2
        out = flux(i, j, k, 1, 0) - flux(i - 1, j, k, 1, 0)
        out += flux(i, j, k, 0, 1) - flux(i, j - 1, k, 0, 1)
        return x[i, j, k] - coeff[a, b, k] * out

    return (loops(one, *out_field.shape),)


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr):
    """By a dense solution in every column."""
    out = np.empty_like(utens_stage)
    K = out.shape[2]
    for i, j in np.ndindex(out.shape[:2]):
        w = 0.25 * (wcon[i + 1, j] + wcon[i, j]) / 2
        left, right = dtr * np.eye(K), dtr * u_pos[i, j] + utens[i, j] + utens_stage[i, j]
        for k in range(K):
            for other, c in ((k - 1, -w[k]), (k + 1, w[k + 1] if k + 1 < K else 0.0)):
                if 0 <= other < K:
                    left[k, other] += c
                    left[k, k] -= c
                    right[k] -= c * (u_stage[i, j, other] - u_stage[i, j, k])
        out[i, j] = dtr * (np.linalg.solve(left, right) - u_pos[i, j])
    return (out,)


# ---------------------------------------------------------------------------------- physics
def nbody(mass, pos, vel, Nt, dt, G, softening):
    m = mass[:, 0]
    pairs = list(itertools.permutations(range(len(m)), 2))

    def pull(pos):
        acc = np.zeros_like(pos)
        for i, j in pairs:
            r = pos[j] - pos[i]
            acc[i] += G * m[j] * r / (r @ r + softening**2) ** 1.5
        return acc

    def energy(pos, vel):
        kinetic = sum(0.5 * a * (v @ v) for a, v in zip(m, vel))
        bound = sum(G * m[i] * m[j] / math.dist(pos[i], pos[j]) for i, j in pairs)
        return kinetic, -bound / 2

    vel = vel - (m @ vel) / m.sum()
    energies = [energy(pos, vel)]
    for _ in range(Nt):
        middle = vel + dt / 2 * pull(pos)
        pos = pos + dt * middle
        vel = middle + dt / 2 * pull(pos)
        energies.append(energy(pos, vel))
    kinetic, potential = np.array(energies).T
    return kinetic, potential, pos, vel


# ------------------------------------------------------------------------------------- flow
def slopes(a, i, j, dx, dy, at):
    """The central slopes of a field at a point, along both axes."""
    across = (at(a, i, j + 1) - at(a, i, j - 1)) / (2 * dx)
    return across, (at(a, i + 1, j) - at(a, i - 1, j)) / (2 * dy)


def relaxed(p, b, i, j, dx, dy, at):
    across = (at(p, i, j + 1) + at(p, i, j - 1)) / dx**2
    down = (at(p, i + 1, j) + at(p, i - 1, j)) / dy**2
    return (across + down - b[i, j]) / (2 / dx**2 + 2 / dy**2)


def source(u, v, i, j, dt, dx, dy, rho, at):
    ux, uy = slopes(u, i, j, dx, dy, at)
    vx, vy = slopes(v, i, j, dx, dy, at)
    return rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)


def carried(a, u, v, i, j, dt, dx, dy, nu, at):
    """What a point of a velocity becomes by advection and diffusion."""
    left, right, up, down = (at(a, i, j - 1), at(a, i, j + 1), at(a, i - 1, j), at(a, i + 1, j))
    here = a[i, j]
    advection = u[i, j] * (here - left) / dx + v[i, j] * (here - up) / dy
    diffusion = (left + right - 2 * here) / dx**2 + (up + down - 2 * here) / dy**2
    return here + dt * (nu * diffusion - advection)


def flow_step(nit, u, v, dt, dx, dy, p, rho, nu, F, columns, at, walls):
    points = list(itertools.product(range(1, u.shape[0] - 1), columns))
    b = np.zeros_like(u)
    for i, j in points:
        b[i, j] = source(u, v, i, j, dt, dx, dy, rho, at)
    for _ in range(nit):
        old, p = p, p.copy()
        for i, j in points:
            p[i, j] = relaxed(old, b, i, j, dx, dy, at)
        walls(p)
    new_u, new_v = u.copy(), v.copy()
    for i, j in points:
        px, py = slopes(p, i, j, dx, dy, at)
        new_u[i, j] = carried(u, u, v, i, j, dt, dx, dy, nu, at) - dt / rho * px + F * dt
        new_v[i, j] = carried(v, u, v, i, j, dt, dx, dy, nu, at) - dt / rho * py
    return new_u, new_v, p


def cavity_flow(nt, nit, u, v, dt, dx, dy, p, rho, nu):
    def walls(p):
        p[:, -1] = p[:, -2]
        p[0] = p[1]
        p[:, 0] = p[:, 1]
        p[-1] = 0.0

    at = lambda a, i, j: a[i, j]
    columns = range(1, u.shape[1] - 1)
    for _ in range(nt):
        u, v, p = flow_step(nit, u, v, dt, dx, dy, p, rho, nu, 0.0, columns, at, walls)
        u, v = np.pad(u[1:-1, 1:-1], 1), np.pad(v[1:-1, 1:-1], 1)
        u[-1] = 1.0
    return u, v, p


def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, F):
    def walls(p):
        p[-1] = p[-2]
        p[0] = p[1]

    at = lambda a, i, j: a[i, j % a.shape[1]]
    change = 1.0
    while change > 0.001:
        before = u.sum()
        columns = range(u.shape[1])
        u, v, p = flow_step(nit, u, v, dt, dx, dy, p, rho, nu, F, columns, at, walls)
        for a in (u, v):
            a[0] = a[-1] = 0.0
        change = (u.sum() - before) / u.sum()
    return u, v, p
